/**
 * The file accesses of a child that was taken over: `bun files.testing.ts <places> filtered`. It reports the outcome of
 * each attempt: "done", or the code of its error.
 */
import {
  chmodSync,
  constants,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { filterSystemCalls } from "../system-calls.ts";

export type Places = {
  /** A folder with files of the user: `session-secret`, and one file for each attempt. */
  outside: string;
  /** The folder of another child. */
  sibling: string;
  /** The process of another program of the user. */
  pid: number;
  /** A file of the child's own program. */
  program: string;
};

const [, , argument = "{}", filtered] = process.argv;
const { outside, sibling, pid, program } = JSON.parse(argument) as Places;
const at = (name: string) => join(outside, name);

/** Attempts that are refused to a child but succeed for other processes of its user. */
const REFUSED: Record<string, () => unknown> = {
  read: () => readFileSync(at("session-secret")),
  "open to write": () => openSync(at("session-secret"), "r+"),
  append: () => openSync(at("session-secret"), "a"),
  list: () => readdirSync(outside),
  truncate: () => truncateSync(at("to-truncate"), 0),
  remove: () => unlinkSync(at("to-remove")),
  create: () => writeFileSync(at("created"), "x"),
  "create a folder": () => mkdirSync(at("created-folder")),
  "create a link": () => symlinkSync(at("session-secret"), at("created-link")),
  "move into its folder": () => renameSync(at("to-move"), "moved"),
  "link into its folder": () => linkSync(at("session-secret"), "linked"),
  "move out of its folder": () => {
    writeFileSync("own-to-move", "x");
    renameSync("own-to-move", at("moved"));
  },
  "follow a link in its folder": () => readFileSync("a-link"),
  "read by the folder of its process": () => readFileSync(`/proc/self/root${at("session-secret")}`),
  "read the folder of another child": () => readFileSync(join(sibling, "original")),
  "write to the folder of another child": () => writeFileSync(join(sibling, "written"), "x"),
  "read the variables of a process": () => readFileSync(`/proc/${pid}/environ`),
  "open the memory of a process": () => openSync(`/proc/${pid}/mem`, "r+"),
  "read the files of a process": () => readFileSync(`/proc/${pid}/cwd/session-secret`),
  "open its input to write": () => openSync("/proc/self/fd/0", constants.O_RDWR),
  "change its program": () => openSync(program, "r+"),
  "run what it wrote": () => {
    writeFileSync("own-program", "#!/bin/sh\n", { mode: 0o755 });
    if (Bun.spawnSync([join(process.cwd(), "own-program")]).exitCode !== 0) throw new Error("refused");
  },
  "change the mode": () => chmodSync(at("to-open"), 0o666),
  "change the times": () => utimesSync(at("to-open"), 0, 0),
};

/** Accesses that a child needs. */
const ALLOWED: Record<string, () => unknown> = {
  "read its program": () => readFileSync(program),
  "read a library": () => readdirSync("/usr/lib"),
  "read its input": () => readSync(0, Buffer.alloc(1), 0, 1, 0),
  "open its input": () => readFileSync("/proc/self/fd/0"),
  "write its output": () => writeSync(3, "x"),
  "use its folder": () => {
    mkdirSync("a-folder");
    writeFileSync("a-folder/a-file", "x");
    renameSync("a-folder/a-file", "a-folder/another");
    truncateSync("a-folder/another", 0);
    readFileSync("a-folder/another");
    readdirSync(".");
    rmSync("a-folder", { recursive: true });
  },
  "write to nothing": () => writeFileSync("/dev/null", "x"),
};

const outcomes = (attempts: Record<string, () => unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(attempts).map(([name, attempt]) => {
      try {
        attempt();
        return [name, "done"];
      } catch (error) {
        return [name, (error as NodeJS.ErrnoException).code ?? String(error)];
      }
    }),
  );

if (filtered) filterSystemCalls({ mayExecute: false });
writeFileSync(2, JSON.stringify({ refused: outcomes(REFUSED), allowed: outcomes(ALLOWED) }));
process.exit(3);
