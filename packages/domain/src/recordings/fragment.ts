/**
 * Fragments of recordings. The process of a call records in fragments of about ten seconds, each with all tracks of the call. The service
 * stores a fragment as it is, and apps/worker joins the fragments of a call into MP4 files.
 *
 * A fragment is a head (JSON), its length in four bytes before it (big-endian), and the bytes of all samples after it: track after
 * track, in the order of the head. The process of a call reads untrusted input, so `readFragment` validates every length.
 */
import { type Static, Type } from "@sinclair/typebox";
import { ClosedObject, Count, isValid, OneOf, Text } from "../schema.ts";

/** A process sends a fragment when it has recorded for this long. The first and the last one are shorter. */
export const FRAGMENT_MS = 10_000;
/** Sound is AAC-LC of 48 kHz, mono. Each sample of a track of sound is a frame of 1,024 values. */
export const FRAGMENT_SAMPLE_RATE = 48_000;
export const FRAGMENT_FRAME_SAMPLES = 1024;
/** Maximum size of a fragment. Ten seconds of pictures and two voices have less than half of it. */
export const MAX_FRAGMENT_BYTES = 4 * 1024 * 1024;
/** Maximum size of a head. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Maximum number of samples of a track: twice what ten seconds of either kind have. */
const MAX_SAMPLES = 1024;
/** Maximum size of a sample. */
const MAX_SAMPLE_BYTES = 1024 * 1024;
const LENGTH_BYTES = 4;
/** Greater times are not safe integers when they are added. */
const MAX_TIME = 2 ** 45;

/** The voices in a track of sound. `both`: the person and the avatar, mixed. */
export const SOUND_ROLES = ["both", "user", "avatar"] as const;
export type SoundRole = (typeof SOUND_ROLES)[number];

const Sizes = Type.Array(Count({ minimum: 1, maximum: MAX_SAMPLE_BYTES }), { minItems: 1, maxItems: MAX_SAMPLES });
const startedAt = Count({ maximum: MAX_TIME, description: "When its first sample begins: milliseconds since 1970." });

/** Sound without a gap. */
const SoundTrack = ClosedObject({
  kind: OneOf(["sound"]),
  role: OneOf(SOUND_ROLES),
  started_at: startedAt,
  sizes: Sizes,
});

/** Pictures of the avatar, H.264 in groups: a picture of `keys` needs no other one, and the first picture is one of them. */
const PictureTrack = ClosedObject({
  kind: OneOf(["pictures"]),
  started_at: startedAt,
  /** When each picture is shown, in milliseconds after `started_at`, ascending. */
  times: Type.Array(Count({ maximum: 10 * FRAGMENT_MS }), { minItems: 1, maxItems: MAX_SAMPLES }),
  sizes: Sizes,
  keys: Type.Array(Count({ maximum: MAX_SAMPLES }), { minItems: 1, maxItems: MAX_SAMPLES }),
  /** The parameter sets, in base64, without start codes. */
  sequence: Text({ minLength: 4, maxLength: 1024 }),
  picture: Text({ minLength: 4, maxLength: 1024 }),
});

const Head = ClosedObject({
  format: Count({ minimum: 1, maximum: 1 }),
  sounds: Type.Array(SoundTrack, { minItems: 0, maxItems: 2 }),
  pictures: Type.Array(PictureTrack, { minItems: 0, maxItems: 1 }),
});

/** A track with its samples in place of their sizes. A sample of pictures is one NAL unit, without a start code and without a length. */
type WithSamples<Track> = Omit<Track, "kind" | "sizes"> & { samples: readonly Uint8Array[] };
export type FragmentSound = WithSamples<Static<typeof SoundTrack>>;
export type FragmentPictures = WithSamples<Static<typeof PictureTrack>>;
export type Fragment = { sounds: readonly FragmentSound[]; pictures: FragmentPictures | null };

const sizesOf = (samples: readonly Uint8Array[]): number[] => samples.map(({ length }) => length);

/** The bytes of a fragment. */
export const writeFragment = ({ sounds, pictures }: Fragment): Uint8Array<ArrayBuffer> => {
  const head: Static<typeof Head> = {
    format: 1,
    sounds: sounds.map(({ samples, ...rest }) => ({ kind: "sound", ...rest, sizes: sizesOf(samples) })),
    pictures:
      pictures === null
        ? []
        : [pictures].map(({ samples, ...rest }) => ({ kind: "pictures", ...rest, sizes: sizesOf(samples) })),
  };
  const text = new TextEncoder().encode(JSON.stringify(head));
  const samples = [...sounds, ...(pictures === null ? [] : [pictures])].flatMap((track) => track.samples);
  const bytes = new Uint8Array(samples.reduce((sum, { length }) => sum + length, LENGTH_BYTES + text.length));
  new DataView(bytes.buffer).setUint32(0, text.length);
  bytes.set(text, LENGTH_BYTES);
  let at = LENGTH_BYTES + text.length;
  for (const sample of samples) {
    bytes.set(sample, at);
    at += sample.length;
  }
  return bytes;
};

const readHead = (bytes: Uint8Array): { head: Static<typeof Head>; end: number } | null => {
  if (bytes.length < LENGTH_BYTES || bytes.length > MAX_FRAGMENT_BYTES) return null;
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
  const end = LENGTH_BYTES + length;
  if (length > MAX_HEAD_BYTES || end > bytes.length) return null;
  try {
    const head: unknown = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(LENGTH_BYTES, end)),
    );
    return isValid(Head, head) ? { head, end } : null;
  } catch {
    return null;
  }
};

/** Whether numbers grow from one to the next. */
const areGrowing = (numbers: readonly number[]): boolean =>
  numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0));

const arePicturesInOrder = ({ times, sizes, keys }: Static<typeof PictureTrack>): boolean =>
  times.length === sizes.length &&
  areGrowing(times) &&
  areGrowing(keys) &&
  keys[0] === 0 &&
  (keys.at(-1) ?? 0) < sizes.length;

/** The fragment of `bytes`, whose samples share their memory; null when they are not a valid fragment. */
export const readFragment = (bytes: Uint8Array): Fragment | null => {
  const read = readHead(bytes);
  if (read === null) return null;
  const { head, end } = read;
  const sizes = [...head.sounds, ...head.pictures].flatMap((track) => track.sizes);
  if (end + sizes.reduce((sum, size) => sum + size, 0) !== bytes.length || !head.pictures.every(arePicturesInOrder))
    return null;
  let at = end;
  const take = (size: number): Uint8Array => {
    at += size;
    return bytes.subarray(at - size, at);
  };
  const sounds = head.sounds.map(({ kind: _, sizes, ...rest }) => ({ ...rest, samples: sizes.map(take) }));
  const [pictures = null] = head.pictures.map(({ kind: _, sizes, ...rest }) => ({ ...rest, samples: sizes.map(take) }));
  return sounds.length === 0 && pictures === null ? null : { sounds, pictures };
};
