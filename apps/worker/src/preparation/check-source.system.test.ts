/** The check of sources, in the sandbox, with its real programs. */
import { describe, expect, test } from "bun:test";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { detectContentType } from "@realtime-avatar/domain/assets/magic";
import { type Check, REQUIREMENTS } from "@realtime-avatar/domain/avatars/checks";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { landscapePath, portraitPath } from "@realtime-avatar/testing/photos";
import { runToEnd } from "@realtime-avatar/testing/processes";
import sharp from "sharp";
import { inspector } from "../../test/support/inspector.ts";
import { MESH } from "../../test/support/source-checks.ts";
import { animatedWebp } from "../sandbox/corpus/images.testing.ts";
import { video, withEdits } from "../sandbox/corpus/media.testing.ts";
import { findFfmpeg } from "../sandbox/frame.ts";
import { type CheckedSource, type CheckSourceOptions, createCheckSource } from "./check-source.ts";
import { describeFailures } from "./checks.ts";

const ffmpeg = findFfmpeg();
/**
 * With LONG=1, a film in each container; without it, in one. `frame.system.test.ts` tests a frame of each container.
 */
const isLong = process.env["LONG"] === "1";
const base = await fileFolder();
let count = 0;
const warnings: unknown[][] = [];
const log = { warn: (...entry: unknown[]) => warnings.push(entry) } as never;

type Checked = Extract<CheckedSource, { kind: "checked" }>;

/** Checks a file in a new folder, like a job. */
const checkFile = async (
  bytes: Buffer,
  options: Partial<CheckSourceOptions> = {},
  signal = new AbortController().signal,
) => {
  count += 1;
  const folder = join(base, String(count));
  await mkdir(folder, { mode: 0o700 });
  const path = join(folder, "original");
  await writeFile(path, bytes, { mode: 0o600 });
  const magic = detectContentType(bytes) ?? ({ kind: "image", contentType: "image/jpeg" } as const);
  return { folder, outcome: await createCheckSource({ log, ...options })({ magic, path, folder }, signal) };
};
const checked = async (...args: Parameters<typeof checkFile>): Promise<Checked> => {
  const { outcome } = await checkFile(...args);
  if (outcome.kind !== "checked") throw new Error(outcome.error);
  return outcome;
};
const codes = (checks: readonly Check[]): string[] => checks.map(({ code }) => code);
const failures = (checks: readonly Check[]): string[] => codes(checks.filter(({ verdict }) => verdict === "fail"));

describe("an image", () => {
  // `prepare.test.ts` tests a photo of a face. `picture.system.test.ts` tests one with few pixels, and one that is
  // damaged in its middle.
  test("an image, without a face: fails, without files, with advice", async () => {
    const { checks, files } = await checked(await readFile(landscapePath()), { command: inspector });
    expect([failures(checks), files]).toEqual([["face_count"], null]);
    expect(describeFailures(checks)).toBe(
      "No face was found; exactly 1 face is required. Use a photo in which exactly one face looks at the camera.",
    );
  });

  test.each([
    ["that is animated", animatedWebp, ["single_frame"]],
    ["that is cut off in its header", async () => (await readFile(portraitPath())).subarray(0, 100), ["decodable"]],
    ["that is a text", async () => Buffer.from("<html><script>alert(1)</script>"), ["decodable"]],
  ] as const)("an image, %s: fails without files", async (_, bytes, expected) => {
    const { checks, files } = await checked(await bytes(), { command: inspector });
    expect([failures(checks), files]).toEqual([[...expected], null]);
    expect(JSON.stringify(checks)).not.toContain("script");
  });
});

