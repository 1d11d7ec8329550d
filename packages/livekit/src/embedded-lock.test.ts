import { expect, test } from "bun:test";
import { readdir, readlink, rm } from "node:fs/promises";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { isLocked, takeLock } from "./embedded-lock.ts";

/** The number of files of a folder that this process has open. */
const openFiles = async (folder: string): Promise<number> => {
  const paths = (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
  return (await Promise.all(paths)).filter((path) => path.startsWith(folder)).length;
};

test.skipIf(process.platform !== "linux")(
  "a lock, checked while it is taken and free: no file stays open",
  async () => {
    const folder = await temporaryFolder();
    const unlock = takeLock(folder);
    expect([isLocked(folder), takeLock(folder)]).toEqual([true, null]);
    unlock?.();
    for (let look = 0; look < 10; look++) expect(isLocked(folder)).toBe(false);
    expect(await openFiles(folder)).toBe(0);
    await rm(folder, { recursive: true });
  },
);
