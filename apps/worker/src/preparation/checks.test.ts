import { describe, expect, test } from "bun:test";
import { CHECK_CODES, type Check, Check as CheckSchema, REQUIREMENTS } from "@realtime-avatar/domain/avatars/checks";
import { MAX_ERROR_LENGTH } from "@realtime-avatar/domain/avatars/schemas";
import { Value } from "@sinclair/typebox/value";
import { MESH } from "../../test/support/source-checks.ts";
import { refused } from "../sandbox/report.ts";
import { describeFailures, faceChecks, imageChecks, measuredCheck, plainCheck, refusedChecks } from "./checks.ts";

const FACE = { confidence: 90, size: 45, yaw: 3, pitch: -4, edgeDistance: 60, roll: 0, sharpness: 20, brightness: 50 };
const SQUARE = { left: 0, top: 0, width: 1, height: 1 };
const FEATURES = { eyes: 40, mouth: 60, mesh: MESH, square: SQUARE };
const report = (face: Partial<typeof FACE & typeof FEATURES> = {}) =>
  ({
    kind: "accepted",
    width: 800,
    height: 600,
    turned: 0,
    faces: 1,
    face: { ...FACE, ...FEATURES, ...face },
  }) as const;
const codes = (checks: readonly Check[]): string[] => checks.map(({ code }) => code);

test("an image, checked: every check of the table, in order, within bounds", () => {
  const checks = imageChecks(report());
  expect(codes(checks)).toEqual(REQUIREMENTS.image.map(({ code }) => code));
  for (const check of checks) expect([check.code, Value.Check(CheckSchema, check)]).toEqual([check.code, true]);
  expect(checks.filter(({ verdict }) => verdict !== "pass")).toEqual([]);
  // The shorter side has 600 of 800 pixels.
  expect(checks.find(({ code }) => code === "resolution")?.measured).toBe(600);
});

test("a code, of the table: has its own words", () => {
  for (const kind of ["image", "video"] as const) {
    for (const { code, required, description } of REQUIREMENTS[kind]) {
      expect(CHECK_CODES).toContain(code);
      if (required)
        expect([code, measuredCheck(kind, code, 1).detail]).not.toEqual([code, expect.stringContaining(description)]);
    }
  }
});

test("a failed check of a video: its text does not mention a photo; of an image: no mention of a video", () => {
  const [WORST, OTHER] = [1e6, { image: /video/i, video: /photo|image/i }];
  for (const kind of ["image", "video"] as const) {
    for (const { code, required } of REQUIREMENTS[kind]) {
      if (required === null) continue;
      for (const measured of [WORST, -WORST]) {
        const { verdict, detail } = measuredCheck(kind, code, measured);
        if (verdict === "fail") expect([code, detail]).toEqual([code, expect.not.stringMatching(OTHER[kind])]);
      }
    }
    const [count] = faceChecks(kind, report({ roll: 60 }));
    expect(count?.detail).toMatch(/ turn the \w+ so that the face is upright/);
    expect(count?.detail).not.toMatch(OTHER[kind]);
  }
});

test("a failed check: has advice", () => {
  for (const kind of ["image", "video"] as const) {
    for (const { code, required } of REQUIREMENTS[kind]) {
      if (required === null) continue;
      const checks = [measuredCheck(kind, code, 1e6), measuredCheck(kind, code, -1e6)];
      const failed = checks.filter(({ verdict }) => verdict === "fail");
      expect([code, failed.length > 0]).toEqual([code, true]);
      for (const { detail } of failed)
        expect([code, detail]).toEqual([code, expect.stringMatching(/\. (Use|Cut|Convert) /)]);
    }
  }
});

describe("the detail of a check", () => {
  test.each([
    [
      "face_count",
      0,
      "fail",
      1,
      "No face was found; exactly 1 face is required. Use a photo in which exactly one face looks at the camera.",
    ],
    ["face_count", 3, "fail", 1, /^3 faces were found; exactly 1 face is required\. /],
    ["resolution", 300, "fail", 512, /^The shorter side has 300 px; at least 512 px is required\. /],
    ["face_size", 12.5, "fail", 15, /^The face has 12\.5 % of the height of the picture; at least 15 % is required\. /],
    ["face_size", 20, "warn", 30, /; at least 30 % is recommended\. Use/],
    ["face_size", 40, "pass", 30, "The face has 40 % of the height of the picture; at least 30 % is recommended."],
    ["face_yaw", -40, "fail", -25, /^The face is turned 40° to the left; at most 25° is required\. /],
    ["face_pitch", 31.5, "fail", 20, /^The face is turned 31\.5° down; at most 20° is required\. /],
    ["single_frame", 9, "fail", 1, /^The image has 9 frames; exactly 1 frame is required\. /],
  ] as const)("a check, %s of %d: its verdict, limit and advice", (code, measured, verdict, limit, detail) => {
    const expected = typeof detail === "string" ? detail : expect.stringMatching(detail);
    expect(measuredCheck("image", code, measured)).toEqual({ code, verdict, measured, limit, detail: expected });
  });
});

