/** Frames of videos: the input of ffmpeg, and its confinement. Programs in its place report what they can do. */
import { describe, expect, test } from "bun:test";
import { existsSync, readlinkSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import sharp from "sharp";
import { video } from "./corpus/media.testing.ts";
import { FRAME_LIMITS, type FrameSource, findFfmpeg, writeFrame } from "./frame.ts";
import { confinementOfMachine } from "./limited.ts";
import { canFilterSystemCalls } from "./system-calls.ts";
import { SANDBOX_ID } from "./user.ts";

const ffmpeg = findFfmpeg();
const isLinux = process.platform === "linux";
const isRoot = process.getuid?.() === 0;
const base = await fileFolder();
let count = 0;

const SOURCE = { contentType: "video/mp4", codec: "avc", seconds: 0.5 } as const;

/** The outcome of a program with a file, and its output; null when no output remains. */
const frame = async (program: string, bytes: Uint8Array, options: { wallMs?: number } & Partial<FrameSource> = {}) => {
  const { wallMs = FRAME_LIMITS.wallMs, ...source } = options;
  count += 1;
  // As in a job, other users cannot enter the folder.
  const folder = join(base, String(count));
  await mkdir(folder, { mode: 0o700 });
  const [path, output] = [join(folder, "original"), join(folder, "frame")];
  await writeFile(path, bytes, { mode: 0o600 });
  const limits = { ...FRAME_LIMITS, wallMs };
  const outcome = await writeFrame(program, { ...SOURCE, ...source, path }, output, { folder, limits });
  return { outcome, written: existsSync(output) ? await readFile(output) : null };
};

/** A program that is called instead of ffmpeg. */
const script = async (text: string): Promise<string> => {
  count += 1;
  const path = join(base, `program-${count}`);
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
};

describe("the program that extracts a frame", () => {
  // A program cannot start another one, so each of these becomes the program that reports.
  test("the environment of the program: no variables of the worker", async () => {
    const { outcome, written } = await frame(await script("exec env"), Buffer.from(""));
    expect(outcome).toEqual({ kind: "written" });
    const variables = String(written)
      .match(/^[^=]+/gm)
      ?.sort();
    // The shell adds the variables that begin with these words.
    expect(variables?.filter((name) => !/^(_|PWD|OLDPWD|SHLVL)$/.test(name))).toEqual([
      "BUN_JSC_jitMemoryReservationSize",
      "BUN_JSC_useOMGJIT",
      "BUN_RUNTIME_TRANSPILER_CACHE_PATH",
      "TMPDIR",
      "VIPS_DISC_THRESHOLD",
    ]);
  });

  test("the program, opening its input by path: reads it", async () => {
    const { written } = await frame(await script("exec cat /proc/self/fd/0"), Buffer.from("the file"));
    expect(String(written)).toBe("the file");
  });

  test.skipIf(!canFilterSystemCalls())("the process of the program: filtered, and not root", async () => {
    const { written } = await frame(await script("exec cat /proc/self/status"), Buffer.from(""));
    const status = String(written);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
    if (!isRoot) return;
    const ids = new Array(4).fill(SANDBOX_ID).join("\t");
    expect(status).toContain(`Uid:\t${ids}\nGid:\t${ids}\n`);
    expect(status).toMatch(/^Groups:\s*$/m);
    expect(status).toMatch(/^CapPrm:\s+0+$/m);
  });

  test.skipIf(!canFilterSystemCalls())("the program, starting a process: refused", async () => {
    const { outcome } = await frame(await script("cat /proc/self/fd/0"), Buffer.from("the file"));
    expect(outcome).toEqual({ kind: "not_decodable" });
  });

  test("the program, with permitted namespaces: its own network", async () => {
    const { namespaces } = (await confinementOfMachine()).description;
    const { outcome, written } = await frame(await script("exec readlink /proc/self/ns/net"), Buffer.from(""));
    expect(outcome.kind).toBe("written");
    if (isLinux) expect(String(written).trim() !== readlinkSync("/proc/self/ns/net")).toBe(namespaces);
  });

  test.each([
    ["refuses the video", "exit 3", { kind: "not_decodable" }],
    ["gets no thread", "echo Resource temporarily unavailable >&2; exit 3", { kind: "failed", code: "crashed" }],
    ["crashes", "kill -SEGV $$", { kind: "failed", code: "crashed" }],
    ["does not end", "exec sleep 100", { kind: "failed", code: "stalled" }],
    ["writes too much", "exec head -c 100000000 /dev/zero", { kind: "not_decodable" }],
    ["complains without end", "while :; do echo no >&2; done", { kind: "failed", code: "crashed" }],
  ])("the program, when it %s: an error, no output left", async (_, text, expected) => {
    const { outcome, written } = await frame(await script(text), Buffer.from(""), { wallMs: 1500 });
    expect([outcome, written]).toMatchObject([expected, null]);
  });

  test("that does not exist: a fault of the machine, not of the video", async () => {
    const { outcome } = await frame(join(base, "missing"), Buffer.from(""));
    expect(outcome).toMatchObject({ kind: "failed", code: "crashed" });
  });
});

describe.skipIf(ffmpeg === null)("ffmpeg", () => {
  const film = async (container: string, ...encoder: string[]): Promise<Buffer> =>
    filmOf("testsrc=s=320x240:r=10:d=1", container, ...encoder);
  const filmOf = async (picture: string, container: string, ...encoder: string[]): Promise<Buffer> => {
    count += 1;
    const output = join(base, `film-${count}.${container}`);
    const input = ["-f", "lavfi", "-i", picture];
    const child = Bun.spawn([
      ffmpeg ?? "",
      "-nostdin",
      "-loglevel",
      "error",
      ...input,
      "-pix_fmt",
      "yuv420p",
      ...encoder,
      output,
    ]);
    expect(await child.exited).toBe(0);
    return readFile(output);
  };

  test.each([
    ["mp4", { contentType: "video/mp4", codec: "avc" }, ["-c:v", "libx264"]],
    ["mov", { contentType: "video/quicktime", codec: "avc" }, ["-c:v", "libx264"]],
    ["webm", { contentType: "video/webm", codec: "vp9" }, ["-c:v", "libvpx-vp9", "-deadline", "realtime"]],
  ] as const)("ffmpeg, with a %s: writes a frame as PNG", async (container, source, encoder) => {
    const { outcome, written } = await frame(ffmpeg ?? "", await film(container, ...encoder), source);
    expect(outcome).toEqual({ kind: "written" });
    expect(await sharp(written ?? Buffer.alloc(0)).metadata()).toMatchObject({
      format: "png",
      width: 320,
      height: 240,
    });
  });

  const H264 = ["-c:v", "libx264", "-preset", "ultrafast"];
  const sizeOf = async (bytes: Buffer, source: Partial<FrameSource> = {}) => {
    const { written } = await frame(ffmpeg ?? "", bytes, source);
    const { width, height, depth } = await sharp(written ?? Buffer.alloc(0)).metadata();
    return { width, height, depth };
  };

  test.each([
    ["wide", "25/16", [], { width: 500, height: 240 }],
    ["tall", "16/25", [], { width: 320, height: 375 }],
    ["wide, and turned", "25/16", ["-metadata:s:v", "rotate=90"], { width: 240, height: 500 }],
    ["absurdly wide", "100/1", [], { width: 1920, height: 14 }],
  ] as const)("ffmpeg, with pixels that are %s: writes square ones", async (_, ratio, turn, size) => {
    const bytes = await film("mp4", "-vf", `setsar=${ratio}`, ...H264);
    count += 1;
    const [input, output] = [join(base, `stored-${count}.mp4`), join(base, `turned-${count}.mp4`)];
    await writeFile(input, bytes);
    const copy = ["-nostdin", "-loglevel", "error", "-i", input, "-c", "copy", ...turn, output];
    expect(await Bun.spawn([ffmpeg ?? "", ...copy]).exited).toBe(0);
    expect(await sizeOf(await readFile(output))).toEqual({ ...size, depth: "uchar" });
  });

  test("ffmpeg, with a video whose first frame is at 60 s: takes frames from there", async () => {
    const webm = await film("webm", "-output_ts_offset", "60", "-c:v", "libvpx-vp9", "-deadline", "realtime");
    const size = await sizeOf(webm, { contentType: "video/webm", codec: "vp9" });
    expect(size).toEqual({ width: 320, height: 240, depth: "uchar" });
  });

  test("ffmpeg, with a frame that is shown for long: takes that frame, as the last key frame", async () => {
    const bytes = await filmOf("testsrc=s=320x240:r=0.2:d=10", "mp4", ...H264);
    const late = { seconds: 9 };
    expect((await frame(ffmpeg ?? "", bytes, late)).written?.length).toBe(0);
    expect(await sizeOf(bytes, { ...late, position: "key_frame" })).toMatchObject({ width: 320, height: 240 });
  });

  test("ffmpeg, asked for 16 bits: writes 16 bits", async () => {
    expect(await sizeOf(await film("mp4", ...H264), { bits: 16 })).toEqual({
      width: 320,
      height: 240,
      depth: "ushort",
    });
  });

  // Exact according to the matrix of the video: ITU-R BT.601 for 8 bits, because the video names none, and BT.2020 for
  // 10 bits.
  test.each([
    ["8 bits, grey", "yuv420p", 8, [150, 128, 128], [156, 156, 156]],
    ["8 bits, white", "yuv420p", 8, [235, 128, 128], [255, 255, 255]],
    ["10 bits, grey", "yuv420p10le", 8, [600, 512, 512], [156, 156, 156]],
    ["10 bits, grey, as 16", "yuv420p10le", 16, [600, 512, 512], [156, 156, 156]],
    ["10 bits, white, as 16", "yuv420p10le", 16, [940, 512, 512], [255, 255, 255]],
    ["10 bits, green, as 16", "yuv420p10le", 16, [480, 561, 278], [22.9, 156.9, 147.3]],
  ] as const)("ffmpeg, with a video of %s: has its colours", async (_, format, bits, [y, u, v], expected) => {
    const source = `color=s=320x240:r=10:d=2,format=${format},geq=lum=${y}:cb=${u}:cr=${v}`;
    const matrix = bits === 16 ? ["-colorspace", "bt2020nc"] : [];
    const bytes = await filmOf(source, "mp4", "-c:v", "libx264", "-qp", "1", "-pix_fmt", format, ...matrix);
    const { written } = await frame(ffmpeg ?? "", bytes, { bits });
    const [space, depth] = bits === 8 ? (["srgb", "uchar"] as const) : (["rgb16", "ushort"] as const);
    const pixels = await sharp(written ?? undefined)
      .toColourspace(space)
      .raw({ depth })
      .toBuffer();
    const read = (at: number) => (bits === 8 ? pixels.readUInt8(at) : pixels.readUInt16LE(2 * at) / 257);
    for (const [channel, value] of expected.entries()) expect(Math.abs(read(channel) - value)).toBeLessThan(0.6);
  });

  test.each([
    ["a playlist", async () => Buffer.from("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n")],
    ["a list of files", async () => Buffer.from("ffconcat version 1.0\nfile /etc/passwd\n")],
    [
      "a picture",
      () =>
        sharp({ create: { width: 64, height: 64, channels: 3, background: "red" } })
          .jpeg()
          .toBuffer(),
    ],
    ["packets of another codec", () => film("mp4", "-c:v", "mpeg4")],
    ["packets that cannot be decoded", () => video()],
    ["nothing", async () => Buffer.alloc(0)],
  ])("ffmpeg, with %s: writes no frame", async (_, bytes) => {
    const { written } = await frame(ffmpeg ?? "", await bytes());
    expect(written?.length ?? 0).toBe(0);
  });
});