describe("a failing child", () => {
  const run = (program: string) => [process.execPath, "--no-env-file", "-e", program];
  /** Returns the number of started children, and the outcome. */
  const countChildren = async (command: () => string[], options: Partial<CheckSourceOptions> = {}) => {
    let children = 0;
    const counted = () => {
      children += 1;
      return command();
    };
    const { outcome } = await checkFile(await readFile(portraitPath()), { ...options, command: counted });
    return { children, outcome };
  };

  test("by a crash: the job is tried again; the file is not reported as bad", async () => {
    warnings.length = 0;
    const { children, outcome } = await countChildren(() => run("process.exit(7)"));
    expect(outcome).toEqual({ kind: "retry", error: "The inspection ended with exit code 7." });
    expect([children, warnings.length]).toEqual([1, 1]);
  });

  test("by its time, spent waiting: the job is tried again; the file is not reported as bad", async () => {
    const { children, outcome } = await countChildren(() => run("setTimeout(() => {}, 1e9)"), { sourceMs: 1000 });
    expect([children, outcome]).toEqual([1, { kind: "retry", error: "The inspection took longer than 1 s." }]);
  });

  test.skipIf(process.platform !== "linux")(
    "by its processor time: the file counts as undecodable, after one child",
    async () => {
      const { children, outcome } = await countChildren(() => ["/bin/sh", "-c", "kill -XCPU $$"], {
        sourceCpuSeconds: 1,
      });
      const detail =
        "The file could not be examined. The inspection took too much processor time; the limit is 1 s. Use another file.";
      const check = { code: "decodable", verdict: "fail", measured: null, limit: null, detail };
      expect([children, outcome]).toEqual([1, { kind: "checked", checks: [check], files: null }] as never);
    },
  );

  test("by its memory: the file counts as undecodable, after one child", async () => {
    const grow = "const kept = []; for (;;) kept.push(new Uint8Array(2 ** 24).fill(1));";
    const { children, outcome } = await countChildren(() => run(grow));
    expect([children, outcome]).toMatchObject([1, { checks: [{ code: "decodable", verdict: "fail" }] }]);
  });

  const face = { confidence: 99, size: 50, roll: 0, yaw: 0, pitch: 0, edgeDistance: 30, sharpness: 99, brightness: 50 };
  const features = { eyes: 40, mouth: 60, mesh: MESH };
  const accepted = { kind: "accepted", width: 800, height: 800, turned: 0, faces: 1 };
  const refusal = { kind: "refused", code: "not_decodable" };
  test.each([
    ["a face, and writes no picture", { ...accepted, face: { ...face, ...features } }, ""],
    ["a face, and writes other files", { ...accepted, face: { ...face, ...features } }, "<html>"],
    ["one face, and measures none", { ...accepted, face: null }, "RIFF....WEBPVP8 "],
    ["two faces, and measures one", { ...accepted, faces: 2, face: { ...face, ...features } }, "RIFF....WEBPVP8 "],
    ["a longer detail than a check can have", { ...refusal, detail: "x".repeat(500) }, ""],
    ["a control character", { ...refusal, detail: "a\0b" }, ""],
    ["nothing", { ...refusal, detail: "" }, ""],
    ["a face without a mesh", { ...accepted, face: { ...face, ...features, mesh: "" } }, "RIFF....WEBPVP8 "],
    [
      "a mesh that is a text",
      { ...accepted, face: { ...face, ...features, mesh: "<".repeat(3744) } },
      "RIFF....WEBPVP8 ",
    ],
  ])("a child, taken over, reporting %s: its report is refused", async (_, report, written) => {
    const program = `for (const fd of [3, 4, 5]) require("fs").writeSync(fd, ${JSON.stringify(written)});
      process.stdout.write(${JSON.stringify(JSON.stringify(report))})`;
    const command = () => [process.execPath, "--no-env-file", "-e", program];
    const { checks, files } = await checked(await readFile(portraitPath()), { command });
    const detail = "The file could not be examined. The inspection ended without a valid report. Use another file.";
    expect(checks).toEqual([{ code: "decodable", verdict: "fail", measured: null, limit: null, detail }]);
    expect(files).toBeNull();
  });

  test("a child whose job is canceled: the job is tried again", async () => {
    const { outcome, folder } = await checkFile(await readFile(portraitPath()), {}, AbortSignal.abort());
    expect(outcome.kind).toBe("retry");
    expect(await readdir(folder)).toEqual(["original"]);
  });
});

