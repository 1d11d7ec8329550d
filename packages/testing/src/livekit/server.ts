/** Starts a LiveKit server for tests, on loopback, with new keys. */
import { randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePorts } from "../network/ports.ts";
import { type RunningProcess, startProcess } from "../processes.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { until } from "../until.ts";

export type LivekitServer = {
  /** The address for clients, `ws:`. */
  url: string;
  /** The same address for the API, `http:`. */
  apiUrl: string;
  apiKey: string;
  apiSecret: string;
  /** The output of the server, including invalid tokens. */
  logFile: string;
  readonly process: RunningProcess;
  /** Kills the server, and starts it again at the same addresses, without its rooms. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

export type LivekitOptions = {
  /** Whether a participant who joins creates the room. */
  autoCreate?: boolean;
  /** The URL to which it sends its webhooks. */
  webhookUrl?: string;
  /** Another address of this machine for clients, beside loopback, and its interface. */
  network?: { address: string; interface: string };
};

/** JSON is valid YAML. One UDP port and one TCP port carry all media. */
const configuration = (
  [port, tcp_port, udp_port]: readonly number[],
  keys: Record<string, string>,
  { autoCreate = false, webhookUrl, network }: LivekitOptions,
): string =>
  JSON.stringify({
    port,
    bind_addresses: ["127.0.0.1", ...(network ? [network.address] : [])],
    rtc: {
      node_ip: network?.address ?? "127.0.0.1",
      use_external_ip: false,
      tcp_port,
      udp_port,
      enable_loopback_candidate: true,
      interfaces: { includes: [network?.interface ?? (process.platform === "darwin" ? "lo0" : "lo")] },
    },
    room: { auto_create: autoCreate },
    keys,
    ...(webhookUrl && { webhook: { api_key: Object.keys(keys)[0], urls: [webhookUrl] } }),
  });

/** Waits until the server responds. Throws when it ends first. */
const untilReady = async (server: RunningProcess, apiUrl: string, logFile: string): Promise<void> => {
  let exitCode: number | null = null;
  server.exited.then((code) => {
    exitCode = code;
  });
  const log = () => Bun.file(logFile).text();
  const isReady = async (): Promise<boolean | undefined> => {
    const response = await fetch(apiUrl).catch(() => null);
    if (exitCode !== null) throw new Error(`livekit-server exited with ${exitCode}:\n${await log()}`);
    return response?.ok;
  };
  await until(isReady, { state: log });
};

/** The number of starts with other ports when another process has taken a port. */
const MAX_STARTS = 5;

/** Starts the server at `path`. `stop` ends it and removes its files. */
export const startLivekit = async (path: string, options: LivekitOptions = {}, starts = 1): Promise<LivekitServer> => {
  const folder = await temporaryFolder();
  const ports = await freePorts(3);
  const apiKey = `API${randomBytes(6).toString("hex")}`;
  const apiSecret = randomBytes(32).toString("hex");
  const configFile = join(folder, "livekit.yaml");
  const logFile = join(folder, "livekit.log");
  await writeFile(configFile, configuration(ports, { [apiKey]: apiSecret }, options), { mode: 0o600 });
  // The shell becomes the server, so that the process id is that of the server.
  const command = ["/bin/sh", "-c", 'exec "$0" --config "$1" >"$2" 2>&1', path, configFile, logFile];
  let server = startProcess(command);
  const apiUrl = `http://127.0.0.1:${ports[0]}`;
  const kill = async (): Promise<void> => {
    server.kill("SIGCONT");
    // On SIGTERM the server waits until its participants have left.
    server.kill("SIGKILL");
    await server.exited;
  };
  const restart = async (): Promise<void> => {
    await kill();
    server = startProcess(command);
    await untilReady(server, apiUrl, logFile);
  };
  const stop = async (): Promise<void> => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(server, apiUrl, logFile);
  } catch (error) {
    await stop();
    if (starts < MAX_STARTS && String(error).includes("address already in use")) {
      return startLivekit(path, options, starts + 1);
    }
    throw error;
  }
  return {
    url: apiUrl.replace("http", "ws"),
    ...{ apiUrl, apiKey, apiSecret, logFile, restart, stop },
    get process() {
      return server;
    },
  };
};
