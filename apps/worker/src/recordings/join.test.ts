/** Files of recordings, as ffmpeg reads them. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Fragment, SoundRole } from "@realtime-avatar/domain/recordings/fragment";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { createTestRecorder, pictureTrack, readOneByOne, VOICES } from "./fragments.testing.ts";
import { createGap } from "./gap.ts";
import { type FileToJoin, joinFragments } from "./join.ts";
import { createJoinedFile, type JoinedMedia } from "./joined-file.ts";

setDefaultTimeout(60_000);
const ffmpeg = Bun.which("ffmpeg");
const ffprobe = Bun.which("ffprobe");
const reason = ffmpeg === null || ffprobe === null ? " (skipped: without ffmpeg)" : "";
const base = await fileFolder();
const START = 1_800_000_000_000;
const SAMPLE_RATE = 48_000;
const FRAME_MS = 1024 / 48;
/** Frames of a fragment of a test: 1.024 s. */
const FRAMES = 48;
const FRAGMENT_MS = FRAMES * FRAME_MS;
let count = 0;

const run = async (...command: (string | null)[]): Promise<Buffer> => {
  const child = Bun.spawn(
    command.map((word) => word ?? ""),
    { stderr: "pipe" },
  );
  const [output, errors] = await Promise.all([new Response(child.stdout).arrayBuffer(), child.stderr.text()]);
  expect(errors).toBe("");
  return Buffer.from(output);
};

type Joined = { path: string; media: JoinedMedia };
const joinAll = async (
  fragments: readonly Fragment[],
  kinds: readonly Omit<FileToJoin, "path">[],
): Promise<Joined[]> => {
  const files = kinds.map((kind) => ({ ...kind, path: join(base, `${count++}.mp4`) }));
  const media = await joinFragments(readOneByOne(fragments), files);
  return files.map(({ path }, index) => {
    const found = media[index];
    if (!found) throw new Error("The file has no media.");
    return { path, media: found };
  });
};
const joinOne = async (
  fragments: readonly Fragment[],
  role: SoundRole = "both",
  hasPictures = false,
): Promise<Joined> => {
  const [joined] = await joinAll(fragments, [{ role, hasPictures }]);
  if (joined === undefined) throw new Error("There is no file.");
  return joined;
};

type Probe = {
  streams: { codec_name: string; start_time: string; duration: string; width?: number; sample_rate?: string }[];
  packets: { codec_type: string; pts_time: string; flags: string }[];
};
const probe = async (path: string): Promise<Probe> => {
  const entries = "stream=codec_name,start_time,duration,width,sample_rate,channels:packet=codec_type,pts_time,flags";
  return JSON.parse((await run(ffprobe, "-v", "warning", "-of", "json", "-show_entries", entries, path)).toString());
};
/** When each picture is shown, in milliseconds. */
const pictureTimes = async (path: string): Promise<number[]> =>
  (await probe(path)).packets
    .filter(({ codec_type }) => codec_type === "video")
    .map(({ pts_time }) => Math.round(1000 * Number(pts_time)));

const decodeSound = async (path: string): Promise<Int16Array> => {
  const bytes = await run(ffmpeg, "-v", "error", "-i", path, "-map", "0:a", "-f", "s16le", "-ac", "1", "-");
  return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
};
/** The mean and the greatest luma of each picture. */
const decodeLumas = async (path: string): Promise<{ mean: number; most: number }[]> => {
  const options = ["-map", "0:v", "-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-f", "rawvideo", "-"];
  const bytes = await run(ffmpeg, "-v", "error", "-i", path, ...options);
  const length = 1.5 * 512 ** 2;
  return Array.from({ length: bytes.length / length }, (_, index) => {
    const luma = bytes.subarray(index * length, index * length + 512 ** 2);
    return { mean: luma.reduce((sum, value) => sum + value, 0) / 512 ** 2, most: Math.max(...luma) };
  });
};
/** How loud a frequency is in a part of a sound, from 0 to full scale. */
const loudness = (pcm: Int16Array, hertz: number, fromMs: number, toMs: number): number => {
  const [from, to] = [Math.round((fromMs * SAMPLE_RATE) / 1000), Math.round((toMs * SAMPLE_RATE) / 1000)];
  let [real, imaginary] = [0, 0];
  for (let at = from; at < to; at++) {
    const angle = (2 * Math.PI * hertz * at) / SAMPLE_RATE;
    real += (pcm[at] ?? 0) * Math.cos(angle);
    imaginary += (pcm[at] ?? 0) * Math.sin(angle);
  }
  return (2 * Math.hypot(real, imaginary)) / (to - from);
};

