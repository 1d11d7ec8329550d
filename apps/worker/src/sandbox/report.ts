/** The report of a child process about a file, and the schema by which its parent validates it. */
import { ASSET_ERROR_CODES } from "@realtime-avatar/domain/assets/errors";
import type { AssetKind, ContentType } from "@realtime-avatar/domain/assets/limits";
import { MESH_PATTERN } from "@realtime-avatar/domain/avatars/face-mesh";
import { MAX_FRAMES, MIN_FRAMES } from "@realtime-avatar/face/loop/loop-file";
import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { LOOP_REASONS } from "./loop/still-part.ts";
import { type Colors, PRIMARIES, TRANSFERS } from "./measure/light.ts";

/**
 * The tasks of a child: inspect a file of each kind, measure the faces of an image (`portrait`), or make an idle loop of the
 * frames that ffmpeg has written (`loop`).
 */
export type TaskKind = AssetKind | "portrait" | "loop";

/** A task, and the content type by the first bytes of the file (`detectContentType`). */
export type Task<Kind extends TaskKind = TaskKind> = {
  kind: Kind;
  contentType: ContentType<Kind extends AssetKind ? Kind : "image">;
  /**
   * For a portrait: the colour space of its pixels, if the file does not name it. `label`: the mark that is drawn into the
   * preview.
   */
  colors?: Colors;
} & (Kind extends "portrait" | "loop" ? { label: string } : unknown);

/** The processor time for the header of a file. The header of a film of two minutes takes 0.2 s. */
export const HEADER_CPU_SECONDS = 5;

/** How many files a child of each kind writes, with an `accepted` report. */
export const OUTPUTS = { image: 1, video: 0, audio: 0, portrait: 3, loop: 4 } as const satisfies Record<
  TaskKind,
  number
>;

/** The degrees by which a picture can be turned, clockwise. */
export const TURNS = [0, 90, 180, 270] as const;
export type Turn = (typeof TURNS)[number];

const Count = Type.Integer({ minimum: 1, maximum: 2 ** 31 });
const Seconds = Type.Number({ minimum: 0, maximum: 1e9 });
/** A share in percent, or an angle in degrees. A box around a face can be larger than its picture. */
const Measure = Type.Number({ minimum: -1e6, maximum: 1e6 });
/** A share of a whole. */
const Share = Type.Number({ minimum: 0, maximum: 1 });
const Codec = Type.String({ pattern: "^[a-z0-9-]{1,32}$" });
const facts = <Properties extends TProperties>(properties: Properties) =>
  Type.Object({ kind: Type.Literal("accepted"), ...properties }, { additionalProperties: false });

const { image, video, audio, videoOrAudio } = ASSET_ERROR_CODES;
const CODES = ["not_decodable", "content_type_mismatch", ...image, ...video, ...audio, ...videoOrAudio] as const;

const Refused = Type.Object(
  {
    kind: Type.Literal("refused"),
    /** The limit or the rule that the file breaks. */
    code: Type.Union(CODES.map((code) => Type.Literal(code))),
    /**
     * For the caller: the limit and the measured value. It contains no text of the file, and leaves room for the advice
     * after it.
     */
    detail: Type.String({ pattern: "^[ -~]{1,400}$" }),
    /** The value that breaks the limit, if one was measured. */
    measured: Type.Optional(Type.Number({ minimum: 0, maximum: 1e18 })),
  },
  { additionalProperties: false },
);
export type Refused = Static<typeof Refused>;
export type RefusalCode = Refused["code"];

const Accepted = {
  image: facts({
    /** In pixels, as displayed, after the orientation of the EXIF data. */
    width: Count,
    height: Count,
    /** The public image: WebP without metadata. */
    publicWidth: Count,
    publicHeight: Count,
    publicBytes: Count,
  }),
  video: facts({
    /** In square pixels, as displayed. */
    width: Count,
    height: Count,
    seconds: Seconds,
    /** The start and end of its pictures, in seconds from the start of the file's first track. */
    shownFrom: Seconds,
    shownTo: Seconds,
    framesPerSecond: Seconds,
    codec: Codec,
    colors: Type.Object(
      {
        transfer: Type.Union(TRANSFERS.map((transfer) => Type.Literal(transfer))),
        primaries: Type.Union(PRIMARIES.map((primaries) => Type.Literal(primaries))),
      },
      { additionalProperties: false },
    ),
  }),
  audio: facts({ seconds: Seconds, channels: Count, sampleRate: Count, codec: Codec }),
  portrait: facts({
    width: Count,
    height: Count,
    /**
     * The degrees by which the picture was turned clockwise, so that its face is upright. Size and measures are those
     * of the turned picture.
     */
    turned: Type.Union(TURNS.map((turn) => Type.Literal(turn))),
    /** The number of faces. */
    faces: Type.Integer({ minimum: 0, maximum: 1000 }),
    /**
     * The measures of the only face: shares in percent, angles in degrees. The two files are written if the picture has
     * exactly one face; else they are empty.
     */
    face: Type.Union([
      Type.Null(),
      Type.Object(
        {
          confidence: Measure,
          size: Measure,
          roll: Measure,
          yaw: Measure,
          pitch: Measure,
          edgeDistance: Measure,
          sharpness: Measure,
          brightness: Measure,
          /** The contrast of the eye with less contrast, and of the mouth, in percent. */
          eyes: Measure,
          mouth: Measure,
          /** In pixels of the normalized image: see `encodeMesh`. */
          mesh: Type.String({ pattern: MESH_PATTERN }),
          /** The square of the normalized image, in shares of the width and height of the picture. */
          square: Type.Object(
            { left: Share, top: Share, width: Share, height: Share },
            { additionalProperties: false },
          ),
        },
        { additionalProperties: false },
      ),
    ]),
  }),
  /** The four files are written if a part was found; else they are empty. */
  loop: facts({
    /** The number of the first frame, and of frames. */
    part: Type.Union([
      Type.Null(),
      Type.Object(
        {
          first: Type.Integer({ minimum: 0, maximum: 1000 }),
          frames: Type.Integer({ minimum: MIN_FRAMES, maximum: MAX_FRAMES }),
          mesh: Type.String({ pattern: MESH_PATTERN }),
        },
        { additionalProperties: false },
      ),
    ]),
    /** Why no part was found. */
    reason: Type.Union([Type.Null(), ...LOOP_REASONS.map((reason) => Type.Literal(reason))]),
  }),
};

/** The schemas of the report of each kind. A child that was taken over cannot say more than this. */
export const REPORTS = {
  image: Type.Union([Accepted.image, Refused]),
  video: Type.Union([Accepted.video, Refused]),
  audio: Type.Union([Accepted.audio, Refused]),
  portrait: Type.Union([Accepted.portrait, Refused]),
  loop: Type.Union([Accepted.loop, Refused]),
} as const satisfies Record<TaskKind, unknown>;

export type Report<Kind extends TaskKind = TaskKind> = Static<(typeof REPORTS)[Kind]>;

/** `facts`: the finding and the limit. `advice`: the action for a person. Each has one or more sentences. */
export const refused = (code: RefusalCode, facts: string, advice: string, measured?: number): Refused => {
  const detail = `${facts} ${advice}`;
  return measured === undefined ? { kind: "refused", code, detail } : { kind: "refused", code, detail, measured };
};
