/** The idle loop of an avatar that was made from a video. */
import { loopFile } from "@realtime-avatar/domain/avatars/idle-loop";
import { decodeLoop, FRAME_SIZE } from "@realtime-avatar/face/loop/loop-file";
import { createLoopFilm, type LoopFilm } from "@realtime-avatar/face/loop/loop-film";
import type { LoadFile, RendererCall } from "./renderer.ts";
import { loadSharp } from "./sharp.ts";

/** Without the conversion, the decoder returns each byte three times, as colours. */
const decodeFrame = (jpeg: Uint8Array): Promise<Uint8Array> =>
  loadSharp()(jpeg, { limitInputPixels: FRAME_SIZE.width * FRAME_SIZE.height })
    .toColourspace("b-w")
    .raw()
    .toBuffer();

/** Loads the idle loop that a manifest names; null without one. `onFailure`: gets the error if the loop cannot be shown, once. */
export const loadLoop = async (
  { manifest }: RendererCall["avatar"],
  load: LoadFile,
  onFailure: (error: unknown) => void,
): Promise<LoopFilm | null> => {
  const file = loopFile(manifest);
  if (file === null) return null;
  try {
    return createLoopFilm(decodeLoop(await load(file)), decodeFrame, onFailure);
  } catch (error) {
    onFailure(error);
    return null;
  }
};
