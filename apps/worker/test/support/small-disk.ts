/** A file system of one MiB, for tests of a full disk. Only root, outside of most containers, may mount one. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";

const mount = async (path: string): Promise<boolean> => {
  await mkdir(path);
  return (await Bun.$`mount -t tmpfs -o size=1m tmpfs ${path}`.quiet().nothrow()).exitCode === 0;
};

/** Calls `work` with a folder on a small disk. Returns false, and does not call it, where this process may not mount one. */
export const withSmallDisk = async (work: (folder: string) => Promise<void>): Promise<boolean> => {
  const parent = await temporaryFolder();
  const folder = join(parent, "small");
  try {
    if (!(await mount(folder))) return false;
    try {
      await work(folder);
    } finally {
      await Bun.$`umount ${folder}`.quiet();
    }
    return true;
  } finally {
    await rm(parent, { recursive: true });
  }
};

/** Whether this process may mount a small disk. */
export const canMount = (): Promise<boolean> => withSmallDisk(async () => {});
