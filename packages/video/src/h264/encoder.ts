/**
 * Encodes pictures as H.264, by minih264 in WebAssembly (`h264-mp4-encoder`). The same pictures give the same bytes.
 *
 * The library writes an MP4 file in memory, from which the pictures are read. So it encodes a few seconds at once: a
 * group, which begins with a key picture.
 */
import { type EncodedGroup, readUnits } from "./read-units.ts";

export const VIDEO_SIZE = 512;
export const PICTURES_PER_SECOND = 25;
/** Maximum number of pictures in a group: 5 s. A player can begin at each group. */
export const GROUP_PICTURES = 125;

/** The functions of the library that are used. */
type Library = {
  createH264MP4Encoder: () => Promise<LibraryEncoder>;
};
type LibraryEncoder = {
  width: number;
  height: number;
  frameRate: number;
  speed: number;
  quantizationParameter: number;
  groupOfPictures: number;
  outputFilename: string;
  initialize: () => void;
  addFrameYuv: (picture: Uint8Array) => void;
  finalize: () => void;
  delete: () => void;
  FS: { readFile: (path: string) => Uint8Array; unlink: (path: string) => void };
};

/**
 * From 0 (best) to 10. With 8, the same quality takes half of the bytes and twice the processor time: see
 * docs/performance.md.
 */
const SPEED = 10;

export type Group = {
  /** An I420 picture of 512 × 512 pixels. */
  add: (picture: Uint8Array) => void;
  /** Ends the group, which has at least one picture. */
  end: () => EncodedGroup;
};

export type VideoEncoder = {
  /** Begins a group. The group before it must have ended. `quantizer`: from 10 (best) to 51 (smallest). */
  begin: (quantizer: number) => Promise<Group>;
};

const OUTPUT = "group.mp4";

/** Loads the library: in 50 ms. A process that later gives up its right to read the file calls this first. */
export const loadVideoEncoder = async (): Promise<Library> => {
  const module = (await import("h264-mp4-encoder")) as unknown as Library & { default?: Library };
  return module.default ?? module;
};

export const openVideoEncoder = async (): Promise<VideoEncoder> => {
  const { createH264MP4Encoder } = await loadVideoEncoder();
  return {
    begin: async (quantizer) => {
      const encoder = await createH264MP4Encoder();
      Object.assign(encoder, {
        width: VIDEO_SIZE,
        height: VIDEO_SIZE,
        frameRate: PICTURES_PER_SECOND,
        speed: SPEED,
        quantizationParameter: quantizer,
        groupOfPictures: GROUP_PICTURES + 1,
        outputFilename: OUTPUT,
      });
      encoder.initialize();
      let count = 0;
      return {
        add: (picture) => {
          encoder.addFrameYuv(picture);
          count++;
        },
        end: () => {
          encoder.finalize();
          const file = encoder.FS.readFile(OUTPUT);
          encoder.FS.unlink(OUTPUT);
          encoder.delete();
          return readUnits(file, count);
        },
      };
    },
  };
};
