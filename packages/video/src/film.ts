/** Writes a film: pictures and a voice become an MP4 file with H.264 and AAC. */

import { AAC_SAMPLE_RATE } from "./aac/bands.ts";
import { AAC_CONFIG, AAC_DELAY_SAMPLES, AAC_FRAME_SAMPLES, createAacEncoder } from "./aac/encoder.ts";
import { GROUP_PICTURES, openVideoEncoder, PICTURES_PER_SECOND, VIDEO_SIZE } from "./h264/encoder.ts";
import { COLOURS, improveSequenceParameters } from "./h264/parameter-set.ts";
import { nextQuantizer, QUANTIZER } from "./h264/rate.ts";
import type { EncodedGroup } from "./h264/read-units.ts";
import { createMp4, type Mp4File } from "./mp4/file.ts";

/** Samples of sound while a picture is shown. */
export const PICTURE_SAMPLES = AAC_SAMPLE_RATE / PICTURES_PER_SECOND;

export type FilmOptions = {
  /** How many pictures the film has. Each is shown for 40 ms. */
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
  /** Ends a film that has all its pictures. Returns the size of the file in bytes. */
  finish: () => number;
};

/** A unit with its length before it. */
const withLength = (unit: Uint8Array): Uint8Array => {
  const sample = new Uint8Array(4 + unit.length);
  new DataView(sample.buffer).setUint32(0, unit.length);
  sample.set(unit, 4);
  return sample;
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

const startFile = ({ pictures, write }: FilmOptions, { sequence, picture }: EncodedGroup): Mp4File => {
  const frames = Math.ceil((pictures * PICTURE_SAMPLES + AAC_DELAY_SAMPLES) / AAC_FRAME_SAMPLES);
  const keys = Array.from({ length: Math.ceil(pictures / GROUP_PICTURES) }, (_, group) => group * GROUP_PICTURES + 1);
  const video = {
    size: VIDEO_SIZE,
    sequence: improveSequenceParameters(sequence, PICTURES_PER_SECOND),
    picture,
    colours: COLOURS,
  };
  return createMp4(
    {
      picturesPerSecond: PICTURES_PER_SECOND,
      pictures,
      video,
      sampleRate: AAC_SAMPLE_RATE,
      frameSamples: AAC_FRAME_SAMPLES,
      delaySamples: AAC_DELAY_SAMPLES,
      frames,
      audioConfiguration: AAC_CONFIG,
      write,
    },
    keys,
  );
};

/** Opens a film of at least one picture. It holds at most the pictures of a group, encoded. The same pictures and sound give the same bytes. */
export const openFilm = async (options: FilmOptions): Promise<Film> => {
  const encoder = await openVideoEncoder();
  const voice = createVoice();
  let quantizer = QUANTIZER;
  let group = await encoder.begin(quantizer);
  let inGroup = 0;
  let added = 0;
  let frames: Uint8Array[] = [];
  let file: Mp4File | null = null;

  const endGroup = (): void => {
    const encoded = group.end();
    file ??= startFile(options, encoded);
    for (const [index, unit] of encoded.units.entries()) file.addPicture(withLength(unit), index === 0);
    for (const frame of frames) file.addFrame(frame);
    frames = [];
    const bytes = encoded.units.reduce((sum, { length }) => sum + length, 0);
    quantizer = nextQuantizer(quantizer, (8 * bytes * PICTURES_PER_SECOND) / encoded.units.length);
    inGroup = 0;
  };
  return {
    add: async (picture, pcm) => {
      if (added === options.pictures) throw new RangeError(`The film has more than ${options.pictures} pictures.`);
      if (pcm.length !== PICTURE_SAMPLES) throw new RangeError(`A picture has ${PICTURE_SAMPLES} samples of sound.`);
      group.add(picture);
      frames.push(...voice(pcm));
      added++;
      inGroup++;
      if (added === options.pictures) {
        // Silence gets the last samples out of the encoder.
        const left = AAC_FRAME_SAMPLES - ((added * PICTURE_SAMPLES) % AAC_FRAME_SAMPLES || AAC_FRAME_SAMPLES);
        frames.push(...voice(new Int16Array(left + AAC_DELAY_SAMPLES)));
        endGroup();
      } else if (inGroup === GROUP_PICTURES) {
        endGroup();
        group = await encoder.begin(quantizer);
      }
    },
    finish: () => {
      if (file === null || added < options.pictures) throw new RangeError("There are pictures missing.");
      return file.finish();
    },
  };
};
