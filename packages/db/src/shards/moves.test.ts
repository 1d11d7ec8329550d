/** The moves of a shard during concurrent writes. Needs Citus: see `citus.ts`. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { client } from "@realtime-avatar/testing/database";
import { CITUS_BIN, startCitus } from "@realtime-avatar/testing/postgres/citus";
import {
  findTestCaller,
  inStatus,
  operatorOrigin,
  seedAvatar,
  seedKey,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { findApiKey, revokeApiKey } from "../api-keys/api-keys.ts";
import { updateAvatar } from "../avatars/avatars.ts";
import { connect, type Db } from "../connection/pool.ts";
import { readPlacement } from "./placement.ts";
import { functionsInShard, shardOptions, shardSchema } from "./shard.ts";
import { migrateShards } from "./split.ts";

setDefaultTimeout(300_000);

describe.skipIf(CITUS_BIN === undefined)("a move of a shard", () => {
  let coordinator = "";
  beforeAll(async () => {
    coordinator = await startCitus(CITUS_BIN as string);
  });

  /** The URLs of the node that has the shard and of another node. */
  const nodesOf = async (shard: number): Promise<{ from: string; to: string; port: number }> => {
    const admin = client(coordinator);
    const own = (await readPlacement((text) => admin.unsafe(text))).get(shard)?.port;
    const nodes = await admin<{ port: number }[]>`select nodeport as port from pg_dist_node where shouldhaveshards`;
    await admin.end();
    const port = nodes.find((node) => node.port !== own)?.port as number;
    const at = (host: number): string => Object.assign(new URL(coordinator), { host: `127.0.0.1:${host}` }).href;
    return { from: at(own as number), to: at(port), port };
  };
  const open = (url: string, shard: number): Db => connect(url, { shard: shardOptions(shard), deadlineMs: 120_000 });
  /** Runs `text` in a transaction that stays open. Returns a function that ends it. */
  const hold = async (url: string, text: string): Promise<() => Promise<void>> => {
    const own = client(url);
    await own.unsafe(`set citus.enable_manual_changes_to_shards = on; begin; ${text}`);
    return async () => {
      await own.unsafe("commit");
      await own.end();
    };
  };

  test("a write that began during the move, at its end: not accepted after its key was revoked on the new node", async () => {
    const shard = 1;
    const schema = shardSchema(shard);
    await migrateShards(coordinator, shard + 1);
    const { from, to, port } = await nodesOf(shard);
    const old = open(from, shard);
    const { record, secret } = await seedKey(old, await seedTenant(old), { environment: "live", scopes: ["*"] });
    const caller = await findTestCaller(old, secret.keyId);
    const avatar = await seedAvatar(old, caller);
    const [source, target, admin, admin2] = [client(from), client(to), client(coordinator), client(coordinator)];
    const isWaiting = async (on: typeof source, type: string): Promise<boolean> =>
      (await on`select 1 from pg_locks where not granted and locktype = ${type}`).length > 0;

    // A move waits for the transactions that are open when it begins. During this wait the new node already has its
    // tables. The test locks one of them, so that the move waits in the middle.
    const endFirst = await hold(from, "select pg_current_xact_id()");
    let hasMoved = false;
    const moving = admin`
      select citus_schema_move(${schema}::regnamespace, '127.0.0.1', ${port}::integer, 'force_logical')`.then(() => {
      hasMoved = true;
    });
    await until(() => isWaiting(source, "transactionid"));
    const [copy] = await admin2<{ name: string }[]>`
      select 'avatars_' || shardid as name from pg_dist_shard where logicalrelid = ${`${schema}.avatars`}::regclass`;
    const endCopyLock = await hold(to, `lock table ${schema}.${copy?.name} in exclusive mode`);
    await endFirst();
    await until(() => isWaiting(target, "relation"));

    // The write has locked its caller, and waits for the avatar. The holder of the avatar has only locked a row.
    const endAvatarLock = await hold(from, `select from ${schema}.avatars where id = '${avatar.id}' for update`);
    const events: string[] = [];
    const change = updateAvatar(old, avatar.id, { displayName: "y" }, inStatus("draft"), caller, seedOrigin(caller));
    const writing = change.then(({ kind }) => events.push(kind));
    await until(() => isWaiting(source, "transactionid"));

    await endCopyLock();
    // The move either ends or waits for the write.
    await until(async () => hasMoved || (await isWaiting(source, "advisory")) || (await isWaiting(admin2, "advisory")));
    const movedFirst = hasMoved;
    if (!movedFirst) await endAvatarLock();
    await moving;
    const moved = open(to, shard);
    const key = await findApiKey(moved, record.tenantId, record.id);
    const revocation = await revokeApiKey(moved, key ?? record, { version: null }, null, operatorOrigin());
    expect(revocation.kind).toBe("written");
    events.push("revoked");
    if (movedFirst) await endAvatarLock();
    await writing;
    // The write may be accepted before the revocation, but not after it.
    expect(events).not.toEqual(["revoked", "written"]);
    expect(events).toContain("revoked");
    await Promise.all([old.close(), moved.close(), ...[source, target, admin, admin2].map((one) => one.end())]);
  });

  test("a function that a node without its shard cannot run: repeated once, then not executed", async () => {
    const shard = 1;
    const admin = client(coordinator);
    const { name } = functionsInShard(shard);
    await admin.unsafe(`
      create function ${name}.assigns() returns bigint language plpgsql as $$
      declare v_callers ${name}.caller[];
      begin
        v_callers := array(select null::${name}.caller from ${shardSchema(shard)}.tenants);
        return cardinality(v_callers);
      end $$`);
    const { from, to } = await nodesOf(shard);
    const outcomes: string[] = [];
    const statement = (_name: string, _time: number, outcome: string) => outcomes.push(outcome);
    const watcher = { statement, batch: () => {}, batchRetry: () => {} };
    const [own, other] = [from, to].map((url) => connect(url, { shard: shardOptions(shard), watcher }));
    const call = (db?: Db) => db?.run(`select ${name}.assigns() as count`, []);
    expect(await call(own)).toHaveLength(1);
    await expect(call(other)).rejects.toMatchObject({ failure: "not_executed", code: "42P18" });
    expect(outcomes).toEqual(["done", "not_executed", "not_executed"]);
    await Promise.all([own?.close(), other?.close(), admin.end()]);
  });
});
