/**
 * The processes of calls: children of the avatar worker, one for each call. LiveKit's library decodes untrusted data. A
 * fault in it can end the process or let an attacker take it over. So a process has one call, and has neither the
 * secret of the worker nor the token of another call.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createMeter, type Limit } from "../meter.ts";
import { type FromCallProcess, readMessage, type ToCallProcess } from "./messages.ts";

/** The argument that makes this program the process of a call. */
export const CALL_ARGUMENT = "--call";
/** How long a process may take to end when its channel is closed. */
const END_MS = 1000;
/**
 * A process sends about two messages a second, and at its start one for each file. After a stop of the worker, many
 * arrive at once.
 */
const MAX_MESSAGES: Limit = { burst: 1000, perSecond: 50 };
/** The folder of the modules that a compiled program contains. */
const COMPILED = "/$bunfs/";

/** The environment variables of a call process: where certificates and libraries are. Others can be secret. */
const VARIABLES = ["LD_LIBRARY_PATH", "NODE_EXTRA_CA_CERTS", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR", "TZ"];

const ownCommand = (): [program: string, ...string[]] => {
  const [, main = ""] = process.argv;
  if (main.startsWith(COMPILED)) return [process.execPath];
  // Bun would read the secrets of an `.env` file. Node reads none.
  return process.versions["bun"] ? [process.execPath, "--no-env-file", main] : [process.execPath, main];
};

/**
 * Prevents a core dump, which would contain the token and the words of the call. The shell replaces itself with the
 * program.
 */
const withoutCoreDump = (command: readonly string[]): readonly string[] =>
  process.platform === "win32" ? command : ["/bin/sh", "-c", 'ulimit -c 0; exec "$0" "$@"', ...command];

/** The variables are fixed. The library reads RUST_LOG when it is loaded, and its log could contain a token. */
const childVariables = (): Record<string, string> => ({
  ...Object.fromEntries(VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  NODE_ENV: "production",
  RUST_LOG: "off",
});

/** `isCrash`: the process itself caused its end, not another program. */
export type ProcessEnd = { code: number | null; signal: NodeJS.Signals | null; isCrash: boolean };

type Receivers = { onMessage: (message: FromCallProcess) => void; onEnd: (end: ProcessEnd) => void };

export type CallProcess = {
  /** null when it could not be started. */
  readonly pid: number | null;
  send(message: ToCallProcess): void;
  /**
   * Sets the receivers of its messages and of its end. Earlier messages are passed on. An invalid message, or too many
   * messages, end the process. Later messages are not read.
   */
  listen(receivers: Receivers): void;
  /** Resolves when the process can take a call. Rejects when it ends before. */
  ready(): Promise<void>;
  /** Stops the process: after a second it is killed. Resolves when it has ended. */
  stop(): Promise<void>;
  /** Kills the process. Its end counts as a crash. */
  kill(): void;
};

/** Returns a function that parses messages: null for an invalid message, and for all above the limit. */
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

/** Signals that come from outside, sent by an operator or by a kernel without free memory. */
const FOREIGN_SIGNALS: readonly (NodeJS.Signals | null)[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"];

export const startCallProcess = (command: readonly string[] = [...ownCommand(), CALL_ARGUMENT]): CallProcess => {
  const [program = "", ...args] = withoutCoreDump(command);
  const child: ChildProcess = spawn(program, args, {
    env: childVariables(),
    // The library's output is not logged, because participants of the room can influence it.
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
    // The process could not be started, or a message could not be sent.
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
  // A process that gets a call before it is ready reports its end in another way.
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
