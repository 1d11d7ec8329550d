/**
 * Opens a file of a tenant in a fresh child process, so that a faulty decoder cannot reach the worker's memory, its
 * database or its credentials. The child gets open files instead of paths, an empty environment and an empty folder. It
 * is limited in time, memory and output.
 */
import { constants } from "node:fs";
import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { detectContentType, MAGIC_BYTES } from "@realtime-avatar/domain/assets/magic";
import { isLoopFile } from "@realtime-avatar/face/loop/loop-file";
import { Value } from "@sinclair/typebox/value";
import { childCommand } from "./command.ts";
import { type ConfinedOptions, type Failed, runConfined, SANDBOX_LIMITS, type SandboxLimits } from "./limited.ts";
import { HEADER_CPU_SECONDS, OUTPUTS, REPORTS, type Report, type Task, type TaskKind } from "./report.ts";

/**
 * The search for faces allocates memory in steps of 128 MiB, of which it uses a fifth: 830 to 960 MiB for four turns of
 * a picture, with 200 MiB resident.
 */
const PORTRAIT_DATA_BYTES = 1536 * 2 ** 20;

/** Faces are searched in up to 188 frames, 35 ms each, and up to 200 frames are encoded. */
const LOOP_LIMITS: SandboxLimits = {
  ...SANDBOX_LIMITS,
  // Long enough for a busy machine.
  wallMs: 240_000,
  cpuSeconds: 30,
  dataBytes: PORTRAIT_DATA_BYTES,
};

/** The limits of a child with such a task. Of videos and audio files, only the headers are read. */
export const sandboxLimits = (kind: TaskKind): SandboxLimits => {
  if (kind === "loop") return LOOP_LIMITS;
  if (kind === "portrait") return { ...SANDBOX_LIMITS, dataBytes: PORTRAIT_DATA_BYTES };
  return kind === "video" || kind === "audio" ? { ...SANDBOX_LIMITS, cpuSeconds: HEADER_CPU_SECONDS } : SANDBOX_LIMITS;
};

export type SandboxFiles = {
  /** The file to open: a path. */
  input: string;
  /** Further files to open. The child has them before the outputs. */
  inputs?: readonly string[];
  /**
   * The paths of the child's output files, as many as `OUTPUTS` says. They must not exist. They exist afterwards only
   * if the outcome is `accepted`.
   */
  outputs: readonly string[];
};

export type SandboxOutcome<Kind extends TaskKind = TaskKind> = Report<Kind> | Failed;

export type SandboxOptions = ConfinedOptions & {
  /** The parent of the child's own folder; by default, the system's folder for temporary files. */
  folder?: string;
  /** By default, this program. */
  command?: (task: string) => string[];
};

/**
 * Whether the report has measures of a face if and only if it counts one face, and has either a still part or a reason. A
 * schema cannot express that.
 */
const isConsistent = (report: Report): boolean => {
  if ("part" in report) return (report.part === null) === (report.reason !== null);
  return !("face" in report) || (report.face !== null) === (report.faces === 1);
};

/** The report in the output of a child; `null` when it is not one. */
const parseReport = <Kind extends TaskKind>(kind: Kind, output: string): Report<Kind> | null => {
  try {
    const report: unknown = JSON.parse(output);
    return Value.Check(REPORTS[kind], report) && isConsistent(report as Report) ? (report as Report<Kind>) : null;
  } catch {
    return null;
  }
};

/** Whether a file begins like a WebP or an idle loop, which children write. */
const isOutput = async (path: string, isLoop: boolean): Promise<boolean> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0);
    const bytes = buffer.subarray(0, bytesRead);
    return isLoop ? isLoopFile(bytes) : detectContentType(bytes)?.contentType === "image/webp";
  } finally {
    await file.close();
  }
};

/**
 * Whether the child has written the files that its report promises. A child that was taken over can send the report
 * without the files.
 */
const hasWritten = async (report: Report, outputs: readonly string[]): Promise<boolean> => {
  if ("face" in report && report.face === null) return true;
  if ("part" in report && report.part === null) return true;
  const isLoop = (index: number): boolean => "part" in report && index === outputs.length - 1;
  return (await Promise.all(outputs.map((path, index) => isOutput(path, isLoop(index))))).every(Boolean);
};

/**
 * Calls `use` with the open input, with the further inputs and the outputs, which are created, and with a new folder,
 * which is removed. The outputs are kept if `use` returns `isKept`. Throws for errors of the local disk.
 */
export const withOpenFiles = async <Result>(
  files: SandboxFiles,
  parent: string,
  use: (opened: { input: number; others: number[]; folder: string }) => Promise<{ result: Result; isKept: boolean }>,
): Promise<Result> => {
  const opened: FileHandle[] = [];
  const inputs = [files.input, ...(files.inputs ?? [])];
  const folder = await mkdtemp(join(parent, "realtime-avatar-sandbox-"));
  let isKept = false;
  try {
    for (const input of inputs) opened.push(await open(input, constants.O_RDONLY | constants.O_NOFOLLOW));
    for (const output of files.outputs) opened.push(await open(output, "wx", 0o600));
    const [input, ...others] = opened.map(({ fd }) => fd);
    const used = await use({ input: input as number, others, folder });
    isKept = used.isKept;
    return used.result;
  } finally {
    await Promise.all(opened.map((file) => file.close()));
    await rm(folder, { recursive: true, force: true });
    // The outputs that were created here, which are removed on an error.
    const created = files.outputs.slice(0, Math.max(0, opened.length - inputs.length));
    if (!isKept) await Promise.all(created.map((output) => rm(output, { force: true })));
  }
};

/**
 * Opens `files.input` in a child process, which runs its task. Returns `accepted` with the facts, `refused` with the
 * broken limit and the measured value, or `failed` when the child crashed or exceeded a limit of the sandbox. Throws
 * only for errors of the local disk. The file must be at most as large as its kind allows.
 */
export const runInSandbox = async <Kind extends TaskKind>(
  task: Task<Kind>,
  files: SandboxFiles,
  options: SandboxOptions = {},
): Promise<SandboxOutcome<Kind>> => {
  const { folder: parent = tmpdir(), command = childCommand } = options;
  if (files.outputs.length !== OUTPUTS[task.kind]) throw new Error(`A ${task.kind} has ${OUTPUTS[task.kind]} outputs.`);
  return withOpenFiles(files, parent, async ({ input, others, folder }) => {
    const descriptors = { input, output: "pipe", others, folder } as const;
    const limited = { limits: sandboxLimits(task.kind), ...options };
    const ended = await runConfined(command(JSON.stringify(task)), descriptors, limited);
    if (ended.kind === "failed") return { result: ended, isKept: false };
    const report = parseReport(task.kind, ended.output);
    const isTrue = report !== null && (report.kind !== "accepted" || (await hasWritten(report, files.outputs)));
    const result = isTrue ? report : ended.fail("invalid_report");
    return { result, isKept: result.kind === "accepted" };
  });
};
