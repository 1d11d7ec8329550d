/** The sound and the pictures of a recording, as ffmpeg decodes its fragments. */
import type { FragmentSound } from "@realtime-avatar/domain/recordings/fragment";
import type { SentFragment } from "../../test/support/control-plane.ts";

export const ffmpeg = Bun.which("ffmpeg");

const SAMPLE_RATE = 48_000;
const FRAME_SAMPLES = 1024;
/** A decoder puts out a frame of silence first. */
const DELAY_SAMPLES = FRAME_SAMPLES;
const WINDOW_MS = 10;
const WINDOW_SAMPLES = (SAMPLE_RATE * WINDOW_MS) / 1000;

const decode = async (input: Uint8Array, ...options: string[]): Promise<Buffer> => {
  const child = Bun.spawn([ffmpeg ?? "", "-v", "error", ...options, "-"], { stdin: input, stderr: "pipe" });
  const [output, errors] = await Promise.all([new Response(child.stdout).arrayBuffer(), child.stderr.text()]);
  if (errors !== "") throw new Error(errors);
  return Buffer.from(output);
};

/** A frame of AAC with the header of a stream (ADTS). */
const withHeader = (frame: Uint8Array): Uint8Array => {
  const length = frame.length + 7;
  const header = [0xff, 0xf1, 0x4c, 0x40 | (length >> 11), (length >> 3) & 0xff, ((length & 7) << 5) | 0x1f, 0xfc];
  return Uint8Array.of(...header, ...frame);
};

/** The sound of a role from the first fragment on, in tracks without a gap: the begin of each track and its samples. */
export const readSound = async (fragments: readonly SentFragment[], role: FragmentSound["role"]) => {
  const tracks: { startedAt: number; frames: Uint8Array[] }[] = [];
  for (const { sounds } of fragments) {
    const sound = sounds.find((one) => one.role === role);
    if (!sound) continue;
    const last = tracks.at(-1);
    const endsAt = last && last.startedAt + (1000 * last.frames.length * FRAME_SAMPLES) / SAMPLE_RATE;
    if (last && endsAt !== undefined && Math.abs(sound.started_at - endsAt) <= 1) last.frames.push(...sound.samples);
    else tracks.push({ startedAt: sound.started_at, frames: [...sound.samples] });
  }
  return Promise.all(
    tracks.map(async ({ startedAt, frames }) => {
      const stream = Buffer.concat(frames.map(withHeader));
      const bytes = await decode(stream, "-f", "aac", "-i", "-", "-f", "s16le", "-ac", "1", "-ar", "48000");
      const pcm = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1).subarray(DELAY_SAMPLES);
      return { startedAt, pcm, seconds: pcm.length / SAMPLE_RATE };
    }),
  );
};

/**
 * The times of loud sound: the begin and the end of each, in milliseconds since 1970, without pauses of less than 200
 * ms.
 */
export const loudTimes = ({ startedAt, pcm }: { startedAt: number; pcm: Int16Array }): [from: number, to: number][] => {
  const times: [number, number][] = [];
  for (let window = 0; (window + 1) * WINDOW_SAMPLES <= pcm.length; window++) {
    const samples = pcm.subarray(window * WINDOW_SAMPLES, (window + 1) * WINDOW_SAMPLES);
    if (samples.every((value) => Math.abs(value) < 1500)) continue;
    const from = startedAt + window * WINDOW_MS;
    const last = times.at(-1);
    if (last && from - last[1] < 200) last[1] = from + WINDOW_MS;
    else times.push([from, from + WINDOW_MS]);
  }
  return times;
};

/** The pictures of a recording: the time of each, in milliseconds since 1970, and its luma. */
export const readPictures = async (fragments: readonly SentFragment[]) => {
  const tracks = fragments.flatMap(({ pictures }) => (pictures === null ? [] : [pictures]));
  const START = Uint8Array.of(0, 0, 0, 1);
  const units = tracks.flatMap(({ samples, sequence, picture }) => [
    Buffer.from(sequence, "base64"),
    Buffer.from(picture, "base64"),
    ...samples,
  ]);
  const stream = Buffer.concat(units.flatMap((unit) => [START, unit]));
  const bytes = await decode(
    stream,
    "-f",
    "h264",
    "-i",
    "-",
    "-fps_mode",
    "passthrough",
    "-f",
    "rawvideo",
    "-pix_fmt",
    "gray",
  );
  const times = tracks.flatMap((track) => track.times.map((ms) => track.started_at + ms));
  return times.map((at, index) => ({ at, luma: bytes.subarray(index * 512 ** 2, (index + 1) * 512 ** 2) }));
};
