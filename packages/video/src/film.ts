/** Writes a film: pictures and a voice become an MP4 file with H.264 and AAC. */

import { AAC_SAMPLE_RATE } from "./aac/bands.ts";
import { AAC_DELAY_SAMPLES, AAC_FORMAT, AAC_FRAME_SAMPLES, createAacEncoder } from "./aac/encoder.ts";
import { GROUP_PICTURES, openVideoEncoder, PICTURES_PER_SECOND } from "./h264/encoder.ts";
import { nextQuantizer, QUANTIZER } from "./h264/rate.ts";
import { videoFormat, withLength } from "./h264/sample.ts";
import type { VideoFormat } from "./mp4/boxes.ts";
import { createMp4 } from "./mp4/file.ts";

/** Samples of sound while a picture is shown. */
export const PICTURE_SAMPLES = AAC_SAMPLE_RATE / PICTURES_PER_SECOND;

export type FilmOptions = {
  /** Number of pictures in the film. Each is shown for 40 ms. */
  pictures: number;
  /** Writes bytes at a position of the file. */
  write: (bytes: Uint8Array, position: number) => void;
};

export type Film = {
  /**
   * Adds a picture (I420, 512 × 512 pixels: read before this returns) and the sound during it: `PICTURE_SAMPLES` samples of
   * 16-bit PCM, 48 kHz, mono.
   */
  add: (picture: Uint8Array, pcm: Int16Array) => Promise<void>;
  /** Ends the film after its last picture. Returns the size of the file in bytes. */
  finish: () => number;
};

/** Cuts sound into frames of AAC. */
const createVoice = () => {
  const encoder = createAacEncoder();
  let rest = new Int16Array(0);
  return (pcm: Int16Array): Uint8Array[] => {
    const all = new Int16Array(rest.length + pcm.length);
    all.set(rest);
    all.set(pcm, rest.length);
    const frames: Uint8Array[] = [];
    let at = 0;
    for (; at + AAC_FRAME_SAMPLES <= all.length; at += AAC_FRAME_SAMPLES) {
      frames.push(encoder.encode(all.subarray(at, at + AAC_FRAME_SAMPLES)));
    }
    rest = all.slice(at);
    return frames;
  };
};

/** Opens a film of at least one picture. It holds at most the pictures of a group, encoded. The same pictures and sound give the same bytes. */
export const openFilm = async (options: FilmOptions): Promise<Film> => {
  const encoder = await openVideoEncoder();
  const voice = createVoice();
  let quantizer = QUANTIZER;
  let group = await encoder.begin(quantizer);
  let inGroup = 0;
  let added = 0;
  /** The frames of sound of each picture of the group. */
  let frames: Uint8Array[][] = [];
  let format: VideoFormat | null = null;
  const sound = AAC_FORMAT;
  const file = createMp4({ sound, pictureTimescale: PICTURES_PER_SECOND, write: options.write });

  const endGroup = (): void => {
    const { units, sequence, picture } = group.end();
    format ??= videoFormat(sequence, picture, PICTURES_PER_SECOND);
    for (const [index, unit] of units.entries()) {
      file.addPicture(withLength(unit), 1, index === 0);
      for (const frame of frames[index] ?? []) file.addFrame(frame);
    }
    frames = [];
    const bytes = units.reduce((sum, { length }) => sum + length, 0);
    quantizer = nextQuantizer(quantizer, (8 * bytes * PICTURES_PER_SECOND) / units.length);
    inGroup = 0;
  };
  return {
    add: async (picture, pcm) => {
      if (added === options.pictures) throw new RangeError(`The film has more than ${options.pictures} pictures.`);
      if (pcm.length !== PICTURE_SAMPLES) throw new RangeError(`A picture has ${PICTURE_SAMPLES} samples of sound.`);
      group.add(picture);
      frames.push(voice(pcm));
      added++;
      inGroup++;
      if (added === options.pictures) {
        // Silence flushes the last samples out of the encoder.
        const left = AAC_FRAME_SAMPLES - ((added * PICTURE_SAMPLES) % AAC_FRAME_SAMPLES || AAC_FRAME_SAMPLES);
        frames.at(-1)?.push(...voice(new Int16Array(left + AAC_DELAY_SAMPLES)));
        endGroup();
      } else if (inGroup === GROUP_PICTURES) {
        endGroup();
        group = await encoder.begin(quantizer);
      }
    },
    finish: () => {
      if (format === null || added < options.pictures) throw new RangeError("Pictures are missing.");
      return file.finish(format);
    },
  };
};
