/**
 * The library of `preload.c` and its settings: the clock and the disk of a running process. Needs Linux and a C
 * compiler.
 */
import { chmod, mkdir, open, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runToEnd } from "@realtime-avatar/testing/processes";

const COMPILER = Bun.which("cc") ?? Bun.which("gcc") ?? Bun.which("clang");
export const canPreload = process.platform === "linux" && COMPILER !== null;
/** The reason when `canPreload` is false. */
export const NO_PRELOAD = "it needs Linux and a C compiler";

/** A process or a server with its own clock and disk. */
export type Preload = {
  /** The environment variables of the process. */
  variables: Record<string, string>;
  /** Sets the offset of its clock from the machine's, in seconds. */
  setClock(offsetSeconds: number): Promise<void>;
  /** Sets by how much each fsync is delayed, in milliseconds. */
  setDisk(delayMs: number): Promise<void>;
};

/** Compiles the library into `folder`, and creates the files of its settings. */
export const preloadIn = async (folder: string): Promise<Preload> => {
  const [library, dials] = [join(folder, "preload.so"), join(folder, "dials")];
  const source = join(import.meta.dir, "preload.c");
  const command = [COMPILER ?? "cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, source];
  const { code, stderr } = await runToEnd(command);
  if (code !== 0) throw new Error(`preload.c does not compile: ${stderr}`);
  await writeFile(dials, new Uint8Array(16));
  // PostgreSQL may run as another user.
  await Promise.all([chmod(library, 0o755), chmod(dials, 0o644)]);
  const set = async (index: number, value: number): Promise<void> => {
    const file = await open(dials, "r+");
    await file.write(new Uint8Array(new BigInt64Array([BigInt(value)]).buffer), 0, 8, 8 * index);
    await file.close();
  };
  return {
    variables: { LD_PRELOAD: library, FAULT_DIALS: dials },
    setClock: (offsetSeconds) => set(0, offsetSeconds),
    setDisk: (delayMs) => set(1, delayMs),
  };
};

/**
 * Creates a folder of PostgreSQL binaries in `folder`. Its server always runs with `variables`. `pid`: a running
 * server, whose binaries are used because its user can read them.
 */
export const binariesWith = async (folder: string, pid: number, variables: Record<string, string>): Promise<string> => {
  const bin = dirname(await readlink(`/proc/${pid}/exe`));
  const own = join(folder, "bin");
  await mkdir(own);
  await chmod(own, 0o755);
  await symlink(join(bin, "initdb"), join(own, "initdb"));
  const settings = Object.entries(variables).map(([name, value]) => `${name}='${value}'`);
  // initdb uses the server in its own folder instead of this one.
  await writeFile(join(own, "postgres"), `#!/bin/sh\n${settings.join(" ")} exec '${join(bin, "postgres")}' "$@"\n`);
  await chmod(join(own, "postgres"), 0o755);
  return folder;
};
