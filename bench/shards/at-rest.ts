/**
 * The processor time of the databases while an API and a worker have no work, on one plain PostgreSQL and on shards:
 * `CITUS_BIN=… bun bench/shards/at-rest.ts [shards] [seconds]`. All processes of all nodes count. `CITUS_BIN` is the
 * folder of a PostgreSQL with Citus.
 */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { migrate } from "@realtime-avatar/db/migrate";
import { migrateShards } from "@realtime-avatar/db/shards/split";
import { startNodes } from "@realtime-avatar/testing/postgres/citus";
import { openByTcp } from "@realtime-avatar/testing/postgres/embedded";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { start } from "../machine.ts";
import { buildService, startService } from "../processes.ts";
import { measureProcessorTime } from "./processor-times.ts";

const [SHARDS = 18, SECONDS = 60] = process.argv.slice(2).map(Number);
/** After this time, the processes have opened their connections, and each statement has its plan. */
const WARM_MS = 20_000;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const binaries = process.env["CITUS_BIN"];
if (binaries === undefined) throw new Error("CITUS_BIN must name a PostgreSQL with Citus.");

const folder = await temporaryFolder();

/** Prints the milliseconds a second that the servers take alone, with an API, and with an API and a worker. */
const measureServers = async (name: string, databaseUrl: string, servers: readonly number[]): Promise<void> => {
  const atRest = async (): Promise<string> => {
    await Bun.sleep(WARM_MS);
    return ((await measureProcessorTime(servers, () => Bun.sleep(SECONDS * 1000))) / SECONDS).toFixed(1);
  };
  const alone = await atRest();
  const api = await startService(folder, "api", databaseUrl, { WORKER: "false" });
  const withApi = await atRest();
  const worker = await start([process.execPath, "apps/worker/dist/main.js"], join(folder, "worker.log"), {
    ...{ WORKER_PORT: "0", DATABASE_URL: databaseUrl, DATA_DIR: join(folder, "files") },
  });
  say(`| ${name} | ${alone} | ${withApi} | ${await atRest()} |`);
  await worker.end();
  await api.end();
};

buildService();
say("| ms of processor time a second | alone | with an API | with an API and a worker |");
say("| --- | ---: | ---: | ---: |");
const plain = await openByTcp(join(folder, "plain"), { settings: { fsync: "off" }, binaries });
const plainPid = Number((await readFile(join(folder, "plain/postgres/postmaster.pid"), "utf8")).split("\n")[0]);
await migrate(plain.url);
await measureServers("one database", plain.url, [plainPid]);
await plain.close();
const citus = await startNodes(binaries);
await migrateShards(citus.coordinator, SHARDS);
const pids = await Promise.all(citus.nodes.map(({ server }) => server.pid()));
await measureServers(`${SHARDS} shards`, citus.coordinator, pids);
await rm(folder, { recursive: true, force: true });
process.exit(0);
