/** Fragments as the process of a call sends them, short ones, with sounds and pictures that a test recognizes. */
import type { Fragment, FragmentPictures, FragmentSound, SoundRole } from "@realtime-avatar/domain/recordings/fragment";
import { AAC_FRAME_SAMPLES, createAacEncoder } from "@realtime-avatar/video/aac/encoder";
import { openVideoEncoder } from "@realtime-avatar/video/h264/encoder";
import { QUANTIZER } from "@realtime-avatar/video/h264/rate";

const SAMPLE_RATE = 48_000;
const PICTURE_LENGTH = 1.5 * 512 ** 2;
/** The frequency of each voice, in hertz. */
export const VOICES: Record<SoundRole, number> = { both: 600, user: 1000, avatar: 1500 };

/** A steady sound of a voice, in 16-bit PCM of 48 kHz. */
export const voice = (role: SoundRole, samples: number, from = 0): Int16Array =>
  Int16Array.from(
    { length: samples },
    (_, at) => 8000 * Math.sin((2 * Math.PI * VOICES[role] * (from + at)) / SAMPLE_RATE),
  );

/** A recorder of a process: its encoder goes on from one track to the next. */
export const createTestRecorder = (role: SoundRole) => {
  const encoder = createAacEncoder();
  let frames = 0;
  return (startedAt: number, count: number): FragmentSound => {
    const samples = Array.from({ length: count }, () =>
      encoder.encode(voice(role, AAC_FRAME_SAMPLES, AAC_FRAME_SAMPLES * frames++)),
    );
    return { role, started_at: startedAt, samples };
  };
};

/** Grey pictures, one of each luma, that are shown at `times`. */
export const pictureTrack = async (
  startedAt: number,
  times: readonly number[],
  lumas: readonly number[],
): Promise<FragmentPictures> => {
  const group = await (await openVideoEncoder()).begin(QUANTIZER);
  for (const luma of lumas) {
    const picture = new Uint8Array(PICTURE_LENGTH).fill(128);
    picture.fill(luma, 0, 512 ** 2);
    group.add(picture);
  }
  const { units, sequence, picture } = group.end();
  return {
    started_at: startedAt,
    times: [...times],
    keys: [0],
    sequence: Buffer.from(sequence).toString("base64"),
    picture: Buffer.from(picture).toString("base64"),
    samples: units,
  };
};

/** Reads fragments one after another, as from a store. */
export async function* readOneByOne(fragments: readonly Fragment[]): AsyncGenerator<Fragment> {
  yield* fragments;
}
