/** Temporary folders of jobs: their owners and their removal. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { chown, mkdir, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { source, startProcess } from "@realtime-avatar/testing/processes";
import { createTemporaryFolders } from "./temporary-folders.ts";

const folder = await fileFolder();

test("the folder of a job: private, and removed when the job ends or fails", async () => {
  const folders = createTemporaryFolders(folder);
  const path = await folders.use(async (own) => {
    expect((await stat(own)).mode & 0o777).toBe(0o700);
    await writeFile(join(own, "original"), "x");
    expect(await folders.sweep(new Date())).toBe(0);
    return own;
  });
  expect(existsSync(path)).toBe(false);
  await expect(folders.use((own) => Promise.reject(new Error(own)))).rejects.toThrow(folder);
  expect(await readdir(folder)).toEqual([]);
});

test("the folder of a killed process: removed; of a running process: kept", async () => {
  const script = join(folder, "owner.ts");
  const module = join(import.meta.dir, "temporary-folders.ts");
  await writeFile(
    script,
    `import { createTemporaryFolders } from ${JSON.stringify(module)};
    await createTemporaryFolders(${JSON.stringify(folder)}).use(async (own) => {
      console.log("path " + own);
      await Bun.sleep(1e9);
    });`,
  );
  const owner = startProcess(source(script));
  const [, path = ""] = await owner.waitFor(/path (.*)\n/);
  const folders = createTemporaryFolders(folder);
  expect([await folders.sweep(new Date()), existsSync(path)]).toEqual([0, true]);
  owner.kill("SIGKILL");
  await owner.exited;
  expect([await folders.sweep(new Date()), existsSync(path)]).toEqual([1, false]);
});

test.skipIf(process.platform !== "linux")("a folder whose process id is used again: removed", async () => {
  const name = await createTemporaryFolders(folder).use(async (own) => own.slice(folder.length + 1));
  const [prefix = "", pid = ""] = [name.split("-").slice(0, 4).join("-"), name.split("-")[4]];
  // As if the process had started a tick earlier.
  const start = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ")[19];
  await mkdir(join(folder, `${prefix}-${pid}-${Number(start) - 1}-abcdef`));
  expect(await createTemporaryFolders(folder).sweep(new Date())).toBe(1);
});

test.skipIf(process.getuid?.() !== 0)("a folder, of another user, and a file with such a name: kept", async () => {
  const parent = join(folder, "shared");
  await mkdir(join(parent, "realtime-avatar-job-1-1-1-abcdef"), { recursive: true });
  await chown(join(parent, "realtime-avatar-job-1-1-1-abcdef"), 65_532, 65_532);
  await writeFile(join(parent, "realtime-avatar-job-1-1-1-ghijkl"), "");
  expect(await createTemporaryFolders(parent).sweep(new Date(Date.now() + 1e9))).toBe(0);
  expect(await readdir(parent)).toHaveLength(2);
  await rm(parent, { recursive: true });
});

test.skipIf(process.platform !== "linux")("a folder, of another container: kept for an hour", async () => {
  const path = join(folder, "realtime-avatar-job-1-1-1-abcdef");
  await mkdir(path);
  const folders = createTemporaryFolders(folder);
  expect(await folders.sweep(new Date())).toBe(0);
  await utimes(path, new Date(0), new Date(0));
  expect([await folders.sweep(new Date()), existsSync(path)]).toEqual([1, false]);
});

test("other names, files and links, at a sweep: untouched", async () => {
  const target = join(folder, "target");
  await mkdir(target);
  await writeFile(join(target, "kept"), "x");
  await symlink(target, join(folder, "realtime-avatar-job-0-999999999-1-link"));
  await writeFile(join(folder, "realtime-avatar-job-0-999999999-1-file"), "x");
  await mkdir(join(folder, "realtime-avatar-job-x"));
  const before = (await readdir(folder)).sort();
  expect(await createTemporaryFolders(folder).sweep(new Date())).toBe(0);
  expect((await readdir(folder)).sort()).toEqual(before);
});
