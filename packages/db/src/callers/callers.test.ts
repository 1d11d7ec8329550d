/** Look-ups of callers, and the check of the caller within each write. */
import { describe, expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { digestApiKey, verifyApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import type { TestDb } from "@realtime-avatar/testing/database";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { whileExpiring, whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  findTestCaller,
  plannedAvatar,
  seedCaller,
  seedKey,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { insertApiKey } from "../api-keys/api-keys.ts";
import { type InsertAvatarOutcome, insertAvatar } from "../avatars/avatars.ts";
import { type Caller, confirmFirstUse, findCredential, sweepCredentials } from "./callers.ts";

const database = await serviceDatabase();
const { db } = database;

const revoke = (record: ApiKeyRecord, to = db) =>
  to.client`update api_keys set revoked_at = now(), version = version + 1 where id = ${record.id}`;
const expire = (record: ApiKeyRecord) =>
  db.client`update api_keys set expires_at = now() - interval '1 second', version = version + 1 where id = ${record.id}`;
const retire = (keyId: string, at: string, to = db) =>
  to.client`update api_key_credentials set retired_at = now() + ${at}::interval where key_id = ${keyId}`;

/** A key, its child and its grandchild. */
const seedLine = async (tenantId: TenantId) => {
  const parent = await seedKey(db, tenantId, { scopes: ["*"], environment: "live" });
  const child = await seedKey(db, tenantId, { scopes: ["*"], environment: "live" }, parent.record);
  const grandchild = await seedKey(db, tenantId, { scopes: ["*"], environment: "live" }, child.record);
  return { parent, child, grandchild };
};
type Line = Awaited<ReturnType<typeof seedLine>>;

const tenantId = await seedTenant(db);

describe("findCredential", () => {
  test("a look-up of an unknown handle: null", async () => {
    expect(await findCredential(db, "unknownunknown00")).toBeNull();
  });

  test("a look-up, of a key: as written, with the database's time", async () => {
    const { parent, grandchild, child } = await seedLine(tenantId);
    const request = { name: "x", expiresAt: "2099-01-01T00:00:00.123Z", spendLimitCreditMicros: 9007199254740991 };
    const { record, secret } = await seedKey(db, tenantId, request, grandchild.record);
    const found = await findCredential(db, secret.keyId);
    if (!found) throw new Error("the credential was not found");
    const { digest, retired, caller, target } = found;
    expect(verifyApiKey(secret, digest)).toBe(true);
    expect(Buffer.from(digest)).toEqual(Buffer.from(digestApiKey(secret)));
    expect([retired, target]).toEqual([false, null]);
    const { checkedAt, ...key } = caller;
    expect(key).toEqual({
      tenantId,
      id: record.id,
      keyId: secret.keyId,
      credentialKeyId: secret.keyId,
      sessionId: null,
      needsPasskey: null,
      name: "x",
      status: "active",
      lastUsedAt: null,
      createdAt: record.createdAt,
      environment: "test",
      scopes: ["realtime:write", "credits:read", "avatars:read"],
      spendLimitCreditMicros: 9007199254740991,
      maxConcurrentSessions: null,
      expiresAt: new Date("2099-01-01T00:00:00.123Z"),
      lineage: [parent.record.id, child.record.id, grandchild.record.id],
      inheritedLimits: { spendLimitCreditMicros: null, maxConcurrentSessions: null, expiresAt: null },
      version: 1,
      spentCreditMicros: 0,
      reservedCreditMicros: 0,
      headroom: null,
      balance: null,
    });
    const [row] = await db.client`select now() - ${checkedAt} < interval '10 seconds' as recent`;
    expect(row).toEqual({ recent: true });
  });

  test("a look-up, with a target: found in the credential's tenant only", async () => {
    const [caller, sibling] = [await seedCaller(db, tenantId), await seedCaller(db, tenantId)];
    const stranger = await seedCaller(db);
    const targetOf = async (id: Caller["id"]) => (await findCredential(db, caller.keyId, id))?.target?.id ?? null;
    expect(await targetOf(sibling.id)).toBe(sibling.id);
    expect(await targetOf(caller.id)).toBe(caller.id);
    expect(await targetOf(stranger.id)).toBeNull();
  });

  test("look-ups in one batch: each returns its credential, or null", async () => {
    const callers = await Promise.all([1, 2, 3].map(() => seedCaller(db)));
    const lookUps = Array.from({ length: 60 }, (_, index) => callers[index % 4]);
    const found = await Promise.all(
      lookUps.map((caller, index) =>
        findCredential(db, caller?.keyId ?? "0000000000000000", index % 2 ? (callers[0]?.id ?? null) : null),
      ),
    );
    for (const [index, credential] of found.entries()) {
      expect(credential?.caller.id).toBe(lookUps[index]?.id as never);
      const isOfOneTenant = lookUps[index] === callers[0];
      expect(credential?.target?.id ?? null).toBe(index % 2 && isOfOneTenant ? (callers[0]?.id as never) : null);
    }
  });

  test("a look-up of a retired credential: retired, whatever the status of the key", async () => {
    const { secret } = await seedKey(db, tenantId);
    await retire(secret.keyId, "1 hour");
    expect(await findCredential(db, secret.keyId)).toMatchObject({ retired: false, caller: { status: "active" } });
    await retire(secret.keyId, "-1 second");
    expect(await findCredential(db, secret.keyId)).toMatchObject({ retired: true, caller: { status: "active" } });
  });
});

describe("confirmFirstUse", () => {
  const seedUnused = async (): Promise<string> => {
    const { secret } = await seedKey(db, tenantId);
    await db.client`update api_key_credentials set is_unused = true where key_id = ${secret.keyId}`;
    return secret.keyId;
  };

  test("a first use, by eight concurrent requests: recorded for one", async () => {
    const keyId = await seedUnused();
    const confirmed = await Promise.all(Array.from({ length: 8 }, () => confirmFirstUse(db, keyId)));
    expect(confirmed.filter(Boolean)).toHaveLength(1);
    expect(await findCredential(db, keyId)).toMatchObject({ isUnused: false });
    expect(await confirmFirstUse(db, keyId)).toBe(false);
  });

  test("a first use, of a retired credential: not written", async () => {
    const keyId = await seedUnused();
    await retire(keyId, "1 hour");
    expect(await findCredential(db, keyId)).toMatchObject({ isUnused: true });
    await retire(keyId, "-1 second");
    expect(await confirmFirstUse(db, keyId)).toBe(false);
    expect(await findCredential(db, keyId)).toMatchObject({ isUnused: true });
  });

  test("a first use that waits for a rotation, which retires the credential: not written", async () => {
    const keyId = await seedUnused();
    const confirmed = await whileHeld(
      database,
      (rotation) => retire(keyId, "-1 second", rotation),
      () => confirmFirstUse(db, keyId),
    );
    expect(confirmed).toBe(false);
  });
});

test("sweepCredentials, with several retired credentials: deletes those retired seven days ago", async () => {
  const keyIds = await Promise.all(Array.from({ length: 4 }, async () => (await seedKey(db, tenantId)).secret.keyId));
  const [old = "", recent = "", future = "", valid = ""] = keyIds;
  await retire(old, "-7 days -1 second");
  await retire(recent, "-7 days 1 minute");
  await retire(future, "1 hour");
  expect(await sweepCredentials(db)).toBe(1);
  const found = await Promise.all(keyIds.map(async (keyId) => (await findCredential(db, keyId)) !== null));
  expect(found).toEqual([false, true, true, true]);
  expect(valid).not.toBe("");
});

describe("the check of the caller within a write", () => {
  const write = (caller: Caller, to = db): Promise<InsertAvatarOutcome> =>
    insertAvatar(to, plannedAvatar(caller), null, caller, seedOrigin(caller));
  const writtenBy = async ({ id }: Caller): Promise<number> =>
    (await db.client`select 1 from audit_events where actor_id = ${id}`).length;

  const changes: [string, (line: Line) => Promise<unknown>][] = [
    ["the key is revoked", ({ grandchild }) => revoke(grandchild.record)],
    ["an ancestor is revoked", ({ parent }) => revoke(parent.record)],
    ["the key has expired", ({ grandchild }) => expire(grandchild.record)],
    ["an ancestor has expired", ({ child }) => expire(child.record)],
    ["the credential is retired", ({ grandchild }) => retire(grandchild.secret.keyId, "-1 second")],
    [
      "the key has been narrowed",
      ({ grandchild }) =>
        db.client`update api_keys set scopes = '{avatars:read}', version = version + 1 where id = ${grandchild.record.id}`,
    ],
  ];

  test("a write of a valid caller: written", async () => {
    const { grandchild } = await seedLine(tenantId);
    const caller = await findTestCaller(db, grandchild.secret.keyId);
    expect(await write(caller)).toEqual({ kind: "written" });
    expect(await writtenBy(caller)).toBe(1);
  });

  test.each(changes)("a write, after %s: not written", async (_, change) => {
    const line = await seedLine(tenantId);
    const caller = await findTestCaller(db, line.grandchild.secret.keyId);
    await change(line);
    expect(await write(caller)).toEqual({ kind: "stale" });
    const { record, secret } = await seedKey(db, tenantId);
    const child = { ...record, id: newId("key", new Date(), random) };
    const created = { record: child, secret, maxActiveKeys: 10 };
    expect(await insertApiKey(db, created, caller, seedOrigin(caller))).toEqual({ kind: "stale" });
    expect(await writtenBy(caller)).toBe(0);
  });

  test("a write, after a change of the parent's name: written", async () => {
    const { parent, grandchild } = await seedLine(tenantId);
    const caller = await findTestCaller(db, grandchild.secret.keyId);
    await db.client`update api_keys set name = 'renamed', version = version + 1 where id = ${parent.record.id}`;
    expect(await write(caller)).toEqual({ kind: "written" });
  });

  const changesUnderWay: [string, (line: Line, to: TestDb) => Promise<unknown>][] = [
    ["the revocation of the key", ({ grandchild }, to) => revoke(grandchild.record, to)],
    ["the revocation of its eldest ancestor", ({ parent }, to) => revoke(parent.record, to)],
    ["the retirement of its credential", ({ grandchild }, to) => retire(grandchild.secret.keyId, "-1 second", to)],
  ];

  test.each(changesUnderWay)("a write that waits for the commit of %s: not written", async (_, change) => {
    const line = await seedLine(tenantId);
    const caller = await findTestCaller(db, line.grandchild.secret.keyId);
    const outcome = await whileHeld(
      database,
      (other) => change(line, other),
      () => write(caller),
    );
    expect(outcome).toEqual({ kind: "stale" });
    expect(await writtenBy(caller)).toBe(0);
  });

  test.each([
    ["its key expires", "api_keys", "expires_at"],
    ["its credential retires", "api_key_credentials", "retired_at"],
  ])("a write that waits for a lock while %s: not written", async (_, table, column) => {
    const { grandchild } = await seedLine(tenantId);
    const where = table === "api_keys" ? `id = '${grandchild.record.id}'` : `key_id = '${grandchild.secret.keyId}'`;
    const caller = await findTestCaller(db, grandchild.secret.keyId);
    const outcome = await whileExpiring(
      database,
      (at) => db.client.unsafe(`update ${table} set ${column} = date_trunc('milliseconds', ${at}) where ${where}`),
      ({ client }) => client.unsafe(`select 1 from ${table} where ${where} for update`),
      () => write(caller),
    );
    expect(outcome).toEqual({ kind: "stale" });
    expect(await writtenBy(caller)).toBe(0);
  });

  test("a revocation, while a write holds its lock: waits for the write", async () => {
    const { grandchild } = await seedLine(tenantId);
    const caller = await findTestCaller(db, grandchild.secret.keyId);
    // The write would fail if the revocation did not wait.
    await whileHeld(
      database,
      async (writer) => expect(await write(caller, writer)).toEqual({ kind: "written" }),
      () => revoke(grandchild.record).execute(),
    );
    expect(await writtenBy(caller)).toBe(1);
  });
});
