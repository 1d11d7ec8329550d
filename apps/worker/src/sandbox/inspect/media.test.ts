import { describe, expect, test } from "bun:test";
import { detectContentType, type Magic } from "@realtime-avatar/domain/assets/magic";
import * as media from "../corpus/media.testing.ts";
import { inspectMedia } from "./media.ts";

/** Inspects a file as the type of its first bytes. */
const inspect = (file: Buffer, magic: Magic | null = detectContentType(file)) => {
  if (!magic || magic.kind === "image") throw new Error("the file is neither a video nor audio");
  return inspectMedia({ read: (start, end) => file.subarray(start, end), size: file.length }, magic);
};

describe("accepted video and audio", () => {
  test.each([
    [{ container: "mp4" }, { width: 640, height: 360, seconds: 2, framesPerSecond: 25, codec: "avc" }],
    [{ container: "mov" }, { codec: "avc" }],
    [{ container: "webm" }, { codec: "vp9", seconds: 2 }],
    [{ codec: "vp9" }, { codec: "vp9" }],
    [{ rotation: 90 }, { width: 360, height: 640 }],
    // Each limit, at its allowed end.
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

describe("the shown time of a video", () => {
  test.each(["mp4", "mov", "webm", "fragments"] as const)(
    "a video, beginning at 60 s, as %s: lasts 3 s",
    async (container) => {
      const report = await inspect(await media.video({ container, seconds: 3, startSeconds: 60 }));
      expect(report).toMatchObject({ kind: "accepted", seconds: 3, shownFrom: 0, shownTo: 3, framesPerSecond: 25 });
    },
  );

  test.each([
    [
      { startSeconds: 2, seconds: 3, soundSeconds: 5 },
      { seconds: 5, shownFrom: 2, shownTo: 5 },
    ],
    [
      { seconds: 3, soundSeconds: 9 },
      { seconds: 9, shownFrom: 0, shownTo: 3 },
    ],
    [
      { seconds: 3, soundSeconds: 121 },
      { kind: "refused", code: "too_long" },
    ],
  ])("a video with sound, with %j: lasts from its first sound or picture to its last one", async (options, facts) => {
    expect(await inspect(await media.video(options))).toMatchObject(facts);
  });

  test("a recording, trimmed by its edit list: has the length of the heard part", async () => {
    const report = await inspect(media.withEdits(await media.m4a(), [[0.5, 0.2]]));
    expect(report).toMatchObject({ kind: "accepted", seconds: 0.5 });
  });

  // Each edit: its duration in the file, and its first second in the track. -1 shows nothing.
  test.each([
    ["trimmed at its start", [[5, 60]], { seconds: 5, shownTo: 5 }],
    ["trimmed at both ends", [[2, 1]], { seconds: 2, shownTo: 2 }],
    ["longer than the track", [[500, 120]], { seconds: 5, shownTo: 5 }],
    ["without a duration, which stands for the rest", [[0, 120]], { seconds: 5, shownTo: 5 }],
    [
      "after a delay",
      [
        [3, -1],
        [2, 0],
      ],
      { seconds: 2, shownFrom: 0, shownTo: 2 },
    ],
    [
      "of two parts",
      [
        [2, 1],
        [3, 80],
      ],
      { seconds: 5, shownTo: 5 },
    ],
    [
      "of two parts with a gap between",
      [
        [2, 1],
        [4, -1],
        [3, 80],
      ],
      { seconds: 9, shownTo: 9 },
    ],
  ] as const)("a video of 125 s, with an edit list %s: has the length of the shown part", async (_, edits, facts) => {
    const file = media.withEdits(await media.video({ seconds: 125, framesPerSecond: 5 }), edits);
    expect(await inspect(file)).toMatchObject({ kind: "accepted", framesPerSecond: 5, ...facts });
  });

  test.each([
    ["less than a second", [[0.5, 3]], "too_short"],
    ["nothing", [[4, -1]], "too_short"],
    ["more than two minutes", [[121, 0]], "too_long"],
  ] as const)("a video of 125 s, with an edit list that shows %s: refused", async (_, edits, code) => {
    const file = media.withEdits(await media.video({ seconds: 125, framesPerSecond: 5 }), edits);
    expect(await inspect(file)).toMatchObject({ kind: "refused", code });
  });
});

describe("a file without a known brand", () => {
  test.each(["XAVC", "niko", "qt  "])("a video, of the major brand %s: read", async (brand) => {
    const file = await media.video({ container: brand === "XAVC" ? "mp4" : "mov" });
    file.write(brand, 8, "latin1");
    expect(await inspect(file)).toMatchObject({ kind: "accepted", codec: "avc" });
  });

  test.each(["free", "skip", "wide"])("QuickTime, without brands, beginning with %s: read", async (name) => {
    const file = await media.video({ container: "mov" });
    file.write(name, 4, "latin1");
    expect(await inspect(file)).toMatchObject({ kind: "accepted", codec: "avc" });
  });
});

describe("refused video and audio", () => {
  const DAMAGED = "The file cannot be read: it is damaged or incomplete.";

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
      "The video has 1922 x 1080 pixels; the maximum is 1920 x 1080. Scale it down.",
    ],
    [
      { width: 1920, height: 1082 },
      "resolution_too_high",
      "The video has 1920 x 1082 pixels; the maximum is 1920 x 1080. Scale it down.",
    ],
    [
      { width: 1200, height: 1200 },
      "resolution_too_high",
      "The video has 1200 x 1200 pixels; the maximum is 1920 x 1080. Scale it down.",
    ],
    [{ seconds: 0.96 }, "too_short", "The video lasts 0.96 s; the minimum is 1 s. Use a longer one."],
    [{ seconds: 120.04 }, "too_long", "The video lasts 120.04 s; the maximum is 120 s. Cut it."],
    [
      { framesPerSecond: 61 },
      "frame_rate_too_high",
      "The video has 61 frames per second; the maximum is 60. Convert it to a lower frame rate.",
    ],
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

  test("a video, cut at its end: refused, with advice", async () => {
    const file = await media.video();
    for (const length of [0, 16, 100, 600, file.length - 1000, file.length - 1]) {
      const report = await inspect(file.subarray(0, length), { kind: "video", contentType: "video/mp4" });
      const detail = `${DAMAGED} Upload it again, or convert it to MP4 with H.264.`;
      expect([length, report]).toMatchObject([length, { kind: "refused", code: "not_decodable", detail }]);
    }
  });

  test.each([
    ["m4a", media.m4a, 600],
    ["m4a", media.m4a, 4000],
    ["opus", media.opus, 16],
    ["opus", media.opus, 2000],
    ["wav", async () => media.wav(), 16],
    ["mp3", async () => media.mp3(), 600],
    ["adts", async () => media.adts(), 16],
    ["flac", async () => media.flac(), 16],
  ] as const)("audio, as %s, cut: refused, with advice", async (_, file, length) => {
    const whole = await file();
    const detail = `${DAMAGED} Upload it again, or convert it to MP3.`;
    const report = await inspect(whole.subarray(0, length), detectContentType(whole));
    expect(report).toEqual({ kind: "refused", code: "not_decodable", detail });
  });

  test("audio, without samples: refused, with advice", async () => {
    for (const file of [media.wav(0), media.flac(0)]) {
      const detail = "The audio has no samples. Record it again.";
      expect(await inspect(file)).toMatchObject({ kind: "refused", code: "too_short", detail });
    }
  });
});
