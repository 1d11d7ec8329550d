/** API keys: creates, changes, rotations and revocations, each under its locks. */
import { describe, expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import { rotatedApiKey } from "@realtime-avatar/domain/api-keys/rotate";
import { generateApiKey, verifyApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { newId } from "@realtime-avatar/domain/id";
import { session, testDatabase } from "@realtime-avatar/testing/database";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  asOwner,
  findTestCaller,
  issuedBy,
  newClaim,
  operatorOrigin,
  seedCaller,
  seedKey,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { type Caller, findCredential } from "../callers/callers.ts";
import type { Claim } from "../idempotency/idempotency-keys.ts";
import { listTenants } from "../tenants/tenants.ts";
import {
  findApiKey,
  insertApiKey,
  insertFirstApiKey,
  insertRootApiKey,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from "./api-keys.ts";

const database = await serviceDatabase();
const { db } = database;
const tenantId = await seedTenant(db);

const issue = (name = "new") =>
  issueApiKey({ name }, OPERATOR, { tenantId, checkedAt: new Date(0), now: new Date(), random });
const current = async ({ id }: ApiKeyRecord): Promise<ApiKeyRecord> => {
  const record = await findApiKey(db, tenantId, id);
  if (!record) throw new Error("the key was not found");
  return record;
};
const lastEvent = async ({ id }: ApiKeyRecord) => {
  const [row] = await db.client`
    select action, changed_fields, actor_id from audit_events where target_id = ${id} order by id desc limit 1`;
  return row;
};

describe("insertApiKey", () => {
  test("a batch of keys, inserted: each has its credential", async () => {
    const [one, two] = [await seedCaller(db), await seedCaller(db)];
    const issued = Array.from({ length: 30 }, (_, index) => {
      const caller = index % 2 ? one : two;
      const { record, secret } = issuedBy(caller, { name: `key "${index}",{}` });
      // Every fifth key has expired since the look-up of its caller.
      const expiresAt = index % 5 === 4 ? new Date(Date.now() - 1000) : null;
      return { caller, secret, record: { ...record, expiresAt } };
    });
    const outcomes = await Promise.all(
      issued.map(({ caller, record, secret }) =>
        insertApiKey(db, { record, secret, maxActiveKeys: 100 }, caller, seedOrigin(caller)),
      ),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(issued.map((_, at) => (at % 5 === 4 ? "stale" : "written")));
    for (const [index, { record, secret, caller }] of issued.entries()) {
      const found = await findCredential(db, secret.keyId);
      if (index % 5 === 4) expect(found).toBeNull();
      else {
        const { id, name } = record;
        expect(found?.caller).toMatchObject({ id, name, lineage: [caller.id], status: "active" });
        expect(found && verifyApiKey(secret, found.digest)).toBe(true);
      }
    }
  });

  test("a quota of keys, with keys of another tenant and ended keys: counts neither", async () => {
    const [caller, other] = [await seedCaller(db), await seedCaller(db)];
    for (let count = 0; count < 5; count++) await seedKey(db, other.tenantId);
    const create = () => insertApiKey(db, { ...issuedBy(caller), maxActiveKeys: 3 }, caller, seedOrigin(caller));
    const outcomes = [await create(), await create(), await create()];
    expect(outcomes.map(({ kind }) => kind)).toEqual(["written", "written", "over_quota"]);
    await db.client`
      update api_keys set expires_at = now() - interval '1 second'
      where tenant_id = ${caller.tenantId} and id <> ${caller.id}`;
    expect((await create()).kind).toBe("written");
  });
});

describe("insertRootApiKey", () => {
  test("a root key, inserted: authenticates, with an event without an actor", async () => {
    const { record, secret } = issue();
    expect(await insertRootApiKey(asOwner(db), record, secret, operatorOrigin())).toBe(true);
    expect((await findTestCaller(db, secret.keyId)).id).toBe(record.id);
    expect(await lastEvent(record)).toEqual({ action: "api_key.created", changed_fields: [], actor_id: null });
  });

  test("a root key, of an unknown tenant: not written", async () => {
    const { record, secret } = issue();
    const unknown = { ...record, tenantId: newId("ten", new Date(), random) };
    expect(await insertRootApiKey(asOwner(db), unknown, secret, operatorOrigin())).toBe(false);
    expect(await findCredential(db, secret.keyId)).toBeNull();
  });
});

test("a first key, created by several processes at once: written once; if a tenant exists: not written", async () => {
  const empty = await testDatabase();
  const attempt = () => {
    const createdAt = new Date();
    const tenant = { tenantId: newId("ten", createdAt, random), name: "first", createdAt };
    const { record, secret } = issue();
    return insertFirstApiKey(empty.db, tenant, [], { ...record, tenantId: tenant.tenantId }, secret, operatorOrigin());
  };
  const written = await Promise.all(Array.from({ length: 5 }, attempt));
  expect(written.filter(Boolean)).toHaveLength(1);
  expect(await attempt()).toBe(false);
  expect(await listTenants(empty.db)).toHaveLength(1);
  expect(await empty.db.client`select 1 from api_keys`).toHaveLength(1);
  await empty.close();
});

test("findApiKey, of a key in any status: the key; of another tenant: null", async () => {
  const { record } = await seedKey(db, tenantId);
  expect(await findApiKey(db, tenantId, record.id)).toEqual(record);
  await revokeApiKey(db, record, { version: null }, null, operatorOrigin());
  expect(await current(record)).toMatchObject({ status: "revoked", version: 2 });
  expect(await findApiKey(db, await seedTenant(db), record.id)).toBeNull();
});

describe("updateApiKey", () => {
  const update = (target: ApiKeyRecord, changes: Partial<ApiKeyRecord>, caller: Caller, to = db) => {
    const update = { target, record: { ...target, ...changes }, changedFields: Object.keys(changes) };
    return updateApiKey(to, update, caller, seedOrigin(caller));
  };

  test("a change, of every field: written with its event", async () => {
    const caller = await seedCaller(db, tenantId);
    const { record: target } = await seedKey(db, tenantId, {}, caller);
    const changes = {
      name: "renamed",
      scopes: ["avatars:read"],
      spendLimitCreditMicros: 7,
      expiresAt: new Date("2099-01-01"),
    } as const;
    expect(await update(target, changes, caller)).toEqual({ kind: "written" });
    expect(await current(target)).toMatchObject({ ...changes, version: 2 });
    const changed_fields = ["name", "scopes", "spendLimitCreditMicros", "expiresAt"];
    expect(await lastEvent(target)).toEqual({ action: "api_key.updated", changed_fields, actor_id: caller.id });
  });

  test("a change whose target or caller has changed meanwhile: not written", async () => {
    const caller = await seedCaller(db, tenantId);
    const { record: target } = await seedKey(db, tenantId, {}, caller);
    expect(await update(target, { name: "first" }, caller)).toEqual({ kind: "written" });
    expect(await update(target, { name: "second" }, caller)).toEqual({ kind: "stale" });
    const changed = await current(target);
    await db.client`update api_keys set version = version + 1 where id = ${caller.id}`;
    expect(await update(changed, { name: "second" }, caller)).toEqual({ kind: "stale" });
    expect((await current(target)).name).toBe("first");
  });

  test("a change whose new expiry has passed: not written", async () => {
    const caller = await seedCaller(db, tenantId);
    const { record: target } = await seedKey(db, tenantId);
    const attempt = (expiresInMs: number) => update(target, { expiresAt: new Date(Date.now() + expiresInMs) }, caller);
    expect(await attempt(-60_000)).toEqual({ kind: "stale" });
    expect(await attempt(60_000)).toEqual({ kind: "written" });
  });

  test("concurrent changes of one key, or of two keys by each other: one is written, without a deadlock", async () => {
    const [one, two] = [await seedCaller(db, tenantId), await seedCaller(db, tenantId)];
    const { record: target } = await seedKey(db, tenantId, {}, one);
    const outcomes = await Promise.all([1, 2, 3, 4].map((name) => update(target, { name: `${name}` }, one)));
    expect(outcomes.filter(({ kind }) => kind === "written")).toHaveLength(1);
    const mutual = await Promise.all([update(two, { name: "by one" }, one), update(one, { name: "by two" }, two)]);
    expect(mutual.map(({ kind }) => kind).sort()).toEqual(["stale", "written"]);
  });
});

test("a change whose target is older than its caller: locks the target first", async () => {
  const { record: target } = await seedKey(db, tenantId);
  const caller = await seedCaller(db, tenantId);
  expect(target.id < caller.id).toBe(true);
  const { kind } = await whileHeld(
    database,
    ({ client }) => client`select 1 from api_keys where id = ${target.id} for update`,
    () => revokeApiKey(db, target, { version: null }, caller, seedOrigin(caller)),
    // While the change waits for its target, the caller is not locked yet.
    async ({ client }) =>
      expect(await client`select 1 from api_keys where id = ${caller.id} for update nowait`).toHaveLength(1),
  );
  expect(kind).toBe("written");
});

describe("rotateApiKey", () => {
  const rotate = (target: ApiKeyRecord, overlapSeconds: number, caller: Caller | null, claim: Claim | null = null) => {
    const rotation = rotatedApiKey(target, { overlapSeconds }, OPERATOR, random);
    return { rotation, outcome: rotateApiKey(db, rotation, caller, seedOrigin(caller), claim) };
  };
  /** The credentials that authenticate now. */
  const validOf = async (...keyIds: string[]): Promise<boolean[]> =>
    Promise.all(keyIds.map(async (keyId) => (await findCredential(db, keyId))?.retired === false));
  /** A key that has rotated itself: `older` has an overlap of an hour; `newer` was never used. */
  const seedOverlap = async () => {
    const older = await seedCaller(db, tenantId);
    const { rotation, outcome } = rotate(older, 3600, older);
    expect(await outcome).toEqual({ kind: "written" });
    return { older, newer: rotation.record.keyId, target: await current(older) };
  };

  test("a rotation, without overlap: the old secret ends at the commit, to the millisecond", async () => {
    const only = session(database.url);
    for (let round = 0; round < 5; round++) {
      const { record, secret } = await seedKey(db, tenantId);
      await only.client`begin`;
      await rotateApiKey(only, rotatedApiKey(record, {}, OPERATOR, random), null, operatorOrigin());
      const [row] = await only.client`
        select retired_at <= clock_timestamp() as over from api_key_credentials where key_id = ${secret.keyId}`;
      await only.client`commit`;
      expect(row).toEqual({ over: true });
    }
    await only.close();
  });

  test("a rotation, with an overlap: both secrets valid, with its event", async () => {
    const { older, newer, target } = await seedOverlap();
    expect(target).toMatchObject({ keyId: newer, version: 2 });
    expect(await validOf(older.keyId, newer)).toEqual([true, true]);
    const changed_fields = ["keyId", "redactedKey"];
    expect(await lastEvent(target)).toEqual({ action: "api_key.rotated", changed_fields, actor_id: older.id });
  });

  test("a rotation in an overlap, by the newest secret: in progress", async () => {
    const { older, newer, target } = await seedOverlap();
    const { rotation, outcome } = rotate(target, 3600, await findTestCaller(db, newer));
    const result = await outcome;
    expect(result).toEqual({ kind: "in_progress", waitSeconds: expect.any(Number) });
    const seconds = result.kind === "in_progress" ? result.waitSeconds : 0;
    expect([seconds > 3000, seconds <= 3600]).toEqual([true, true]);
    expect(await validOf(older.keyId, newer, rotation.record.keyId)).toEqual([true, true, false]);
  });

  test("a rotation in an overlap, by the older secret, newest unused: replaces the newest", async () => {
    const { older, newer, target } = await seedOverlap();
    const retiredAt = () => db.client`select retired_at from api_key_credentials where key_id = ${older.keyId}`;
    const before = await retiredAt();
    const { rotation, outcome } = rotate(target, 60, await findTestCaller(db, older.keyId));
    expect(await outcome).toEqual({ kind: "written" });
    expect(await validOf(older.keyId, newer, rotation.record.keyId)).toEqual([true, false, true]);
    // The end of the promised overlap is unchanged.
    expect(await retiredAt()).toEqual(before);
  });

  test("a rotation in an overlap, by the older secret, newest used: in progress", async () => {
    const { older, newer, target } = await seedOverlap();
    await db.client`update api_key_credentials set is_unused = false where key_id = ${newer}`;
    const { outcome } = rotate(target, 60, await findTestCaller(db, older.keyId));
    expect((await outcome).kind).toBe("in_progress");
    expect(await validOf(older.keyId, newer)).toEqual([true, true]);
  });

  test("a rotation in an overlap, by the operator: ends the older secret, starts a new overlap", async () => {
    const { older, newer, target } = await seedOverlap();
    const { rotation, outcome } = rotate(target, 3600, null);
    expect(await outcome).toEqual({ kind: "written" });
    expect(await validOf(older.keyId, newer, rotation.record.keyId)).toEqual([false, true, true]);
  });

  test("four concurrent rotations: one is written", async () => {
    const caller = await seedCaller(db, tenantId);
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => rotate(caller, 3600, caller).outcome));
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["stale", "stale", "stale", "written"]);
  });

  test("a rotation whose claim an earlier rotation has stored: replayed", async () => {
    const parent = await seedCaller(db, tenantId);
    const { record: target } = await seedKey(db, tenantId, {}, parent);
    const claim = newClaim("rotation", "first");
    expect(await rotate(target, 0, parent, claim).outcome).toEqual({ kind: "written" });
    const changed = await current(target);
    const again = rotate(changed, 0, parent, newClaim("rotation", "second"));
    expect(await again.outcome).toMatchObject({ kind: "replayed", response: { location: claim.location } });
    expect(await current(target)).toEqual(changed);
    expect(await findCredential(db, again.rotation.record.keyId)).toBeNull();
  });

  test("a rotation whose target is revoked while it waits: not written", async () => {
    const { record: target } = await seedKey(db, tenantId);
    const rotated: string[] = [];
    const outcome = await whileHeld(
      database,
      ({ client }) => client`update api_keys set revoked_at = now() where id = ${target.id}`,
      () => {
        const { rotation, outcome } = rotate(target, 0, null);
        rotated.push(rotation.record.keyId);
        return outcome;
      },
    );
    expect(outcome).toEqual({ kind: "stale" });
    expect(await findCredential(db, rotated[0] ?? "")).toBeNull();
  });
});

describe("revokeApiKey", () => {
  const ANY = { version: null };

  test("a revocation of a key with descendants: ends all of them, and returns the revoked key", async () => {
    const caller = await seedCaller(db, tenantId);
    const { record: target } = await seedKey(db, tenantId, {}, caller);
    const { record: child } = await seedKey(db, tenantId, {}, target);
    const outcome = await revokeApiKey(db, target, { version: 1 }, caller, seedOrigin(caller));
    expect(outcome).toEqual({ kind: "written", key: { ...target, status: "revoked", version: 2 } });
    expect((await current(child)).status).toBe("revoked");
    expect(await lastEvent(target)).toEqual({
      action: "api_key.revoked",
      changed_fields: ["status"],
      actor_id: caller.id,
    });
  });

  test("a revocation, of an ended key: unchanged", async () => {
    const { record: target } = await seedKey(db, tenantId);
    await revokeApiKey(db, target, ANY, null, operatorOrigin());
    const revoked = await current(target);
    expect(await revokeApiKey(db, revoked, ANY, null, operatorOrigin())).toEqual({ kind: "ended", key: revoked });
    expect(await current(target)).toEqual(revoked);
  });

  test("a revocation, with another version or a revoked caller: not written", async () => {
    const caller = await seedCaller(db, tenantId);
    const { record: target } = await seedKey(db, tenantId);
    expect(await revokeApiKey(db, target, { version: 2 }, caller, seedOrigin(caller))).toEqual({ kind: "stale" });
    await db.client`update api_keys set revoked_at = now() where id = ${caller.id}`;
    expect(await revokeApiKey(db, target, ANY, caller, seedOrigin(caller))).toEqual({ kind: "stale" });
    expect((await current(target)).status).toBe("active");
  });

  test("a revocation by the holder of a secret: written only while the secret is not retired", async () => {
    const { record: target, secret } = await seedKey(db, tenantId);
    const reporter = { credentialKeyId: secret.keyId };
    await db.client`
      update api_key_credentials set retired_at = now() - interval '1 second' where key_id = ${secret.keyId}`;
    expect(await revokeApiKey(db, target, ANY, reporter, operatorOrigin())).toEqual({ kind: "stale" });
    const unknown = { credentialKeyId: generateApiKey("test", random).keyId };
    expect(await revokeApiKey(db, target, ANY, unknown, operatorOrigin())).toEqual({ kind: "stale" });
    for (const tenant of [tenantId, await seedTenant(db)]) {
      const { keyId } = (await seedKey(db, tenant)).secret;
      expect(await revokeApiKey(db, target, ANY, { credentialKeyId: keyId }, operatorOrigin())).toEqual({
        kind: "stale",
      });
    }
    await db.client`update api_key_credentials set retired_at = null where key_id = ${secret.keyId}`;
    expect((await revokeApiKey(db, target, ANY, reporter, operatorOrigin(), "api_key.reported_leaked")).kind).toBe(
      "written",
    );
    expect(await lastEvent(target)).toMatchObject({ action: "api_key.reported_leaked" });
  });

  test("two keys that revoke each other: no deadlock, one stays valid", async () => {
    for (let round = 0; round < 10; round++) {
      const [one, two] = [await seedCaller(db, tenantId), await seedCaller(db, tenantId)];
      const outcomes = await Promise.all([
        revokeApiKey(db, two, ANY, one, seedOrigin(one)),
        revokeApiKey(db, one, ANY, two, seedOrigin(two)),
      ]);
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["stale", "written"]);
    }
  });
});
