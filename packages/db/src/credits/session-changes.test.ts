/**
 * Reports and releases in batches: each has its own outcome, as if they came one by one. No change waits for a lock of
 * another.
 */
import { describe, expect, test } from "bun:test";
import type { SessionId } from "@realtime-avatar/domain/id";
import { readyAvatar, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { PRICE, seedCaller, seedSession } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { session } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { untilBlocked, whileExpiring } from "@realtime-avatar/testing/postgres/waits";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { releaseSessions, reportUsages, type SessionChange } from "../../generated/functions.ts";
import type { Caller } from "../callers/callers.ts";
import type { Claim } from "../idempotency/idempotency-keys.ts";
import { findCreditDrift } from "./invariants.ts";
import { releaseSession, reportUsage } from "./usage-sessions.ts";

const database = await fileDatabase();
const { db } = database;
const { client } = db;
await mutate(db);
const holder = await fixture(session(database.url));

const newCaller = async () => (await seedCaller(db, await seedTenant(db, { live: 1000 * PRICE }))).caller;
const open = async (caller: Caller, count: number) =>
  Promise.all(Array.from({ length: count }, () => seedSession(db, caller)));

const report = (id: SessionId, used: number, caller: Caller, claim: Claim | null = null) =>
  reportUsage(db, id, { used, leaseSeconds: 60 }, caller, claim);
const release = (id: SessionId, used: number | null, caller: Caller, claim: Claim | null = null, isEngine = true) =>
  releaseSession(db, id, { isEngine, used, reason: null }, caller, operatorOrigin(), claim);
const claimOf = (idempotencyKey: string, id: SessionId, action: string): Claim => ({
  ...{
    request: `POST /usage/sessions/${id}/${action}`,
    idempotencyKey,
    bodyHash: new Uint8Array(32),
    status: 200,
    location: null,
  },
  ...{ etag: "", responseBody: new Uint8Array(0), sealedFor: null },
});

type Change = { caller: Caller; id: SessionId; environment?: string; isEngine?: boolean; used?: number | null };
let ids = 0;
const entryId = () => `ent_${`${++ids}`.padStart(26, "0")}`;
/** One call of the function. */
const call = async (work: "report" | "release", changes: readonly Change[]) => {
  const callers = [...new Set(changes.map(({ caller }) => caller))];
  const rows = await { report: reportUsages, release: releaseSessions }[work](db, {
    callers,
    callerAt: changes.map(({ caller }) => callers.indexOf(caller) + 1),
    changes: changes.map(
      ({ id, environment = "live", isEngine = true, used = PRICE }): SessionChange => ({
        ...{ environment, sessionId: id, isEngine, used, reason: null },
        ...(work === "report"
          ? { leaseSeconds: 60, settleEntryId: null, restEntryId: null, requestId: null }
          : { leaseSeconds: null, settleEntryId: entryId(), restEntryId: entryId(), requestId: "r" }),
      }),
    ),
    claims: null,
    wait: false,
  });
  return rows.map(({ kind }) => kind);
};
/** All rows that a change can write. */
const written = async (ids: readonly string[]) => {
  const of = async (name: string, order: string, where = "true") =>
    JSON.stringify(await client.unsafe(`select * from ${name} where ${where} order by ${order}`));
  const list = ids.map((id) => `'${id}'`).join();
  return Promise.all([
    of("usage_sessions", "id", `id in (${list})`),
    of("credit_entries", "id", `session_id in (${list})`),
    of("credit_accounts", "tenant_id, environment"),
    of("api_key_meters", "tenant_id, api_key_id"),
  ]);
};

/**
 * Sessions of all kinds, of three tenants and both environments, with the outcomes of a report and a release of each.
 */
const allKinds = async () => {
  const [one, two, revoked] = [await newCaller(), await newCaller(), await newCaller()];
  const old = { ...one, version: one.version + 1 };
  const [ended, overdue, fine, foreign, other, last] = (await open(one, 6)) as [SessionId, ...SessionId[]];
  const avatarId = await readyAvatar(db, one);
  await sync(db, "worker", { slots: 2 });
  const theCall = await seedCall(db, one, avatarId);
  const ofTwo = (await open(two, 1))[0] as SessionId;
  const ofRevoked = (await open(revoked, 1))[0] as SessionId;
  await release(ended as SessionId, 0, one);
  await client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${overdue as string}`;
  await client`update api_keys set revoked_at = now(), version = version + 1 where id = ${revoked.id}`;
  return {
    callers: [one, two, revoked],
    changes: [
      [{ caller: one, id: ended as SessionId }, "session_closed", "session_closed"],
      [{ caller: one, id: overdue as SessionId }, "session_closed", "session_closed"],
      [{ caller: two, id: ofTwo }, "written", "written"],
      [{ caller: two, id: foreign as SessionId }, "not_found", "not_found"],
      [{ caller: revoked, id: ofRevoked }, "stale", "stale"],
      [{ caller: old, id: other as SessionId }, "stale", "stale"],
      [{ caller: one, id: fine as SessionId }, "written", "written"],
      [{ caller: one, id: last as SessionId, environment: "test" }, "not_found", "not_found"],
      [{ caller: one, id: theCall }, "session_closed", "written"],
    ] as [Change, string, string][],
  };
};

describe("a batch of several tenants", () => {
  test.each(["report", "release"] as const)(
    "of %ss: each has its own outcome; a refused one changes nothing",
    async (work) => {
      const { callers, changes } = await allKinds();
      const expected = changes.map(([, ofReport, ofRelease]) => (work === "report" ? ofReport : ofRelease));
      // A release of an overdue session ends it, whatever the outcome.
      const refused = changes.filter(
        ([, kind], at) => expected[at] !== "written" && !(work === "release" && kind === "session_closed"),
      );
      const before = await written(refused.map(([{ id }]) => id));
      expect(
        await call(
          work,
          changes.map(([change]) => change),
        ),
      ).toEqual(expected);
      const after = await written(refused.map(([{ id }]) => id));
      expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
      if (work === "report") expect(after).toEqual(before);
      for (const { tenantId } of callers) expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
      // One by one, the outcomes are the same: written sessions are now closed, or reports were cumulative.
      for (const [change, kind] of changes)
        if (work === "report") expect(await call("report", [change])).toEqual([kind]);
    },
  );

  test("a session that is named twice in one call: the second change is left for the next call", async () => {
    const caller = await newCaller();
    const [twice, once] = (await open(caller, 2)) as [SessionId, SessionId];
    const changes = [
      { caller, id: twice, used: PRICE },
      { caller, id: once },
      { caller, id: twice, used: 2 * PRICE },
    ];
    expect(await call("report", changes)).toEqual(["written", "written", "stale"]);
    expect(await call("release", changes)).toEqual(["written", "written", "stale"]);
    const [row] = await client`select used::integer from usage_sessions where id = ${twice}`;
    expect(row?.["used"]).toBe(PRICE);
    expect(await findCreditDrift(db, caller.tenantId, 10)).toEqual([]);
  });
});

test("reports and releases of one session at once: one after another, and charged once", async () => {
  const caller = await newCaller();
  const [id, ...others] = (await open(caller, 8)) as [SessionId, ...SessionId[]];
  // The first is sent alone. The others wait for it, and share batches. A slow batch has the next one beside it, so the
  // order of the three is not known.
  const all = [others[0] as SessionId, ...others.slice(1), id, id, id];
  const reports = await Promise.all(all.map((one, at) => report(one, at, caller)));
  const versions = reports.slice(-3).map((outcome) => "session" in outcome && outcome.session.version);
  expect(versions.toSorted()).toEqual([2, 3, 4]);
  const figures = [3, 3, 9].map((seconds) => seconds * PRICE);
  const releases = await Promise.all([
    ...others.map((one) => release(one, PRICE, caller)),
    ...figures.map((used) => release(id, used, caller)),
  ]);
  const own = releases
    .slice(-3)
    .map((outcome) => ({ kind: outcome.kind, ends: "hasEnded" in outcome && outcome.hasEnded }));
  const first = own.findIndex(({ ends }) => ends);
  // A release with the same amount repeats the first one. Another amount is refused.
  expect(own).toEqual(
    figures.map((used, at) => ({ kind: used === figures[first] ? "written" : "session_closed", ends: at === first })),
  );
  const [row] = await client`
    select count(*)::integer as entries, sum(amount) filter (where kind = 'settle')::integer as charged
    from credit_entries where session_id = ${id}`;
  expect({ ...row }).toEqual({ entries: 3, charged: figures[first] });
  expect(await findCreditDrift(db, caller.tenantId, 10)).toEqual([]);
});

describe("a batch and a lock", () => {
  test.each([
    [
      "a locked session",
      (id: SessionId, _: Caller) => holder.client`select from usage_sessions where id = ${id} for update`,
    ],
    [
      "a caller that is being changed",
      (_: SessionId, { id }: Caller) => holder.client`select from api_keys where id = ${id} for update`,
    ],
  ])("%s: the others do not wait", async (_, lock) => {
    for (const work of ["report", "release"] as const) {
      const [one, two] = [await newCaller(), await newCaller()];
      const [held] = (await open(one, 1)) as [SessionId];
      const free = await open(two, 4);
      const change = (id: SessionId, caller: Caller) =>
        work === "report" ? report(id, PRICE, caller) : release(id, PRICE, caller);
      await holder.client`begin`;
      await lock(held, one);
      // The first is sent alone.
      const first = change(free[0] as SessionId, two);
      const waiting = change(held, one);
      const others = await Promise.all([first, ...free.slice(1).map((id) => change(id, two))]);
      expect(others.map(({ kind }) => kind)).toEqual(["written", "written", "written", "written"]);
      await untilBlocked(db);
      await holder.client`commit`;
      expect((await waiting).kind).toBe("written");
    }
  });
});

test("a batch of releases, one caller expires while the account of another is awaited: its release is stale, and its session stays open", async () => {
  const [one, two] = [await newCaller(), await newCaller()];
  const [ofOne, ofTwo] = [...(await open(one, 1)), ...(await open(two, 1))] as [SessionId, SessionId];
  const changes = [
    { caller: one, id: ofOne },
    { caller: two, id: ofTwo },
  ];
  const outcomes = await whileExpiring(
    database,
    (at) => client.unsafe(`update api_keys set expires_at = ${at} where id = '${one.id}'`),
    (held) => held.client`update credit_accounts set version = version + 1 where tenant_id = ${two.tenantId}`,
    () => call("release", changes),
  );
  expect(outcomes).toEqual(["stale", "written"]);
  const rows = await client`select id from usage_sessions where ended_at is null and id = any(${[ofOne, ofTwo]})`;
  expect(rows.map(({ id }) => id)).toEqual([ofOne]);
  for (const { tenantId } of [one, two]) expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
});

test("an Idempotency-Key in a batch, with and without other keys: written once, then replayed", async () => {
  const caller = await newCaller();
  const all = await open(caller, 8);
  for (const change of [report, release]) {
    const send = (count: number) =>
      Promise.all(
        all
          .slice(0, count)
          .map((id, at) => change(id, PRICE, caller, at % 3 === 2 ? null : claimOf("a", id, change.name))),
      );
    const first = await send(5);
    expect(first.map(({ kind }) => kind)).toEqual(Array(5).fill("written"));
    const before = await written(all.slice(0, 2));
    const second = await send(8);
    // Those of the first five with an Idempotency-Key, and three new ones.
    expect(second.map(({ kind }) => kind === "replayed")).toEqual([true, true, false, true, true, false, false, false]);
    expect(second.every(({ kind }) => kind === "replayed" || kind === "written")).toBe(true);
    expect((await written(all.slice(0, 2))).slice(0, 2)).toEqual(before.slice(0, 2));
    for (const at of [0, 1, 3, 4]) {
      const [stored, replayed] = [first[at], second[at]];
      if (stored?.kind !== "written" || replayed?.kind !== "replayed") throw new Error("not replayed");
      expect(JSON.stringify(replayed.responseFields)).toBe(JSON.stringify(stored.session));
      expect(replayed.response.etag).toBe(`"${stored.session.version}"`);
    }
    const twice = (await open(caller, 1))[0] as SessionId;
    // Sent together with another request, so that both come in batches.
    const outcomes = await Promise.all([
      change(all[7] as SessionId, PRICE, caller),
      change(twice, PRICE, caller, claimOf("b", twice, change.name)),
      change(twice, PRICE, caller, claimOf("b", twice, change.name)),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["written", "written", "replayed"]);
  }
});

test("reports in a batch, above the hold: the hold counts; below the last report: the last report counts", async () => {
  const caller = await newCaller();
  const ids = (await open(caller, 2)) as [SessionId, SessionId];
  const reportBoth = async (...used: number[]) => {
    const changes = ids.map((id, at) => ({ caller, id, used: used[at] ?? 0 }));
    expect(await call("report", changes)).toEqual(["written", "written"]);
    const rows = await client`
      select used::float8, reserved::float8 from usage_sessions where id in ${client(ids)} order by id = ${ids[1]}`;
    return rows.map(({ used, reserved }) => (used === reserved ? "what is held" : used));
  };
  expect(await reportBoth(1_000_000 * PRICE, 2 * PRICE)).toEqual(["what is held", 2 * PRICE]);
  expect(await reportBoth(PRICE, PRICE)).toEqual(["what is held", 2 * PRICE]);
});

test("sessions, marked twice in batches: their version is raised once", async () => {
  const caller = await newCaller();
  const ids = (await open(caller, 2)) as [SessionId, SessionId];
  await Promise.all(ids.map((id) => report(id, PRICE, caller)));
  for (const _ of ["mark", "mark again"]) {
    const changes = ids.map((id) => ({ caller, id, isEngine: false }));
    expect(await call("release", changes)).toEqual(["written", "written"]);
    const rows = await client`select version, must_end from usage_sessions where id in ${client(ids)}`;
    expect(rows.map((row) => ({ ...row }))).toEqual(ids.map(() => ({ version: 3, must_end: true })));
  }
});

test("a release without usage:write in a batch: marks a started session, ends a session before its start or after its lease, does not find a foreign session", async () => {
  const tenantId = await seedTenant(db, { live: 1000 * PRICE });
  const root = await seedCaller(db, tenantId);
  const [child, stranger] = [
    (await seedCaller(db, tenantId, {}, root.record)).caller,
    (await seedCaller(db, tenantId)).caller,
  ];
  const [started, reserved, overdue] = (await open(child, 3)) as [SessionId, SessionId, SessionId];
  const [ofStranger] = (await open(stranger, 1)) as [SessionId];
  await report(started, PRICE, child);
  await report(overdue, 2 * PRICE, child);
  await client`update usage_sessions set expires_at = now() where id = ${overdue}`;
  const byKey = (id: SessionId) => release(id, null, root.caller, null, false);
  const marked = await Promise.all([reserved, started, ofStranger, started, overdue].map(byKey));
  expect(marked).toMatchObject([
    { kind: "written", hasEnded: true, session: { status: "released" } },
    { kind: "written", hasEnded: false, session: { status: "started", mustEnd: true, version: 3 } },
    { kind: "not_found" },
    { kind: "written", hasEnded: false, session: { status: "started", mustEnd: true, version: 3 } },
    { kind: "written", hasEnded: true, session: { status: "released", billedCreditMicros: 2 * PRICE } },
  ]);
  expect(await findCreditDrift(db, tenantId, 10)).toEqual([]);
});
