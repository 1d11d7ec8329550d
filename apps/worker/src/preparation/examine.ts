/** The examination of the source of an avatar, in the sandbox: what it takes, and what it shows. */
import type { Magic } from "@realtime-avatar/domain/assets/magic";
import type { Check } from "@realtime-avatar/domain/avatars/checks";

export type SourceFile = {
  /** Kind and content type by the first bytes. */
  magic: Magic;
  path: string;
  /** A folder of the job alone, in which the examination may write. */
  folder: string;
};

export type SourceExamination =
  /** `files`: paths; null when a check failed, or when no frame of a video could be examined because there is no ffmpeg. */
  | { kind: "examined"; checks: Check[]; files: { normalized: string; thumb: string } | null }
  /** The examination was canceled, or this machine could not do it now. */
  | { kind: "retry"; error: string };

export type ExamineSource = (source: SourceFile, signal: AbortSignal) => Promise<SourceExamination>;

/** The longest `error` of an avatar, in characters. */
const MAX_ERROR = 500;

/** The text for `error` of an avatar: the details of the first checks that failed, as many as fit. */
export const errorOf = (checks: readonly Check[]): string => {
  let error = "";
  for (const { verdict, detail } of checks) {
    if (verdict !== "fail") continue;
    const longer = error === "" ? detail : `${error} ${detail}`;
    if (longer.length > MAX_ERROR) break;
    error = longer;
  }
  return error;
};
