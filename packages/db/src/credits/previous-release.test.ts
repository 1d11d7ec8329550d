/**
 * Replicas of the previous release, which has no limits of open sessions, run beside this one on the same tables, with
 * their own functions.
 */
import { test as always, expect } from "bun:test";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import { readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller, seedSession } from "@realtime-avatar/testing/credits";
import { IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { hasPreviousRelease, previousFunctions } from "@realtime-avatar/testing/previous-release";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import type { Caller } from "../callers/callers.ts";
import { compareRooms, countFleet, endDueCalls, listRoomsToDelete } from "../calls/reconcile.ts";
import { functionsSchema } from "../functions/schema.ts";
import { findCreditDrift } from "./invariants.ts";
import { releaseSession, reportUsage, sweepSessions } from "./usage-sessions.ts";

const { name: OLD, create: CREATE_OLD } = functionsSchema(hasPreviousRelease ? await previousFunctions() : []);
/**
 * Skipped when the repository does not have the previous release, and on Citus, because that release is tested on one
 * database.
 */
const test = always.skipIf(!hasPreviousRelease || !IS_ONE_DATABASE);
const database = await fileDatabase({ isOne: true });
const { db } = database;
if (hasPreviousRelease) await db.client.unsafe(CREATE_OLD);
const tenantId = await seedTenant(db, { live: 10_000_000_000 });
const root = await seedCaller(db, tenantId);
const parent = root.caller;
const caller = (await seedCaller(db, tenantId, {}, root.record)).caller;

const CALLER = `row($1, $2, $3, $4, $5::text[], null, false)::${OLD}.caller`;
const callerOf = ({ tenantId, id, version, credentialKeyId, lineage }: Caller) => [
  ...[tenantId, id, version, credentialKeyId],
  lineage,
];
const old = {
  open: async (): Promise<SessionId> => {
    const now = new Date();
    const id = newId("ses", now, random);
    const entryId = newId("ent", now, random);
    const [row] = await database.db.client.unsafe(
      `select kind from ${OLD}.open_usage_sessions(array[${CALLER}], array[1],
        array[row($6, 'live', null, 10, 10, 1000000, 60, '{}', $7, 'r', now())::${OLD}.session_request], null, true)`,
      [...callerOf(caller), id, entryId] as never[],
    );
    expect(row?.["kind"]).toBe("written");
    return id;
  },
  report: async (id: SessionId, key: string | null = null) => {
    const claim =
      key && `row('POST /x', '${key}', decode(repeat('00', 32), 'hex'), 200, null, '', '', null)::${OLD}.claim`;
    const text = `select kind from ${OLD}.report_usage(${CALLER}, 'live', $6, 2000000, 60, ${claim})`;
    const [row] = await database.db.client.unsafe(text, [...callerOf(caller), id] as never[]);
    return row?.["kind"];
  },
  release: async (id: SessionId) => {
    const [row] = await database.db.client.unsafe(
      `select kind from ${OLD}.release_session(${CALLER}, 'live', $6, true, null, null, $7, $8, 'r', null)`,
      [...callerOf(caller), id, newId("ent", new Date(), random), newId("ent", new Date(), random)] as never[],
    );
    expect(row?.["kind"]).toBe("written");
  },
  sweep: async () => {
    const ids = Array.from({ length: 20 }, () => newId("ent", new Date(), random));
    await database.db.client.unsafe(`select ${OLD}.sweep_sessions($1, $2, 'r')`, [tenantId, ids] as never);
  },
};

/** The counters of the account, the root key and its child. */
const counters = async (): Promise<number[]> => {
  const { client } = database.db;
  const [account] = await client`
    select open_sessions::integer as open from credit_accounts where tenant_id = ${tenantId} and environment = 'live'`;
  const meters = await client`
    select open_sessions::integer as open from api_key_meters where tenant_id = ${tenantId}
    order by api_key_id = ${caller.id}`;
  expect(await findCreditDrift(database.db, tenantId, 10)).toEqual([]);
  return [account, ...meters].map((row) => row?.["open"]);
};
const release = (id: SessionId) =>
  releaseSession(database.db, id, { isEngine: true, used: null, reason: null }, caller, operatorOrigin());

test("a report, claimed at one release: replayed at the other", async () => {
  const id = await old.open();
  const report = (idempotencyKey: string) =>
    reportUsage(db, id, { used: 1, leaseSeconds: 60 }, caller, {
      ...{ request: "POST /x", idempotencyKey, bodyHash: new Uint8Array(32), status: 200, location: null, etag: "" },
      ...{ responseBody: new Uint8Array(0), sealedFor: null },
    });
  expect([await old.report(id, "old"), (await report("old")).kind]).toEqual(["written", "replayed"]);
  expect([(await report("new")).kind, await old.report(id, "new")]).toEqual(["written", "replayed"]);
  await old.release(id);
});

test("a session that the previous release has opened: counted, and ended by both versions", async () => {
  const [first, second] = [await old.open(), await old.open()];
  expect(await counters()).toEqual([2, 2, 2]);
  expect(await old.report(first)).toBe("written");
  await reportUsage(database.db, second, { used: 1, leaseSeconds: 60 }, parent);
  expect(await counters()).toEqual([2, 2, 2]);
  await old.release(first);
  expect(await release(second)).toMatchObject({ kind: "written" });
  expect(await counters()).toEqual([0, 0, 0]);
});

test("a session that the previous release has ended, released again with another usage: closed", async () => {
  const id = await old.open();
  await old.report(id);
  await old.release(id);
  const again = { isEngine: true, used: 1, reason: null };
  expect((await releaseSession(database.db, id, again, caller, operatorOrigin())).kind).toBe("session_closed");
  expect((await release(id)).kind).toBe("written");
});

test("a session of this version that the previous release has released or swept: no longer counted", async () => {
  const { db } = database;
  const [released, swept] = [await seedSession(db, caller), await seedSession(db, caller)];
  await reportUsage(db, released, { used: 1, leaseSeconds: 60 }, parent);
  expect(await counters()).toEqual([2, 2, 2]);
  await old.release(released);
  expect(await counters()).toEqual([1, 1, 1]);
  await db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${swept}`;
  await old.sweep();
  expect(await counters()).toEqual([0, 0, 0]);
});

test("a call that the previous release has ended: its slot is free after the next pass", async () => {
  const avatarId = await readyAvatar(db, caller);
  await sync(db, "worker", { slots: 3 });
  const [marked, released, swept] = [
    await seedCall(db, caller, avatarId),
    await seedCall(db, caller, avatarId),
    await seedCall(db, caller, avatarId),
  ];
  await old.release(released);
  await database.db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${swept}`;
  await old.sweep();
  // The state after its release of a started session.
  await sync(db, "worker", { slots: 3, calls: [report(marked)] });
  await database.db.client`update usage_sessions set must_end = true where id = ${marked}`;
  const { missing } = await compareRooms(db, "rta-test-", []);
  expect(missing.map(({ sessionId }) => sessionId)).toEqual([marked]);
  expect(await endDueCalls(db, 10, operatorOrigin())).toMatchObject({ ended: 1 });
  expect(await countFleet(db)).toMatchObject({ usedSlots: 0, openCalls: 0 });
  expect(await listRoomsToDelete(db, 10)).toHaveLength(3);
  expect(await counters()).toEqual([0, 0, 0]);
});

test("a session from before the migration: counted from its next report; not counted when it ends before", async () => {
  const { db } = database;
  const ids = [await old.open(), await old.open(), await old.open(), await old.open()] as const;
  // The state after the migration.
  await db.client.begin(async (transaction) => {
    await transaction`alter table usage_sessions disable trigger usage_sessions_count`;
    await transaction`update usage_sessions set is_counted = false where tenant_id = ${tenantId}`;
    await transaction`alter table usage_sessions enable trigger usage_sessions_count`;
    await transaction`update credit_accounts set open_sessions = 0 where tenant_id = ${tenantId}`;
    await transaction`update api_key_meters set open_sessions = 0 where tenant_id = ${tenantId}`;
  });
  expect(await counters()).toEqual([0, 0, 0]);
  await old.report(ids[0]);
  expect(await counters()).toEqual([1, 1, 1]);
  await reportUsage(db, ids[1], { used: 1, leaseSeconds: 60 }, parent);
  expect(await counters()).toEqual([2, 2, 2]);
  await old.release(ids[2]);
  await release(ids[3]);
  expect(await counters()).toEqual([2, 2, 2]);
  await db.client`update usage_sessions set expires_at = now() - interval '1 second' where ended_at is null`;
  expect(await sweepSessions(db, tenantId, operatorOrigin())).toBe(2);
  expect(await counters()).toEqual([0, 0, 0]);
});
