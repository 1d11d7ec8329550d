/// <reference path="../assets.d.ts" />
/**
 * The network in `mouth.bin`: two hidden layers and six outputs between 0 and 1. scripts/train-mouth writes the file.
 */
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import file from "../mouth.bin" with { type: "file" };
import { FEATURES } from "./features.ts";
import { BANDS } from "./mel-bands.ts";

type Layer = { rows: number; columns: number; weights: Float32Array; bias: Float32Array };

/** `past` and `future` are the steps of 10 ms around the one whose shape is computed. */
export type Network = { past: number; future: number; layers: readonly [Layer, Layer, Layer] };

/** The header: eight numbers of 32 bits: bands, past, future, inputs, first and second hidden layer, outputs, 0. */
const HEADER_BYTES = 32;

/**
 * Reads a layer: a scale for each row and a bias for each row (32 bit floats), then the weights in 8 bits, row by row, filled up
 * to a multiple of four bytes.
 */
const readLayer = (bytes: ArrayBuffer, start: number, columns: number, rows: number): { layer: Layer; end: number } => {
  const scales = new Float32Array(bytes, start, rows);
  const bias = new Float32Array(bytes, start + 4 * rows, rows);
  const quantized = new Int8Array(bytes, start + 8 * rows, rows * columns);
  const weights = Float32Array.from(quantized, (weight, index) => weight * (scales[Math.floor(index / columns)] ?? 0));
  return { layer: { rows, columns, weights, bias }, end: start + 8 * rows + Math.ceil((rows * columns) / 4) * 4 };
};

/**
 * The number of inputs of a network for this many steps: their features, and the usual energy of the bands at the last
 * step.
 */
export const countInputs = (steps: number): number => steps * FEATURES + BANDS;

/** Parses the bytes of `mouth.bin`. Throws when they do not describe a network for these features. */
export const parseNetwork = (bytes: ArrayBuffer): Network => {
  if (bytes.byteLength < HEADER_BYTES) throw new Error("mouth.bin has no header.");
  const [bands = 0, past = 0, future = 0, inputs = 0, first = 0, second = 0, outputs = 0] = new Int32Array(bytes, 0, 8);
  if (bands !== BANDS || inputs !== countInputs(past + 1 + future)) {
    throw new Error(`mouth.bin expects ${inputs} inputs of ${bands} bands. This program computes others.`);
  }
  const one = readLayer(bytes, HEADER_BYTES, inputs, first);
  const two = readLayer(bytes, one.end, first, second);
  const three = readLayer(bytes, two.end, second, outputs);
  if (three.end !== bytes.byteLength)
    throw new Error(`mouth.bin has ${bytes.byteLength} bytes instead of ${three.end}.`);
  return { past, future, layers: [one.layer, two.layer, three.layer] };
};

/** The file is part of a bundle and of a compiled program. In a bundle, which Node may run, its path is relative to the bundle. */
const PATH = isAbsolute(file) ? file : fileURLToPath(new URL(file, import.meta.url));

let known: Network | null = null;

/** Reads the file once in a process. A process that later gives up its right to read the file must call this first. */
export const readNetwork = (): Network => {
  if (known !== null) return known;
  const { buffer, byteOffset, byteLength } = readFileSync(PATH);
  known = parseNetwork(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
  return known;
};

/**
 * Writes the weighted sums of the rows to `output`. Four sums at a time, because a single sum waits for each addition.
 */
const sumRows = ({ rows, columns, weights, bias }: Layer, input: Float32Array, output: Float32Array): void => {
  const whole = columns - (columns % 4);
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    let a = bias[row] as number;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let column = 0; column < whole; column += 4) {
      const at = start + column;
      a += (weights[at] as number) * (input[column] as number);
      b += (weights[at + 1] as number) * (input[column + 1] as number);
      c += (weights[at + 2] as number) * (input[column + 2] as number);
      d += (weights[at + 3] as number) * (input[column + 3] as number);
    }
    for (let column = whole; column < columns; column++) {
      a += (weights[start + column] as number) * (input[column] as number);
    }
    output[row] = a + b + c + d;
  }
};

/** Returns a function from the inputs to the outputs, which are overwritten by the next call. */
export const createEvaluation = ({ layers: [one, two, three] }: Network): ((input: Float32Array) => Float32Array) => {
  const first = new Float32Array(one.rows);
  const second = new Float32Array(two.rows);
  const outputs = new Float32Array(three.rows);
  return (input) => {
    sumRows(one, input, first);
    for (let index = 0; index < first.length; index++) first[index] = Math.max(0, first[index] ?? 0);
    sumRows(two, first, second);
    for (let index = 0; index < second.length; index++) second[index] = Math.max(0, second[index] ?? 0);
    sumRows(three, second, outputs);
    for (let index = 0; index < outputs.length; index++) outputs[index] = 1 / (1 + Math.exp(-(outputs[index] ?? 0)));
    return outputs;
  };
};
