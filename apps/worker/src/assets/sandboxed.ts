/** Inspects the file of a job in the sandbox, and says what that means for the job. */
import { join } from "node:path";
import type { Logger } from "@realtime-avatar/runtime/log";
import { isTransient, type SandboxLimits } from "../sandbox/limited.ts";
import { runInSandbox } from "../sandbox/run.ts";
import type { Inspect } from "./inspect.ts";

const PUBLIC_TYPE = "image/webp";
/** How much of a crashed child's standard error is logged. */
const MAX_STDERR_CHARACTERS = 500;

export type SandboxedOptions = {
  log: Logger;
  /** The command of the child, for a task. By default, this program. */
  command?: (task: string) => string[];
  /** By default, those of the kind of the file. */
  limits?: SandboxLimits;
};

/** Creates the inspection. */
export const createInspect =
  ({ log, ...options }: SandboxedOptions): Inspect =>
  async ({ magic, path, folder }, signal) => {
    const publicImage = magic.kind === "image" ? join(folder, "public") : null;
    const files = { input: path, outputs: publicImage === null ? [] : [publicImage] };
    const outcome = await runInSandbox(magic, files, { signal, folder, ...options });
    if (outcome.kind === "accepted") {
      const publicFile = publicImage === null ? null : { path: publicImage, contentType: PUBLIC_TYPE };
      return { kind: "accepted", publicFile };
    }
    if (outcome.kind === "refused") return { kind: "failed", code: outcome.code, detail: outcome.detail };
    const { code, detail } = outcome;
    if (code !== "canceled")
      log.warn({ code, detail, stderr: outcome.stderr.slice(-MAX_STDERR_CHARACTERS) }, "an inspection has failed");
    return isTransient(outcome)
      ? { kind: "retry", error: detail }
      : { kind: "failed", code: "inspection_failed", detail };
  };
