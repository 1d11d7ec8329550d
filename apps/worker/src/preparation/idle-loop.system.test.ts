/** The idle loop of a video, with its real programs. The video is drawn: no package has one of a person who listens. */
import { describe, expect, test } from "bun:test";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { detectContentType } from "@realtime-avatar/domain/assets/magic";
import { manifestFace, readMesh } from "@realtime-avatar/domain/avatars/face-mesh";
import { createLife } from "@realtime-avatar/face/life";
import { decodeLoop, MAX_FRAMES, MIN_FRAMES } from "@realtime-avatar/face/loop/loop-file";
import { PICTURE_LENGTH, PICTURE_SIZE, toI420 } from "@realtime-avatar/face/picture";
import { createShapeTrack } from "@realtime-avatar/face/shape-track";
import { openTestFace } from "@realtime-avatar/face/testing/photo-testing";
import { drawFace, openFace } from "@realtime-avatar/face/warp/face";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import sharp from "sharp";
import { inspector } from "../../test/support/inspector.ts";
import { findFfmpeg } from "../sandbox/frame.ts";
import { createCheckSource } from "./check-source.ts";
import { createChildRunner } from "./child-runner.ts";
import { makeIdleLoop } from "./idle-loop.ts";

const ffmpeg = findFfmpeg();
const base = await fileFolder();
let count = 0;
const log = { warn: () => {} } as never;

const newFolder = async (): Promise<string> => {
  count += 1;
  const folder = join(base, String(count));
  await mkdir(folder, { mode: 0o700 });
  return folder;
};

