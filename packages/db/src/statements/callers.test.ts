import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type ApiKeyRecord, OPERATOR, rotatedApiKey } from "@realtime-avatar/domain/api-key";
import { digestApiKey, generateApiKey, verifyApiKey } from "@realtime-avatar/domain/api-key-secret";
import { newAvatar } from "@realtime-avatar/domain/avatar";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import { apiKeys } from "../schema.ts";
import {
  operatorOrigin,
  random,
  seedKey,
  seedTenant,
  session,
  type TestDatabase,
  type TestDb,
  testDatabase,
  untilBlocked,
} from "../testing.ts";
import { insertApiKey, rotateApiKey, updateApiKey } from "./api-keys.ts";
import { insertAvatar } from "./avatars.ts";
import { type Caller, findCredential } from "./callers.ts";
import type { CreateOutcome } from "./create.ts";
import { GIVES_WAY } from "./pending-changes.ts";
import { statement } from "./statement.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let database: TestDatabase;
let db: TestDb;
let tenantId: TenantId;

beforeAll(async () => {
  database = await testDatabase();
  db = database.db;
  tenantId = await seedTenant(db);
});
afterAll(() => database.close());

const find = async (keyId: string) => {
  const found = await findCredential(db, keyId);
  if (!found) throw new Error("the credential was not found");
  return found;
};
const revoke = (record: ApiKeyRecord, to = db) =>
  to.client`update api_keys set revoked_at = now(), version = version + 1 where id = ${record.id}`;
const expire = (record: ApiKeyRecord) =>
  db.client`update api_keys set expires_at = now() - interval '1 second', version = version + 1 where id = ${record.id}`;
const retire = (keyId: string, at: string, to = db) =>
  to.client`update api_key_credentials set retired_at = now() + ${at}::interval where key_id = ${keyId}`;

/** A key, its child and its grandchild. */
const seedLine = async () => {
  const parent = await seedKey(db, tenantId, { scopes: ["*"], environment: "live" });
  const child = await seedKey(db, tenantId, { scopes: ["*"], environment: "live" }, parent.record);
  const grandchild = await seedKey(db, tenantId, { scopes: ["*"], environment: "live" }, child.record);
  return { parent, child, grandchild };
};

describe("findCredential", () => {
  test("finds nothing under an unknown handle", async () => {
    expect(await findCredential(db, "unknownunknown00")).toBeNull();
  });

  test("finds the key as it was written, with the database's time", async () => {
    const { parent, grandchild, child } = await seedLine();
    const request = { name: "x", expiresAt: "2099-01-01T00:00:00.123Z", spendLimitCreditMicros: 9007199254740991 };
    const { record, secret } = await seedKey(db, tenantId, request, grandchild.record);
    const { digest, retired, caller, target } = await find(secret.keyId);
    expect(verifyApiKey(secret, digest)).toBe(true);
    expect(Buffer.from(digest)).toEqual(Buffer.from(digestApiKey(secret)));
    expect([retired, target]).toEqual([false, null]);
    const { judgedAt, ...key } = caller;
    expect(key).toEqual({
      tenantId,
      id: record.id,
      keyId: secret.keyId,
      credentialKeyId: secret.keyId,
      name: "x",
      status: "active",
      lastUsedAt: null,
      createdAt: record.createdAt,
      environment: "test",
      scopes: ["realtime:write", "credits:read", "avatars:read"],
      spendLimitCreditMicros: 9007199254740991,
      expiresAt: new Date("2099-01-01T00:00:00.123Z"),
      lineage: [parent.record.id, child.record.id, grandchild.record.id],
      inheritedLimits: { spendLimitCreditMicros: null, expiresAt: null },
      version: 1,
    });
    const [row] = await db.client`select now() - ${judgedAt} < interval '10 seconds' as recent`;
    expect(row).toEqual({ recent: true });
  });

  test("a revocation takes every descendant with it, at any depth, and no ancestor", async () => {
    const { parent, child, grandchild } = await seedLine();
    await revoke(child.record);
    const statuses = await Promise.all(
      [parent, child, grandchild].map(async ({ secret }) => (await find(secret.keyId)).caller.status),
    );
    expect(statuses).toEqual(["active", "revoked", "revoked"]);
  });

  test("so does an expiry; revoked wins over expired", async () => {
    const { parent, child, grandchild } = await seedLine();
    await expire(parent.record);
    expect((await find(grandchild.secret.keyId)).caller.status).toBe("expired");
    await revoke(child.record);
    const statuses = await Promise.all(
      [parent, child, grandchild].map(async ({ secret }) => (await find(secret.keyId)).caller.status),
    );
    expect(statuses).toEqual(["expired", "revoked", "revoked"]);
  });

  test("expiry is judged by the database's clock: the moment itself is too late", async () => {
    const { record, secret } = await seedKey(db, tenantId);
    await db.client.begin(async (transaction) => {
      await transaction`update api_keys set expires_at = date_trunc('milliseconds', now()) where id = ${record.id}`;
    });
    expect((await find(secret.keyId)).caller.status).toBe("expired");
    await db.client`update api_keys set expires_at = now() + interval '1 hour' where id = ${record.id}`;
    expect((await find(secret.keyId)).caller.status).toBe("active");
  });

  test("a key whose ancestor is missing is revoked", async () => {
    const { parent, child, grandchild } = await seedLine();
    await db.client`delete from api_keys where id = ${child.record.id}`;
    expect((await find(grandchild.secret.keyId)).caller.status).toBe("revoked");
    expect((await find(parent.secret.keyId)).caller.status).toBe("active");
  });

  test("a retired credential is told from its record", async () => {
    const { secret } = await seedKey(db, tenantId);
    await retire(secret.keyId, "1 hour");
    expect(await find(secret.keyId)).toMatchObject({ retired: false, caller: { status: "active" } });
    await retire(secret.keyId, "-1 second");
    expect(await find(secret.keyId)).toMatchObject({ retired: true, caller: { status: "active" } });
  });
});

