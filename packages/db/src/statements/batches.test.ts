/** Statements that are done in batches, at a real database. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { issueApiKey } from "@realtime-avatar/domain/api-key";
import { verifyApiKey } from "@realtime-avatar/domain/api-key-secret";
import { type AvatarRecord, newAvatar } from "@realtime-avatar/domain/avatar";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { connect, type Db } from "../connection/pool.ts";
import { operatorOrigin, random, seedKey, seedTenant, session, type TestDatabase, testDatabase } from "../testing.ts";
import { insertApiKey } from "./api-keys.ts";
import { findAvatar, insertAvatar } from "./avatars.ts";
import { type Caller, findCredential } from "./callers.ts";
import type { Claim } from "./idempotency-keys.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

describe("at the database", () => {
  let database: TestDatabase;
  let db: Db;
  beforeAll(async () => {
    database = await testDatabase();
    db = connect(database.url, { connections: 4 });
  });
  afterAll(async () => {
    await db.close();
    await database.close();
  });

  const seedCaller = async (): Promise<Caller> => {
    const { secret } = await seedKey(database.db, await seedTenant(database.db), {
      environment: "live",
      scopes: ["*"],
    });
    const found = await findCredential(database.db, secret.keyId);
    if (!found) throw new Error("no caller");
    return found.caller;
  };
  const create = (caller: Caller, name: string, idempotencyKey: string | null = null, pool = db) => {
    const now = new Date();
    const of = { ...caller, id: newId("ava", now, random), defaultModelId: "m", now } as const;
    const body = { displayName: name, sourceKind: "image", metadata: { name, quote: '"{\\,}' } } as const;
    const claim = idempotencyKey === null ? null : claimOf(idempotencyKey, of.id);
    return insertAvatar(pool, newAvatar(body, of), caller, { ...operatorOrigin(), actor: caller }, claim);
  };
  const claimOf = (idempotencyKey: string, text: string): Claim => ({
    request: "POST /api/v1/avatars",
    idempotencyKey,
    bodyHash: new Uint8Array(32).fill(7),
    status: 201,
    location: `/api/v1/avatars/${text}`,
    etag: '"1"',
    answer: Buffer.from(`"\\{,}' ${text}`),
    sealedFor: null,
  });
  const names = async ({ tenantId }: Caller) => {
    const rows = await database.db.client<{ name: string; metadata: { name: string }; actor: string }[]>`
      select display_name as name, metadata, actor_id as actor
      from avatars join audit_events on target_id = avatars.id and audit_events.tenant_id = avatars.tenant_id
      where avatars.tenant_id = ${tenantId} order by display_name`;
    return rows;
  };

  test("look-ups that come together each find their own credential, or none", async () => {
    const callers = await Promise.all([seedCaller(), seedCaller(), seedCaller()]);
    const asked = Array.from({ length: 60 }, (_, index) => callers[index % 4]);
    const found = await Promise.all(
      asked.map((caller, index) =>
        findCredential(db, caller?.keyId ?? "0000000000000000", index % 2 ? (callers[0]?.id ?? null) : null),
      ),
    );
    for (const [index, credential] of found.entries()) {
      expect(credential?.caller.id).toBe(asked[index]?.id as never);
      const isOfOneTenant = asked[index] === callers[0];
      expect(credential?.target?.id ?? null).toBe(index % 2 && isOfOneTenant ? (callers[0]?.id as never) : null);
    }
  });

  test("creates that come together are each written as they are, with their own event, whoever else is among them", async () => {
    const [one, two] = [await seedCaller(), await seedCaller()];
    const made = await Promise.all(
      Array.from({ length: 40 }, (_, index) => create(index % 2 ? one : two, `name ${index} "ü\\`)),
    );
    expect(made).toEqual(Array(40).fill({ kind: "written" }));
    for (const caller of [one, two]) {
      const rows = await names(caller);
      expect(rows).toHaveLength(20);
      for (const { name, metadata, actor } of rows) expect([metadata.name, actor]).toEqual([name, caller.id]);
    }
  });

  test("one that the database refuses fails alone", async () => {
    const caller = await seedCaller();
    const wanted = Array.from({ length: 20 }, (_, index) => (index === 7 ? "x".repeat(1000) : `name ${index}`));
    const outcomes = await Promise.allSettled(wanted.map((name) => create(caller, name)));
    expect(outcomes.map(({ status }) => status === "fulfilled")).toEqual(wanted.map((_, index) => index !== 7));
    expect(await names(caller)).toHaveLength(19);
  });

  test("one whose caller has been revoked is not written, and its neighbours are", async () => {
    const [good, revoked] = [await seedCaller(), await seedCaller()];
    await database.db.client`update api_keys set revoked_at = now(), version = 2 where id = ${revoked.id}`;
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, index) => create(index % 5 ? good : revoked, `name ${index}`)),
    );
    expect(made.map(({ kind }) => kind)).toEqual(Array.from({ length: 20 }, (_, at) => (at % 5 ? "written" : "stale")));
    expect(await names(revoked)).toHaveLength(0);
  });

  test.each([
    ["the first", [0, 1, 2]],
    ["among others", [3, 5, 7]],
  ])("one whose caller is being changed waits alone, whether it is %s; its neighbours do not", async (_, places) => {
    const [good, changing] = [await seedCaller(), await seedCaller()];
    const holder = session(database.url);
    await holder.client`begin`;
    await holder.client`update api_keys set revoked_at = now(), version = 2 where id = ${changing.id}`;
    const all = Array.from({ length: 12 }, (_, index) => {
      const caller = places.includes(index) ? changing : good;
      // With a claim and without.
      return create(caller, `name ${index}`, index % 2 ? `key ${index}` : null);
    });
    const others = all.filter((_, index) => !places.includes(index));
    const held = all.filter((_, index) => places.includes(index));
    expect(await Promise.all(others)).toEqual(Array(9).fill({ kind: "written" }));
    await holder.client`commit`;
    expect(await Promise.all(held)).toEqual(Array(3).fill({ kind: "stale" }));
    await holder.close();
    expect(await names(changing)).toHaveLength(0);
  });

  test("claimed creates that come together are each made once, and later ones get the answer of the first", async () => {
    const [one, two] = [await seedCaller(), await seedCaller()];
    const wanted = Array.from({ length: 60 }, (_, index) => ({
      caller: index % 2 ? one : two,
      key: `key ${Math.floor(index / 2) % 10}`,
    }));
    const outcomes = await Promise.all(wanted.map(({ caller, key }, index) => create(caller, `name ${index}`, key)));
    for (const caller of [one, two]) {
      const rows = await database.db.client<{ key: string; location: string; id: string }[]>`
        select idempotency_key as key, location, target_id as id from idempotency_keys
        join audit_events on audit_events.tenant_id = idempotency_keys.tenant_id and audit_events.id = audit_event_id
        join avatars on avatars.tenant_id = audit_events.tenant_id and avatars.id = target_id
        where idempotency_keys.tenant_id = ${caller.tenantId}`;
      expect(rows).toHaveLength(10);
      expect(await names(caller)).toHaveLength(10);
      for (const { key, location, id } of rows) {
        expect(location).toBe(`/api/v1/avatars/${id}`);
        const same = outcomes.filter((_, index) => wanted[index]?.caller === caller && wanted[index]?.key === key);
        expect(same.filter(({ kind }) => kind === "written")).toHaveLength(1);
        const replayed = same.flatMap((outcome) => (outcome.kind === "replayed" ? [outcome.response] : []));
        expect(replayed).toHaveLength(2);
        for (const stored of replayed) {
          expect(stored).toMatchObject({ status: 201, location, etag: '"1"', sealedFor: null });
          expect([...stored.bodyHash]).toEqual(Array(32).fill(7));
          expect(Buffer.from(stored.answer).toString()).toBe(`"\\{,}' ${id}`);
        }
      }
    }
  });

  test("claimed creates of two replicas, in whatever order, neither wait for each other in a circle nor are made twice", async () => {
    const caller = await seedCaller();
    const other = connect(database.url, { connections: 4 });
    for (let round = 0; round < 10; round++) {
      const keys = Array.from({ length: 40 }, (_, index) => `round ${round} key ${index}`);
      const outcomes = await Promise.all([
        ...keys.map((key) => create(caller, key, key)),
        ...keys.toReversed().map((key) => create(caller, key, key, other)),
      ]);
      expect(outcomes.filter(({ kind }) => kind === "written")).toHaveLength(40);
      expect(outcomes.filter(({ kind }) => kind === "replayed")).toHaveLength(40);
    }
    await other.close();
    expect(await names(caller)).toHaveLength(400);
  });

  test("a claim that is over is taken over, among those that hold", async () => {
    const caller = await seedCaller();
    await Promise.all(["x", "old", "y"].map((key) => create(caller, key, key)));
    await database.db.client`
      update idempotency_keys set created_at = now() - interval '25 hours'
      where tenant_id = ${caller.tenantId} and idempotency_key = 'old'`;
    const outcomes = await Promise.all(["first", "x", "old", "y"].map((key) => create(caller, `${key} again`, key)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["written", "replayed", "written", "replayed"]);
  });

  test("keys that are created together are each written with their own credential", async () => {
    const [one, two] = [await seedCaller(), await seedCaller()];
    const issued = Array.from({ length: 30 }, (_, index) => {
      const caller = index % 2 ? one : two;
      const now = new Date();
      // Every fifth has expired on its way.
      const past = index % 5 === 4 ? new Date(now.getTime() - 1000).toISOString() : null;
      const made = issueApiKey({ name: `key "${index}",{}` }, caller, { ...caller, now, random });
      return {
        caller,
        secret: made.secret,
        record: { ...made.record, expiresAt: past === null ? null : new Date(past) },
      };
    });
    const outcomes = await Promise.all(
      issued.map(({ caller, record, secret }) =>
        insertApiKey(db, { record, secret, maxActiveKeys: 100 }, caller, { ...operatorOrigin(), actor: caller }),
      ),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(issued.map((_, at) => (at % 5 === 4 ? "stale" : "written")));
    for (const [index, { record, secret, caller }] of issued.entries()) {
      const found = await findCredential(db, secret.keyId);
      if (index % 5 === 4) expect(found).toBeNull();
      else {
        expect(found?.caller).toMatchObject({
          id: record.id,
          name: record.name,
          lineage: [caller.id],
          status: "active",
        });
        expect(found && verifyApiKey(secret, found.digest)).toBe(true);
      }
    }
  });

  test("reads by id that come together each find their own avatar, or none", async () => {
    const [one, two] = [await seedCaller(), await seedCaller()];
    const made = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const caller = index % 2 ? one : two;
        const now = new Date();
        const of = { ...caller, id: newId("ava", now, random), defaultModelId: "m", now } as const;
        const avatar = newAvatar({ displayName: `name ${index}`, sourceKind: "image", metadata: { index } }, of);
        await insertAvatar(db, avatar, caller, { ...operatorOrigin(), actor: caller });
        return avatar;
      }),
    );
    const asked = Array.from({ length: 48 }, (_, index) => ({
      avatar: made[index % 6] as AvatarRecord,
      // The owner, another tenant, the same tenant in the other environment, and an id of nothing.
      owner: [
        { tenantId: (index % 2 ? one : two).tenantId, environment: "live" },
        { tenantId: (index % 2 ? two : one).tenantId, environment: "live" },
        { tenantId: (index % 2 ? one : two).tenantId, environment: "test" },
      ][index % 3] as { tenantId: TenantId; environment: "live" | "test" },
    }));
    const found = await Promise.all(asked.map(({ avatar, owner }) => findAvatar(db, owner, avatar.id)));
    expect(found).toEqual(asked.map(({ avatar }, index) => (index % 3 === 0 ? avatar : null)));
    expect(await findAvatar(db, one, newId("ava", new Date(), random))).toBeNull();
  });

  test("what has been accepted is written, though the pool is closed meanwhile", async () => {
    const caller = await seedCaller();
    const closing = connect(database.url, { connections: 1 });
    const now = new Date();
    const creates = Array.from({ length: 30 }, (_, index) => {
      const of = { ...caller, id: newId("ava", now, random), defaultModelId: "m", now } as const;
      const avatar = newAvatar({ displayName: `name ${index}`, sourceKind: "image" }, of);
      return insertAvatar(closing, avatar, caller, { ...operatorOrigin(), actor: caller });
    });
    const outcomes = Promise.allSettled(creates);
    await Promise.race(creates);
    await closing.close();
    const answered = await outcomes;
    const written = answered.filter(
      (outcome) => outcome.status === "fulfilled" && outcome.value.kind === "written",
    ).length;
    expect(await names(caller)).toHaveLength(written);
    for (const outcome of answered) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ failure: "not_executed" });
    }
  });
});
