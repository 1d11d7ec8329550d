/** File systems without room, for tests of full disks. Only root may mount one, and not in every container. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const mount = (folder: string, size: string): boolean =>
  Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${size},mode=755`, "tmpfs", folder]).exitCode === 0;
const unmount = (folder: string): void => void Bun.spawnSync(["umount", "-l", folder]);

/** Whether this process may mount a small file system. */
export const canMountDisk: boolean = (() => {
  if (process.platform !== "linux" || process.getuid?.() !== 0 || Bun.which("mount") === null) return false;
  const parent = mkdtempSync(join(tmpdir(), "realtime-avatar-test-"));
  const folder = join(parent, "disk");
  mkdirSync(folder);
  const isMounted = mount(folder, "1m");
  if (isMounted) unmount(folder);
  rmSync(parent, { recursive: true });
  return isMounted;
})();

/** Mounts a file system of `size` (`4m`) on a new folder. Returns the function that unmounts it. */
export const mountDisk = async (folder: string, size: string): Promise<() => void> => {
  await mkdir(folder, { recursive: true });
  if (!mount(folder, size)) throw new Error(`${folder} cannot be mounted.`);
  return () => unmount(folder);
};
