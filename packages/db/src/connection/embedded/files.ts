/** Files, folders and users of the embedded PostgreSQL. */
import { type ExecFileOptions, execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, link, lstat, mkdir, open, readFile, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { type Account, serverEnvironment } from "./supervisor.ts";

/** The end of an error message whose only remedy is another database. */
export const ADVICE = "Set DATABASE_URL to a PostgreSQL server (15 or later) instead.";

/**
 * Runs a program to its end. `async`, because `execFile` throws synchronously for a file that is not executable.
 * Callers expect a rejection.
 */
export const run = async (path: string, args: string[], options: ExecFileOptions = {}) =>
  promisify(execFile)(path, args, { env: serverEnvironment(), ...options });

/** The user to run PostgreSQL as when this process is root; otherwise `null`. PostgreSQL refuses to run as root. */
export const unprivilegedAccount = async (): Promise<Account | null> => {
  if (process.getuid?.() !== 0) return null;
  for (const user of ["postgres", "nobody"]) {
    try {
      const [uid, gid] = await Promise.all([run("id", ["-u", user]), run("id", ["-g", user])]);
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      // This user does not exist: try the next one.
    }
  }
  throw new Error(`PostgreSQL does not run as root, and there is no user postgres or nobody to run it as. ${ADVICE}`);
};

/** Whether `account` can enter the folder, or its nearest parent that exists. */
export const canEnter = async (path: string, account: Account | null): Promise<boolean> => {
  let folder = path;
  while (!existsSync(folder)) folder = dirname(folder);
  return run("test", ["-x", folder], { ...account, cwd: "/" }).then(
    () => true,
    () => false,
  );
};

/** The trimmed text of a file; `null` when the file does not exist. */
export const readText = (path: string): Promise<string | null> =>
  readFile(path, "utf8").then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    },
  );

/** Makes the name of a file or a folder durable, if this user may list the folder that contains it. */
export const syncName = async (path: string): Promise<void> => {
  const folder = await open(dirname(path), "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EACCES") throw error;
  });
  await folder?.sync().finally(() => folder.close());
};

/** Creates a folder and its parents. The names of the created folders are durable. */
export const createFolder = async (path: string, mode = 0o777): Promise<void> => {
  const first = await mkdir(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let folder = path; folder.length >= first.length; folder = dirname(folder)) await syncName(folder);
};

/**
 * Creates a file atomically, or leaves the existing one. Returns the content of the file, which is durable. Without the
 * password or the location of the cluster, an intact cluster could not be opened.
 */
export const writeOnce = async (path: string, text: string): Promise<string> => {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  const file = await open(draft, "wx", 0o600);
  await file
    .writeFile(`${text}\n`)
    .then(() => file.sync())
    .finally(() => file.close());
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await unlink(draft);
  await syncName(path);
  return (await readText(path)) ?? text;
};

/** Creates a folder that every user can enter, independent of the umask. Its name is durable. */
export const makeEnterable = async (folder: string): Promise<void> => {
  await createFolder(folder);
  await chmod(folder, 0o755);
};

/** The user id that PostgreSQL runs as. */
export const fileOwner = (account: Account | null): number => account?.uid ?? process.getuid?.() ?? -1;

/** Whether a folder belongs to `owner` and no other user can enter it: PostgreSQL's own rule for its data. */
export const isPrivate = (path: string, owner: number): Promise<boolean> =>
  lstat(path).then(
    (found) => found.isDirectory() && found.uid === owner && (found.mode & 0o027) === 0,
    () => false,
  );