const sounds = (starts: readonly number[]): Fragment[] => {
  const record = createTestRecorder("both");
  return starts.map((start) => ({ sounds: [record(Math.round(START + start), FRAMES)], pictures: null }));
};

describe.skipIf(reason !== "")(`a recording of sound${reason}`, () => {
  test("fragments one behind the other: AAC without pictures, heard without a break", async () => {
    const { path, media } = await joinOne(sounds([0, FRAGMENT_MS, 2 * FRAGMENT_MS]));
    const durationMs = Math.round((3 * FRAMES - 1) * FRAME_MS);
    expect(media).toEqual({
      ...{ sizeBytes: (await readFile(path)).length, durationMs },
      ...{ mediaStartedAt: START, mediaEndedAt: START + Math.round(3 * FRAGMENT_MS) },
    });
    const { streams } = await probe(path);
    expect(streams).toMatchObject([{ codec_name: "aac", sample_rate: "48000", start_time: "0.000000" }]);
    expect(Number(streams[0]?.duration)).toBeCloseTo(durationMs / 1000, 2);
    const pcm = await decodeSound(path);
    for (let at = 0; at < durationMs - 50; at += 50) {
      expect([at, loudness(pcm, VOICES.both, at, at + 50) > 7500]).toEqual([at, true]);
    }
  });

  test("a fragment 500 ms late: appended without a gap", async () => {
    const { media, path } = await joinOne(sounds([0, FRAGMENT_MS + 500]));
    expect(media.durationMs).toBe(Math.round((2 * FRAMES - 1) * FRAME_MS));
    expect(media.mediaEndedAt).toBe(Math.round(START + 2 * FRAGMENT_MS + 500));
    expect((await decodeSound(path)).length).toBeGreaterThan(48 * media.durationMs - 1100);
  });

  test("a fragment 2 s late: silence for that time, with a quiet tone at its beginning and its end", async () => {
    const { media, path } = await joinOne(sounds([0, FRAGMENT_MS + 2000]));
    expect(media.durationMs).toBeWithin(4000, 4050);
    const pcm = await decodeSound(path);
    const loud = (hertz: number, fromMs: number, toMs: number): number =>
      loudness(pcm, hertz, FRAGMENT_MS + fromMs, FRAGMENT_MS + toMs);
    expect([loud(VOICES.both, -125, -25) > 7000, loud(VOICES.both, 2050, 2150) > 7000]).toEqual([true, true]);
    for (const [from, to] of [
      [60, 160],
      [1840, 1940],
    ] as const) {
      expect(loud(440, from, to)).toBeWithin(700, 2000);
      expect(loud(VOICES.both, from, to)).toBeLessThan(100);
    }
    expect(Math.max(...pcm.subarray(48 * (FRAGMENT_MS + 300), 48 * (FRAGMENT_MS + 1700)))).toBeLessThan(5);
  });

  test("a person and an avatar: two files of one reading, each with one voice", async () => {
    const [user, avatar] = [createTestRecorder("user"), createTestRecorder("avatar")];
    const fragments = [0, 1].map((index) => {
      const at = Math.round(START + index * FRAGMENT_MS);
      return { sounds: [user(at, FRAMES), avatar(at + 7, FRAMES)], pictures: null };
    });
    const joined = await joinAll(fragments, [
      { role: "user", hasPictures: false },
      { role: "avatar", hasPictures: true },
    ]);
    expect(joined.map(({ media }) => media.mediaStartedAt)).toEqual([START, START + 7]);
    const [heard, other] = await Promise.all(joined.map(({ path }) => decodeSound(path)));
    const voices = [heard, other].map((pcm) =>
      [VOICES.user, VOICES.avatar].map((hertz) => loudness(pcm ?? new Int16Array(0), hertz, 500, 1500) > 1000),
    );
    expect(voices).toEqual([
      [true, false],
      [false, true],
    ]);
  });
});

