/** The pictures of a recording, as H.264. */
import { PICTURE_LENGTH } from "@realtime-avatar/face/picture";
import {
  GROUP_PICTURES,
  type Group,
  openVideoEncoder,
  PICTURES_PER_SECOND,
  type VideoEncoder,
} from "@realtime-avatar/video/h264/encoder";
import { nextQuantizer, QUANTIZER } from "@realtime-avatar/video/h264/rate";

/** Minimum time between two pictures. While a call moves to another room, both rooms show pictures. */
const MIN_PICTURE_MS = 20;
/**
 * Minimum time between two pictures, as a multiple of the encoding time: the rest is for the sound of the call.
 * Encoding takes about 8 ms, and longer when other programs use the processor.
 */
const SPACING = 3;
/** The first pictures of a process take ten times as long as those after them. */
const WARM_PICTURES = 3;

/** As in `FragmentPictures`; `times` in milliseconds since the recording began. */
export type EncodedPictures = {
  times: number[];
  samples: Uint8Array[];
  keys: number[];
  sequence: string;
  picture: string;
};

export type PictureTrack = {
  /**
   * Encodes an I420 picture. `at`: its time, in milliseconds since the recording began. The picture is left out while
   * no encoder is ready, or when it comes too soon after the previous one.
   */
  add(picture: Uint8Array, at: number): void;
  /** Returns the pictures since the last call; null without pictures. `isLast`: no more pictures are added. */
  take(isLast: boolean): EncodedPictures | null;
};

/** Opens an encoder, and encodes a few pictures to warm it up. */
const openWarmEncoder = async (): Promise<VideoEncoder> => {
  const encoder = await openVideoEncoder();
  const group = await encoder.begin(QUANTIZER);
  const picture = new Uint8Array(PICTURE_LENGTH);
  for (let count = 0; count < WARM_PICTURES; count++) group.add(picture.fill(128 + count));
  group.end();
  return encoder;
};

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** `onFailure`: no encoder can be opened. `now`: in milliseconds. */
export const createPictureTrack = (onFailure: (error: unknown) => void, now: () => number): PictureTrack => {
  const opening = openWarmEncoder();
  let group: Group | null = null;
  let inGroup: number[] = [];
  let quantizer = QUANTIZER;
  let nextAt = Number.NEGATIVE_INFINITY;
  let done: EncodedPictures | null = null;

  const begin = async (): Promise<void> => {
    group = await (await opening).begin(quantizer);
  };
  const beginNext = (): void => void begin().catch(onFailure);
  const endGroup = (): void => {
    if (group === null || inGroup.length === 0) return;
    const { units, sequence, picture } = group.end();
    const before = done ?? { times: [], samples: [], keys: [] };
    done = {
      times: [...before.times, ...inGroup],
      samples: [...before.samples, ...units],
      keys: [...before.keys, before.samples.length],
      ...{ sequence: toBase64(sequence), picture: toBase64(picture) },
    };
    const bytes = units.reduce((sum, { length }) => sum + length, 0);
    quantizer = nextQuantizer(quantizer, (8 * bytes * PICTURES_PER_SECOND) / units.length);
    [group, inGroup] = [null, []];
  };
  beginNext();
  return {
    add: (picture, at) => {
      if (group === null || at < nextAt) return;
      const startedAt = now();
      group.add(picture);
      nextAt = at + Math.max(MIN_PICTURE_MS, SPACING * (now() - startedAt));
      inGroup.push(at);
      if (inGroup.length < GROUP_PICTURES) return;
      endGroup();
      beginNext();
    },
    take: (isLast) => {
      const wasOpen = group !== null;
      endGroup();
      if (wasOpen && group === null && !isLast) beginNext();
      const taken = done;
      done = null;
      return taken;
    },
  };
};
