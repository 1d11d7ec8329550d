/** A file system of one MiB, for tests of a full disk. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { mountDisk } from "@realtime-avatar/testing/storage/small-disk";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";

/** Calls `work` with a folder on a small disk. */
export const withSmallDisk = async (work: (folder: string) => Promise<void>): Promise<void> => {
  const parent = await temporaryFolder();
  const folder = join(parent, "small");
  const unmount = await mountDisk(folder, "1m");
  try {
    await work(folder);
  } finally {
    unmount();
    await rm(parent, { recursive: true });
  }
};
