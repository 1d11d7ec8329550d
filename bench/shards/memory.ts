/**
 * The memory of one connection to a shard, over many look-ups and creates: `CITUS_BIN=… bun bench/shards/memory.ts
 * [executions] [kind]`. Prints the private memory of the process of the server, which must not grow.
 */
import { readFile } from "node:fs/promises";
import { insertAvatar } from "@realtime-avatar/db/avatars/avatars";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import { connect } from "@realtime-avatar/db/connection/pool";
import { withLock } from "@realtime-avatar/db/migrate";
import { migrateShard } from "@realtime-avatar/db/shards/migrate-shard";
import { readPlacement } from "@realtime-avatar/db/shards/placement";
import { shardOptions } from "@realtime-avatar/db/shards/shard";
import { startNodes } from "@realtime-avatar/testing/postgres/citus";
import { client } from "@realtime-avatar/testing/postgres/client";
import { findTestCaller, plannedAvatar, seedKey, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";

const EXECUTIONS = Number(process.argv[2] ?? 1_000_000);
const STEPS = 20;
const KINDS = ["look-ups", "creates"] as const;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const binaries = process.env["CITUS_BIN"];
if (binaries === undefined) throw new Error("CITUS_BIN must name a PostgreSQL with Citus.");

const citus = await startNodes(binaries);
await withLock(citus.coordinator, {}, (admin) => migrateShard(admin, 0).then(() => {}));
const admin = client(citus.coordinator);
const place = (await readPlacement((text) => admin.unsafe(text))).get(0);
await admin.end();
const url = Object.assign(new URL(citus.coordinator), { host: `${place?.host}:${place?.port}` }).href;
/** The private memory of the process. Shared buffers do not count, because a growing table fills them. */
const privateMib = async (pid: number): Promise<string> => {
  const [, kib] = /^RssAnon:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number(kib) / 1024).toFixed(1);
};
for (const kind of KINDS.filter((one) => (process.argv[3] ?? one) === one)) {
  const db = connect(url, { connections: 1, deadlineMs: 3_600_000, shard: shardOptions(0) });
  const { secret } = await seedKey(db, await seedTenant(db), { environment: "live", scopes: ["*"] });
  const caller = await findTestCaller(db, secret.keyId);
  const pidOf = async () => (await db.run<{ pid: number }>("select pg_backend_pid() as pid", []))[0]?.pid ?? 0;
  const once = () =>
    kind === "look-ups"
      ? findCredential(db, caller.credentialKeyId)
      : insertAvatar(db, plannedAvatar(caller), null, caller, seedOrigin(caller));
  let pid = await pidOf();
  for (let step = 0; step <= STEPS; step++) {
    const now = await pidOf();
    say(
      `${(step * EXECUTIONS) / STEPS} ${kind}: ${await privateMib(now)} MiB${now === pid ? "" : ", a new connection"}`,
    );
    pid = now;
    for (let turn = 0; step < STEPS && turn < EXECUTIONS / STEPS; turn++) await once();
  }
  await db.close();
}
process.exit(0);
