/**
 * The child process that opens one file. It gets the file as standard input, further inputs and open output files as
 * descriptors 3 and up, and the task as an argument. It writes its report to standard output. It has no secrets and no
 * paths.
 */
import { fstatSync, readSync, writeSync } from "node:fs";
import { ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { protectMemory } from "@realtime-avatar/runtime/protect-memory";
import type { FilmTask, SoundTask, VideoReport, VideoTask } from "./film/tasks.ts";
import { inspectImage, restrict } from "./inspect/image.ts";
import { MAX_FRAMES_BYTES } from "./loop/film-limits.ts";
import type { Report, Task } from "./report.ts";
import { loadSharp } from "./sharp.ts";
import { filterSystemCalls } from "./system-calls.ts";
import { leaveRoot } from "./user.ts";

const INPUT = 0;
const REPORT = 1;
const FIRST_OUTPUT = 3;

/** Reads the bytes from `start` to `end`, or to the end of the file. */
const readFrom =
  (descriptor: number) =>
  (start: number, end: number): Buffer => {
    const bytes = Buffer.alloc(end - start);
    let size = 0;
    while (size < bytes.length) {
      const count = readSync(descriptor, bytes, size, bytes.length - size, start + size);
      if (count === 0) break;
      size += count;
    }
    return bytes.subarray(0, size);
  };
const readInput = readFrom(INPUT);

/** Writes bytes at a position of the file; by default, after the previous ones. */
const writeAll = (descriptor: number, bytes: Uint8Array, position?: number): void => {
  for (let offset = 0; offset < bytes.length; ) {
    const at = position === undefined ? null : position + offset;
    offset += writeSync(descriptor, bytes, offset, bytes.length - offset, at);
  }
};

const writeOutputs = (outputs: readonly Uint8Array[]): void => {
  for (const [index, bytes] of outputs.entries()) writeAll(FIRST_OUTPUT + index, bytes);
};

/** The parent has compared the size with the limit; this is the last line of defense for the memory. */
const inputSize = ({ kind }: Task): number => {
  const { size } = fstatSync(INPUT);
  const maxBytes = kind === "loop" ? MAX_FRAMES_BYTES : ASSET_LIMITS[kind === "portrait" ? "image" : kind].maxBytes;
  if (size > maxBytes) throw new Error("The file is too large.");
  return size;
};

// The files that a task needs are loaded before the user changes, because the new user may be unable to enter the
// folder.

const inspectAnImage = async (task: Task<"image">): Promise<Report> => {
  const sharp = loadSharp();
  restrict(sharp);
  leaveRoot();
  const { report, publicImage } = await inspectImage(sharp, readInput(0, inputSize(task)), task);
  if (publicImage) writeOutputs([publicImage]);
  return report;
};

const measureAPortrait = async (task: Task<"portrait">): Promise<Report> => {
  const sharp = loadSharp();
  restrict(sharp);
  const [{ loadFaces }, { measurePortrait }] = await Promise.all([
    import("./measure/faces.ts"),
    import("./measure/portrait.ts"),
  ]);
  const { start } = await loadFaces();
  leaveRoot();
  const { report, files } = await measurePortrait(sharp, start, readInput(0, inputSize(task)), task);
  if (files) writeOutputs([files.normalized, files.thumb, files.animated]);
  return report;
};

const makeALoop = async (task: Task<"loop">): Promise<Report> => {
  const sharp = loadSharp();
  restrict(sharp);
  const [{ loadFaces }, { makeLoop }] = await Promise.all([
    import("./measure/faces.ts"),
    import("./loop/make-loop.ts"),
  ]);
  const { start } = await loadFaces();
  leaveRoot();
  const { report, files } = await makeLoop(sharp, start, readInput(0, inputSize(task)), task.label);
  if (files) writeOutputs([files.normalized, files.thumb, files.animated, files.loop]);
  return report;
};

const inspectAMedium = async (task: Task<"video"> | Task<"audio">): Promise<Report> => {
  const { inspectMedia } = await import("./inspect/media.ts");
  leaveRoot();
  return inspectMedia({ read: readInput, size: inputSize(task) }, task);
};

const makeASound = async (task: SoundTask): Promise<VideoReport<"sound">> => {
  const { loadSpeaker, makeSound } = await import("./film/sound.ts");
  await loadSpeaker(task);
  leaveRoot();
  const input = { read: readInput, size: fstatSync(INPUT).size };
  return makeSound(input, task, (bytes) => writeAll(FIRST_OUTPUT, bytes));
};

/** The second input comes before the outputs. */
const renderAFilm = async (task: FilmTask): Promise<VideoReport<"film">> => {
  const sharp = loadSharp();
  restrict(sharp);
  const { loadRenderer, renderFilm } = await import("./film/render.ts");
  await loadRenderer();
  leaveRoot();
  const files = {
    picture: readInput(0, fstatSync(INPUT).size),
    sound: readFrom(FIRST_OUTPUT),
    write: (bytes: Uint8Array, position: number) => writeAll(FIRST_OUTPUT + 1, bytes, position),
    onProgress: (share: number) => writeAll(REPORT, Buffer.from(`${share.toFixed(3)}\n`)),
  };
  return renderFilm(sharp, files, task);
};

const perform = async (task: Task | VideoTask): Promise<Report | VideoReport<VideoTask["kind"]>> => {
  switch (task.kind) {
    case "image":
      return inspectAnImage(task as Task<"image">);
    case "portrait":
      return measureAPortrait(task as Task<"portrait">);
    case "loop":
      return makeALoop(task as Task<"loop">);
    case "video":
    case "audio":
      return inspectAMedium(task as Task<"video"> | Task<"audio">);
    case "sound":
      return makeASound(task);
    case "film":
      return renderAFilm(task);
  }
};

/** Runs a task on the file of standard input and writes the report. `argument` is the task as JSON, from the parent. */
export const runChild = async (argument: string): Promise<void> => {
  filterSystemCalls({ mayExecute: false });
  // Other children have the same user. They could write into this one by a file of /proc, because the filter does not
  // know paths.
  protectMemory();
  const report = await perform(JSON.parse(argument) as Task | VideoTask);
  writeAll(REPORT, Buffer.from(JSON.stringify(report)));
};
