/**
 * Detects the end of the npm process that started this one. With `npx bun start`, npm starts a shell, which starts a
 * runner, which starts this process.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

type Process = { parent: number; command: string };

const processOf = (pid: number): Process | null => {
  try {
    if (process.platform === "linux") {
      const [, parent] = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      return { parent: Number(parent), command };
    }
    const text = execFileSync("ps", ["-o", "ppid=,args=", "-p", String(pid)], { encoding: "utf8" });
    const [, parent, command = ""] = /^\s*(\d+)\s+(.*)/.exec(text) ?? [];
    return { parent: Number(parent), command };
  } catch {
    return null;
  }
};

/** Matches npm: its process title is "npm exec ..." or "npm run ..."; before it sets that, a script of that name. */
const NPM = /(^|[\s/])(npm|npx)(-cli\.js)?(\s|$)/;
/** Maximum number of ancestors to search. The usual ones are npm, a shell and Bun's runner. */
const MAX_ANCESTORS = 6;

/** The pids of the ancestors of this process from its parent up to npm; empty if npm did not start it. */
const chainToNpm = (): number[] => {
  // npm sets this variable for its children. Without it, no process is inspected.
  if (!process.env["npm_config_user_agent"]?.startsWith("npm/")) return [];
  const chain: number[] = [];
  for (let pid = process.ppid; pid > 1 && chain.length < MAX_ANCESTORS; ) {
    const ancestor = processOf(pid);
    if (!ancestor) return [];
    chain.push(pid);
    if (NPM.test(ancestor.command)) return chain;
    pid = ancestor.parent;
  }
  return [];
};

/** Whether every process of the chain still runs. When one ends, its child gets another parent, even if it is a zombie. */
const isIntact = (chain: readonly number[]): boolean =>
  chain.every((pid, index) => {
    const child = chain[index - 1];
    if (child === undefined) return process.ppid === pid;
    if (process.platform === "linux") return processOf(child)?.parent === pid;
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  });

/**
 * Calls `onEnd` once, at most `pollMs` milliseconds after the end of the npm process that started this one, or of a process
 * between the two. Has an effect only in a process that npm started. Does not keep the process alive.
 */
export const onNpmEnd = (pollMs: number, onEnd: () => void): void => {
  const chain = chainToNpm();
  if (chain.length === 0) return;
  const timer = setInterval(() => {
    if (isIntact(chain)) return;
    clearInterval(timer);
    onEnd();
  }, pollMs);
  timer.unref();
};
