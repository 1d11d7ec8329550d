/** Batches of creates: each create has its own outcome. Claims: one of several attempts writes. */
import { describe, expect, test } from "bun:test";
import { connectTo, IS_AWAY, session } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { issuedBy, newClaim, plannedAvatar, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { insertApiKey } from "../api-keys/api-keys.ts";
import { insertAvatar } from "../avatars/avatars.ts";
import type { Caller } from "../callers/callers.ts";
import type { Db } from "../connection/pool.ts";

let db: Db;
const database = await fileDatabase();
db = await fixture(connectTo(database, { connections: 4 }));

const create = (caller: Caller, name: string, idempotencyKey: string | null = null, pool = db) => {
  const avatar = plannedAvatar(caller, { displayName: name, metadata: { name, quote: '"{\\,}' } });
  const claim = idempotencyKey === null ? null : newClaim(idempotencyKey, avatar.id);
  return insertAvatar(pool, avatar, null, caller, seedOrigin(caller), claim);
};
const createKey = (caller: Caller, name: string, maxActiveKeys: number, idempotencyKey: string | null) => {
  const issued = issuedBy(caller, { name });
  const claim = idempotencyKey === null ? null : newClaim(idempotencyKey, issued.record.id);
  return insertApiKey(db, { ...issued, maxActiveKeys }, caller, seedOrigin(caller), claim);
};
const written = ({ tenantId }: Caller) => database.db.client<
  { name: string; metadata: { name: string }; actor: string }[]
>`
  select display_name as name, metadata, actor_id as actor
  from avatars join audit_events on target_id = avatars.id and audit_events.tenant_id = avatars.tenant_id
  where avatars.tenant_id = ${tenantId} order by display_name`;
const revoke = ({ id }: Caller, to = database.db) =>
  to.client`update api_keys set revoked_at = now(), version = version + 1 where id = ${id}`;

describe("a batch of creates", () => {
  test("a batch of several callers: each resource has its event", async () => {
    const [one, two] = [await seedCaller(database.db), await seedCaller(database.db)];
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, index) => create(index % 2 ? one : two, `name ${index} "ü\\`)),
    );
    expect(outcomes).toEqual(Array(40).fill({ kind: "written" }));
    for (const caller of [one, two]) {
      const rows = await written(caller);
      expect(rows).toHaveLength(20);
      for (const { name, metadata, actor } of rows) expect([metadata.name, actor]).toEqual([name, caller.id]);
    }
  });

  test.skipIf(IS_AWAY)("a batch with a create that the database refuses: only this create fails", async () => {
    const caller = await seedCaller(database.db);
    const names = Array.from({ length: 20 }, (_, index) => (index === 7 ? "x".repeat(1000) : `name ${index}`));
    const outcomes = await Promise.allSettled(names.map((name) => create(caller, name)));
    expect(outcomes.map(({ status }) => status === "fulfilled")).toEqual(names.map((_, index) => index !== 7));
    expect(await written(caller)).toHaveLength(19);
  });

  test("a batch with a revoked caller: only the creates of the other callers are written", async () => {
    const [valid, revoked] = [await seedCaller(database.db), await seedCaller(database.db)];
    await revoke(revoked);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => create(index % 5 ? valid : revoked, `name ${index}`)),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 20 }, (_, index) => (index % 5 ? "written" : "stale")),
    );
    expect(await written(revoked)).toHaveLength(0);
  });

  test.each([
    ["first", [0, 1, 2]],
    ["among others", [3, 5, 7]],
  ])("a batch with a caller that is being changed, %s: only the creates of this caller wait", async (_, places) => {
    const [valid, changing] = [await seedCaller(database.db), await seedCaller(database.db)];
    const holder = session(database.url);
    await holder.client`begin`;
    await revoke(changing, holder);
    const all = Array.from({ length: 12 }, (_, index) => {
      const caller = places.includes(index) ? changing : valid;
      // With a claim and without.
      return create(caller, `name ${index}`, index % 2 ? `key ${index}` : null);
    });
    const others = all.filter((_, index) => !places.includes(index));
    const delayed = all.filter((_, index) => places.includes(index));
    expect(await Promise.all(others)).toEqual(Array(9).fill({ kind: "written" }));
    await holder.client`commit`;
    expect(await Promise.all(delayed)).toEqual(Array(3).fill({ kind: "stale" }));
    await holder.close();
    expect(await written(changing)).toHaveLength(0);
  });

  test("one Idempotency-Key of two keys of a tenant, repeated by both: each gets its own response", async () => {
    const one = await seedCaller(database.db);
    const other = await seedCaller(database.db, one.tenantId);
    const send = (caller: Caller, text: string) => {
      const avatar = plannedAvatar(caller, { displayName: text });
      return insertAvatar(db, avatar, null, caller, seedOrigin(caller), newClaim("shared", text));
    };
    const callers = [one, other] as const;
    expect(await Promise.all(callers.map((caller) => send(caller, caller.id)))).toEqual([
      { kind: "written" },
      { kind: "written" },
    ]);
    const alone = [await send(one, "again"), await send(other, "again")];
    const together = await Promise.all([one, other, one].map((caller) => send(caller, "again")));
    expect([...alone, ...together].map((outcome) => "response" in outcome && outcome.response.location)).toEqual(
      [one, other, one, other, one].map(({ id }) => `/api/v1/avatars/${id}`),
    );
    expect(await written(one)).toHaveLength(2);
  });

  test("a batch with all outcomes: each at its position, with and without claims", async () => {
    const [valid, full, revoked] = await Promise.all([1, 2, 3].map(() => seedCaller(database.db)));
    if (!valid || !full || !revoked) throw new Error("no callers");
    const quota = 10;
    await Promise.all(Array.from({ length: 8 }, (_, index) => createKey(full, `earlier ${index}`, quota, null)));
    await createKey(full, "earlier", quota, "done");
    await createKey(valid, "earlier", quota, "done");
    await revoke(revoked);
    // The first create is a separate batch. The others wait and form the next batch.
    const sizes: number[] = [];
    const watcher = { statement: () => {}, batchRetry: () => {}, batch: (_: string, size: number) => sizes.push(size) };
    const watched = connectTo(database, { connections: 1, watcher });
    const pool = db;
    db = watched;
    const creates: [Caller, string | null, string][] = [
      [valid, null, "written"],
      [revoked, null, "stale"],
      [valid, "new", "written"],
      [full, null, "over_quota"],
      [valid, "done", "replayed"],
      [full, "new", "over_quota"],
      [revoked, "new", "stale"],
      [valid, null, "written"],
      // The quota is checked before the claim.
      [full, "done", "over_quota"],
      [valid, "newer", "written"],
    ];
    const outcomes = await Promise.all(
      creates.map(([caller, key], at) => createKey(caller, `place ${at}`, quota, key)),
    );
    db = pool;
    await watched.close();
    expect(outcomes.map(({ kind }) => kind)).toEqual(creates.map(([, , kind]) => kind) as never);
    expect(sizes).toContain(9);
    const replayed = outcomes[4];
    const [first] = await database.db.client`
      select id from api_keys where tenant_id = ${valid.tenantId} and name = 'earlier'`;
    expect(replayed).toMatchObject({ response: { status: 201, location: `/api/v1/avatars/${first?.["id"]}` } });
    const names = await database.db.client<{ name: string }[]>`
      select name from api_keys where name like 'place %' order by name`;
    expect(names.map(({ name }) => name)).toEqual(["place 0", "place 2", "place 7", "place 9"]);
    // A refused create leaves no claim, so the same Idempotency-Key can be used again.
    const claims = await database.db.client<{ key: string }[]>`
      select idempotency_key as key from idempotency_claims where tenant_id in ${database.db.client([
        full.tenantId,
        revoked.tenantId,
      ])}`;
    expect(claims.map(({ key }) => key)).toEqual(["done"]);
  });

  test("accepted creates, when the pool is closed: written or not executed", async () => {
    const caller = await seedCaller(database.db);
    const closing = connectTo(database, { connections: 1 });
    const creates = Array.from({ length: 30 }, (_, index) => create(caller, `name ${index}`, null, closing));
    const settled = Promise.allSettled(creates);
    await Promise.race(creates);
    await closing.close();
    const outcomes = await settled;
    const count = outcomes.filter(({ status }) => status === "fulfilled").length;
    expect(await written(caller)).toHaveLength(count);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ failure: "not_executed" });
    }
  });
});

