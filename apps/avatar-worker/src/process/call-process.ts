/**
 * The processes of calls: children of the avatar worker, one for each call. LiveKit's library and what it decodes come from
 * strangers, and a fault in it ends the process. So the process has one call, and neither the secret of the worker nor another
 * call's token.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createMeter, type Limit } from "../meter.ts";
import { type FromCallProcess, readMessage, type ToCallProcess } from "./messages.ts";

/** The argument that makes this program the process of a call. */
export const CALL_ARGUMENT = "--call";
/** How long a process may take to end when its channel is closed. */
const END_MS = 1000;
/** A process sends some two messages a second, and at its start one for each file. A worker that was stopped gets many at once. */
const MAX_MESSAGES: Limit = { burst: 1000, perSecond: 50 };
/** The folder of the modules that a compiled program contains. */
const COMPILED = "/$bunfs/";

/** What a call process gets of the environment: where certificates and libraries are. The rest can be secret. */
const VARIABLES = ["LD_LIBRARY_PATH", "NODE_EXTRA_CA_CERTS", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR", "TZ"];

const ownCommand = (): [program: string, ...string[]] => {
  const [, main = ""] = process.argv;
  if (main.startsWith(COMPILED)) return [process.execPath];
  // Bun would read the secrets of an `.env` otherwise. Node reads none.
  return process.versions["bun"] ? [process.execPath, "--no-env-file", main] : [process.execPath, main];
};

/** A core dump would contain the token of the call, and what was said. The shell becomes the program. */
const withoutCoreDump = (command: readonly string[]): readonly string[] =>
  process.platform === "win32" ? command : ["/bin/sh", "-c", 'ulimit -c 0; exec "$0" "$@"', ...command];

/** The variables are fixed, because the library reads RUST_LOG when it is loaded: its log could contain a token. */
const childVariables = (): Record<string, string> => ({
  ...Object.fromEntries(VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  NODE_ENV: "production",
  RUST_LOG: "off",
});

/** `isCrash`: the process itself, not another program, is the cause of its end. */
export type ProcessEnd = { code: number | null; signal: NodeJS.Signals | null; isCrash: boolean };

type Receivers = { onMessage: (message: FromCallProcess) => void; onEnd: (end: ProcessEnd) => void };

export type CallProcess = {
  /** null when it could not be started. */
  readonly pid: number | null;
  send(message: ToCallProcess): void;
  /**
   * Sets the receivers of its messages and of its end; what came before is passed on. An invalid message ends the process, and so do
   * too many: no message after that is read.
   */
  listen(receivers: Receivers): void;
  /** Resolves when it can take a call; rejects when it ends before. */
  ready(): Promise<void>;
  /** Ends it: it has a second to do so by itself. Resolves when it has ended. */
  stop(): Promise<void>;
  /** Ends it at once, as one that has crashed. */
  kill(): void;
};

/** Returns a function that reads messages: null for one that is not valid, and from the first one above the limit on. */
const createReader = (): ((content: unknown) => FromCallProcess | null) => {
  const count = createMeter(MAX_MESSAGES);
  return (content) => {
    try {
      count(1);
      return readMessage(content);
    } catch {
      return null;
    }
  };
};

/** Signals that come from outside: of an operator, or of a kernel that has no memory left. */
const FOREIGN_SIGNALS: readonly (NodeJS.Signals | null)[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"];

export const startCallProcess = (command: readonly string[] = [...ownCommand(), CALL_ARGUMENT]): CallProcess => {
  const [program = "", ...args] = withoutCoreDump(command);
  const child: ChildProcess = spawn(program, args, {
    env: childVariables(),
    // What a stranger's fault makes the library print is not ours to log.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced",
  });
  const waiting: FromCallProcess[] = [];
  let receivers: Receivers | null = null;
  let end: ProcessEnd | null = null;
  let isKilled = false;
  const read = createReader();

  const kill = (): void => {
    isKilled = true;
    child.kill("SIGKILL");
  };
  const ended = new Promise<void>((resolve) => {
    const setEnd = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (end) return;
      end = { code, signal, isCrash: isKilled || !FOREIGN_SIGNALS.includes(signal) };
      resolve();
      receivers?.onEnd(end);
    };
    child.on("exit", setEnd);
    // It could not be started, or a message could not be sent.
    child.on("error", () => child.pid ?? setEnd(null, null));
  });
  const isReady = new Promise<void>((resolve, reject) => {
    child.on("message", (content: unknown) => {
      if (isKilled) return;
      const message = read(content);
      if (message === null) kill();
      else if (message.kind === "ready") resolve();
      else if (receivers) receivers.onMessage(message);
      else waiting.push(message);
    });
    void ended.then(() => reject(new Error("the process of a call has ended before it was ready")));
  });
  // A process that is given a call before it is ready reports its end in another way.
  isReady.catch(() => {});

  return {
    pid: child.pid ?? null,
    send: (message) => {
      if (child.connected) child.send(message, () => {});
    },
    listen: (next) => {
      receivers = next;
      for (const message of waiting.splice(0)) next.onMessage(message);
      if (end) next.onEnd(end);
    },
    ready: () => isReady,
    stop: async () => {
      if (child.connected) child.disconnect();
      const timer = setTimeout(kill, END_MS);
      await ended;
      clearTimeout(timer);
    },
    kill,
  };
};
