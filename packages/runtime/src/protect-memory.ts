/** Protects the memory of the API, of the worker and of its children from each other. */
import { dlopen } from "bun:ffi";

const PR_SET_DUMPABLE = 4;

/**
 * Makes the memory and the environment of this process (`/proc/<pid>/mem`, `environ`) unreadable for other processes of
 * the same user, such as a child process that a hostile file has taken over. Returns whether it succeeded: only Linux
 * supports it.
 */
export const protectMemory = (): boolean => {
  if (process.platform !== "linux") return false;
  try {
    const { symbols, close } = dlopen("libc.so.6", {
      prctl: { args: ["int", "u64", "u64", "u64", "u64"], returns: "int" },
    });
    const result = symbols.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    close();
    return result === 0;
  } catch {
    return false;
  }
};
