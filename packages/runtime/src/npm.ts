/** Notices that the npm that has started this process is gone: `npx bun start` leaves a shell and a runner in between. */
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

/** npm names its process "npm exec ..." or "npm run ..."; before that it is a script of that name. */
const NPM = /(^|[\s/])(npm|npx)(-cli\.js)?(\s|$)/;
/** npm is at most so far up: npm, a shell, Bun's runner, and this process. */
const GENERATIONS = 6;

/** The ancestors of this process from its parent up to npm; none if npm has not started it. */
const chainToNpm = (): number[] => {
  // npm says so to what it starts. Without that, no process is looked at.
  if (!process.env["npm_config_user_agent"]?.startsWith("npm/")) return [];
  const chain: number[] = [];
  for (let pid = process.ppid; pid > 1 && chain.length < GENERATIONS; ) {
    const found = processOf(pid);
    if (!found) return [];
    chain.push(pid);
    if (NPM.test(found.command)) return chain;
    pid = found.parent;
  }
  return [];
};

/** A process whose parent has ended has another one, even while nobody has waited for that parent. */
const isWhole = (chain: readonly number[]): boolean =>
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
 * Calls `ended` once, when the npm that has started this process has ended, or a process between the two; within
 * `lookMs` milliseconds. Does nothing where npm has not started this process, and does not keep the process alive.
 */
export const onNpmEnd = (lookMs: number, ended: () => void): void => {
  const chain = chainToNpm();
  if (chain.length === 0) return;
  const looking = setInterval(() => {
    if (isWhole(chain)) return;
    clearInterval(looking);
    ended();
  }, lookMs);
  looking.unref();
};