test.each([
  [0, 35, ""],
  [90, 3, " The picture was turned by 90° clockwise, so that the face is upright."],
  [180, -3, " The picture was turned by 180°, so that the face is upright."],
  [270, 0, " The picture was turned by 90° counterclockwise, so that the face is upright."],
  [
    0,
    -40,
    " The face is tilted 40° counterclockwise: turn the photo so that the face is upright, and upload it again.",
  ],
] as const)(
  "an image, turned by %d° for its face, which is tilted by %d°: the check mentions it",
  (turned, roll, text) => {
    const [count] = faceChecks("image", { ...report({ roll }), turned });
    expect(count).toMatchObject({ code: "face_count", verdict: "pass", measured: 1 });
    expect(count?.detail).toBe(`One face was found; exactly 1 face is required.${text}`);
  },
);

test.each([
  ["pass", { eyes: 15, mouth: 35 }, []],
  [
    "warn",
    { eyes: 14.9 },
    [/An eye has a contrast of 14\.9 %; at least 15 % is recommended\. Use a \w+ in which both eyes/],
  ],
  [
    "warn",
    { mouth: 3 },
    [/The mouth has a contrast of 3 %; at least 35 % is recommended\. Use a \w+ in which nothing/],
  ],
  ["fail", { eyes: 0, mouth: 0, confidence: 10 }, [/^The face was recognized/, /An eye/, /The mouth/]],
] as const)("the confidence, %s: with %j, its detail says what covers the face", (verdict, face, texts) => {
  for (const kind of ["image", "video"] as const) {
    const check = faceChecks(kind, report(face)).find(({ code }) => code === "face_confidence");
    expect(check).toMatchObject({ verdict, measured: "confidence" in face ? face.confidence : FACE.confidence });
    for (const text of texts) expect(check?.detail).toMatch(text);
    expect([kind, Value.Check(CheckSchema, check)]).toEqual([kind, true]);
    if (texts.length === 0) expect(check?.detail).not.toContain("contrast");
  }
});

test("an image, without exactly one face: no checks of the face", () => {
  expect(codes(faceChecks("image", { ...report(), faces: 2, face: null }))).toEqual(["face_count"]);
});

describe("the checks of a refused file", () => {
  test.each([
    ["too_many_frames", 9, "single_frame", "image"],
    ["too_long", 130, "duration", "video"],
    ["frame_rate_too_high", 90, "frame_rate", "video"],
  ] as const)("a file, refused as %s: one failed check with the measured value", (code, measured, failed, kind) => {
    const [check, ...others] = refusedChecks(kind, refused(code, "x", "y", measured));
    expect([check, others]).toMatchObject([{ code: failed, verdict: "fail", measured }, []]);
  });

  test.each([
    ["not_decodable", "decodable", "image"],
    ["too_many_pixels", "decodable", "image"],
    ["codec_not_allowed", "codec", "video"],
    ["no_video_track", "decodable", "video"],
    // Shorter than the minimum by less than the rounding.
    ["too_short", "duration", "video"],
  ] as const)("a file, refused as %s: one failed check with the text of the inspection", (code, failed, kind) => {
    const measured = code === "too_short" ? 1 : 50_000_000;
    const [check, ...others] = refusedChecks(kind, refused(code, "What was found.", "What to do.", measured));
    expect([check, others]).toEqual([plainCheck(failed, "fail", "What was found. What to do."), []]);
  });
});

test("the error, of failed checks: their details, as many as fit", () => {
  expect(describeFailures(imageChecks(report()))).toBe("");
  const [yaw, size] = [measuredCheck("image", "face_yaw", 60), measuredCheck("image", "face_size", 20)];
  expect(describeFailures([size, yaw])).toBe(yaw.detail);
  const long = plainCheck("decodable", "fail", "x".repeat(300));
  expect(describeFailures([long, long, yaw])).toBe(long.detail);
  // Up to the last character; one more does not fit.
  const rest = (length: number) => plainCheck("codec", "fail", "y".repeat(length));
  const room = MAX_ERROR_LENGTH - long.detail.length - 1;
  expect(describeFailures([long, rest(room)])).toHaveLength(MAX_ERROR_LENGTH);
  expect(describeFailures([long, rest(room + 1)])).toBe(long.detail);
});
