/** Videos rendered like in the worker, in children that are confined as in production. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, cp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Voice } from "@realtime-avatar/speech/voices";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { bun, REPOSITORY } from "@realtime-avatar/testing/processes";
import { createTestRenderer, rendered, SLT, VOICE, voiceFile } from "../../test/support/render.ts";
import { CHILD_ARGUMENT } from "../sandbox/command.ts";
import { wavFile } from "../sandbox/film/wav.testing.ts";

const [ffprobe, ffmpeg] = [Bun.which("ffprobe"), Bun.which("ffmpeg")];
const without = ffprobe === null || ffmpeg === null ? " (skipped: without ffmpeg)" : "";
const base = await fileFolder();
const render = await createTestRenderer(base);
setDefaultTimeout(180_000);
const NO_BYTES = Buffer.alloc(0);
const isLong = Bun.env["LONG"] === "1";

const digest = async (path: string): Promise<string> =>
  new Bun.CryptoHasher("sha256").update(await Bun.file(path).arrayBuffer()).digest("hex");

describe("a video of a second of sound", () => {
  test("rendered twice: equal bytes, of 1.72 s; of another id: other bytes", async () => {
    const [first, second, other] = [
      await render({ bytes: voiceFile() }),
      await render({ bytes: voiceFile() }),
      await render({ bytes: voiceFile() }, { seed: "vid_2" }),
    ];
    const outcome = rendered(first.outcome);
    expect(outcome).toMatchObject({ durationMs: 1720, warnings: [] });
    expect((await readdir(first.folder)).toSorted()).toEqual(["original", "video.mp4"]);
    expect(await digest(rendered(second.outcome).path)).toBe(await digest(outcome.path));
    expect(await digest(rendered(other.outcome).path)).not.toBe(await digest(outcome.path));
  });

  test.skipIf(without !== "")(
    `of an avatar without a face, and with an invalid mesh: a portrait, and a warning${without}`,
    async () => {
      const mesh = { version: 1, mesh: "A".repeat(3744) };
      for (const input of [{ mesh: null }, { mesh }]) {
        const outcome = rendered((await render({ bytes: voiceFile() }, input)).outcome);
        expect(outcome.warnings).toEqual([expect.stringContaining("loudness")]);
        const probe = Bun.spawnSync([
          ffprobe ?? "",
          "-v",
          "warning",
          "-count_frames",
          "-of",
          "json",
          "-show_streams",
          outcome.path,
        ]);
        expect(probe.stderr.toString()).toBe("");
        const { streams } = JSON.parse(probe.stdout.toString());
        expect(streams).toMatchObject([{ codec_name: "h264", nb_read_frames: "43", level: 31 }, { codec_name: "aac" }]);
      }
    },
  );

  test("of a test key, and without the mark AI: other pictures", async () => {
    const digests = new Set<string>();
    for (const [isTest, label] of [
      [false, "AI"],
      [true, "AI"],
      [false, ""],
    ] as const) {
      digests.add(await digest(rendered((await render({ bytes: voiceFile() }, { isTest }, { label })).outcome).path));
    }
    expect(digests.size).toBe(3);
  });
});

describe("a video of a text", () => {
  const say = (voice: Voice) => ({ sound: { kind: "text", text: "Hello, Paris. How are you?", voice } }) as const;

  test("in a voice of the service, twice: equal bytes, with the length of the speech, and no file is left", async () => {
    const [first, second] = [await render({ bytes: NO_BYTES }, say(SLT)), await render({ bytes: NO_BYTES }, say(SLT))];
    const outcome = rendered(first.outcome);
    expect(outcome.durationMs).toBeWithin(2200, 3600);
    expect(await digest(rendered(second.outcome).path)).toBe(await digest(outcome.path));
    expect((await readdir(first.folder)).toSorted()).toEqual(["original", "video.mp4"]);
  });

  test.skipIf(!isLong)(
    "of 5,000 characters: rendered to its end, six minutes",
    async () => {
      const text = "The quick brown fox jumps over the lazy dog, and then it goes home to its family. "
        .repeat(61)
        .slice(0, 5000);
      const { outcome } = await render({ bytes: NO_BYTES }, { sound: { kind: "text", text, voice: SLT } });
      expect(rendered(outcome).durationMs).toBeWithin(250_000, 450_000);
    },
    3_600_000,
  );

  test("in the voice of a server: the sound that the server sends", async () => {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(VOICE) });
    const provider = { url: `${server.url.href}v1`, apiKey: null, model: "x", sampleRate: 24_000 } as const;
    const voice = { ...SLT, provider: "openai" } as const;
    const { outcome } = await render({ bytes: NO_BYTES }, say(voice), { speech: { provider } });
    await server.stop(true);
    expect(rendered(outcome).durationMs).toBe(1720);
  });
});

test.skipIf(without !== "").each([
  ["mp3", "audio/mpeg", "libmp3lame"],
  ["m4a", "audio/mp4", "aac"],
  ["ogg", "audio/ogg", "libvorbis"],
  ["flac", "audio/flac", "flac"],
] as const)(
  `the voice as %s: rendered, with the length of the sound${without}`,
  async (extension, contentType, codec) => {
    const [wav, path] = [join(base, `${extension}.wav`), join(base, `voice.${extension}`)];
    await writeFile(wav, voiceFile());
    expect(Bun.spawnSync([ffmpeg ?? "", "-v", "error", "-i", wav, "-c:a", codec, path]).stderr.toString()).toBe("");
    const { outcome } = await render({ bytes: await Bun.file(path).bytes(), contentType });
    // MP3 has silence at its end.
    expect(rendered(outcome).durationMs).toBeWithin(1720, 1841);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  "a program in a folder of root that no other user can enter: renders a text",
  async () => {
    const [bundle = ""] = bun("apps/worker/src/main.ts").slice(-1);
    // Children find packages in the folders above it.
    const closed = join(REPOSITORY, "node_modules/.cache", `closed-${process.pid}`);
    try {
      await cp(dirname(bundle), closed, { recursive: true });
      await chmod(closed, 0o700);
      const command = (task: string) => [process.execPath, join(closed, basename(bundle)), CHILD_ARGUMENT, task];
      const sound = { kind: "text", text: "Hello.", voice: SLT } as const;
      rendered((await render({ bytes: NO_BYTES }, { sound }, { command })).outcome);
    } finally {
      await rm(closed, { recursive: true, force: true });
    }
  },
);

describe("an aborted rendering", () => {
  const long = wavFile({ rate: 24_000, data: Buffer.concat(Array.from({ length: 60 }, () => VOICE)) });

  test("in the middle: retry, its children end, and no file is left", async () => {
    const controller = new AbortController();
    const shares: number[] = [];
    const before = await readdir(tmpdir());
    const onProgress = (share: number) => {
      shares.push(share);
      controller.abort();
    };
    const { outcome, folder } = await render({ bytes: long }, {}, {}, { signal: controller.signal, onProgress });
    expect(outcome).toMatchObject({ kind: "retry", code: "internal" });
    expect(shares[0]).toBeWithin(0.0001, 1);
    expect(await readdir(folder)).toEqual(["original"]);
    expect(
      (await readdir(tmpdir())).filter((name) => name.startsWith("realtime-avatar-sandbox-") && !before.includes(name)),
    ).toEqual([]);
  });

  test("before it begins: retry", async () => {
    const { outcome } = await render({ bytes: voiceFile() }, {}, {}, { signal: AbortSignal.abort() });
    expect(outcome).toMatchObject({ kind: "retry" });
  });
});
