/// <reference path="./assets.d.ts" />
/**
 * The network of Silero VAD 6.2 for 16 kHz: four convolutions, an LSTM cell and one output, the likelihood of speech in
 * 32 ms. scripts/convert-vad writes `silero-vad.bin` and compares the results of this network with those of onnxruntime.
 */
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import file from "./silero-vad.bin" with { type: "file" };
import { BINS, PIECES } from "./spectrum.ts";

/** Numbers of outputs of the four convolutions, and the size of the cell's state. */
const [FIRST, SECOND, THIRD, FOURTH] = [128, 64, 64, 128] as const;
export const CELLS = 128;
/** Rows that `multiply` computes at once. */
const ROWS = 8;
/** Taps of a convolution. */
const TAPS = 3;
/** The first four bytes of the file. They name the order of its weights. */
const FORMAT = 0x31_44_41_56;

type Layer = { readonly weights: Float32Array; readonly bias: Float32Array };

export type Network = {
  /**
   * Convolutions over the pieces. The weights of two outputs are interleaved: for each input, the taps of one output
   * and then those of the other.
   */
  readonly first: Layer;
  readonly second: Layer;
  /** The last convolutions and the cell, as matrices. The weights of eight rows are interleaved by column. */
  readonly third: Layer;
  readonly fourth: Layer;
  readonly cell: Layer;
  readonly output: Layer;
};

/** Parses the bytes of `silero-vad.bin`: the format, then 32 bit floats, the weights and the bias of each layer. */
export const parseNetwork = (bytes: ArrayBuffer): Network => {
  if (bytes.byteLength < 4 || new DataView(bytes).getUint32(0, true) !== FORMAT) {
    throw new Error("silero-vad.bin has an unknown format.");
  }
  let at = 4;
  const take = (count: number): Float32Array => {
    const start = at;
    at += 4 * count;
    if (at > bytes.byteLength) throw new Error("silero-vad.bin is too short.");
    return new Float32Array(bytes, start, count);
  };
  const layer = (inputs: number, outputs: number): Layer => ({ weights: take(inputs * outputs), bias: take(outputs) });
  const network = {
    first: layer(BINS * TAPS, FIRST),
    second: layer(FIRST * TAPS, SECOND),
    third: layer(2 * SECOND, THIRD),
    fourth: layer(THIRD, FOURTH),
    cell: layer(FOURTH + CELLS, 4 * CELLS),
    output: layer(CELLS, 1),
  };
  if (at !== bytes.byteLength) throw new Error(`silero-vad.bin has ${bytes.byteLength} bytes instead of ${at}.`);
  return network;
};

/**
 * The file is part of a bundle and of a compiled program. In a bundle, which can run on Node, the path is relative to
 * the bundle.
 */
const PATH = isAbsolute(file) ? file : fileURLToPath(new URL(file, import.meta.url));

let loaded: Network | null = null;

