/**
 * The idle loop of an avatar that is made from a video: the part of the video in which the person listens. Without one, the
 * avatar shows a frame of the video as it shows a photo, so a failure to make the loop does not fail the video.
 */
import { join } from "node:path";
import type { ContentType } from "@realtime-avatar/domain/assets/limits";
import { FRAMES_PER_SECOND, MIN_FRAMES } from "@realtime-avatar/face/loop/loop-file";
import { FILM_LIMITS, type FramePart, writeFrames } from "../sandbox/frame.ts";
import type { Failed } from "../sandbox/limited.ts";
import type { LoopReason } from "../sandbox/loop/still-part.ts";
import { isSrgb } from "../sandbox/measure/light.ts";
import type { Report, Turn } from "../sandbox/report.ts";
import type { ChildRunner, SourceFile } from "./child-runner.ts";
import { type DerivedFiles, derivedFiles } from "./derived-files.ts";

export type VideoProperties = Extract<Report<"video">, { kind: "accepted" }>;

export type LoopParts = { runner: ChildRunner; source: SourceFile; properties: VideoProperties; label: string };

/** Where the face of the examined frame is. */
export type FoundFace = { square: FramePart; turned: Turn };

export type IdleLoop =
  /** `detail`: one or more sentences for the caller. */
  | { kind: "made"; files: DerivedFiles; detail: string }
  | { kind: "none"; detail: string }
  /** The job was told to end. */
  | Failed;

const STILL = "Calls show a frame of the video, as they show a photo.";
const ADVICE =
  "For an avatar that moves as in the video, use one in which the person listens for at least 4 seconds of the first 15, with still lips.";
const REASONS: Record<LoopReason, string> = {
  too_short: "The video is shorter than 4 seconds.",
  no_face:
    "Too few of its frames in a row show exactly one face that stays in the same part of the picture and in the same light.",
  head_turns: "The head turns by more than 15°.",
  lips_move: "The lips move.",
  nothing_moves: "Nothing moves in it.",
  too_large: "Its frames have too many details.",
};
const NOT_IN_TIME = "The video could not be examined for movement within the limits of the service.";
const OTHER_PICTURES = "The pictures of the video are HDR or lie on their side, so its movement is not used.";

const none = (reason: string): IdleLoop => ({ kind: "none", detail: `${reason} ${STILL} ${ADVICE}` });

/** A child that was told to end ends the job. Every other failure means no loop. */
const withoutLoop = (runner: ChildRunner, failed: Failed): IdleLoop => {
  if (failed.code === "canceled") return failed;
  runner.log(failed);
  return none(NOT_IN_TIME);
};

const seconds = (frames: number): string => (frames / FRAMES_PER_SECOND).toFixed(1);

/** Makes the idle loop of a video whose examined frame has a good face. */
export const makeIdleLoop = async (parts: LoopParts, ffmpeg: string, face: FoundFace): Promise<IdleLoop> => {
  const { runner, source, properties, label } = parts;
  const { codec, colors, shownFrom, shownTo } = properties;
  if (shownTo - shownFrom < MIN_FRAMES / FRAMES_PER_SECOND) return none(REASONS.too_short);
  if (face.turned !== 0 || !isSrgb(colors)) return none(OTHER_PICTURES);
  const contentType = source.magic.contentType as ContentType<"video">;
  const film = join(source.folder, "film");
  const frames = { path: source.path, contentType, codec, seconds: shownFrom, part: face.square } as const;
  const written = await writeFrames(ffmpeg, frames, film, { ...runner.options, limits: FILM_LIMITS });
  if (written.kind === "failed") return withoutLoop(runner, written);
  if (written.kind === "not_decodable") return none(REASONS.no_face);
  const files = { ...derivedFiles(film), loop: `${film}-loop` };
  const task = { kind: "loop", contentType: "image/jpeg", label } as const;
  const outcome = await runner.task(task, { input: film, outputs: Object.values(files) });
  if (outcome.kind === "failed") return outcome.code === "canceled" ? outcome : none(NOT_IN_TIME);
  const { part, reason } = outcome as Extract<Report<"loop">, { kind: "accepted" }>;
  if (part === null) return none(REASONS[reason ?? "no_face"]);
  const [from, to] = [seconds(part.first), seconds(part.first + part.frames)];
  const detail = `From ${from} to ${to} s of its pictures, the person listens: calls show this as a loop.`;
  return { kind: "made", files: { ...files, mesh: part.mesh }, detail };
};
