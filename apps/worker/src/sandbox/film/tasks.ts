/** The tasks of children for a video, and the schemas by which the parent validates their reports. */
import { type Static, Type } from "@sinclair/typebox";

/** The source of a sound: the input of the child. `voice`: its name in Flite. */
export type SoundSource =
  | { kind: "wav" }
  /** 16-bit PCM, little-endian, mono, 48 kHz. */
  | { kind: "pcm" }
  /** UTF-8. */
  | { kind: "text"; voice: string };

/** Writes the sound of the input as 16-bit PCM, little-endian, mono, 48 kHz: one output. */
export type SoundTask = { kind: "sound"; source: SoundSource };

/** The member `face` of the manifest of a prepared avatar. */
export type FaceMesh = { version: number; mesh: string };

/**
 * Writes a film: the input is the normalized picture of an avatar, a second one the sound as `SoundTask` has written it, the output
 * an MP4 file.
 */
export type FilmTask = {
  kind: "film";
  /** Samples of the sound. */
  samples: number;
  /** null: the picture grows with the loudness of the voice. */
  mesh: FaceMesh | null;
  /** The text of the mark: see `createMarks`. */
  label: string;
  isTest: boolean;
  /** An integer of 32 bits. Equal seeds, pictures and sounds give equal bytes. */
  seed: number;
};

export type VideoTask = SoundTask | FilmTask;

export const SAMPLE_RATE = 48_000;
/** Longer sounds are refused. */
export const MAX_SOUND_SECONDS = 600;
export const MAX_SOUND_SAMPLES = MAX_SOUND_SECONDS * SAMPLE_RATE;

/** The reasons to refuse a sound. `voice_refused`: Flite cannot say the text. */
export const SOUND_REFUSALS = ["audio_silent", "audio_too_long", "audio_malformed", "voice_refused"] as const;

const SoundReport = Type.Union([
  Type.Object(
    { kind: Type.Literal("accepted"), samples: Type.Integer({ minimum: 1, maximum: MAX_SOUND_SAMPLES }) },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      kind: Type.Literal("refused"),
      code: Type.Union(SOUND_REFUSALS.map((code) => Type.Literal(code))),
      detail: Type.String({ pattern: "^[ -~]{1,400}$" }),
    },
    { additionalProperties: false },
  ),
]);

const FilmReport = Type.Union([
  Type.Object(
    {
      kind: Type.Literal("accepted"),
      pictures: Type.Integer({ minimum: 1, maximum: 2 ** 20 }),
      /** Whether a portrait was shown, because the mesh does not fit the picture. */
      isPortrait: Type.Boolean(),
    },
    { additionalProperties: false },
  ),
  /** The picture cannot be decoded. */
  Type.Object(
    { kind: Type.Literal("refused"), code: Type.Literal("avatar_unavailable") },
    { additionalProperties: false },
  ),
]);

export const VIDEO_REPORTS = { sound: SoundReport, film: FilmReport } as const;
export type VideoReport<Kind extends VideoTask["kind"]> = Static<(typeof VIDEO_REPORTS)[Kind]>;
export type SoundRefusal = Extract<VideoReport<"sound">, { kind: "refused" }>;

export const refuseSound = (code: SoundRefusal["code"], detail: string): SoundRefusal => ({
  kind: "refused",
  code,
  detail,
});