/** The network of this process, shared by all calls. The first use reads 0.9 MB. */
export const loadNetwork = (): Network => {
  if (loaded) return loaded;
  const { buffer, byteOffset, byteLength } = readFileSync(PATH);
  loaded = parseNetwork(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
  return loaded;
};

/** Every window overwrites these arrays. They are shared, because all calls of a process run in one thread. */
const firstOutputs = new Float64Array(FIRST * PIECES);
const secondOutputs = new Float64Array(SECOND * 2);
const thirdOutputs = new Float64Array(THIRD);
const gates = new Float64Array(4 * CELLS);

const rectify = (value: number): number => Math.max(0, value);

/**
 * A convolution over four pieces, padded with zeros. Computes two outputs at a time, so that each input is read once
 * for both.
 */
const convolveFour = ({ weights, bias }: Layer, inputs: Float64Array, outputs: Float64Array): void => {
  let at = 0;
  for (let row = 0; row < bias.length; row += 2) {
    let a0 = bias[row] as number;
    let a1 = a0;
    let a2 = a0;
    let a3 = a0;
    let b0 = bias[row + 1] as number;
    let b1 = b0;
    let b2 = b0;
    let b3 = b0;
    for (let index = 0; index < inputs.length; index += PIECES) {
      const x0 = inputs[index] as number;
      const x1 = inputs[index + 1] as number;
      const x2 = inputs[index + 2] as number;
      const x3 = inputs[index + 3] as number;
      let before = weights[at] as number;
      let here = weights[at + 1] as number;
      let after = weights[at + 2] as number;
      a0 += here * x0 + after * x1;
      a1 += before * x0 + here * x1 + after * x2;
      a2 += before * x1 + here * x2 + after * x3;
      a3 += before * x2 + here * x3;
      before = weights[at + 3] as number;
      here = weights[at + 4] as number;
      after = weights[at + 5] as number;
      b0 += here * x0 + after * x1;
      b1 += before * x0 + here * x1 + after * x2;
      b2 += before * x1 + here * x2 + after * x3;
      b3 += before * x2 + here * x3;
      at += 2 * TAPS;
    }
    const start = row * PIECES;
    outputs[start] = rectify(a0);
    outputs[start + 1] = rectify(a1);
    outputs[start + 2] = rectify(a2);
    outputs[start + 3] = rectify(a3);
    outputs[start + 4] = rectify(b0);
    outputs[start + 5] = rectify(b1);
    outputs[start + 6] = rectify(b2);
    outputs[start + 7] = rectify(b3);
  }
};

/** A convolution from four pieces to two, with a zero before the first piece. */
const convolveTwo = ({ weights, bias }: Layer, inputs: Float64Array, outputs: Float64Array): void => {
  let at = 0;
  for (let row = 0; row < bias.length; row += 2) {
    let a0 = bias[row] as number;
    let a1 = a0;
    let b0 = bias[row + 1] as number;
    let b1 = b0;
    for (let index = 0; index < inputs.length; index += PIECES) {
      const x0 = inputs[index] as number;
      const x1 = inputs[index + 1] as number;
      const x2 = inputs[index + 2] as number;
      const x3 = inputs[index + 3] as number;
      let here = weights[at + 1] as number;
      let after = weights[at + 2] as number;
      a0 += here * x0 + after * x1;
      a1 += (weights[at] as number) * x1 + here * x2 + after * x3;
      here = weights[at + 4] as number;
      after = weights[at + 5] as number;
      b0 += here * x0 + after * x1;
      b1 += (weights[at + 3] as number) * x1 + here * x2 + after * x3;
      at += 2 * TAPS;
    }
    outputs[2 * row] = rectify(a0);
    outputs[2 * row + 1] = rectify(a1);
    outputs[2 * row + 2] = rectify(b0);
    outputs[2 * row + 3] = rectify(b1);
  }
};

/** Multiplies a matrix by a vector. Computes eight sums at a time, because a single sum waits for each addition. */
const multiply = ({ weights, bias }: Layer, inputs: Float64Array, outputs: Float64Array): void => {
  let at = 0;
  for (let row = 0; row < bias.length; row += ROWS) {
    let a = bias[row] as number;
    let b = bias[row + 1] as number;
    let c = bias[row + 2] as number;
    let d = bias[row + 3] as number;
    let e = bias[row + 4] as number;
    let f = bias[row + 5] as number;
    let g = bias[row + 6] as number;
    let h = bias[row + 7] as number;
    for (let column = 0; column < inputs.length; column++) {
      const input = inputs[column] as number;
      a += (weights[at] as number) * input;
      b += (weights[at + 1] as number) * input;
      c += (weights[at + 2] as number) * input;
      d += (weights[at + 3] as number) * input;
      e += (weights[at + 4] as number) * input;
      f += (weights[at + 5] as number) * input;
      g += (weights[at + 6] as number) * input;
      h += (weights[at + 7] as number) * input;
      at += ROWS;
    }
    outputs[row] = a;
    outputs[row + 1] = b;
    outputs[row + 2] = c;
    outputs[row + 3] = d;
    outputs[row + 4] = e;
    outputs[row + 5] = f;
    outputs[row + 6] = g;
    outputs[row + 7] = h;
  }
};

const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value));

/**
 * The state of the cell for one voice: its memory, and the inputs of its next step. The second half of the inputs is
 * its last output.
 */
export type NetworkState = { readonly memory: Float64Array; readonly inputs: Float64Array };

export const createState = (): NetworkState => ({
  memory: new Float64Array(CELLS),
  inputs: new Float64Array(FOURTH + CELLS),
});

/** The likelihood of speech, from 0 to 1, in a window with these magnitudes. Updates `state`. Allocates nothing. */
export const evaluate = (network: Network, magnitudes: Float64Array, { memory, inputs }: NetworkState): number => {
  convolveFour(network.first, magnitudes, firstOutputs);
  convolveTwo(network.second, firstOutputs, secondOutputs);
  multiply(network.third, secondOutputs, thirdOutputs);
  for (let index = 0; index < THIRD; index++) thirdOutputs[index] = rectify(thirdOutputs[index] as number);
  // The first half of the inputs. The loop below writes the second half.
  multiply(network.fourth, thirdOutputs, inputs);
  for (let index = 0; index < FOURTH; index++) inputs[index] = rectify(inputs[index] as number);
  multiply(network.cell, inputs, gates);
  let sum = network.output.bias[0] as number;
  for (let index = 0; index < CELLS; index++) {
    const take = sigmoid(gates[index] as number);
    const keep = sigmoid(gates[CELLS + index] as number);
    const candidate = Math.tanh(gates[2 * CELLS + index] as number);
    const show = sigmoid(gates[3 * CELLS + index] as number);
    const next = keep * (memory[index] as number) + take * candidate;
    const output = show * Math.tanh(next);
    memory[index] = next;
    inputs[FOURTH + index] = output;
    sum += rectify(output) * (network.output.weights[index] as number);
  }
  return sigmoid(sum);
};
