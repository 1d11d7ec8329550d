/**
 * The supervisor of the embedded PostgreSQL: a shell script that starts the server. The supervisor stops the server
 * when no process uses it any more, even if the last process was killed. The script is a string, so that it works from
 * source, from a bundle and from a compiled program; initdb needs a POSIX shell as well.
 *
 * Each process that uses the server holds the FIFO `users.<pid of the server>` in the cluster's folder open for
 * writing. The kernel closes it when a process ends, also by `kill -9`. When the last process has closed it, the
 * supervisor reads end of file. Until it has opened the FIFO, the process that starts the server counts by its pipe to
 * the supervisor.
 *
 * A process that opens the FIFO writes a line. So the supervisor decides without a race: it reads end of file, removes
 * the FIFO's name, so that no other process can open it, and reads again. If it then reads a line, a process has opened
 * the FIFO in between. Only at end of file can the server be stopped.
 */
import { spawn } from "node:child_process";
import { closeSync, constants, existsSync, fstatSync, openSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";

/** The unprivileged user that PostgreSQL runs as when this process is root. PostgreSQL refuses to run as root. */
export type Account = { uid: number; gid: number };

/** How long a fast shutdown may take before the server is told to end at once, without a checkpoint. */
const FAST_SHUTDOWN_S = 20;

const SCRIPT = `
cluster=$1 sockets=$2
shift 2
umask 077
cd "$cluster" || exit 1
# A log of another owner: an earlier version, run by root, opened it as root.
if [ -e server.log ] && [ ! -w server.log ]; then mv -f server.log server.log.old; fi
exec 3<&0 </dev/null >>server.log 2>&1

# What a supervisor left that was killed.
for left in users.*; do
  pid=\${left#users.}
  kill -0 "\${pid%.closed}" 2>/dev/null || rm -f "$left"
done
mkfifo "users.$$" || exit 1
"$@" 3<&- &
server=$!
mv "users.$$" "users.$server"

# The process that starts the server uses it, until its pipe ends.
cat <&3 >"users.$server" 3<&- &
relay=$!
exec 3<&-

(
  exec 4<"users.$server"
  while :; do
    while read -r line <&4; do :; done
    mv "users.$server" "users.$server.closed"
    read -r line <&4 || break
    mv "users.$server.closed" "users.$server"
  done
  # Again and again: a background process of a shell ignores SIGINT until PostgreSQL handles it.
  waited=0
  while [ $waited -lt ${FAST_SHUTDOWN_S} ]; do
    kill -INT "$server"
    sleep 1
    waited=$((waited + 1))
  done
  kill -QUIT "$server"
) &
watcher=$!

trap 'kill -INT "$server"' HUP INT TERM
while kill -0 "$server" 2>/dev/null; do wait "$server"; done
# Each may still wait for the other to open the FIFO.
kill "$watcher" "$relay" 2>/dev/null
# PostgreSQL has removed its socket from there, unless it was killed.
[ "$sockets" = "$cluster" ] || rmdir "$sockets" 2>/dev/null
rm -f "users.$server" "users.$server.closed"
`;

/**
 * The variables that PostgreSQL and its tools need. The other variables belong to the service and may contain secrets.
 */
const NEEDED = /^(PATH|TZ|LANG|LC_[A-Z]+|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH)$/;

/** The environment of PostgreSQL and its tools. */
export const serverEnvironment = (): Record<string, string> => {
  const { PATH = "/usr/local/bin:/usr/bin:/bin", ...rest } = process.env;
  const variables = Object.entries({ PATH, ...rest }).filter(
    (entry): entry is [string, string] => NEEDED.test(entry[0]) && entry[1] !== undefined,
  );
  // As in pg_ctl: a `postmaster.pid` with the id of this process is left over from before a restart of the machine.
  return { ...Object.fromEntries(variables), PG_GRANDPARENT_PID: String(process.pid) };
};

export type Supervisor = {
  /** Whether the supervisor and the server have ended. */
  readonly hasEnded: boolean;
  /** Closes its pipe. From then on, the server runs only for the processes that hold its FIFO open. */
  release(): void;
};

/**
 * Starts `command`, which is PostgreSQL with its arguments, under a supervisor; does not wait for either. Their log is
 * `server.log` in the folder `cluster`. `sockets` is the folder of the server's socket. It is removed when the server
 * has ended, unless it is the folder of the cluster.
 */
export const startSupervised = (
  command: readonly string[],
  cluster: string,
  sockets: string,
  account: Account | null,
): Supervisor => {
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "realtime-avatar-supervisor", cluster, sockets, ...command], {
    ...account,
    env: serverEnvironment(),
    cwd: "/",
    // A separate session, so that Ctrl-C in a terminal reaches only the service. The service then stops the server in
    // order.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
  };
  shell.once("error", end).once("exit", end);
  shell.stdin.on("error", () => {});
  shell.unref();
  return {
    get hasEnded() {
      return hasEnded;
    },
    release: () => void shell.stdin.destroy(),
  };
};

/** The presence of this process at a supervisor: while it lasts, this process uses the server. */
export type Presence = {
  /** False when the supervisor decided to stop the server before it learned of this process. */
  isKnown(): boolean;
  end(): void;
};

/**
 * Tells the supervisor of the server `pid` that this process uses the server, until `end`, or until this process ends.
 * `null` when there is no supervisor, or when it is about to stop the server.
 */
export const announce = (cluster: string, pid: number): Presence | null => {
  const path = join(cluster, `users.${pid}`);
  let handle: number;
  try {
    // Non-blocking: the call fails when no process reads. No links: the folder belongs to another user when this
    // process is root.
    handle = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return null;
  }
  let hasEnded = false;
  const end = (): void => {
    // After `end`, the descriptor may belong to another file.
    if (!hasEnded) closeSync(handle);
    hasEnded = true;
  };
  const isKnown = (): boolean => statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(handle).ino;
  try {
    if (fstatSync(handle).isFIFO() && writeSync(handle, "\n") === 1) return { isKnown, end };
  } catch {
    // The supervisor has ended.
  }
  end();
  return null;
};

/** Whether the server `pid` has a supervisor that has not finished, or was killed before it could finish. */
export const isSupervised = (cluster: string, pid: number): boolean =>
  existsSync(join(cluster, `users.${pid}`)) || existsSync(join(cluster, `users.${pid}.closed`));
