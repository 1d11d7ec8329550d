/** Sounds that cannot become a video. `render.system.test.ts` renders videos. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Voice } from "@realtime-avatar/speech/voices";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { createTestRenderer, SLT, voiceFile } from "../../test/support/render.ts";
import { JOB_TIMING } from "../jobs/run-job.ts";
import { DECODE_LIMITS } from "../sandbox/film/decode-audio.ts";
import { videoLimits } from "../sandbox/film/run.ts";
import { MAX_SOUND_SAMPLES } from "../sandbox/film/tasks.ts";
import { wavFile } from "../sandbox/film/wav.testing.ts";
import type { VideoInput } from "./render.ts";

const without = Bun.which("ffmpeg") === null ? " (skipped: without ffmpeg)" : "";
const base = await fileFolder();
const render = await createTestRenderer(base);
setDefaultTimeout(60_000);
const isLong = Bun.env["LONG"] === "1";
const NO_BYTES = Buffer.alloc(0);

describe("a text", () => {
  const text = (words: string, voice = SLT): Partial<VideoInput> => ({ sound: { kind: "text", text: words, voice } });
  const other: Voice = { ...SLT, id: "operator-1", provider: "openai", providerVoice: "nova" };
  /** A server of voices that a test controls. */
  const withServer = async (respond: () => Response | Promise<Response>, waitMs = 30_000) => {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: respond });
    const provider = { url: server.url.href.replace(/\/$/, ""), apiKey: null, model: "x", sampleRate: 24_000 } as const;
    const timeouts = { waitMs, totalMs: 30_000 };
    const { outcome, folder } = await render({ bytes: NO_BYTES }, text("Hello.", other), {
      speech: { provider },
      timeouts,
    });
    await server.stop(true);
    expect(JSON.stringify(outcome)).not.toContain(String(server.port));
    expect(await readdir(folder)).toEqual(["original"]);
    return outcome;
  };

  test("without a word: failed with what to do, and nothing is left", async () => {
    const { outcome, folder } = await render({ bytes: NO_BYTES }, text("😀 <b></b>"));
    expect(outcome).toMatchObject({ kind: "failed", code: "audio_silent", detail: expect.stringContaining("words") });
    expect(await readdir(folder)).toEqual(["original"]);
  });

  // Flite needs 15 s of processor time for this.
  test.skipIf(!isLong)(
    "of more than 600 s: failed",
    async () => {
      const { outcome } = await render({ bytes: NO_BYTES }, text("7".repeat(5000)));
      expect(outcome).toMatchObject({
        kind: "failed",
        code: "voice_refused",
        detail: expect.stringContaining("600 s"),
      });
    },
    600_000,
  );

  test("in a voice whose server is no longer configured: failed", async () => {
    const { outcome } = await render({ bytes: NO_BYTES }, text("Hello.", other));
    expect(outcome).toMatchObject({ kind: "failed", code: "voice_refused" });
  });

  test.each<[string, () => Response | Promise<Response>, string, string]>([
    ["401", () => new Response("no", { status: 401 }), "failed", "voice_refused"],
    ["429", () => new Response("later", { status: 429 }), "retry", "voice_busy"],
    ["500", () => new Response("oops", { status: 500 }), "retry", "voice_busy"],
    ["a redirect", () => Response.redirect("http://127.0.0.1/", 302), "retry", "voice_malformed"],
    [
      "a page",
      () => new Response("<html></html>", { headers: { "content-type": "text/html" } }),
      "retry",
      "voice_malformed",
    ],
    ["10 MB", () => new Response(new Uint8Array(10_000_000).fill(65)), "retry", "voice_malformed"],
    ["half a sample", () => new Response(new Uint8Array(1001)), "retry", "voice_malformed"],
    ["silence", () => new Response(new Uint8Array(48_000)), "failed", "audio_silent"],
  ])("in the voice of a server that responds with %s: its code", async (_, respond, kind, code) => {
    expect(await withServer(respond)).toMatchObject({ kind, code });
  });

  test("in the voice of a server that does not respond: its code", async () => {
    const silence = Promise.withResolvers<Response>();
    expect(await withServer(() => silence.promise, 100)).toMatchObject({ kind: "retry", code: "voice_timeout" });
  });
});