describe("a change that waits", () => {
  test("is given way by the key and its descendants, while its announcement is fresh", async () => {
    const { parent, child, grandchild } = await seedLine();
    const select = statement<{ givesWay: boolean }>(sql`
      select ${GIVES_WAY} as "givesWay" from ${apiKeys} where ${apiKeys.id} = ${sql.placeholder("id")}`);
    const giveWay = async () =>
      Promise.all(
        [parent, child, grandchild].map(async ({ record: { id } }) => (await select(db, { id }))[0]?.givesWay),
      );
    const announce = (ago: string) => db.client`
      insert into api_key_pending_changes values (${tenantId}, ${child.record.id}, now() - ${ago}::interval)
      on conflict (tenant_id, api_key_id) do update set announced_at = excluded.announced_at`;
    expect(await giveWay()).toEqual([false, false, false]);
    await announce("0 seconds");
    expect(await giveWay()).toEqual([false, true, true]);
    // One that a process has left behind.
    await announce("1.1 seconds");
    expect(await giveWay()).toEqual([false, false, false]);
  });
});

describe("a write reads its caller again", () => {
  const write = async (caller: Caller, to = db): Promise<CreateOutcome> => {
    const origin = { ...operatorOrigin(), actor: caller };
    const of = { tenantId, environment: caller.environment, defaultModelId: "m", now: origin.now };
    const avatar = newAvatar(
      { displayName: "x", sourceKind: "image" },
      { ...of, id: newId("ava", origin.now, random) },
    );
    return insertAvatar(to, avatar, caller, origin);
  };
  const writtenBy = async ({ id }: Caller): Promise<number> =>
    (await db.client`select 1 from audit_events where actor_id = ${id}`).length;

  const changes: [string, (line: Awaited<ReturnType<typeof seedLine>>) => Promise<unknown>][] = [
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

  test("and writes while it stands", async () => {
    const { grandchild } = await seedLine();
    const { caller } = await find(grandchild.secret.keyId);
    expect(await write(caller)).toEqual({ kind: "written" });
    expect(await writtenBy(caller)).toBe(1);
  });

  test.each(changes)("and writes nothing once %s", async (_, change) => {
    const line = await seedLine();
    const { caller } = await find(line.grandchild.secret.keyId);
    await change(line);
    expect(await write(caller)).toEqual({ kind: "stale" });
    const { record, secret } = await seedKey(db, tenantId);
    const child = { ...record, id: newId("key", new Date(), random) };
    const created = { record: child, secret, maxActiveKeys: 10 };
    expect(await insertApiKey(db, created, caller, { ...operatorOrigin(), actor: caller })).toEqual({ kind: "stale" });
    expect(await writtenBy(caller)).toBe(0);
  });

  test("a key that has expired on its way is not written", async () => {
    const { grandchild } = await seedLine();
    const { caller } = await find(grandchild.secret.keyId);
    const { record } = await seedKey(db, tenantId);
    const attempt = (expiresIn: number): Promise<CreateOutcome> => {
      const secret = generateApiKey("test", random);
      const expiresAt = new Date(Date.now() + expiresIn);
      const child = { ...record, id: newId("key", new Date(), random), keyId: secret.keyId, expiresAt };
      return insertApiKey(db, { record: child, secret, maxActiveKeys: 1000 }, caller, operatorOrigin());
    };
    expect(await attempt(-60_000)).toEqual({ kind: "stale" });
    expect(await attempt(60_000)).toEqual({ kind: "written" });
  });

  test("a key is not changed to an expiry that has passed on its way", async () => {
    const { grandchild } = await seedLine();
    const { caller } = await find(grandchild.secret.keyId);
    const { record: target } = await seedKey(db, tenantId);
    const attempt = (expiresIn: number) => {
      const record = { ...target, expiresAt: new Date(Date.now() + expiresIn) };
      return updateApiKey(db, { target, record, changedFields: ["expiresAt"] }, caller, operatorOrigin());
    };
    expect(await attempt(-60_000)).toEqual({ kind: "stale" });
    expect(await attempt(60_000)).toEqual({ kind: "written" });
  });

  test("a rotation without overlap has ended the old secret when it commits, to the millisecond", async () => {
    const only = session(database.url);
    for (let round = 0; round < 20; round++) {
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

  test("a change of the parent's name does not disturb it", async () => {
    const { parent, grandchild } = await seedLine();
    const { caller } = await find(grandchild.secret.keyId);
    await db.client`update api_keys set name = 'renamed', version = version + 1 where id = ${parent.record.id}`;
    expect(await write(caller)).toEqual({ kind: "written" });
  });

  const held: [string, (line: Awaited<ReturnType<typeof seedLine>>, to: TestDb) => Promise<unknown>][] = [
    ["the revocation of the key", ({ grandchild }, to) => revoke(grandchild.record, to)],
    ["the revocation of its eldest ancestor", ({ parent }, to) => revoke(parent.record, to)],
    ["the retirement of its credential", ({ grandchild }, to) => retire(grandchild.secret.keyId, "-1 second", to)],
  ];

  test.each(held)("a write that waits for %s to commit writes nothing", async (_, change) => {
    const line = await seedLine();
    const { caller } = await find(line.grandchild.secret.keyId);
    const other = session(database.url);
    await other.client`begin`;
    await change(line, other);
    const pending = write(caller);
    // The write is held by the lock of the open revocation: wait until the server says so.
    await untilBlocked(db);
    await other.client`commit`;
    expect(await pending).toEqual({ kind: "stale" });
    expect(await writtenBy(caller)).toBe(0);
    await other.close();
  });

  test.each([
    ["its key expires", "api_keys", "expires_at"],
    ["its credential retires", "api_key_credentials", "retired_at"],
  ])(
    "a write that waits for a lock while %s writes nothing, though the lock changed nothing",
    async (_, table, column) => {
      const { grandchild } = await seedLine();
      const where = table === "api_keys" ? `id = '${grandchild.record.id}'` : `key_id = '${grandchild.secret.keyId}'`;
      const at = "date_trunc('milliseconds', clock_timestamp() + interval '400 milliseconds')";
      await db.client.unsafe(`update ${table} set ${column} = ${at} where ${where}`);
      const { caller } = await find(grandchild.secret.keyId);
      expect(caller.status).toBe("active");
      const holder = session(database.url);
      await holder.client`begin`;
      await holder.client.unsafe(`select 1 from ${table} where ${where} for update`);
      const pending = write(caller);
      await untilBlocked(db);
      await holder.client.unsafe(`
      select pg_sleep(greatest(0, extract(epoch from ${column} - clock_timestamp()) + 0.01)) from ${table} where ${where}`);
      await holder.client`commit`;
      expect(await pending).toEqual({ kind: "stale" });
      expect(await writtenBy(caller)).toBe(0);
      await holder.close();
    },
  );

  test("a revocation waits for a write that came first", async () => {
    const { grandchild } = await seedLine();
    const { caller } = await find(grandchild.secret.keyId);
    const writer = session(database.url);
    await writer.client`begin`;
    expect(await write(caller, writer)).toEqual({ kind: "written" });
    let revoked = false;
    const pending = revoke(grandchild.record).then(() => {
      revoked = true;
    });
    await untilBlocked(db);
    expect(revoked).toBe(false);
    await writer.client`commit`;
    await pending;
    expect(await writtenBy(caller)).toBe(1);
    await writer.close();
  });
});
