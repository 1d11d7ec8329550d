/** Examines the source of an avatar in the sandbox, and says what that means for the avatar. */
import { join } from "node:path";
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import { findFfmpeg } from "../sandbox/frame.ts";
import { type Failed, isTransient } from "../sandbox/limited.ts";
import type { Report, Task } from "../sandbox/report.ts";
import { imageChecks, plainCheck, refusedChecks } from "./checks.ts";
import type { ExamineSource, SourceExamination, SourceFile } from "./examine.ts";
import { createPerform, type Perform, type PerformOptions } from "./perform.ts";
import { containerChecks, type DerivedFiles, frameChecks } from "./video.ts";

export type SandboxedOptions = PerformOptions & {
  /** The path of ffmpeg; null for none. By default, the one of this machine. */
  ffmpeg?: string | null;
};

const examined = (checks: Check[], files: DerivedFiles | null): SourceExamination => ({
  kind: "examined",
  checks,
  files: checks.some(({ verdict }) => verdict === "fail") ? null : files,
});

const notExamined = (failed: Failed): SourceExamination => {
  const { detail } = failed;
  return isTransient(failed)
    ? { kind: "retry", error: detail }
    : examined([plainCheck("decodable", "fail", `The file could not be examined. ${detail} Use another file.`)], null);
};

const examineImage = async (perform: Perform, { magic, path, folder }: SourceFile): Promise<SourceExamination> => {
  const files = { normalized: join(folder, "normalized"), thumb: join(folder, "thumb") };
  const task = { kind: "portrait", contentType: magic.contentType } as Task<"portrait">;
  const outcome = await perform.task(task, { input: path, outputs: [files.normalized, files.thumb] });
  switch (outcome.kind) {
    case "accepted":
      return examined(imageChecks(outcome as Extract<Report<"portrait">, { kind: "accepted" }>), files);
    case "refused":
      return examined(refusedChecks("image", outcome), null);
    case "failed":
      return notExamined(outcome);
  }
};

const examineVideo = async (
  perform: Perform,
  source: SourceFile,
  ffmpeg: string | null,
): Promise<SourceExamination> => {
  const task = { kind: "video", contentType: source.magic.contentType } as Task<"video">;
  const outcome = await perform.task(task, { input: source.path, outputs: [] });
  if (outcome.kind === "failed") return notExamined(outcome);
  if (outcome.kind === "refused") return examined(refusedChecks("video", outcome), null);
  const facts = outcome as Extract<Report<"video">, { kind: "accepted" }>;
  const frame = await frameChecks({ perform, source, facts, ffmpeg });
  if (frame.kind === "failed") return notExamined(frame);
  return examined([...containerChecks(facts), ...frame.checks], frame.files);
};

const NO_SOURCE = "The file is an audio file. Use an image or a video.";

/** Creates the examination of sources. A source must be a file that was accepted as an asset once. */
export const createExamineSource =
  ({ ffmpeg = findFfmpeg(), ...options }: SandboxedOptions): ExamineSource =>
  async (source, signal) => {
    const perform = createPerform(options, source.folder, signal);
    switch (source.magic.kind) {
      case "image":
        return examineImage(perform, source);
      case "video":
        return examineVideo(perform, source, ffmpeg);
      case "audio":
        return examined([plainCheck("decodable", "fail", NO_SOURCE)], null);
    }
  };
