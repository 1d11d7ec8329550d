/** The processes that the benchmark loads: the built service, and the servers that it is compared with. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Process, ROOT, start } from "./machine.ts";

const STARTS = 5;

export type Processes = {
  service: Process;
  /** The same service with metrics, and with metrics and traces. */
  metered: Process;
  traced: Process;
  /** See servers.ts. */
  above: Process;
  first: Process;
  /** Milliseconds from start to ready, of several starts of the service. */
  startUps: readonly number[];
  end(): Promise<void>;
};

/** Builds the service. */
export const buildService = (): void => {
  const build = Bun.spawnSync([process.execPath, "run", "build"], { cwd: ROOT });
  if (build.exitCode !== 0) throw new Error("The build failed.");
};

/** Starts the built service. Its log is `name` in `folder`. */
export const startService = async (
  folder: string,
  name: string,
  databaseUrl: string,
  variables: Record<string, string> = {},
): Promise<Process> => {
  const log = join(folder, `${name}.log`);
  // `start` reads the address from this file.
  await rm(log, { force: true });
  return start([process.execPath, "apps/api/dist/main.js"], log, {
    PORT: "0",
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, "files"),
    MAX_ACTIVE_KEYS_PER_TENANT: "1000000",
    ...variables,
  });
};

/** Starts a server of servers.ts. */
export const startServer = (folder: string, name: string, databaseUrl: string, livekitUrl = ""): Promise<Process> =>
  start([process.execPath, "bench/servers.ts", name, databaseUrl, folder, livekitUrl], join(folder, `${name}.log`));

/** Builds the service, and starts every process. Their logs are in `folder`. */
export const startProcesses = async (folder: string, databaseUrl: string): Promise<Processes> => {
  buildService();
  const startUps: number[] = [];
  for (let attempt = 0; attempt < STARTS; attempt++) {
    const process = await startService(folder, "service", databaseUrl);
    startUps.push(process.readyMs);
    await process.end();
  }
  const service = await startService(folder, "service", databaseUrl);
  const above = await startServer(folder, "above", databaseUrl);
  const first = await startServer(folder, "first", databaseUrl);
  const sink = await startServer(folder, "sink", databaseUrl);
  const metered = await startService(folder, "metered", databaseUrl, { METRICS_PORT: "0" });
  const traces = { METRICS_PORT: "0", OTEL_EXPORTER_OTLP_ENDPOINT: sink.url };
  const traced = await startService(folder, "traced", databaseUrl, traces);
  const end = async (): Promise<void> => {
    for (const process of [service, metered, traced, sink, above, first]) await process.end();
  };
  return { service, metered, traced, above, first, startUps, end };
};
