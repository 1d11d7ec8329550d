/**
 * LiveKit and an avatar worker as child processes, so that calls work on the embedded database without configuration.
 * Both listen on loopback: from another device, only the API can be reached.
 */
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { existsSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { embeddedConfigFile, type LivekitConfig } from "@realtime-avatar/livekit/config";
import { takeLock } from "@realtime-avatar/livekit/embedded-lock";
import { readVariable, refuse, type Variables } from "@realtime-avatar/runtime/config";
import { Secret } from "@realtime-avatar/storage/secret";
import { type Child, type ChildOptions, createChild } from "./child.ts";

const LOOPBACK = "127.0.0.1";
/** The ports of the API, and of media over UDP. If they are in use, the next free ports are taken. */
const PORTS = { api: 7880, udp: 7882 };
/** Maximum number of ports that are tried. */
const MAX_PORTS = 200;
const LOG_FILE = "livekit.log";

/**
 * Runs LiveKit until its standard input ends, which happens at any end of the service, and then kills it: on SIGTERM,
 * it would wait until its participants have left. Its log goes to a separate file, because it can contain tokens.
 */
const SCRIPT = `
umask 077
exec 3<&0 </dev/null
"$0" --config "$1" >"$2" 2>&1 3<&- &
server=$!
( cat <&3 >/dev/null; kill -KILL "$server" ) 2>/dev/null &
watcher=$!
exec 3<&- 2>/dev/null
trap 'kill -KILL "$server"' HUP INT TERM
wait "$server"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"
`;

/** The program of LiveKit, if it can be started. */
export type LivekitProgram = { kind: "found"; path: string } | { kind: "missing" } | { kind: "off" };

/** `LIVEKIT_SERVER_BIN`, or `livekit-server` on the PATH, unless `LIVEKIT_EMBEDDED` is `off`. Throws a `ConfigError`. */
export const readLivekitProgram = (variables: Variables): LivekitProgram => {
  const isOff = readVariable(variables, "LIVEKIT_EMBEDDED", false, "off, or unset", (text) =>
    text === "off" ? true : undefined,
  );
  const named = readVariable<string | null>(variables, "LIVEKIT_SERVER_BIN", null, "the path of a program", (text) =>
    existsSync(text) ? text : undefined,
  );
  if (named !== null && variables["DATABASE_URL"]) {
    refuse(variables, "LIVEKIT_SERVER_BIN", "unset when DATABASE_URL is set: LIVEKIT_URL names a server then");
  }
  if (isOff) return { kind: "off" };
  const path = named ?? Bun.which("livekit-server", { PATH: variables["PATH"] ?? "" });
  return path === null ? { kind: "missing" } : { kind: "found", path };
};

const isFreeTcp = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, LOOPBACK, () => server.close(() => resolve(true)));
  });
const isFreeUdp = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createSocket("udp4").once("error", () => resolve(false));
    socket.bind(port, LOOPBACK, () => socket.close(() => resolve(true)));
  });

const findPort = async (first: number, isFree: (port: number) => Promise<boolean>): Promise<number> => {
  for (let port = first; port < first + MAX_PORTS; port++) if (await isFree(port)) return port;
  throw new Error(`No port from ${first} to ${first + MAX_PORTS - 1} is free for LiveKit.`);
};

type Ports = { api: number; udp: number };

const findPorts = async (): Promise<Ports> => ({
  api: await findPort(PORTS.api, isFreeTcp),
  udp: await findPort(PORTS.udp, isFreeUdp),
});

/** The content of the configuration file (`embeddedConfigFile`). */
const configurationOf = ({ apiKey, apiSecret }: LivekitConfig, { api, udp }: Ports, serviceUrl: string): string =>
  JSON.stringify({
    port: api,
    bind_addresses: [LOOPBACK],
    rtc: {
      node_ip: LOOPBACK,
      use_external_ip: false,
      // No media over TCP: LiveKit 1.13.5 would listen at that port on every address of the machine, despite the other
      // settings.
      tcp_port: 0,
      allow_tcp_fallback: false,
      udp_port: udp,
      enable_loopback_candidate: true,
      interfaces: { includes: [process.platform === "darwin" ? "lo0" : "lo"] },
    },
    room: { auto_create: false },
    logging: { level: "warn" },
    keys: { [apiKey]: apiSecret.reveal() },
    webhook: { api_key: apiKey, urls: [`${serviceUrl}/internal/livekit-events`] },
  });

