/**
 * Benchmark of videos: `bun bench/videos/bench.ts [--seconds 10,60]`. It renders a video of each length in the sandbox,
 * as the worker does, and prints the processor time of its children and their memory. Then it prints the cost of each
 * part in one warm process: seconds of processor time for a second of video.
 */
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { wavFile } from "../../apps/worker/src/sandbox/film/wav.testing.ts";
import { createRenderVideo } from "../../apps/worker/src/videos/render.ts";
import { preparedPicture } from "../../apps/worker/test/support/prepared-picture.ts";
import { createMarks } from "../../packages/face/src/marks.ts";
import { createSpeaker } from "../../packages/face/src/speaker.ts";
import { openTestFace } from "../../packages/face/src/testing/photo-testing.ts";
import { readSpeech } from "../../packages/face/src/testing/speech-testing.ts";
import { createAacEncoder } from "../../packages/video/src/aac/encoder.ts";
import { openVideoEncoder } from "../../packages/video/src/h264/encoder.ts";
import { QUANTIZER } from "../../packages/video/src/h264/rate.ts";
import { print } from "../progress.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "10,60" } } });
const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-bench-"));
const speech = await readSpeech();

/** Speech of this length, repeated from a shorter one. */
const speechOf = (seconds: number): Int16Array =>
  Int16Array.from({ length: 48_000 * seconds }, (_, index) => speech[index % speech.length] as number);

const renderVideo = async (seconds: number): Promise<void> => {
  const job = join(folder, `video-${seconds}`);
  await mkdir(job);
  const path = join(job, "original");
  await Bun.write(path, wavFile({ data: Buffer.from(speechOf(seconds).buffer) }));
  let [cpuMs, peakBytes] = [0, 0];
  const render = createRenderVideo({
    log: { warn: print } as never,
    speech: { provider: null },
    onEnd: (usage) => {
      cpuMs += usage.cpuMs;
      peakBytes = Math.max(peakBytes, usage.peakBytes);
    },
  });
  const magic = { kind: "audio", contentType: "audio/wav" } as const;
  const startedAt = performance.now();
  const outcome = await render(
    { ...prepared, sound: { kind: "file", path, magic, maxSeconds: 600 }, isTest: false, seed: "vid_1", folder: job },
    { signal: new AbortController().signal, onProgress: () => {} },
  );
  if (outcome.kind !== "rendered") throw new Error(JSON.stringify(outcome));
  const length = outcome.durationMs / 1000;
  const kilobits = (8 * (await stat(outcome.path)).size) / 1000 / length;
  print(
    `${length.toFixed(2)} s: ${(cpuMs / 1000 / length).toFixed(3)} s of processor time a second of video, ` +
      `${((performance.now() - startedAt) / 1000 / length).toFixed(2)} s by the clock, ` +
      `${Math.round(peakBytes / 2 ** 20)} MiB, ${Math.round(kilobits)} kbit/s`,
  );
};

/** Prints the parts of a video, each in seconds of processor time a second of video. */
const measureParts = async (): Promise<void> => {
  const used = new Map<string, number>();
  const timed = <Result>(name: string, work: () => Result): Result => {
    const before = process.cpuUsage();
    const result = work();
    const { user, system } = process.cpuUsage(before);
    used.set(name, (used.get(name) ?? 0) + (user + system) / 1e6);
    return result;
  };
  const face = await openTestFace("closed");
  const drawMarks = createMarks({ label: "AI", isTest: false });
  const [encoder, aac] = [await openVideoEncoder(), createAacEncoder()];
  const [seconds, rounds] = [4, 6];
  const picture = new Uint8Array(1.5 * 512 ** 2);
  for (let round = 0; round < rounds; round++) {
    // The first rounds are a warm-up, in which the code is compiled.
    if (round === 2) used.clear();
    const speaker = createSpeaker(face, { seed: round });
    const group = await encoder.begin(QUANTIZER);
    timed("lips from the sound", () => speaker.hear(speech, 0, 0));
    for (let index = 0; index < 25 * seconds; index++) {
      timed("pictures", () => speaker.picture(40 * index, picture));
      timed("marks", () => drawMarks(picture));
      timed("H.264", () => group.add(picture));
    }
    timed("H.264", () => group.end());
    timed("AAC", () => {
      for (let at = 0; at < 48_000 * seconds - 1024; at += 1024) aac.encode(speech.subarray(at, at + 1024));
    });
  }
  for (const [name, all] of used) print(`${name}: ${(all / seconds / (rounds - 2)).toFixed(4)}`);
};

const prepared = await preparedPicture(join(folder, "picture.webp"));
try {
  print(`${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}`);
  for (const seconds of (values.seconds ?? "").split(",")) await renderVideo(Number(seconds));
  await measureParts();
} finally {
  await rm(folder, { recursive: true });
}
process.exit(0);
