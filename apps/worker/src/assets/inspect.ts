/** Inspects the file of an asset in the sandbox, and returns the outcome for its job. */
import { join } from "node:path";
import type { AssetErrorCode } from "@realtime-avatar/domain/assets/errors";
import type { Magic } from "@realtime-avatar/domain/assets/magic";
import type { Logger } from "@realtime-avatar/runtime/log";
import { isTransient, MAX_STDERR_CHARACTERS, type SandboxLimits } from "../sandbox/limited.ts";
import { runInSandbox } from "../sandbox/run.ts";

export type InspectedFile = {
  /** Kind and content type by the first bytes. */
  magic: Magic;
  path: string;
  /** The job's folder, in which the inspection may write. */
  folder: string;
};

export type Inspection =
  /**
   * `publicFile`: the image that was encoded anew; null for video and audio. `durationMs`: the length of audio, rounded
   * up.
   */
  | { kind: "accepted"; publicFile: { path: string; contentType: string } | null; durationMs: number | null }
  | { kind: "failed"; code: AssetErrorCode; detail: string }
  /** The inspection was cancelled, or this machine could not run it now. */
  | { kind: "retry"; error: string };

export type Inspect = (file: InspectedFile, signal: AbortSignal) => Promise<Inspection>;

const PUBLIC_TYPE = "image/webp";

export type InspectOptions = {
  log: Logger;
  /** The command of the child, for a task. By default, this program. */
  command?: (task: string) => string[];
  /** By default, those of the kind of the file. */
  limits?: SandboxLimits;
};

/** Creates the inspection. */
export const createInspect =
  ({ log, ...options }: InspectOptions): Inspect =>
  async ({ magic, path, folder }, signal) => {
    const publicImage = magic.kind === "image" ? join(folder, "public") : null;
    const files = { input: path, outputs: publicImage === null ? [] : [publicImage] };
    const outcome = await runInSandbox(magic, files, { signal, folder, ...options });
    if (outcome.kind === "accepted") {
      const publicFile = publicImage === null ? null : { path: publicImage, contentType: PUBLIC_TYPE };
      const isAudio = magic.kind === "audio" && "seconds" in outcome;
      return { kind: "accepted", publicFile, durationMs: isAudio ? Math.ceil(1000 * outcome.seconds) : null };
    }
    if (outcome.kind === "refused") return { kind: "failed", code: outcome.code, detail: outcome.detail };
    const { code, detail } = outcome;
    if (code !== "canceled")
      log.warn({ code, detail, stderr: outcome.stderr.slice(-MAX_STDERR_CHARACTERS) }, "an inspection has failed");
    return isTransient(outcome)
      ? { kind: "retry", error: detail }
      : { kind: "failed", code: "inspection_failed", detail: `${detail} Export the file anew, or use another one.` };
  };
