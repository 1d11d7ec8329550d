/**
 * The checks of an avatar's source, and the table of their requirements: the only place where these bounds are written. The
 * worker, `GET /models`, the schemas and the documents use it.
 */
import { type Static, Type } from "@sinclair/typebox";
import { ASSET_LIMITS } from "../assets/limits.ts";
import { ClosedObject, Nullable, OneOf, Text } from "../schema.ts";
import type { SourceKind } from "./source-kind.ts";

export const CHECK_CODES = [
  "decodable",
  "single_frame",
  "codec",
  "duration",
  "frame_rate",
  "resolution",
  "frame",
  "face_count",
  "face_confidence",
  "face_size",
  "face_yaw",
  "face_pitch",
  "cropped",
  "sharpness",
  "brightness",
] as const;
export type CheckCode = (typeof CHECK_CODES)[number];

export const VERDICTS = ["pass", "warn", "fail"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** An inclusive range; null: without a bound on that side. */
export type Range = readonly [min: number | null, max: number | null];

export type Requirement = {
  code: CheckCode;
  /** The measured value and the requirement, in one sentence for a person. */
  description: string;
  /** The unit of `required`, `recommended` and `measured`; null for a check without a number. */
  unit: string | null;
  /** A value outside of this range fails; null: the check decides without a number. */
  required: Range | null;
  /** A value outside of this range but within `required` is a warning. */
  recommended: Range | null;
};

const DECODABLE: Requirement = {
  code: "decodable",
  description: "The file can be decoded whole.",
  unit: null,
  required: null,
  recommended: null,
};

/**
 * The requirements of a face, in an image or in the examined frame of a video. The animation needs those of size and
 * pose. The others were chosen with the photographs of the calibration (docs/preparation.md), between the values of
 * good and of degraded pictures.
 */
const FACE: readonly Requirement[] = [
  {
    code: "resolution",
    description: "The shorter side is at least 512 pixels.",
    unit: "px",
    required: [512, null],
    recommended: null,
  },
  {
    code: "face_count",
    description: "There is exactly one face.",
    unit: "faces",
    required: [1, 1],
    recommended: null,
  },
  {
    code: "face_confidence",
    description: "The face is recognized as one, with a confidence of at least 65 %, better 75 %.",
    unit: "%",
    // Good: 79 and more. Mouth and nose covered: 65 to 78. Half a face: 34 to 69. Without a face: 35.
    required: [65, null],
    recommended: [75, null],
  },
  {
    code: "face_size",
    description: "The height of the face is at least 15 % of the height of the picture, better 30 %.",
    unit: "%",
    required: [15, null],
    recommended: [30, null],
  },
  {
    code: "face_yaw",
    description: "The face looks at the camera: it is turned at most 25° to a side, better 20°.",
    unit: "°",
    required: [-25, 25],
    // Beyond this angle, the far eye closes only half when the avatar blinks.
    recommended: [-20, 20],
  },
  {
    code: "face_pitch",
    description: "The face looks at the camera: it is turned at most 20° up (negative) or down (positive).",
    unit: "°",
    required: [-20, 20],
    recommended: null,
  },
  {
    code: "cropped",
    description:
      "The whole head is inside the picture: the distance of the face from each edge is at least 5 % of the height of the face.",
    unit: "%",
    // Good: 8 and more. Cut through the face: 2.6 at most.
    required: [5, null],
    recommended: null,
  },
  {
    code: "sharpness",
    description: "The face is sharp: the sharpness is at least 4.5, better 8.",
    unit: null,
    // Good: 5.9 and more. A face with the detail of 64 pixels: 4.5 to 12.8. Blurred, moved, of 32 pixels: 3.2 at most.
    required: [4.5, null],
    recommended: [8, null],
  },
  {
    code: "brightness",
    description: "The face is neither too dark nor too bright: the brightness is 35 to 97 %, better 45 to 94 %.",
    unit: "%",
    // Good: 49 to 93. With a quarter of the light: 37 to 44. With an eighth: 31 at most. With four times the light: 99.6 and more.
    required: [35, 97],
    recommended: [45, 94],
  },
];

const { minSeconds, maxSeconds, maxFramesPerSecond } = ASSET_LIMITS.video;

/** The requirements of a source, by its kind, in the order of the checks. */
export const REQUIREMENTS: Readonly<Record<SourceKind, readonly Requirement[]>> = {
  image: [
    DECODABLE,
    {
      code: "single_frame",
      description: "The image has one frame: it is not animated.",
      unit: "frames",
      required: [1, 1],
      recommended: null,
    },
    ...FACE,
  ],
  video: [
    DECODABLE,
    {
      code: "codec",
      description: "The codec of the video is H.264 or VP9.",
      unit: null,
      required: null,
      recommended: null,
    },
    {
      code: "duration",
      description: `The video lasts ${minSeconds} to ${maxSeconds} seconds.`,
      unit: "s",
      required: [minSeconds, maxSeconds],
      recommended: null,
    },
    {
      code: "frame_rate",
      description: `The video has at most ${maxFramesPerSecond} frames per second.`,
      unit: "frames/s",
      required: [null, maxFramesPerSecond],
      recommended: null,
    },
    {
      code: "frame",
      description: "A frame of the video can be examined. It needs ffmpeg; without it, the face is not checked.",
      unit: null,
      required: null,
      recommended: null,
    },
    ...FACE,
  ],
};

const isWithin = (value: number, [min, max]: Range): boolean =>
  (min === null || value >= min) && (max === null || value <= max);

/** The verdict of the table on a measured value. */
export const toVerdict = ({ required, recommended }: Requirement, measured: number): Verdict => {
  if (required !== null && !isWithin(measured, required)) return "fail";
  return recommended === null || isWithin(measured, recommended) ? "pass" : "warn";
};

/** The bound that decided: the one that `measured` violates, or else the nearest one; null without bounds. */
export const decidingBound = ({ required, recommended }: Requirement, measured: number): number | null => {
  const range = required !== null && !isWithin(measured, required) ? required : (recommended ?? required);
  if (range === null) return null;
  const [min, max] = range;
  if (min === null || max === null) return min ?? max;
  return Math.abs(measured - min) <= Math.abs(measured - max) ? min : max;
};

export const MAX_CHECKS = 32;

export const Check = ClosedObject({
  code: OneOf(CHECK_CODES, { description: "The name of the check. `GET /models` lists the requirements." }),
  verdict: OneOf(VERDICTS, { description: "`warn`: the avatar can be used, but may look worse." }),
  measured: Nullable(Type.Number(), { description: "The measured value; null for a check without a number." }),
  limit: Nullable(Type.Number(), { description: "The bound that decided, in the unit of `measured`." }),
  detail: Text({
    minLength: 1,
    maxLength: 500,
    description: "The measured value, the requirement, and how to meet it.",
  }),
});
export type Check = Static<typeof Check>;
