/**
 * Converts the sound of a voice to the shapes of the mouth. docs/face.md describes the training of the network and its
 * accuracy.
 */
import { createFeatures, FEATURES } from "./sound/features.ts";
import { countInputs, createEvaluation, readNetwork } from "./sound/network.ts";
import { createResampler } from "./sound/resample.ts";

/**
 * The shape of a mouth at one time. All fields except `level` lie between 0 and 1.
 * - `open`: how far the jaw is open. 1 as in "father".
 * - `wide`: how far the corners are apart, as in "see".
 * - `round`: how far the lips are protruded, as in "do".
 * - `closed`: the lips touch, as in p, b, m, and in silence.
 * - `tuck`: the lower lip touches the upper teeth, as in f and v.
 * - `tongue`: its tip shows between or behind the teeth, as in "this" and "let".
 * - `level`: the loudness as an order of magnitude of energy, 0 at the loudest of the last seconds, negative otherwise.
 */
export type Shape = {
  open: number;
  wide: number;
  round: number;
  closed: number;
  tuck: number;
  tongue: number;
  level: number;
};

/** Time between two shapes, and the time of the first one in the sound. In milliseconds. */
export const SHAPE_STEP_MS = 10;
export const FIRST_SHAPE_MS = 12.5;

export type Visemes = { hear: (pcm: Int16Array) => Shape[] };

/**
 * Returns a listener of one voice. `hear` takes the next piece of its sound (16 bit, 48 kHz, mono, of any length) and
 * returns the completed shapes. The shape with index k, counted from the first piece on, belongs to the time k *
 * `SHAPE_STEP_MS` + `FIRST_SHAPE_MS` of the sound. It is known once 42.5 ms of sound after that time were heard: 30 ms
 * of context and half a window. Only the last 120 ms are held in memory.
 */
export const createVisemes = (): Visemes => {
  const network = readNetwork();
  const evaluate = createEvaluation(network);
  const resample = createResampler();
  const steps = network.past + 1 + network.future;
  /** The features of the last steps, the newest last, and the usual energy of the bands. */
  const context = new Float32Array(countInputs(steps));
  const end = steps * FEATURES;
  const newest = end - FEATURES;
  const levelIndex = (network.past + 1) * FEATURES - 1;
  let heard = 0;
  let shapes: Shape[] = [];

  const measure = createFeatures((features, usual) => {
    context.copyWithin(0, FEATURES, end);
    context.set(features, newest);
    context.set(usual, end);
    // Before the first step, the sound is assumed to be like the first step.
    if (heard === 0) for (let start = 0; start < newest; start += FEATURES) context.set(features, start);
    heard++;
    if (heard <= network.future) return;
    const [open = 0, wide = 0, round = 0, closed = 0, tuck = 0, tongue = 0] = evaluate(context);
    shapes.push({ open, wide, round, closed, tuck, tongue, level: context[levelIndex] ?? 0 });
  });

  return {
    hear: (pcm) => {
      shapes = [];
      measure(resample(pcm));
      return shapes;
    },
  };
};