describe.skipIf(reason !== "")(`a recording with pictures${reason}`, () => {
  /** A fragment whose pictures begin `late` milliseconds after its sound. */
  const fragmentOf = async (
    record: ReturnType<typeof createTestRecorder>,
    start: number,
    [times, lumas]: readonly [readonly number[], readonly number[]],
    late = 0,
  ): Promise<Fragment> => {
    const at = Math.round(START + start);
    return { sounds: [record(at, FRAMES)], pictures: await pictureTrack(at + late, times, lumas) };
  };
  const TIMES = [0, 40, 95, 300, 800];
  const LUMAS = [40, 80, 120, 160, 200];

  test("pictures at uneven times: H.264, each shown at its time, until the end of the sound", async () => {
    const record = createTestRecorder("both");
    const fragments = [
      await fragmentOf(record, 0, [TIMES, LUMAS], 30),
      await fragmentOf(record, FRAGMENT_MS, [TIMES, LUMAS.toReversed()], 0),
    ];
    const { path, media } = await joinOne(fragments, "both", true);
    const { streams, packets } = await probe(path);
    expect(streams.map(({ codec_name, width }) => [codec_name, width])).toEqual([
      ["h264", 512],
      ["aac", undefined],
    ]);
    for (const { duration } of streams) expect(Number(duration)).toBeCloseTo(media.durationMs / 1000, 2);
    const shown = await pictureTimes(path);
    expect(shown).toEqual([0, 70, 125, 330, 830, ...TIMES.map((time) => 1024 + time)]);
    expect(packets.filter(({ flags, codec_type }) => codec_type === "video" && flags.startsWith("K"))).toHaveLength(2);
    for (const [index, { mean }] of (await decodeLumas(path)).entries()) {
      expect(Math.abs(mean - ([...LUMAS, ...LUMAS.toReversed()][index] ?? 0))).toBeLessThan(4);
    }
  });

  test("a gap of 3 s: the still picture for that time, and pictures beside their sound after it", async () => {
    const record = createTestRecorder("both");
    const fragments = [
      await fragmentOf(record, 0, [TIMES, LUMAS]),
      await fragmentOf(record, FRAGMENT_MS + 3000, [TIMES, LUMAS]),
    ];
    const { path } = await joinOne(fragments, "both", true);
    const times = await pictureTimes(path);
    expect(times.slice(5, 6)).toEqual([1024]);
    expect(times[6]).toBeWithin(4012, 4036);
    expect(times.slice(6)).toEqual(TIMES.map((time) => (times[6] ?? 0) + time));
    const still = (await decodeLumas(path))[5];
    expect(still?.mean).toBeWithin(16, 30);
    expect(still?.most).toBeGreaterThan(200);
  });

  test("a fragment without pictures between others, or at the end: the still picture; without sound: silence", async () => {
    const record = createTestRecorder("both");
    const withoutSound = { sounds: [], pictures: await pictureTrack(START + 4 * 1024, TIMES, LUMAS) };
    const fragments = [
      ...[{ sounds: [record(START, FRAMES)], pictures: null }],
      await fragmentOf(record, 1024, [TIMES, LUMAS]),
      ...[{ sounds: [record(START + 2048, FRAMES)], pictures: null }],
      await fragmentOf(record, 3072, [TIMES, LUMAS]),
      ...[withoutSound, { sounds: [record(START + 5 * 1024, FRAMES)], pictures: null }],
    ];
    const { path } = await joinOne(fragments, "both", true);
    const isStill = (await decodeLumas(path)).map(({ mean, most }) => mean < 30 && most > 200);
    const others = new Array<boolean>(5).fill(false);
    expect(isStill).toEqual([true, ...others, true, ...others, ...others, true]);
    const [first, , , , , , still] = await pictureTimes(path);
    expect([first, still]).toEqual([0, 2048]);
    const pcm = await decodeSound(path);
    expect(loudness(pcm, VOICES.both, 4200, 4800)).toBeLessThan(50);
    expect(loudness(pcm, VOICES.both, 5300, 5700)).toBeGreaterThan(7000);
  });

  test("a fragment that overlaps the one before: cut where that one ends, with pictures beside its sound", async () => {
    const record = createTestRecorder("both");
    const fragments = [await fragmentOf(record, 0, [TIMES, LUMAS]), await fragmentOf(record, 512, [TIMES, LUMAS])];
    const { path, media } = await joinOne(fragments, "both", true);
    expect(media).toMatchObject({ durationMs: Math.round((1.5 * FRAMES - 1) * FRAME_MS), mediaEndedAt: START + 1536 });
    // The first pictures of the second fragment, which lie before the seam, are shown for a moment.
    expect(await pictureTimes(path)).toEqual([...TIMES, 801, 802, 803, 812, 1312]);
  });

  test("pictures with parameter sets that the encoder does not write: left out, the sound stays", async () => {
    const record = createTestRecorder("both");
    const good = await fragmentOf(record, 0, [TIMES, LUMAS]);
    const other = await fragmentOf(record, 1024, [TIMES, LUMAS]);
    const damaged = { ...other, pictures: other.pictures && { ...other.pictures, sequence: "Z00AFg==" } };
    const { path, media } = await joinOne([good, damaged], "both", true);
    expect(await pictureTimes(path)).toEqual([...TIMES, 1024]);
    expect(media.durationMs).toBe(Math.round((2 * FRAMES - 1) * FRAME_MS));
  });

  test("no picture at all: a file of sound alone", async () => {
    const { path } = await joinOne(sounds([0]), "both", true);
    expect((await probe(path)).streams.map(({ codec_name }) => codec_name)).toEqual(["aac"]);
  });
});

