import { describe, expect, test } from "bun:test";
import { contentTypeOf, type Magic } from "@realtime-avatar/domain/assets/magic";
import { BufferSource } from "mediabunny";
import * as media from "../corpus/media.testing.ts";
import { inspectMedia } from "./media.ts";

/** Inspects a file as what its first bytes say that it is. */
const inspect = (file: Buffer, magic: Magic | null = contentTypeOf(file)) => {
  if (!magic || magic.kind === "image") throw new Error("the file is neither a video nor audio");
  return inspectMedia(new BufferSource(file), magic);
};

describe("accepted video and audio", () => {
  test.each([
    [{ container: "mp4" }, { width: 640, height: 360, seconds: 2, framesPerSecond: 25, codec: "avc" }],
    [{ container: "mov" }, { codec: "avc" }],
    [{ container: "webm" }, { codec: "vp9", seconds: 2 }],
    [{ codec: "vp9" }, { codec: "vp9" }],
    [{ rotation: 90 }, { width: 360, height: 640 }],
    // Each limit, from the inside.
    [{ width: 1920, height: 1080 }, {}],
    [{ width: 1080, height: 1920 }, {}],
    [
      { width: 1920, height: 1080, rotation: 270 },
      { width: 1080, height: 1920 },
    ],
    [{ seconds: 1 }, { seconds: 1 }],
    [{ seconds: 120 }, { seconds: 120 }],
    [{ framesPerSecond: 60 }, { framesPerSecond: 60 }],
  ] as const)("a video, with %j: accepted", async (options, facts) => {
    expect(await inspect(await media.video(options))).toMatchObject({ kind: "accepted", ...facts });
  });

  test.each([
    ["m4a", media.m4a, "aac", 48_000],
    ["opus", media.opus, "opus", 48_000],
    ["wav", async () => media.wav(), "pcm-s16", 8000],
    ["mp3", async () => media.mp3(), "mp3", 44_100],
    ["adts", async () => media.adts(), "aac", 44_100],
    ["flac", async () => media.flac(), "flac", 44_100],
  ] as const)("audio, as %s: accepted", async (_, file, codec, sampleRate) => {
    const report = await inspect(await file());
    expect(report).toMatchObject({ kind: "accepted", codec, sampleRate });
    if (report.kind === "accepted") expect(report.seconds).toBeWithin(0.5, 1.5);
  });
});

describe("refused video and audio", () => {
  test.each([
    [
      { codec: "av1" },
      "codec_not_allowed",
      "The codec is av1; allowed are H.264 and VP9. Convert the video to MP4 with H.264.",
    ],
    [
      { codec: "vp8", container: "webm" },
      "codec_not_allowed",
      "The codec is vp8; allowed are H.264 and VP9. Convert the video to MP4 with H.264.",
    ],
    [
      { width: 1922, height: 1080 },
      "resolution_too_high",
      "The video has 1922 x 1080 pixels; the maximum is 1920 x 1080.",
    ],
    [
      { width: 1920, height: 1082 },
      "resolution_too_high",
      "The video has 1920 x 1082 pixels; the maximum is 1920 x 1080.",
    ],
    [
      { width: 1200, height: 1200 },
      "resolution_too_high",
      "The video has 1200 x 1200 pixels; the maximum is 1920 x 1080.",
    ],
    [{ seconds: 0.96 }, "too_short", "The video lasts 0.96 s; the minimum is 1 s."],
    [{ seconds: 120.04 }, "too_long", "The video lasts 120.04 s; the maximum is 120 s."],
    [{ framesPerSecond: 61 }, "frame_rate_too_high", "The video has 61 frames per second; the maximum is 60."],
  ] as const)("a video, with %j: refused", async (options, code, detail) => {
    expect(await inspect(await media.video(options))).toMatchObject({ kind: "refused", code, detail });
  });

  test("a video without a video track, and audio with one: refused", async () => {
    expect(await inspect(await media.aac())).toMatchObject({ kind: "refused", code: "no_video_track" });
    const file = await media.video();
    file.write("M4A ", 8, "latin1");
    expect(await inspect(file)).toMatchObject({ kind: "refused", code: "no_audio_track" });
  });

  test("a file, of another container than its first bytes: refused", async () => {
    const [mp4, webm] = [await media.video(), await media.video({ container: "webm" })];
    const asMp4 = { kind: "video", contentType: "video/mp4" } as const;
    const asWebm = { kind: "video", contentType: "video/webm" } as const;
    for (const [file, magic] of [
      [webm, asMp4],
      [mp4, asWebm],
      [Buffer.from("#EXTM3U\n#EXTINF:1,\nhttps://files.example.com/1.ts\n"), asMp4],
    ] as const) {
      expect(await inspect(file, magic)).toMatchObject({ kind: "refused", code: "not_decodable" });
    }
  });

  test("a video, cut at its end: refused", async () => {
    const file = await media.video();
    for (const length of [0, 16, 100, 600, file.length - 1000, file.length - 1]) {
      const report = await inspect(file.subarray(0, length), { kind: "video", contentType: "video/mp4" });
      expect([length, report.kind]).toEqual([length, "refused"]);
    }
  });

  test("audio, without samples: refused", async () => {
    expect((await inspect(media.wav(0))).kind).toBe("refused");
    expect((await inspect(media.flac(0))).kind).toBe("refused");
  });
});