/** The variables that the avatar worker needs. Others can be secret. */
const NEEDED =
  /^(PATH|HOME|TMPDIR|LD_LIBRARY_PATH|LOG_LEVEL|AVATAR_SLOTS|AVATAR_MARK|RENDERER|OPENAI_API_KEY|(?:LLM|STT|TTS)_\w+|OTEL_\w+|NODE_EXTRA_CA_CERTS)$/;

const avatarWorkerVariables = (variables: Variables, serviceUrl: string, secret: Secret): Variables => ({
  ...Object.fromEntries(Object.entries(variables).filter(([name]) => NEEDED.test(name))),
  SERVICE_URL: serviceUrl,
  AVATAR_WORKER_SECRET: secret.reveal(),
  // LiveKit's library would write lines to standard error that do not have the format of our log.
  RUST_LOG: "off",
});

export type EmbeddedLivekit = {
  config: LivekitConfig;
  workerSecret: Secret;
  /** Starts both programs, when the service listens at this address. */
  start(serviceUrl: string): Promise<void>;
  /** Stops the avatar worker while the service still responds. */
  stopAvatarWorker(): Promise<void>;
  stopLivekit(): Promise<void>;
};

export type EmbeddedOptions = Pick<ChildOptions, "log" | "logOutput" | "isTerminal"> & {
  program: string;
  /** The command of the avatar worker. */
  avatarWorker: readonly string[];
  dataDirectory: string;
  variables: Variables;
  workerSecret: Secret | null;
};

/**
 * Chooses ports and keys. Returns null when another process with this data directory already has a LiveKit. Files of an
 * earlier process are not trusted: any program can listen on its port by now.
 */
export const prepareLivekit = async (options: EmbeddedOptions): Promise<EmbeddedLivekit | null> => {
  const { program, avatarWorker, dataDirectory, variables, log } = options;
  const unlock = takeLock(dataDirectory);
  if (unlock === null) return null;
  const workerSecret = options.workerSecret ?? new Secret(randomBytes(32).toString("hex"));
  const file = embeddedConfigFile(dataDirectory);
  const ports = await findPorts();
  const apiKey = `API${randomBytes(6).toString("hex")}`;
  const own = { url: `ws://${LOOPBACK}:${ports.api}`, apiKey, apiSecret: new Secret(randomBytes(32).toString("hex")) };
  let children: { livekit: Child; worker: Child } | null = null;

  const start = async (serviceUrl: string): Promise<void> => {
    const logFile = join(dataDirectory, LOG_FILE);
    // The file is written by a rename, so that no program reads it incomplete, and its mode is this one even if it
    // existed.
    await rm(`${file}.new`, { force: true });
    await writeFile(`${file}.new`, configurationOf(own, ports, serviceUrl), { mode: 0o600, flag: "wx" });
    await rename(`${file}.new`, file);
    children = {
      livekit: createChild({
        ...options,
        name: "LiveKit server",
        command: ["/bin/sh", "-c", SCRIPT, program, file, logFile],
        // LiveKit would read its own variables from the environment.
        variables: { PATH: variables["PATH"] },
      }),
      worker: createChild({
        ...options,
        name: "avatar worker",
        command: avatarWorker,
        variables: avatarWorkerVariables(variables, serviceUrl, workerSecret),
      }),
    };
    children.livekit.start();
    children.worker.start();
    log.info({ url: own.url, log: logFile }, "started LiveKit and an avatar worker, for calls from this device");
  };
  return {
    config: own,
    workerSecret,
    start,
    stopAvatarWorker: async () => children?.worker.stop(),
    stopLivekit: async () => {
      await children?.livekit.stop();
      await rm(file, { force: true });
      unlock();
    },
  };
};
