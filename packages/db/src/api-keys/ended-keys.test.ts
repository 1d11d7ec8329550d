/** Keys that have ended are marked when a tenant reaches its quota. */
import { describe, expect, test } from "bun:test";
import type { TenantId } from "@realtime-avatar/domain/id";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { issuedBy, seedCaller, seedKey, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import type { Caller } from "../callers/callers.ts";
import { insertApiKey } from "./api-keys.ts";
import { markEndedKeys } from "./ended-keys.ts";

const { db } = await serviceDatabase();

/** Adds `count` keys below `parent`, all valid. */
const addKeys = (parent: Caller, count: number) =>
  db.client.unsafe(`
    insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
    select '${parent.tenantId}', 'key_01h455vb4p' || lpad(i::text, 16, '0'), lpad(i::text, 16, '0'), 'live', 'n', '{*}',
      '{${parent.id}}', 1, now() from generate_series(1, ${count}) i`);
const unmarked = async (tenantId: TenantId): Promise<number> =>
  (await db.client`select from api_keys where tenant_id = ${tenantId} and ended_at is null`).length;
const create = (caller: Caller, maxActiveKeys: number) =>
  // On a busy machine, marking many keys takes longer than the ordinary deadline.
  insertApiKey(db.within(60_000), { ...issuedBy(caller), maxActiveKeys }, caller, seedOrigin(caller));

describe("markEndedKeys", () => {
  test("the mark, with revoked and expired keys: marks exactly these keys and their descendants", async () => {
    const tenantId = await seedTenant(db);
    const keys = await Promise.all([1, 2, 3].map(async () => (await seedKey(db, tenantId)).record));
    const [revoked, expired, valid] = keys;
    if (!revoked || !expired || !valid) throw new Error("no keys");
    for (const parent of keys) await seedKey(db, tenantId, {}, parent);
    expect(await markEndedKeys(db, tenantId)).toBe(false);
    await db.client`update api_keys set revoked_at = now() where id = ${revoked.id}`;
    await db.client`update api_keys set expires_at = now() - interval '1 second' where id = ${expired.id}`;
    expect(await markEndedKeys(db, tenantId)).toBe(true);
    const rows = await db.client`
      select id, lineage from api_keys where tenant_id = ${tenantId} and ended_at is null order by id`;
    expect(rows.map(({ id, lineage }) => [id, lineage])).toEqual([
      [valid.id, []],
      [expect.any(String), [valid.id]],
    ]);
    expect(await markEndedKeys(db, tenantId)).toBe(false);
  });

  test("the mark, for four tenants at once: returns for each whether keys had ended", async () => {
    const tenants = await Promise.all([1, 2, 3, 4].map(() => seedTenant(db)));
    for (const [index, tenantId] of tenants.entries()) {
      const { record } = await seedKey(db, tenantId);
      if (index % 2) await db.client`update api_keys set revoked_at = now() where id = ${record.id}`;
    }
    expect(await Promise.all(tenants.map((tenantId) => markEndedKeys(db, tenantId)))).toEqual([
      false,
      true,
      false,
      true,
    ]);
  });

  test("the mark, with a locked key: skips the key", async () => {
    const tenantId = await seedTenant(db);
    const [one, two] = [await seedKey(db, tenantId), await seedKey(db, tenantId)];
    await db.client`update api_keys set revoked_at = now() where tenant_id = ${tenantId}`;
    await db.client.begin(async (transaction) => {
      await transaction`select 1 from api_keys where id = ${one.record.id} for update`;
      expect(await markEndedKeys(db, tenantId)).toBe(true);
    });
    const rows = await db.client`select id from api_keys where tenant_id = ${tenantId} and ended_at is null`;
    expect(rows.map(({ id }) => id)).toEqual([one.record.id]);
    expect(two.record.id).not.toBe(one.record.id);
  });
});

describe("a create at the quota", () => {
  test("a create, with more ended keys than one round marks: written in one call", async () => {
    const caller = await seedCaller(db);
    const ended = await seedCaller(db, caller.tenantId);
    // One round marks 20,000 keys, and the quota is full until the last of two rounds, or of three with LONG=1.
    await addKeys(ended, process.env["LONG"] === "1" ? 40_500 : 20_500);
    const quota = 300;
    expect(await create(caller, quota)).toEqual({ kind: "over_quota" });
    await db.client`update api_keys set revoked_at = now() where id = ${ended.id}`;
    expect(await create(caller, quota)).toEqual({ kind: "written" });
    expect(await unmarked(caller.tenantId)).toBe(2);
  });

  test("a create, without ended keys: over quota", async () => {
    const caller = await seedCaller(db);
    await addKeys(caller, 2);
    expect(await create(caller, 3)).toEqual({ kind: "over_quota" });
    expect(await create(caller, 4)).toEqual({ kind: "written" });
    expect(await create(caller, 4)).toEqual({ kind: "over_quota" });
  });
});