describe("a video", () => {
  test("a video, without ffmpeg: checked by its container, with a warning, no files", async () => {
    const { checks, files } = await checked(await video({ width: 640, height: 640 }), {
      ffmpeg: null,
      command: inspector,
    });
    expect([codes(checks), failures(checks), files]).toEqual([
      ["decodable", "codec", "duration", "frame_rate", "frame", "resolution"],
      [],
      null,
    ]);
    expect(checks.find(({ code }) => code === "frame")).toMatchObject({
      verdict: "warn",
      detail: expect.stringContaining("no ffmpeg"),
    } as never);
  });

  test.each([
    [{ seconds: 121 }, ["duration"]],
    [{ framesPerSecond: 90 }, ["frame_rate"]],
    [{ codec: "av1" }, ["codec"]],
    [{ width: 480, height: 480 }, ["resolution"]],
  ] as const)("a video, with %j: fails", async (options, expected) => {
    const { checks, files } = await checked(await video(options), { ffmpeg: null, command: inspector });
    expect([failures(checks), files]).toEqual([[...expected], null]);
  });

  test.each([
    ["crashes", "kill -SEGV $$"],
    ["gets no thread", "echo Resource temporarily unavailable >&2; exit 1"],
  ])("a video, whose ffmpeg %s: the job is tried again", async (_, text) => {
    const program = join(base, "program");
    await writeFile(program, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const { outcome } = await checkFile(await video({ width: 640, height: 640 }), {
      ffmpeg: program,
      command: inspector,
    });
    expect(outcome).toMatchObject({ kind: "retry" });
  });

  test.skipIf(ffmpeg === null)("a video with packets that cannot be decoded: fails for its frame", async () => {
    const { checks, files } = await checked(await video({ width: 640, height: 640 }));
    expect([failures(checks), files]).toEqual([["frame"], null]);
  });

  /** The fastest encoding: the content matters, not the size. */
  const H264 = ["-c:v", "libx264", "-preset", "ultrafast"] as const;
  const VP9 = ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"] as const;

  /**
   * Two seconds with five frames each: the portrait, then black from `seconds` on, in a container of the given name.
   */
  const film = async (name: string, seconds: number, ...codec: string[]): Promise<Buffer> => {
    const [picture, output] = [join(base, "portrait.jpg"), join(base, name)];
    await copyFile(portraitPath(), picture);
    const between = `between(t,0,${seconds})`;
    const filter = `color=black:s=800x800:r=5:d=2[b];[0:v]scale=800:800[p];[b][p]overlay=enable='${between}':shortest=1`;
    const { code, stderr } = await runToEnd([
      ...[ffmpeg ?? "", "-nostdin", "-y", "-loglevel", "error", "-loop", "1", "-r", "5", "-t", "2", "-i", picture],
      ...["-filter_complex", filter, ...codec, "-pix_fmt", "yuv420p", output],
    ]);
    if (code !== 0) throw new Error(stderr);
    return readFile(output);
  };

  // In the first film, the middle frame, which is examined first, is black.
  test.skipIf(ffmpeg === null).each([
    ["film.mp4", 0.6, "0.2", H264],
    ...(isLong
      ? ([
          ["film.mov", 0.6, "0.2", H264],
          ["film.webm", 2, "1.0", VP9],
        ] as const)
      : []),
  ] as const)(
    "a video, %s with the face for %d s: checked by its best frame, at %s s",
    async (name, seconds, at, codec) => {
      const { checks, files } = await checked(await film(name, seconds, ...codec), { command: inspector });
      expect(codes(checks)).toEqual(REQUIREMENTS.video.map(({ code }) => code));
      expect(failures(checks)).toEqual([]);
      expect(checks.find(({ code }) => code === "frame")).toMatchObject({
        verdict: "warn",
        detail: expect.stringContaining(`The frame at ${at} s was examined. The video is shorter than 4 seconds.`),
      });
      expect(await sharp(files?.thumb).metadata()).toMatchObject({ format: "webp", width: 256 });
    },
  );

  /** Two seconds of the portrait, with the arguments of the output. The picture has `filter`. */
  const portraitFilm = async (name: string, filter: string, ...output: string[]): Promise<Buffer> => {
    const path = join(base, name);
    const { code, stderr } = await runToEnd([
      ...[ffmpeg ?? "", "-nostdin", "-y", "-loglevel", "error", "-loop", "1", "-r", "5", "-t", "2"],
      ...["-i", portraitPath(), "-vf", filter, ...output, path],
    ]);
    if (code !== 0) throw new Error(stderr);
    return readFile(path);
  };
  const resultOf = async (bytes: Buffer) => {
    const { checks, files } = await checked(bytes, { command: inspector });
    expect(failures(checks)).toEqual([]);
    const { data, info } = await sharp(files?.normalized).raw().toBuffer({ resolveWithObject: true });
    const corner = [...data.subarray(3 * (20 * info.width + 20), 3 * (20 * info.width + 20) + 3)];
    return { info, corner, measured: (code: string) => checks.find((check) => check.code === code)?.measured };
  };

  test.skipIf(ffmpeg === null)(
    "a video, of tall pixels and lying on its side: upright, in true proportions",
    async () => {
      const film = await portraitFilm(
        "tall.mp4",
        "scale=800:512,setsar=16/25,transpose=1",
        ...H264,
        "-pix_fmt",
        "yuv420p",
      );
      const { info, measured } = await resultOf(film);
      expect([info.width, measured("resolution")]).toEqual([info.height, 800]);
      // A squeezed face would be smaller than in the photo.
      const { checks } = await checked(await readFile(portraitPath()), { command: inspector });
      const ofPhoto = checks.find(({ code }) => code === "face_size")?.measured;
      expect(Math.abs((measured("face_size") ?? 99) - (ofPhoto ?? 0))).toBeLessThan(3);
    },
  );

  test.skipIf(ffmpeg === null)("a video, trimmed by its edit list: the shown part is checked", async () => {
    // Black in the first second, which the edit list leaves out.
    const picture = "scale=800:800,drawbox=t=fill:color=black:enable='lt(t,1)'";
    const film = await portraitFilm("trimmed.mp4", picture, ...H264, "-pix_fmt", "yuv420p");
    const { measured } = await resultOf(withEdits(film, [[1, 1]]));
    expect([measured("duration"), measured("face_count")]).toEqual([1, 1]);
    // The film without its second half has no face.
    const { checks } = await checked(withEdits(film, [[1, 0]]), { command: inspector });
    expect(failures(checks)).toEqual(["face_count"]);
  });

  // The colours are those that Chromium 156 shows for the two MP4 files, except the blue of PQ. Without a GPU, libyuv
  // converts the video for Chromium with 8 bits and a coefficient of blue of 2.0 instead of 2.14. It gets 145 of 255
  // instead of 147.3, which becomes 167 instead of 175.
  test.skipIf(ffmpeg === null).each([
    ["pq.mp4", "smpte2084", [0, 225, 175], H264],
    ["hlg.mp4", "arib-std-b67", [0, 139, 116], H264],
    ["pq.webm", "smpte2084", [0, 225, 175], VP9],
  ])("a video, of HDR (%s): its colours as a browser shows them", async (name, transfer, expected, codec) => {
    const colors = ["-color_primaries", "bt2020", "-color_trc", transfer, "-colorspace", "bt2020nc"];
    // The colour of the portrait's corner, in a part of the picture that the normalized image shows.
    const corner = "format=rgb24,drawbox=0:0:800:200:color=0x159e94:t=fill";
    const bits = `${corner},scale=800:800:out_color_matrix=bt2020:out_range=tv,format=yuv420p10le`;
    const { corner: shown } = await resultOf(await portraitFilm(name, bits, ...codec, ...colors));
    const distances = shown.map((value, channel) => Math.abs(value - (expected[channel] ?? 0)));
    expect([shown, Math.max(...distances) < 4]).toEqual([shown, true]);
  });

  test.skipIf(ffmpeg === null || !isLong)(
    "a video whose first track is smaller than the main one: has the resolution of the frame",
    async () => {
      const output = join(base, "tracks.mp4");
      const input = ["-loop", "1", "-r", "5", "-t", "2", "-i", portraitPath(), "-map", "0:v", "-map", "0:v"];
      const { code, stderr } = await runToEnd([
        ...[ffmpeg ?? "", "-nostdin", "-y", "-loglevel", "error", ...input, ...H264, "-pix_fmt", "yuv420p"],
        ...["-filter:v:0", "scale=480:480", "-filter:v:1", "scale=800:800"],
        ...["-disposition:v:0", "0", "-disposition:v:1", "default", output],
      ]);
      expect([code, stderr]).toEqual([0, ""]);
      const { checks, files } = await checked(await readFile(output), { command: inspector });
      expect(checks.find(({ code }) => code === "resolution")).toMatchObject({ verdict: "fail", measured: 480 });
      expect(files).toBeNull();
    },
  );
});

test("an audio file, as a source: fails as not decodable", async () => {
  const magic = { kind: "audio", contentType: "audio/wav" } as const;
  const source = { magic, path: join(base, "none"), folder: base };
  const outcome = await createCheckSource({ log })(source, new AbortController().signal);
  expect(outcome).toMatchObject({ kind: "checked", checks: [{ code: "decodable", verdict: "fail" }], files: null });
});
