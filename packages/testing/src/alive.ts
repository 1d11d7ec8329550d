import { readFileSync } from "node:fs";

/** Whether a process of this machine runs. On Linux, a zombie has ended. */
export const isAlive = (pid: number): boolean => {
  try {
    if (process.platform === "linux") return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
