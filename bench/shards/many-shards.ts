/**
 * Many shards and tenants: the distribution of tenants over shards, and the connections and memory of an API process
 * that has served a request in each shard: `CITUS_BIN=… bun bench/shards/many-shards.ts [shards] [tenants]`.
 */
import { readFile, rm } from "node:fs/promises";
import { openDatabase } from "@realtime-avatar/db/open";
import { migrateShards } from "@realtime-avatar/db/shards/split";
import { countTenants, emptierOfTwo } from "@realtime-avatar/db/tenants/tenants";
import { startNodes } from "@realtime-avatar/testing/postgres/citus";
import { client } from "@realtime-avatar/testing/postgres/client";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";

const [SHARDS = 64, TENANTS = 10_000] = process.argv.slice(2).map(Number);
const AT_ONCE = 16;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const binaries = process.env["CITUS_BIN"];
if (binaries === undefined) throw new Error("CITUS_BIN must name a PostgreSQL with Citus.");

const residentMib = async (pid: number): Promise<number> =>
  Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

const citus = await startNodes(binaries);
const start = performance.now();
await migrateShards(citus.coordinator, SHARDS);
say(`${SHARDS} shards made in ${Math.round((performance.now() - start) / 1000)} s`);
const config = {
  databaseUrl: citus.coordinator,
  dataDirectory: "",
  deadlineMs: 60_000,
  connections: 10,
  prepare: true,
};
const { databases } = await openDatabase(config, { refreshMs: null });

let created = 0;
const createSome = async (): Promise<void> => {
  while (created++ < TENANTS) await seedTenant(await emptierOfTwo(databases.all()));
};
await Promise.all(Array.from({ length: AT_ONCE }, createSome));
const counts = await Promise.all(databases.all().map(countTenants));
say(`${TENANTS} tenants: from ${Math.min(...counts)} to ${Math.max(...counts)} in a shard`);

const keys: string[] = [];
for (const db of databases.all()) {
  const { secret } = await seedKey(db, await seedTenant(db), { environment: "live", scopes: ["*"] });
  keys.push(secret.reveal());
}
await databases.close();

const folder = await temporaryFolder();
const { PATH = "", HOME = "" } = process.env;
const api = Bun.spawn([process.execPath, "--no-env-file", "apps/api/src/main.ts"], {
  env: {
    PATH,
    HOME,
    PORT: "0",
    DATA_DIR: folder,
    DATABASE_URL: citus.coordinator,
    REQUEST_TIMEOUT_MS: "60000",
    LOG_LEVEL: "info",
  },
  stdout: "pipe",
  stderr: "inherit",
});
let output = "";
const collect = async (): Promise<void> => {
  const decoder = new TextDecoder();
  for await (const chunk of api.stdout) output = (output + decoder.decode(chunk, { stream: true })).slice(-10_000);
};
void collect();
while (!/"url":"(http:[^"]+)"/.test(output)) await Bun.sleep(50);
const url = /"url":"(http:[^"]+)"/.exec(output)?.[1] ?? "";
const body = JSON.stringify({ displayName: "Ada", sourceKind: "image" });
const connections = async (): Promise<number> => {
  let sum = 0;
  for (const node of citus.nodes) {
    const admin = client(node.url);
    const [row] = await admin<{ count: number }[]>`
      select count(*)::integer as count from pg_stat_activity
      where backend_type = 'client backend' and application_name = 'realtime-avatar' and pid <> pg_backend_pid()`;
    sum += row?.count ?? 0;
    await admin.end();
  }
  return sum;
};
say(`API at its start: ${Math.round(await residentMib(api.pid))} MiB, ${await connections()} connections`);
for (let round = 0; round < 5; round++) {
  const created = await Promise.all(
    keys.map((key) =>
      fetch(`${url}/api/v1/avatars`, {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      }),
    ),
  );
  const failed = created.filter(({ status }) => status !== 201).length;
  if (failed > 0) throw new Error(`${failed} requests failed`);
}
say(`after 5 creates in each shard: ${Math.round(await residentMib(api.pid))} MiB, ${await connections()} connections`);
api.kill("SIGTERM");
await api.exited;
await rm(folder, { recursive: true, force: true });
process.exit(0);
