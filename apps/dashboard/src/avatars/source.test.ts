/** The checks of a file before its upload, with the requirements of the service. */
import { expect, test } from "bun:test";
import type { Asset } from "@realtime-avatar/client";
import { ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { listModels } from "@realtime-avatar/domain/avatars/models";
import { checkSource, type Requirements, type Source, sourceHints } from "./source.ts";
import { untilExamined } from "./use-source.ts";

const [model] = listModels("m");
if (!model) throw new Error("there is no model");
const requirements = model.requirements as Requirements;
const BOTH = ["image", "video"] as const;

const IMAGE: Source = {
  firstBytes: Uint8Array.of(0xff, 0xd8, 0xff),
  type: { kind: "image", contentType: "image/jpeg" },
  sizeBytes: 500_000,
  picture: { width: 1024, height: 768, seconds: null },
};
const VIDEO: Source = {
  firstBytes: Buffer.from("\0\0\0\x14ftypisom\0\0\0\0avc1"),
  type: { kind: "video", contentType: "video/mp4" },
  sizeBytes: 5_000_000,
  picture: { width: 1080, height: 1920, seconds: 10 },
};
const image = (width: number, height: number): Source => ({ ...IMAGE, picture: { width, height, seconds: null } });
const video = (width: number, height: number, seconds: number | null = 10): Source => ({
  ...VIDEO,
  picture: { width, height, seconds },
});
/** The checks that do not pass. */
const refused = (
  source: Source,
  of: Requirements | undefined = requirements,
  kinds: readonly ("image" | "video")[] = BOTH,
) =>
  checkSource(source, of, kinds)
    .filter(({ verdict }) => verdict !== "pass")
    .map(({ name, verdict }) => `${name} ${verdict}`);

test.each([
  ["a good photo", IMAGE, []],
  ["the smallest", image(512, 512), []],
  ["one pixel less", image(511, 4000), ["Dimensions fail"]],
  ["too many pixels", image(8000, 8000), ["Dimensions fail"]],
  ["a damaged photo", { ...IMAGE, picture: null }, ["Dimensions fail"]],
  ["the largest photo", { ...IMAGE, sizeBytes: ASSET_LIMITS.image.maxBytes }, []],
  ["one byte more", { ...IMAGE, sizeBytes: ASSET_LIMITS.image.maxBytes + 1 }, ["Size fail"]],
  ["a text", { ...IMAGE, type: null, picture: null }, ["Type fail"]],
  ["a good video", VIDEO, []],
  ["a video that is stored sideways", video(1920, 1080), []],
  ["too long a side", video(1921, 1080), ["Dimensions fail"]],
  ["too wide", video(1200, 1200), ["Dimensions fail"]],
  ["too small", video(1920, 511), ["Dimensions fail"]],
  ["the shortest video", video(640, 640, 1), []],
  ["too short", video(640, 640, 0.96), ["Length fail"]],
  ["the longest video", video(640, 640, 120), []],
  ["too long", video(640, 640, 120.1), ["Length fail"]],
  ["a recording without a length", video(640, 640, null), ["Length unknown"]],
  ["a codec that this browser lacks", { ...VIDEO, picture: null }, ["Dimensions unknown"]],
  ["the largest video", { ...VIDEO, sizeBytes: ASSET_LIMITS.video.maxBytes }, []],
  ["one byte more than a video may have", { ...VIDEO, sizeBytes: ASSET_LIMITS.video.maxBytes + 1 }, ["Size fail"]],
] as const)("a file, %s: its failed checks, and the next step", (_, source, checks) => {
  expect(refused(source)).toEqual([...checks]);
  for (const { verdict, detail } of checkSource(source, requirements, BOTH)) {
    if (verdict === "fail") expect(detail).toMatch(/\. (Use|Cut|Scale|Export|Accepted:) .+\.$/);
  }
});

test("a source, replaced by one of another kind: refused", () => {
  expect(refused(VIDEO, requirements, ["image"])).toEqual(["Type fail"]);
  expect(checkSource(VIDEO, requirements, ["image"])[0]?.detail).toBe(
    "This is an MP4 video. Accepted: JPEG, PNG or WebP.",
  );
  expect(refused(IMAGE, requirements, ["video"])).toEqual(["Type fail"]);
});

test.each([
  [
    "a text",
    Buffer.from("hello"),
    BOTH,
    "This is a text. Accepted: image (JPEG, PNG or WebP), video (MP4, MOV or WebM).",
  ],
  ["an empty file", Buffer.alloc(0), ["video"], "The file is empty. Accepted: MP4, MOV or WebM."],
  ["a folder", null, BOTH, "The file cannot be read. Choose a file, not a folder."],
] as const)("a source that is %s: a text with the reason and the accepted types", (_, firstBytes, kinds, detail) => {
  const source: Source = { firstBytes, type: null, sizeBytes: 5, picture: null };
  expect(checkSource(source, requirements, kinds)).toEqual([{ name: "Type", verdict: "fail", detail }]);
});

test("a source, checked with other bounds of the service: those bounds apply", () => {
  const changed = (kind: "image" | "video", code: string, required: { min: number | null; max: number | null }) => ({
    ...requirements,
    [kind]: requirements[kind].map((each) => (each.code === code ? { ...each, required } : each)),
  });
  expect(refused(image(600, 600), changed("image", "resolution", { min: 601, max: null }))).toEqual([
    "Dimensions fail",
  ]);
  expect(refused(video(640, 640, 5), changed("video", "duration", { min: 6, max: 8 }))).toEqual(["Length fail"]);
  expect(checkSource(image(10, 10), undefined, BOTH).every(({ verdict }) => verdict === "pass")).toBe(true);
  expect(sourceHints(requirements, BOTH)).toEqual([
    "A photo: JPEG, PNG or WebP, at most 16 MiB, each side at least 512 pixels.",
    "A video of 1 to 120 seconds: MP4, MOV or WebM, at most 200 MiB, each side at least 512 pixels.",
  ]);
  expect(sourceHints(undefined, ["image"])).toEqual(["A photo: JPEG, PNG or WebP, at most 16 MiB."]);
});

test("an uploaded file, refused by the service's examination: throws the reason; ready: returns", async () => {
  const asset = (status: Asset["status"], detail?: string): Asset =>
    ({ id: "ast_1", status, error: detail === undefined ? null : { code: "not_decodable", detail } }) as Asset;
  const { signal } = new AbortController();
  const examined = (next: Asset): Promise<void> => untilExamined(asset("uploaded"), async () => next, signal);
  await expect(examined(asset("failed", "It is damaged."))).rejects.toThrow("It is damaged.");
  await examined(asset("ready"));
});
