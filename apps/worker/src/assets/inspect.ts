/** The inspection of a file, in the sandbox: what it takes, and what it shows. */
import type { AssetErrorCode } from "@realtime-avatar/domain/assets/errors";
import type { Magic } from "@realtime-avatar/domain/assets/magic";

export type InspectedFile = {
  /** Kind and content type by the first bytes. */
  magic: Magic;
  path: string;
  /** A folder of the job alone, in which the inspection may write. */
  folder: string;
};

export type Inspection =
  /** `publicFile`: the image that was encoded anew; null for video and audio. */
  | { kind: "accepted"; publicFile: { path: string; contentType: string } | null }
  | { kind: "failed"; code: AssetErrorCode; detail: string }
  /** The inspection was cancelled, or this machine could not do it now. */
  | { kind: "retry"; error: string };

export type Inspect = (file: InspectedFile, signal: AbortSignal) => Promise<Inspection>;
