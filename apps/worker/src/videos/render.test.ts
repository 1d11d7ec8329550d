/** Sounds of which no video can be made. `render.system.test.ts` renders videos. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { createTestRenderer, voiceFile } from "../../test/support/render.ts";
import { wavFile } from "../sandbox/film/wav.testing.ts";

setDefaultTimeout(60_000);
const without = Bun.which("ffmpeg") === null ? " (skipped: without ffmpeg)" : "";
const base = await fileFolder();
const render = await createTestRenderer(base);

describe("a sound that cannot be said", () => {
  test.each<[string, Uint8Array, string]>([
    ["silence", wavFile({ data: Buffer.alloc(96_000) }), "audio_silent"],
    ["a WAV file that is cut", voiceFile().subarray(0, 10_000), "audio_malformed"],
    ["a WAV file that claims a gigabyte", voiceFile({ dataBytes: 2 ** 30 }), "audio_malformed"],
    ["a WAV file without channels", voiceFile({ channels: 0, frameBytes: 0 }), "audio_malformed"],
    ["an empty file", Buffer.alloc(0), "audio_malformed"],
    ["601 s", wavFile({ rate: 8000, bits: 8, data: Buffer.alloc(8000 * 601, 77) }), "audio_too_long"],
  ])("%s: failed, and nothing is left", async (_, bytes, code) => {
    const { outcome, folder } = await render({ bytes });
    expect(outcome).toMatchObject({ kind: "failed", code, detail: expect.stringMatching(/^[A-Z].*\.$/) });
    expect(await readdir(folder)).toEqual(["original"]);
  });

  test("an MP3 file, without ffmpeg: failed with what to do", async () => {
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

test("a picture that is none: failed after its child has ended, and no path or byte of it is told", async () => {
  const picture = join(base, "none.webp");
  await copyFile(import.meta.path, picture);
  const { outcome, folder } = await render({ bytes: voiceFile() }, { picture });
  expect(outcome.kind).not.toBe("rendered");
  expect(JSON.stringify(outcome)).not.toContain(base);
  expect(existsSync(join(folder, "video.mp4"))).toBe(false);
});
