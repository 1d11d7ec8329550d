/** A video in use: played by Chromium, its lips compared with its sound, ten minutes of it, and hostile audio. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ContentType } from "@realtime-avatar/domain/assets/limits";
import { BROWSER, sharedBrowser } from "@realtime-avatar/testing/browser";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { createTestRenderer, rendered } from "../../test/support/render.ts";
import { flac, m4a, mp3, opus } from "../sandbox/corpus/media.testing.ts";
import { tone, wavFile } from "../sandbox/film/wav.testing.ts";
import { SANDBOX_LIMITS } from "../sandbox/limited.ts";

const isLong = Bun.env["LONG"] === "1";
const ffmpeg = Bun.which("ffmpeg");
const without = ffmpeg === null ? " (skipped: without ffmpeg)" : "";
const withoutBrowser = BROWSER === undefined ? " (skipped: without Chromium)" : "";
const base = await fileFolder();
const render = await createTestRenderer(base);
setDefaultTimeout(3_600_000);
/** Pictures of rest before the sound. */
const PICTURES_BEFORE = 8;

type Played = {
  duration: number;
  currentTime: number;
  totalVideoFrames: number;
  soundBytes: number;
};

/** A script for a page with a video: plays it to its end. */
const PLAY = `(async () => {
  const video = document.querySelector("video");
  const happens = (name) =>
    new Promise((resolve, reject) => {
      video.addEventListener(name, resolve, { once: true });
      video.addEventListener("error", () => reject(new Error(video.error.message)), { once: true });
    });
  if (video.readyState < 3) await happens("canplay");
  const { videoWidth, videoHeight, duration } = video;
  const ended = happens("ended");
  await video.play();
  await ended;
  const { totalVideoFrames, corruptedVideoFrames } = video.getVideoPlaybackQuality();
  const support = video.canPlayType('video/mp4; codecs="avc1.42C01F, mp4a.40.2"');
  const { currentTime, webkitAudioDecodedByteCount: soundBytes } = video;
  return { videoWidth, videoHeight, duration, currentTime, totalVideoFrames, corruptedVideoFrames, soundBytes, support };
})()`;

let film = "";
beforeAll(async () => {
  const speech = await readFile(join(REPOSITORY, "packages/face/src/testing/speech.wav"));
  const { outcome } = await render({ bytes: speech });
  // 4.59 s of speech, and 0.72 s of rest.
  const { path, durationMs } = rendered(outcome);
  expect(durationMs).toBeWithin(5200, 5400);
  film = path;
});

test.skipIf(BROWSER === undefined)(
  `a video in Chromium: plays to its end, with pictures and sound${withoutBrowser}`,
  async () => {
    const context = await (await sharedBrowser()).newContext();
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) =>
        url.endsWith("/video.mp4")
          ? new Response(Bun.file(film), { headers: { "content-type": "video/mp4" } })
          : new Response("<!doctype html><video src=video.mp4></video>", { headers: { "content-type": "text/html" } }),
    });
    try {
      const page = await context.newPage();
      await page.goto(server.url.href);
      const played = await page.evaluate<Played>(PLAY);
      expect(played).toMatchObject({ videoWidth: 512, videoHeight: 512, corruptedVideoFrames: 0, support: "probably" });
      expect(played.duration).toBeWithin(5.2, 5.4);
      expect(played.currentTime).toBeCloseTo(played.duration, 1);
      expect(played.totalVideoFrames).toBeGreaterThan(100);
      expect(played.soundBytes).toBeGreaterThan(20_000);
    } finally {
      await context.close();
      await server.stop(true);
    }
  },
);