describe("creates with an Idempotency-Key", () => {
  test("concurrent creates with shared Idempotency-Keys: one of each is written, the others are replayed", async () => {
    const [one, two] = [await seedCaller(database.db), await seedCaller(database.db)];
    const attempts = Array.from({ length: 60 }, (_, index) => ({
      caller: index % 2 ? one : two,
      key: `key ${Math.floor(index / 2) % 10}`,
    }));
    const outcomes = await Promise.all(attempts.map(({ caller, key }, index) => create(caller, `name ${index}`, key)));
    for (const caller of [one, two]) {
      const rows = await database.db.client<{ key: string; location: string; id: string }[]>`
        select idempotency_key as key, location, target_id as id from idempotency_claims
        join audit_events on audit_events.tenant_id = idempotency_claims.tenant_id and audit_events.id = attempt_id
        join avatars on avatars.tenant_id = audit_events.tenant_id and avatars.id = target_id
        where idempotency_claims.tenant_id = ${caller.tenantId}`;
      expect(rows).toHaveLength(10);
      expect(await written(caller)).toHaveLength(10);
      for (const { key, location, id } of rows) {
        expect(location).toBe(`/api/v1/avatars/${id}`);
        const same = outcomes.filter((_, index) => attempts[index]?.caller === caller && attempts[index]?.key === key);
        expect(same.filter(({ kind }) => kind === "written")).toHaveLength(1);
        const replayed = same.flatMap((outcome) => (outcome.kind === "replayed" ? [outcome.response] : []));
        expect(replayed).toHaveLength(2);
        for (const stored of replayed) {
          expect(stored).toMatchObject({ status: 201, location, etag: '"1"', sealedFor: null });
          expect([...stored.bodyHash]).toEqual(Array(32).fill(7));
          expect(Buffer.from(stored.responseBody).toString()).toBe(`"\\{,}' ${id}`);
        }
      }
    }
  });

  test("creates on two replicas in opposite orders: no deadlock, each is written once", async () => {
    const caller = await seedCaller(database.db);
    const other = connectTo(database, { connections: 4 });
    const rounds = 10;
    for (let round = 0; round < rounds; round++) {
      const keys = Array.from({ length: 40 }, (_, index) => `round ${round} key ${index}`);
      const outcomes = await Promise.all([
        ...keys.map((key) => create(caller, key, key)),
        ...keys.toReversed().map((key) => create(caller, key, key, other)),
      ]);
      expect(outcomes.filter(({ kind }) => kind === "written")).toHaveLength(40);
      expect(outcomes.filter(({ kind }) => kind === "replayed")).toHaveLength(40);
    }
    await other.close();
    expect(await written(caller)).toHaveLength(40 * rounds);
  });

  test("a claim older than 24 hours: replaced; a newer claim: replayed", async () => {
    const caller = await seedCaller(database.db);
    await Promise.all(["x", "old", "y"].map((key) => create(caller, key, key)));
    await database.db.client`
      update idempotency_claims set created_at = now() - interval '25 hours'
      where tenant_id = ${caller.tenantId} and idempotency_key = 'old'`;
    const outcomes = await Promise.all(["first", "x", "old", "y"].map((key) => create(caller, `${key} again`, key)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["written", "replayed", "written", "replayed"]);
  });

  test.each([
    ["rolls back", "rollback", "written"],
    ["commits", "commit", "replayed"],
  ] as const)("a create that waits for another, which %s (%s): %s", async (_, end, kind) => {
    const caller = await seedCaller(database.db);
    const outcome = await whileHeld(
      database,
      async (other) => expect(await create(caller, "other", "key", other)).toEqual({ kind: "written" }),
      () => create(caller, "own", "key"),
      undefined,
      end,
    );
    expect(outcome.kind).toBe(kind);
    expect((await written(caller)).map(({ name }) => name)).toEqual([kind === "written" ? "own" : "other"]);
  });
});
