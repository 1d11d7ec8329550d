/** The film of an idle loop. It decodes each frame in advance, so that no picture waits for a frame. */
import { PICTURE_LENGTH } from "../picture.ts";
import type { FilmFrame } from "../warp/film.ts";
import { frameAtStep, type LoopFrame } from "./loop-file.ts";

/** Decodes a JPEG of `LoopFrame`. Rejects when it is damaged. */
export type DecodeFrame = (jpeg: Uint8Array) => Promise<Uint8Array>;

export type LoopFilm = {
  /**
   * The frame for the next picture: the next frame of the loop, or the last frame again while the next is not decoded.
   * It is valid until the next call. null: no frame is decoded yet.
   */
  next: () => FilmFrame | null;
  /** Whether a frame was damaged. Then the loop ends. */
  hasFailed: () => boolean;
};

/** Creates the film of a loop. `onFailure`: called once, with the first damaged frame. */
export const createLoopFilm = (
  frames: readonly LoopFrame[],
  decode: DecodeFrame,
  onFailure: (error: unknown) => void,
): LoopFilm => {
  let step = -1;
  let shown: FilmFrame | null = null;
  let ahead: FilmFrame | null = null;
  let isDecoding = false;
  let hasFailed = false;
  const decodeAhead = async (): Promise<void> => {
    isDecoding = true;
    const { jpeg, place } = frames[frameAtStep(step + 1, frames.length)] as LoopFrame;
    try {
      const picture = await decode(jpeg);
      if (picture.length !== PICTURE_LENGTH) throw new RangeError(`A frame has ${picture.length} bytes.`);
      ahead = { picture, place };
    } catch (error) {
      hasFailed = true;
      onFailure(error);
    }
    isDecoding = false;
  };
  void decodeAhead();
  return {
    next: () => {
      if (ahead !== null) {
        shown = ahead;
        ahead = null;
        step++;
      }
      if (!isDecoding && ahead === null && !hasFailed) void decodeAhead();
      return shown;
    },
    hasFailed: () => hasFailed,
  };
};