describe.skipIf(ffmpeg === null)(`the pictures and the sound of a video${without}`, () => {
  const decode = (...format: string[]): Buffer => {
    const command = [ffmpeg ?? "", "-v", "error", "-i", film, ...format, "-"];
    const { stdout, stderr } = Bun.spawnSync(command, { maxBuffer: 2 ** 30 });
    expect(stderr.toString()).toBe("");
    return stdout;
  };
  const PIXELS = 512 ** 2;
  /**
   * The difference of the mouth in each picture from that in the first one. The landmarks of the test give the place of
   * the mouth.
   */
  const mouths = (): number[] => {
    const luma = decode("-map", "0:v", "-fps_mode", "passthrough", "-vf", "format=gray", "-f", "rawvideo");
    return Array.from({ length: luma.length / PIXELS }, (_, picture) => {
      let sum = 0;
      for (let y = 340; y < 420; y++) {
        for (let x = 200; x < 312; x++) {
          sum += Math.abs((luma[picture * PIXELS + y * 512 + x] as number) - (luma[y * 512 + x] as number));
        }
      }
      return sum / (80 * 112);
    });
  };
  /** The loudness while each picture is shown. */
  const loudness = (): number[] => {
    const bytes = decode("-map", "0:a", "-f", "s16le", "-ar", "48000", "-ac", "1");
    const pcm = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
    return Array.from({ length: Math.floor(pcm.length / 1920) }, (_, picture) => {
      const part = pcm.subarray(picture * 1920, (picture + 1) * 1920);
      return Math.log10(1 + Math.sqrt(part.reduce((sum, value) => sum + value ** 2, 0) / part.length));
    });
  };
  const correlation = (a: readonly number[], b: readonly number[]): number => {
    const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
    const [meanA, meanB] = [mean(a), mean(b)];
    const product = (x: readonly number[], y: readonly number[], mx: number, my: number): number =>
      x.reduce((sum, value, index) => sum + (value - mx) * ((y[index] as number) - my), 0);
    return product(a, b, meanA, meanB) / Math.sqrt(product(a, a, meanA, meanA) * product(b, b, meanB, meanB));
  };

  test("lips, compared with the loudness: in step within a picture of 40 ms, still before the sound, and closed at the end", () => {
    const [moves, loud] = [mouths(), loudness()];
    const count = Math.min(moves.length, loud.length);
    // The mouth `lag` pictures later, compared with the present sound.
    const best = [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5]
      .map((lag) => ({
        lag,
        value: correlation(moves.slice(5 + lag, count - 5 + lag), loud.slice(5, count - 5)),
      }))
      .toSorted((a, b) => b.value - a.value)[0];
    expect(best?.value).toBeGreaterThan(0.4);
    expect(Math.abs(best?.lag ?? 9)).toBeLessThanOrEqual(1);
    expect(Math.max(...loud.slice(0, PICTURES_BEFORE - 1))).toBeLessThan(1);
    // The noise of the encoder, and small movements of the head.
    const widest = Math.max(...moves);
    expect(Math.max(...moves.slice(0, PICTURES_BEFORE - 3))).toBeLessThan(widest / 4);
    expect(moves.at(-1)).toBeLessThan(widest / 2);
  });
});

describe.skipIf(ffmpeg === null)(`audio files${without}`, () => {
  test("that are damaged in each part: each ends with an outcome, and no file is left", async () => {
    const random = seededBytes("damage");
    const sources: [Buffer, ContentType<"audio">][] = [
      [await m4a(), "audio/mp4"],
      [await opus(), "audio/ogg"],
      [mp3(), "audio/mpeg"],
      [flac(), "audio/flac"],
      [wavFile({ data: tone(0.2, 48_000, (at) => Math.sin(2000 * at)) }), "audio/wav"],
    ];
    const rounds = isLong ? 20 : 2;
    for (const [bytes, contentType] of sources) {
      for (let round = 0; round < rounds; round++) {
        const damaged = Buffer.from(bytes);
        for (const byte of random(8)) damaged[(byte * 7919 * (round + 1)) % damaged.length] = byte;
        const signal = AbortSignal.timeout(60_000);
        const { outcome, folder } = await render({ bytes: damaged, contentType }, { mesh: null }, {}, { signal });
        expect([contentType, round, outcome.kind]).not.toEqual([contentType, round, "retry"]);
        const left = outcome.kind === "rendered" ? ["original", "video.mp4"] : ["original"];
        expect((await readdir(folder)).toSorted()).toEqual(left);
      }
    }
  });

  test("that refer to another file, or are an endless list: not followed", async () => {
    for (const text of [
      `ffconcat version 1.0\nfile ${join(REPOSITORY, "package.json")}\n`,
      "#EXTM3U\n#EXTINF:10,\n/etc/passwd\n",
    ]) {
      for (const contentType of ["audio/mp4", "audio/ogg", "audio/mpeg", "audio/flac", "audio/aac"] as const) {
        const { outcome } = await render({ bytes: Buffer.from(text), contentType });
        expect([contentType, outcome]).toMatchObject([contentType, { kind: "failed", code: "audio_malformed" }]);
      }
    }
  });
});

test.skipIf(!isLong)("a video of 600 s: within the memory of the sandbox, with a bounded file", async () => {
  const seconds = 600;
  const voice = tone(seconds, 16_000, (at) => 0.3 * Math.sin(700 * at) * Math.sin(9 * at) ** 2);
  let peakBytes = 0;
  let cpuMs = 0;
  const { outcome } = await render(
    { bytes: wavFile({ rate: 16_000, data: voice }) },
    {},
    {
      onEnd: (usage) => {
        peakBytes = Math.max(peakBytes, usage.peakBytes);
        cpuMs += usage.cpuMs;
      },
    },
  );
  const { path, durationMs } = rendered(outcome);
  expect(durationMs).toBe(600_720);
  expect(peakBytes).toBeLessThan(SANDBOX_LIMITS.memoryBytes / 2);
  const { size } = await stat(path);
  expect(size).toBeLessThan(150_000 * seconds);
  process.stdout.write(`${JSON.stringify({ peakBytes, size, cpuSecondsASecond: cpuMs / 1000 / seconds })}\n`);
});
