/** Checks the source of an avatar in the sandbox, and returns the outcome for the avatar. */
import { join } from "node:path";
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import { DEFAULT_MARK } from "@realtime-avatar/domain/calls/mark";
import { findFfmpeg } from "../sandbox/frame.ts";
import { type Failed, isTransient } from "../sandbox/limited.ts";
import type { Report, Task } from "../sandbox/report.ts";
import { imageChecks, plainCheck, refusedChecks } from "./checks.ts";
import { type ChildRunner, type ChildRunnerOptions, createChildRunner, type SourceFile } from "./child-runner.ts";
import { type DerivedFiles, derivedFiles } from "./derived-files.ts";
import { containerChecks, frameChecks } from "./video.ts";

export type CheckedSource =
  /** `files`: null when a check failed, or when no frame of a video could be examined for lack of ffmpeg. */
  | { kind: "checked"; checks: Check[]; files: DerivedFiles | null }
  /** The check was canceled, or this machine could not run it now. */
  | { kind: "retry"; error: string };

export type CheckSource = (source: SourceFile, signal: AbortSignal) => Promise<CheckedSource>;

export type CheckSourceOptions = ChildRunnerOptions & {
  /** The path of ffmpeg; null without ffmpeg. By default, that of this machine. */
  ffmpeg?: string | null;
  /** The mark in the moving preview, because people must know that the person is artificial: see `createMarks`. */
  label?: string;
};

const checked = (checks: Check[], files: DerivedFiles | null): CheckedSource => ({
  kind: "checked",
  checks,
  files: checks.some(({ verdict }) => verdict === "fail") ? null : files,
});

const notChecked = (failed: Failed): CheckedSource => {
  const { detail } = failed;
  return isTransient(failed)
    ? { kind: "retry", error: detail }
    : checked([plainCheck("decodable", "fail", `The file could not be examined. ${detail} Use another file.`)], null);
};

const checkedImage = (
  report: Extract<Report<"portrait">, { kind: "accepted" }>,
  files: Omit<DerivedFiles, "mesh" | "loop">,
) => checked(imageChecks(report), report.face && { ...files, mesh: report.face.mesh, loop: null });

const checkImage = async (
  runner: ChildRunner,
  { magic, path, folder }: SourceFile,
  label: string,
): Promise<CheckedSource> => {
  const files = derivedFiles(join(folder, "image"));
  const task = { kind: "portrait", contentType: magic.contentType, label } as Task<"portrait">;
  const outcome = await runner.task(task, { input: path, outputs: Object.values(files) });
  switch (outcome.kind) {
    case "accepted":
      return checkedImage(outcome as Extract<Report<"portrait">, { kind: "accepted" }>, files);
    case "refused":
      return checked(refusedChecks("image", outcome), null);
    case "failed":
      return notChecked(outcome);
  }
};

const checkVideo = async (
  runner: ChildRunner,
  source: SourceFile,
  { ffmpeg, label }: { ffmpeg: string | null; label: string },
): Promise<CheckedSource> => {
  const task = { kind: "video", contentType: source.magic.contentType } as Task<"video">;
  const outcome = await runner.task(task, { input: source.path, outputs: [] });
  if (outcome.kind === "failed") return notChecked(outcome);
  if (outcome.kind === "refused") return checked(refusedChecks("video", outcome), null);
  const properties = outcome as Extract<Report<"video">, { kind: "accepted" }>;
  const frame = await frameChecks({ runner, source, properties, ffmpeg, label });
  if (frame.kind === "failed") return notChecked(frame);
  return checked([...containerChecks(properties), ...frame.checks], frame.files);
};

const NO_SOURCE = "The file is an audio file. Use an image or a video.";

/** Creates the check of sources. A source must be a file that was accepted as an asset. */
export const createCheckSource =
  ({ ffmpeg = findFfmpeg(), label = DEFAULT_MARK, ...options }: CheckSourceOptions): CheckSource =>
  async (source, signal) => {
    const runner = createChildRunner(options, source.folder, signal);
    switch (source.magic.kind) {
      case "image":
        return checkImage(runner, source, label);
      case "video":
        return checkVideo(runner, source, { ffmpeg, label });
      case "audio":
        return checked([plainCheck("decodable", "fail", NO_SOURCE)], null);
    }
  };
