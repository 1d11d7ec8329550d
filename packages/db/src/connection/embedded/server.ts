/** The server process of the embedded PostgreSQL: its start, and the detection of a running one. */
import { randomBytes } from "node:crypto";
import { chown, mkdtemp, readFile, rename, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Host, socketPath } from "../server/hosts.ts";
import { ADVICE, canEnter, fileOwner, isPrivate, readText, run } from "./files.ts";
import { type Account, type Supervisor, startSupervised } from "./supervisor.ts";

/** The port is part of the socket's name. The server does not listen on a network. */
const PORT = 5432;
/** The maximum length of a Unix socket's path, in bytes. */
const LONGEST_SOCKET_PATH = process.platform === "linux" ? 107 : 103;

/** Whether a socket in `folder` has a path that is short enough. */
const canHoldSocket = (folder: string, port: number): boolean =>
  Buffer.byteLength(socketPath({ host: folder, port }) ?? "") <= LONGEST_SOCKET_PATH;

/**
 * The folder for the socket: by default the folder of the cluster. If its path is too long for a socket, a new folder
 * under the system's temporary folder. The new folder is recorded next to the cluster, and used again while it exists.
 */
const chooseSocketDirectory = async (cluster: string, account: Account | null, port: number): Promise<string> => {
  if (canHoldSocket(cluster, port)) return cluster;
  const record = join(dirname(cluster), "socket-directory");
  // A copy of the data contains the record of the original.
  const [recorded = "", recordedCluster] = (await readText(record))?.split("\n") ?? [];
  if (recordedCluster === cluster && canHoldSocket(recorded, port) && (await isPrivate(recorded, fileOwner(account)))) {
    return recorded;
  }
  for (const parent of [tmpdir(), "/tmp"]) {
    if (!canHoldSocket(join(parent, "realtime-avatar-XXXXXX"), port) || !(await canEnter(parent, account))) continue;
    const folder = await mkdtemp(join(parent, "realtime-avatar-"));
    if (account) await chown(folder, account.uid, account.gid);
    const draft = `${record}.${randomBytes(6).toString("hex")}`;
    await writeFile(draft, `${folder}\n${cluster}\n`, { mode: 0o600, flag: "wx" });
    await rename(draft, record);
    return folder;
  }
  throw new Error(`The path ${cluster} is too long for a Unix socket: set DATA_DIR to a shorter one. ${ADVICE}`);
};

/** Starts a server under a supervisor. Does not wait until it is ready. */
export const startServer = async (
  binaries: string,
  cluster: string,
  account: Account | null,
  settings: Record<string, string>,
): Promise<Supervisor> => {
  const sockets = await chooseSocketDirectory(cluster, account, Number(settings["port"] ?? PORT));
  const flags = {
    listen_addresses: "",
    port: String(PORT),
    unix_socket_directories: `"${sockets.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    // Keeps the text of failing statements out of the log.
    log_min_error_statement: "panic",
    ...settings,
  };
  const args = Object.entries(flags).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return startSupervised([join(binaries, "bin/postgres"), "-D", cluster, ...args], cluster, sockets, account);
};

/** The owner of a running process, and its working directory if the platform has it; `null` if no such process runs. */
const processOf = async (pid: number): Promise<{ owner: number; folder: string | null } | null> => {
  if (process.platform !== "linux") {
    const found = await run("ps", ["-o", "uid=", "-p", String(pid)]).catch(() => null);
    return found && { owner: Number(found.stdout), folder: null };
  }
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, owner] = /^Uid:\s+\d+\s+(\d+)/m.exec(status) ?? [];
  // A zombie does not run: it has ended, and its parent has not collected it yet.
  return owner === undefined || /^State:\s+[ZX]/m.test(status)
    ? null
    : { owner: Number(owner), folder: `/proc/${pid}/cwd` };
};

/** Whether `pid` is a process of `owner` whose working directory is `cluster`, like that of its server. */
export const isClusterServer = async (pid: number, cluster: string, owner: number): Promise<boolean> => {
  const found = await processOf(pid);
  if (found?.owner !== owner) return false;
  if (found.folder === null) return true;
  const [works, is] = await Promise.all([stat(found.folder).catch(() => null), stat(cluster)]);
  return works?.ino === is.ino && works.dev === is.dev;
};

/** A running server. */
export type Server = {
  pid: number;
  /** The address that it listens on. */
  host: Host;
  isReady: boolean;
};

/**
 * The server that `postmaster.pid` names, if it runs. After a `kill -9` the file remains. Its process id may then
 * belong to another program, and another user may listen on its port to receive the password. So the owner and the
 * working directory are checked.
 */
export const findServer = async (cluster: string, owner: number): Promise<Server | null> => {
  const lines = (await readText(join(cluster, "postmaster.pid")))?.split("\n") ?? [];
  const [pid, port, sockets = ""] = [Number(lines[0]), Number(lines[3]), lines[4]?.trim()];
  if (!pid || !port || !(await isClusterServer(pid, cluster, owner))) return null;
  // A server without a socket was started by an earlier version of this program.
  const isReady =
    ["ready", "standby"].includes(lines[7]?.trim() ?? "") && (sockets === "" || (await isPrivate(sockets, owner)));
  return { pid, host: { host: sockets || "127.0.0.1", port }, isReady };
};