describe("a sound that cannot be said", () => {
  test.each<[string, Uint8Array, string]>([
    ["silence", wavFile({ data: Buffer.alloc(96_000) }), "audio_silent"],
    ["a WAV file that is cut", voiceFile().subarray(0, 10_000), "audio_malformed"],
    ["a WAV file that claims a gigabyte", voiceFile({ dataBytes: 2 ** 30 }), "audio_malformed"],
    ["a WAV file without channels", voiceFile({ channels: 0, frameBytes: 0 }), "audio_malformed"],
    ["an empty file", Buffer.alloc(0), "audio_malformed"],
    ["601 s", wavFile({ rate: 8000, bits: 8, data: Buffer.alloc(8000 * 601, 77) }), "audio_too_long"],
  ])("%s: failed, and no file is left", async (_, bytes, code) => {
    const { outcome, folder } = await render({ bytes });
    expect(outcome).toMatchObject({ kind: "failed", code, detail: expect.stringMatching(/^[A-Z].*\.$/) });
    expect(await readdir(folder)).toEqual(["original"]);
  });

  test("more than a second longer than the hold: failed with advice", async () => {
    const bytes = wavFile({ rate: 8000, bits: 8, data: Buffer.alloc(8000 * 4, 77) });
    const { outcome, folder } = await render({ bytes, maxSeconds: 2 });
    expect(outcome).toMatchObject({ kind: "failed", code: "audio_malformed", detail: expect.stringContaining("WAV") });
    expect(await readdir(folder)).toEqual(["original"]);
  });

  test("an MP3 file, without ffmpeg: failed with advice", async () => {
    const { outcome } = await render({ bytes: Buffer.from("ID3"), contentType: "audio/mpeg" }, {}, { ffmpeg: null });
    expect(outcome).toMatchObject({
      kind: "failed",
      code: "audio_unsupported",
      detail: expect.stringContaining("WAV"),
    });
  });

  test.skipIf(without !== "")(
    `a file that ffmpeg cannot decode, and one of another type: failed${without}`,
    async () => {
      for (const [bytes, contentType] of [
        [Buffer.from("ID3\x03\0\0\0\0\0\0garbage"), "audio/mpeg"],
        [Buffer.from("fLaC".padEnd(5000, "x")), "audio/flac"],
        [voiceFile(), "audio/ogg"],
      ] as const) {
        const { outcome, folder } = await render({ bytes, contentType });
        expect([contentType, outcome]).toMatchObject([contentType, { kind: "failed", code: "audio_malformed" }]);
        expect(await readdir(folder)).toEqual(["original"]);
      }
    },
  );
});

test("an invalid picture: failed at once with advice, and no file is left", async () => {
  const picture = join(base, "none.webp");
  await copyFile(import.meta.path, picture);
  const { outcome, folder } = await render({ bytes: voiceFile() }, { picture });
  expect(outcome).toMatchObject({
    kind: "failed",
    code: "avatar_unavailable",
    detail: expect.stringContaining("Prepare the avatar again"),
  });
  expect(JSON.stringify(outcome)).not.toContain(base);
  expect(await readdir(folder)).toEqual(["original"]);
});

test("the longest recording, whose children use all their time: within the time of its job", () => {
  const sound = videoLimits({ kind: "sound", source: { kind: "pcm" } });
  const film = { kind: "film", samples: MAX_SOUND_SAMPLES, mesh: null, label: "", isTest: false, seed: 0 } as const;
  const wallMs = DECODE_LIMITS.wallMs + sound.wallMs + videoLimits(film).wallMs;
  expect(wallMs).toBeWithin(JOB_TIMING.maxJobMs, JOB_TIMING.maxVideoMs);
});