describe("impossible times", () => {
  test("a fragment within the one before: left out; one that begins more than two seconds before its end: whole", async () => {
    const file = createJoinedFile({ role: "both", hasPictures: false, gap: await createGap(), write: () => {} });
    const record = createTestRecorder("both");
    const tracks = [record(START, 3 * FRAMES), record(START + 2048, FRAMES), record(START + 500, FRAMES)];
    for (const track of tracks) for (const _ of file.add({ sounds: [track], pictures: null }));
    expect(file.finish()?.durationMs).toBe(Math.round((4 * FRAMES - 1) * FRAME_MS));
  });

  test("a clock that jumps by a thousand years: the file ends with the longest call", async () => {
    let bytes = 0;
    const write = (part: Uint8Array): void => {
      bytes += part.length;
    };
    const file = createJoinedFile({ role: "both", hasPictures: true, gap: await createGap(), write });
    for (const fragment of sounds([0, 2 ** 44, 0, 2 ** 44])) for (const _ of file.add(fragment));
    const dayMs = 24 * 3_600_000;
    expect(file.finish()?.durationMs).toBeWithin(dayMs, dayMs + 2000);
    expect(bytes).toBeLessThan(100_000_000);
  });

  test("a gap of 20 hours: as long in the file, at less than 2 MB an hour, written in steps", async () => {
    const hours = 20;
    let [bytes, most] = [0, 0];
    const write = (part: Uint8Array): void => {
      bytes += part.length;
    };
    const file = createJoinedFile({ role: "both", hasPictures: false, gap: await createGap(), write });
    for (const fragment of sounds([0, hours * 3_600_000])) {
      let before = bytes;
      for (const _ of file.add(fragment)) {
        most = Math.max(most, bytes - before);
        before = bytes;
      }
    }
    expect(file.finish()?.durationMs).toBeWithin(hours * 3_600_000, hours * 3_600_000 + 2000);
    expect(most).toBeLessThan(100_000);
    expect(bytes).toBeLessThan(hours * 2_000_000);
  });

  test("no fragment, or none with the voice: no file", async () => {
    const file = () => ({ path: join(base, `${count++}.mp4`), role: "user" as const, hasPictures: true });
    expect(await joinFragments(readOneByOne([]), [file()])).toEqual([null]);
    expect(await joinFragments(readOneByOne(sounds([0])), [file(), file()])).toEqual([null, null]);
  });
});