/** A video of a man who speaks for `speaking` seconds, and then listens for `listening` seconds. */
const drawVideo = async (speaking: number, listening: number): Promise<Buffer> => {
  const face = await openTestFace("closed");
  const [life, track] = [createLife(5, face), createShapeTrack()];
  const pictures = Array.from({ length: 25 * (speaking + listening) }, (_, index) => {
    const pose = life.pose(40 * index, track);
    const mouth = index < 25 * speaking ? { talk: 1, gap: 0.06 + 0.06 * Math.sin(index / 2) } : {};
    return drawFace(face, { ...pose, yaw: 2 * pose.yaw, shiftX: 2 * pose.shiftX, shiftY: 2 * pose.shiftY, ...mouth });
  });
  const [raw, output] = [join(await newFolder(), "raw"), join(await newFolder(), "film.mp4")];
  await writeFile(raw, Buffer.concat(pictures));
  const encode = [
    ...[ffmpeg ?? "", "-nostdin", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p"],
    ...["-s", `${PICTURE_SIZE}x${PICTURE_SIZE}`, "-r", "25", "-i", raw, "-vf", "scale=640:640"],
    ...["-c:v", "libx264", "-preset", "ultrafast", "-crf", "16", output],
  ];
  expect(await Bun.spawn(encode).exited).toBe(0);
  return readFile(output);
};

const meanDifference = (left: Uint8Array, right: Uint8Array): number =>
  left.reduce((sum, value, index) => sum + Math.abs(value - (right[index] as number)), 0) / left.length;

test.skipIf(ffmpeg === null)(
  "a video in which the person speaks and then listens: the loop of the second part, its first frame the photo",
  async () => {
    const folder = await newFolder();
    const path = join(folder, "original");
    const bytes = await drawVideo(2, 4.8);
    await writeFile(path, bytes, { mode: 0o600 });
    const magic = detectContentType(bytes);
    if (magic === null) throw new Error("The video has no type.");
    // Long enough for a busy machine.
    const check = createCheckSource({ log, command: inspector, sourceMs: 240_000 });
    const outcome = await check({ magic, path, folder }, new AbortController().signal);
    if (outcome.kind !== "checked" || outcome.files?.loop == null) throw new Error(JSON.stringify(outcome));
    const { files, checks } = outcome;
    const frameCheck = checks.find(({ code }) => code === "frame");
    expect(frameCheck?.verdict).toBe("pass");
    const [, from, to] =
      /From (\d+\.\d) to (\d+\.\d) s of its pictures, the person listens/.exec(frameCheck?.detail ?? "") ?? [];
    expect(Number(from)).toBeWithin(1.9, 2.9);
    expect(Number(to)).toBeWithin(6, 6.9);
    const frames = decodeLoop(await readFile(files.loop ?? ""));
    expect(frames.length).toBeWithin(MIN_FRAMES, MAX_FRAMES + 1);
    const decode = (jpeg: Uint8Array) => sharp(jpeg).toColourspace("b-w").raw().toBuffer();
    const photo = toI420(await sharp(files.normalized).removeAlpha().raw().toBuffer());
    const first = await decode(frames[0]?.jpeg ?? new Uint8Array());
    expect(first.length).toBe(PICTURE_LENGTH);
    expect(meanDifference(first, photo)).toBeLessThan(1.5);
    const mesh = readMesh({ face: manifestFace(files.mesh) }, PICTURE_SIZE, PICTURE_SIZE);
    if (mesh === null) throw new Error("The mesh is missing.");
    const face = openFace(photo, mesh);
    expect(face.lips.isOpen).toBe(false);
    // The head moves by some pixels, and the places follow it.
    const moves = frames.map(({ place: [, , c, , , f] }) => Math.hypot(c, f));
    expect(moves[0]).toBeCloseTo(0, 3);
    expect(Math.max(...moves)).toBeWithin(3, 60);
    expect((await readdir(folder)).filter((name) => name.startsWith("realtime-avatar-sandbox"))).toEqual([]);
  },
  { timeout: 600_000 },
);

describe("a video whose loop cannot be made", () => {
  /** A program that is called instead of ffmpeg. */
  const script = async (text: string): Promise<string> => {
    count += 1;
    // Other users cannot enter the folder of a job.
    const path = join(base, `program-${count}`);
    await writeFile(path, `#!/bin/sh\n${text}\n`);
    await chmod(path, 0o755);
    return path;
  };
  type Change = { seconds?: number; turned?: 0 | 90; transfer?: "sdr" | "pq" };
  const make = async (
    program: string,
    { seconds = 10, turned = 0, transfer = "sdr" }: Change = {},
    signal = new AbortController().signal,
  ) => {
    const folder = await newFolder();
    const path = join(folder, "original");
    await writeFile(path, "a video", { mode: 0o600 });
    const properties = {
      ...({ kind: "accepted", width: 640, height: 640, codec: "avc", framesPerSecond: 25 } as const),
      ...{ seconds, shownFrom: 0, shownTo: seconds, colors: { transfer, primaries: "bt709" } as const },
    };
    const source = { magic: { kind: "video", contentType: "video/mp4" } as const, path, folder };
    const runner = createChildRunner({ log, command: inspector }, folder, signal);
    const square = { left: 0.1, top: 0.1, width: 0.8, height: 0.8 };
    const loop = await makeIdleLoop({ runner, source, properties, label: "AI" }, program, { square, turned });
    return { loop };
  };

  test.each([
    ["ffmpeg refuses it", "exit 3", {}, "exactly one face"],
    ["ffmpeg crashes", "kill -SEGV $$", {}, "within the limits"],
    ["ffmpeg writes too much", "exec head -c 100000000 /dev/zero", {}, "exactly one face"],
    ["ffmpeg writes no pictures", "echo no pictures", {}, "shorter than 4 seconds"],
    ["ffmpeg writes nothing", "exit 0", {}, "shorter than 4 seconds"],
    ["it is short", "exit 0", { seconds: 3.9 }, "shorter than 4 seconds"],
    ["it is HDR", "exit 0", { transfer: "pq" as const }, "HDR"],
    ["it lies on its side", "exit 0", { turned: 90 as const }, "on their side"],
  ])("a video, %s: no loop, with the reason and advice", async (_, text, change, reason) => {
    const { loop } = await make(await script(text), change);
    if (loop.kind !== "none") throw new Error(JSON.stringify(loop));
    expect(loop.detail).toContain(reason);
    expect(loop.detail).toEndWith("with still lips.");
    expect(loop.detail.length).toBeLessThan(440);
  });

  test("a job that was told to end: canceled", async () => {
    const { loop } = await make(await script("exec sleep 100"), {}, AbortSignal.abort());
    expect(loop).toMatchObject({ kind: "failed", code: "canceled" });
  });
});
