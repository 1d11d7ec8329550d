/** Runs the children that make a video, with the limits of the sandbox. */
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { Value } from "@sinclair/typebox/value";
import { childCommand } from "../command.ts";
import { type ConfinedOptions, type Failed, runConfined, SANDBOX_LIMITS, type SandboxLimits } from "../limited.ts";
import { type SandboxFiles, withOpenFiles } from "../run.ts";
import { MAX_SOUND_SAMPLES, SAMPLE_RATE, VIDEO_REPORTS, type VideoReport, type VideoTask } from "./tasks.ts";

const MIB = 2 ** 20;

/** Flite needs 15 s of processor time for ten minutes of speech. */
const SOUND_LIMITS: SandboxLimits = {
  ...SANDBOX_LIMITS,
  wallMs: 540_000,
  cpuSeconds: 90,
  dataBytes: 1024 * MIB,
  fileBytes: 2 * MAX_SOUND_SAMPLES + MIB,
};

/** The limit for each second of a video, which takes 0.3 s of processor time: see docs/performance.md. */
const CPU_SECONDS_A_SECOND = 1.5;
const WALL_MS_A_SECOND = 4000;
/** Pictures have at most 1.5 Mbit/s, but the first group of a film can have more. */
const BYTES_A_SECOND = 300_000;

/** The limits of a child with this task. Those of a film grow with its length. */
export const videoLimits = (task: VideoTask): SandboxLimits => {
  if (task.kind === "sound") return SOUND_LIMITS;
  const seconds = Math.ceil(task.samples / SAMPLE_RATE) + 1;
  return {
    ...SANDBOX_LIMITS,
    wallMs: 30_000 + WALL_MS_A_SECOND * seconds,
    cpuSeconds: Math.ceil(10 + CPU_SECONDS_A_SECOND * seconds),
    dataBytes: 1536 * MIB,
    fileBytes: 8 * MIB + BYTES_A_SECOND * seconds,
  };
};

/**
 * In a child that runs for long, the second compilation of WebAssembly pays off. Code that is compiled in background
 * threads runs slowly until they have ended. Without these threads, a video takes 8 % less processor time and the same
 * time by the clock.
 */
const VARIABLES = { BUN_JSC_useOMGJIT: "1", BUN_JSC_useConcurrentJIT: "0" };

export type VideoTaskOptions = Pick<ConfinedOptions, "signal" | "limits" | "confinement" | "program" | "onEnd"> & {
  /** The parent of the child's own folder; by default, the system's folder for temporary files. */
  folder?: string;
  /** By default, this program. */
  command?: (task: string) => string[];
  /** Gets the finished share of a film. */
  onProgress?: ((share: number) => void) | undefined;
};

/** Passes on the shares in the output of a child, one per line. */
const createProgressReader = (onProgress: (share: number) => void): ((text: string) => void) => {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    const share = lines.findLast((line) => /^[01]\.\d{3}$/.test(line));
    if (share !== undefined) onProgress(Math.min(1, Number(share)));
  };
};

/** The report in the last line of the output of a child; `null` when it is not one. */
const parseReport = <Kind extends VideoTask["kind"]>(kind: Kind, output: string): VideoReport<Kind> | null => {
  try {
    const report: unknown = JSON.parse(output.slice(output.lastIndexOf("\n") + 1));
    return Value.Check(VIDEO_REPORTS[kind], report) ? (report as VideoReport<Kind>) : null;
  } catch {
    return null;
  }
};

/** Whether a file matches an `accepted` report. A child that was taken over can send the report without the file. */
const isWritten = async (report: VideoReport<VideoTask["kind"]>, path: string): Promise<boolean> => {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if ("samples" in report) return size === 2 * report.samples;
    const { buffer } = await file.read(Buffer.alloc(8), 0, 8, 0);
    return buffer.toString("latin1", 4) === "ftyp";
  } finally {
    await file.close();
  }
};

/**
 * Runs a task of a video in a child process. `files`: a sound has one input and one output; a film has a second input.
 * The output exists only after `accepted`. Throws only for errors of the local disk.
 */
export const runVideoTask = async <Task extends VideoTask>(
  task: Task,
  files: SandboxFiles,
  options: VideoTaskOptions = {},
): Promise<VideoReport<Task["kind"]> | Failed> => {
  const { folder: parent = tmpdir(), command = childCommand, onProgress, ...confined } = options;
  const [output] = files.outputs;
  if (output === undefined) throw new Error("A task of a video has an output.");
  return withOpenFiles(files, parent, async ({ input, others, folder }) => {
    const limited = {
      limits: videoLimits(task),
      variables: VARIABLES,
      ...(onProgress ? { onOutput: createProgressReader(onProgress) } : {}),
      ...confined,
    };
    const ended = await runConfined(command(JSON.stringify(task)), { input, output: "pipe", others, folder }, limited);
    if (ended.kind === "failed") return { result: ended, isKept: false };
    const report = parseReport<Task["kind"]>(task.kind, ended.output);
    const isTrue = report !== null && (report.kind !== "accepted" || (await isWritten(report, output)));
    const result = isTrue ? report : ended.fail("invalid_report");
    return { result, isKept: result.kind === "accepted" };
  });
};
