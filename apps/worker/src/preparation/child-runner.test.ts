/**
 * The shared limits of the children of one source, and the outcomes of their ends. check-source.system.test.ts tests
 * real children.
 */
import { expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createLog } from "@realtime-avatar/runtime/log";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { MESH } from "../../test/support/source-checks.ts";
import { FRAME_LIMITS } from "../sandbox/frame.ts";
import { SANDBOX_LIMITS } from "../sandbox/limited.ts";
import { createCheckSource } from "./check-source.ts";
import { createChildRunner } from "./child-runner.ts";
import { derivedFiles } from "./derived-files.ts";

const folder = await fileFolder();
const log = createLog("silent");
const { signal: never } = new AbortController();

test("the children of a source: share its processor time, with at least a second and at most their own limit", () => {
  const ended: number[] = [];
  const onEnd = ({ cpuMs }: { cpuMs: number }) => void ended.push(cpuMs);
  const runner = createChildRunner({ log, sourceCpuSeconds: 20, onEnd }, folder, never);
  const use = (cpuMs: number) => runner.options.onEnd?.({ cpuMs, peakBytes: 0 });
  const cpuSeconds = () => runner.limits(FRAME_LIMITS).cpuSeconds;
  expect(cpuSeconds()).toBe(10);
  use(9000);
  expect(cpuSeconds()).toBe(10);
  use(2500);
  expect(cpuSeconds()).toBe(9);
  use(60_000);
  expect(cpuSeconds()).toBe(1);
  expect(ended).toEqual([9000, 2500, 60_000]);
});

test("the children of a source: share its time, with at least a second", () => {
  const wallMs = (sourceMs: number) =>
    createChildRunner({ log, sourceMs }, folder, never).limits(SANDBOX_LIMITS).wallMs;
  expect(wallMs(3_600_000)).toBe(SANDBOX_LIMITS.wallMs);
  expect(wallMs(5000)).toBeWithin(1000, 5001);
  expect(wallMs(0)).toBe(1000);
  expect(createChildRunner({ log }, folder, never).limits(SANDBOX_LIMITS).wallMs).toBeWithin(1000, 30_001);
});

const VIDEO = {
  ...{ kind: "accepted", width: 640, height: 640, seconds: 10, shownFrom: 0, shownTo: 10, framesPerSecond: 30 },
  ...{ codec: "avc", colors: { transfer: "sdr", primaries: "bt709" } },
};
const refusal = { kind: "refused", code: "not_decodable", detail: "The file is cut." };

/** The outcome of a source whose child runs these commands of a shell. */
const check = async (kind: "image" | "video" | "audio", commands: string, signal = never) => {
  const path = join(folder, "source");
  await writeFile(path, "x");
  const command = () => ["/bin/sh", "-c", commands];
  const contentType = { image: "image/png", video: "video/mp4", audio: "audio/mpeg" }[kind];
  const magic = { kind, contentType } as Parameters<ReturnType<typeof createCheckSource>>[0]["magic"];
  const outcome = await createCheckSource({ log, command, ffmpeg: null })({ magic, path, folder }, signal);
  if (outcome.kind === "retry") return "retry";
  return [
    ...outcome.checks.map(({ code, verdict }) => `${code} ${verdict}`),
    outcome.files === null ? "no files" : "files",
  ];
};

test.skipIf(process.platform !== "linux").each<[string, Parameters<typeof check>, unknown]>([
  ["image, refused", ["image", `echo '${JSON.stringify(refusal)}'`], ["decodable fail", "no files"]],
  ["image, too much time", ["image", "kill -XCPU $$"], ["decodable fail", "no files"]],
  ["image, a crash", ["image", "kill -SEGV $$"], "retry"],
  ["image, canceled", ["image", "sleep 1000", AbortSignal.abort()], "retry"],
  ["video, refused", ["video", `echo '${JSON.stringify(refusal)}'`], ["decodable fail", "no files"]],
  ["video, a crash", ["video", "exit 3"], "retry"],
  [
    "video, without ffmpeg",
    ["video", `echo '${JSON.stringify(VIDEO)}'`],
    [
      ...["decodable pass", "codec pass", "duration pass", "frame_rate pass", "frame warn", "resolution pass"],
      "no files",
    ],
  ],
  [
    "video, too long",
    ["video", `echo '${JSON.stringify({ ...VIDEO, seconds: 10_000 })}'`],
    [
      ...["decodable pass", "codec pass", "duration fail", "frame_rate pass", "frame warn", "resolution pass"],
      "no files",
    ],
  ],
  ["audio", ["audio", "exit 3"], ["decodable fail", "no files"]],
])("a source, %s: its checks, or another attempt", async (_, parts, expected) => {
  expect(await check(...parts)).toEqual(expected as never);
});

test.skipIf(process.platform !== "linux").each([
  ["a large face", 40, "files"],
  ["a tiny face", 1, "no files"],
])("an image with %s: has its files where no check has failed", async (_, size, files) => {
  const face = {
    confidence: 99,
    size,
    roll: 0,
    yaw: 0,
    pitch: 0,
    edgeDistance: 20,
    sharpness: 500,
    brightness: 50,
    eyes: 40,
    mouth: 60,
    mesh: MESH,
    square: { left: 0, top: 0, width: 1, height: 1 },
  };
  const report = { kind: "accepted", width: 1024, height: 1024, turned: 0, faces: 1, face };
  const write = "for output in 3 4 5; do printf 'RIFF....WEBPVP8 ' >&$output; done";
  const found = await check("image", `${write}; echo '${JSON.stringify(report)}'`);
  expect([found.at(-1), String(found).includes(" fail")]).toEqual([files, files === "no files"]);
  await Promise.all(Object.values(derivedFiles(join(folder, "image"))).map((path) => rm(path, { force: true })));
});
