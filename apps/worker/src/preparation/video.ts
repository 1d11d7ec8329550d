/** Checks the video of an avatar: its container and, if ffmpeg is available, one of its frames. Then makes its idle loop. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { ContentType } from "@realtime-avatar/domain/assets/limits";
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import { FRAME_LIMITS, type FrameSource, writeFrame } from "../sandbox/frame.ts";
import { type Failed, isTransient } from "../sandbox/limited.ts";
import { isSrgb } from "../sandbox/measure/light.ts";
import type { Report } from "../sandbox/report.ts";
import { faceChecks, measuredCheck, plainCheck } from "./checks.ts";
import { type DerivedFiles, derivedFiles } from "./derived-files.ts";
import { type FoundFace, type LoopParts, makeIdleLoop, type VideoProperties } from "./idle-loop.ts";

/**
 * The positions of the examined frames, as shares of the time with pictures. The middle comes first, because a frame
 * that passes every check ends the search.
 */
const POSITIONS = [0.5, 0.1, 0.9];

const CODEC_NAMES: Record<string, string> = { avc: "H.264", vp9: "VP9" };

type Portrait = Extract<Report<"portrait">, { kind: "accepted" }>;
type Frame = {
  seconds: number;
  shorterSide: number;
  checks: Check[];
  derived: { files: DerivedFiles; face: FoundFace } | null;
};

/** The times of the examined frames, in seconds, within the time with pictures. */
export const frameTimes = ({ shownFrom, shownTo }: Pick<VideoProperties, "shownFrom" | "shownTo">): number[] =>
  POSITIONS.map((share) => shownFrom + share * (shownTo - shownFrom));

/** The checks of the container. */
export const containerChecks = ({ codec, seconds, framesPerSecond }: VideoProperties): Check[] => [
  plainCheck("decodable", "pass", "The video could be read whole."),
  plainCheck("codec", "pass", `The codec of the video is ${CODEC_NAMES[codec] ?? codec}.`),
  measuredCheck("video", "duration", seconds),
  // The timestamps of a video of 60 frames per second can measure 60.02.
  measuredCheck("video", "frame_rate", Math.round(framesPerSecond)),
];

const NO_FFMPEG =
  "No frame of the video was examined, because this server has no ffmpeg. The face was not checked. Use a photo, or have the operator install ffmpeg and prepare the avatar again.";
const NO_FRAME = "No frame of the video could be decoded. Use another video, or convert this one to H.264.";

/** The order of frames, where lower is better: no single face, failed checks, warnings. */
const faultsOf = ({ checks }: Frame): number => {
  const count = (verdict: string): number => checks.filter((check) => check.verdict === verdict).length;
  return (checks.length === 1 ? 10_000 : 0) + 100 * count("fail") + count("warn");
};

export type VideoParts = LoopParts & { ffmpeg: string | null };

/** Writes the frame at `seconds` to a file, and returns its path; null when the video has no frame there. */
const frameAt = async (
  { runner, source, properties }: VideoParts,
  ffmpeg: string,
  position: Required<Pick<FrameSource, "seconds" | "position">>,
): Promise<string | Failed | null> => {
  const { path, folder, magic } = source;
  const output = join(folder, `frame-${position.seconds.toFixed(3)}-${position.position}`);
  const { codec, colors } = properties;
  const contentType = magic.contentType as ContentType<"video">;
  const frame = { path, contentType, codec, bits: isSrgb(colors) ? 8 : 16, ...position } as const;
  const written = await writeFrame(ffmpeg, frame, output, { ...runner.options, limits: runner.limits(FRAME_LIMITS) });
  if (written.kind === "failed") {
    if (written.code !== "canceled") runner.log(written);
    return isTransient(written) ? written : null;
  }
  return written.kind === "written" && (await stat(output)).size > 0 ? output : null;
};

/** The checks and the derived files of the frame at `seconds` of the video; null when it cannot be decoded. */
const checkFrame = async (parts: VideoParts, seconds: number): Promise<Frame | Failed | null> => {
  const { runner, properties, ffmpeg, label } = parts;
  if (ffmpeg === null) return null;
  const { colors } = properties;
  const file =
    (await frameAt(parts, ffmpeg, { seconds, position: "exact" })) ??
    (await frameAt(parts, ffmpeg, { seconds, position: "key_frame" }));
  if (file === null || typeof file === "object") return file;
  const files = derivedFiles(file);
  const task = { kind: "portrait", contentType: "image/png", label, ...(isSrgb(colors) ? {} : { colors }) } as const;
  const outcome = await runner.task(task, { input: file, outputs: Object.values(files) });
  if (outcome.kind === "failed") return isTransient(outcome) ? outcome : null;
  if (outcome.kind === "refused") return null;
  const portrait = outcome as Portrait;
  const shorterSide = Math.min(portrait.width, portrait.height);
  const { face, turned } = portrait;
  const derived = face && {
    files: { ...files, mesh: face.mesh, loop: null },
    face: { square: face.square, turned },
  };
  return { seconds, shorterSide, checks: faceChecks("video", portrait), derived };
};

/** The checks after those of the container, and the files that are derived from the best frame. */
export const frameChecks = async (
  parts: VideoParts,
): Promise<{ kind: "checked"; checks: Check[]; files: DerivedFiles | null } | Failed> => {
  const { width, height } = parts.properties;
  const resolution = measuredCheck("video", "resolution", Math.min(width, height));
  if (parts.ffmpeg === null) {
    return { kind: "checked", checks: [plainCheck("frame", "warn", NO_FFMPEG), resolution], files: null };
  }
  let best: Frame | null = null;
  for (const seconds of frameTimes(parts.properties)) {
    const frame = await checkFrame(parts, seconds);
    if (frame && "kind" in frame) return frame;
    if (frame && (best === null || faultsOf(frame) < faultsOf(best))) best = frame;
    if (best && faultsOf(best) === 0) break;
  }
  if (!best) return { kind: "checked", checks: [plainCheck("frame", "fail", NO_FRAME), resolution], files: null };
  const detail = `The frame at ${best.seconds.toFixed(1)} s was examined.`;
  const isGood = best.checks.every(({ verdict }) => verdict !== "fail");
  const loop = isGood && best.derived ? await makeIdleLoop(parts, parts.ffmpeg, best.derived.face) : null;
  if (loop?.kind === "failed") return loop;
  return {
    kind: "checked",
    checks: [
      plainCheck("frame", loop?.kind === "none" ? "warn" : "pass", loop ? `${detail} ${loop.detail}` : detail),
      // The resolution of the frame, because ffmpeg takes the first video track, while the properties of the container
      // are those of the main one.
      measuredCheck("video", "resolution", best.shorterSide),
      ...best.checks,
    ],
    files: loop?.kind === "made" ? loop.files : (best.derived?.files ?? null),
  };
};
