import { describe, expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { presentSession, type SessionRecord } from "@realtime-avatar/domain/credits/session";
import type { AvatarId, SessionId } from "@realtime-avatar/domain/id";
import { parseItems } from "@realtime-avatar/domain/page";
import { seedSession } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { ofOneDatabase } from "@realtime-avatar/testing/postgres/one-database";
import {
  newClaim,
  operatorOrigin,
  plannedAvatar,
  seedCaller,
  seedKey,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { insertAvatar } from "../avatars/avatars.ts";
import { type Caller, type CreditsOfCaller, findCredential } from "../callers/callers.ts";
import { FUNCTIONS_SCHEMA } from "../functions/schema.ts";
import { findCreditBalance } from "./credits.ts";
import { findUsageSession } from "./find-usage-session.ts";
import { listUsageSessions } from "./list-usage-sessions.ts";
import { releaseSession, reportUsage } from "./usage-sessions.ts";

const database = await fileDatabase();

/** A caller of a new tenant with live credits. */
const newCaller = async (): Promise<Caller> => seedCaller(database.db, await seedTenant(database.db, { live: 1e12 }));
const callerOf = async (keyId: string, including: CreditsOfCaller | null = null): Promise<Caller> => {
  const found = await findCredential(database.db, keyId, null, undefined, including);
  if (!found) throw new Error("no caller");
  return found.caller;
};
const open = (caller: Caller, metadata: Record<string, string>, avatarId: AvatarId | null = null) =>
  seedSession(database.db, caller, { metadata, avatarId });
const find = async (caller: Caller, id: SessionId) => {
  const session = await findUsageSession(database.db, caller, id);
  if (!session) throw new Error("no session");
  return session;
};
const window = () => ({
  from: new Date(Date.now() - 1000_000).toISOString(),
  to: new Date(Date.now() + 1000_000).toISOString(),
});

/** The records of these sessions, the newest first. The function reads tables, so it needs a separate call. */
const recordsOf = async (ids: readonly SessionId[]): Promise<SessionRecord[]> => {
  const { client } = database.db;
  const rows = await client<{ row: string }[]>`
    select session::text as row from usage_sessions session where id = any(${ids as string[]}) order by id desc`;
  const [found] = await client<{ records: SessionRecord[] }[]>`
    select to_json(${client(FUNCTIONS_SCHEMA)}.session_records(
      ${rows.map(({ row }) => row)}::text[]::public.usage_sessions[], null
    )) as records`;
  return found?.records ?? [];
};

describe("the list of sessions", () => {
  test("a session, in lists and stored responses: equals the representation of the domain", async () => {
    const caller = await newCaller();
    const avatar = plannedAvatar(caller, { displayName: 'A "da" \u2028\u0001' });
    await insertAvatar(database.db, { ...avatar, status: "ready" }, null, caller, operatorOrigin());
    const nasty = { "": "", 'a"\\': "\u2028\u0001😀", user_id: "u", ["__proto__"]: "p" };
    const ids = [
      await open(caller, {}),
      await open(caller, nasty),
      await open(caller, { user_id: "v" }, avatar.id),
      await open(caller, nasty, avatar.id),
    ] as const;
    await reportUsage(database.db, ids[1], { used: 5, leaseSeconds: 60 }, caller);
    const release = { isEngine: true, used: null, reason: null };
    await releaseSession(database.db, ids[2], release, caller, operatorOrigin());
    // A start without a fraction of a second, and a start with a fraction that ends in zeros.
    await database.db.client`
      update usage_sessions set status = 'started', started_at = ${new Date(Date.now() - 7100).toISOString().replace(/\d\d\dZ/, "100Z")}
      where id = ${ids[3]}`;
    for (const work of [
      (id: SessionId, key: string) =>
        reportUsage(database.db, id, { used: 7, leaseSeconds: 60 }, caller, newClaim(`${key} report`)),
      (id: SessionId, key: string) =>
        releaseSession(database.db, id, release, caller, operatorOrigin(), newClaim(`${key} release`)),
    ]) {
      const outcome = await work(ids[3], "x");
      if (outcome.kind !== "written") throw new Error(outcome.kind);
      const replayed = await work(ids[3], "x");
      if (replayed.kind !== "replayed") throw new Error(replayed.kind);
      expect(JSON.stringify(replayed.responseFields)).toBe(JSON.stringify(outcome.session));
      expect(replayed.response.etag).toBe(`"${outcome.session.version}"`);
    }
    const records = await recordsOf(ids);
    const name = "Key of a test";
    const sessions = records.map((record) => {
      const { reportedBy, closedBy } = record;
      const names = { reportedByName: reportedBy && name, closedByName: closedBy && name };
      return JSON.stringify({ ...presentSession(record), apiKeyName: name, ...names });
    });
    const page = await listUsageSessions(database.db, caller, { filters: window(), before: null, limit: 200 });
    expect(page.items).toBe(sessions.join());
    const found = await Promise.all(ids.toReversed().map((id) => find(caller, id)));
    expect(found.map((session) => JSON.stringify(presentSession(session)))).toEqual(sessions);
    expect(found[0]).toMatchObject({
      status: "released",
      usedCreditMicros: 7,
      avatarName: avatar.displayName,
      metadata: nasty,
    });
  });

  test.each([
    ["open", "started", null, null, false, null, null],
    ["open, to be ended", "started", null, "bye", true, null, "bye"],
    ["by its key", "released", "key", "bye", false, "released", "bye"],
    ["by its key, without a reason", "failed", "key", null, false, "released", null],
    ["by its engine, after a release by a key", "released", "key", "bye", true, "released", "bye"],
    ["by the service, after a release by a key", "released", "sweep", "idle", true, "lease_expired", "idle"],
    ["by the page, as its worker reported", "released", "sweep", "disconnected", false, "disconnected", null],
    ["by the end of its key", "released", "sweep", "key_ended", false, "key_ended", null],
    ["without a start", "failed", "sweep", null, false, "not_started", null],
    ["without reports", "released", "sweep", null, false, "lease_expired", null],
    ["by a room that was not created", "failed", "key", "failed", false, "failed", null],
    ["before the reason was stored", "released", null, null, false, null, null],
  ] as const)(
    "a session that ended %s: has the reason of this end",
    async (_, status, by, reason, mustEnd, endReason, releaseReason) => {
      const caller = await newCaller();
      const id = await open(caller, {});
      await database.db.client`
      update usage_sessions set status = ${status}, reason = ${reason}, must_end = ${mustEnd},
        closed_by = ${by === "key" ? caller.id : by}, started_at = ${status === "failed" ? null : new Date()},
        ended_at = ${status === "started" ? null : new Date(Date.now() + 1000)}
      where id = ${id}`;
      const [record] = await recordsOf([id]);
      const session = await find(caller, id);
      expect(presentSession(session)).toMatchObject(presentSession(record as SessionRecord));
      expect(session).toMatchObject({ endReason, releaseReason });
    },
  );

  // Citus cannot insert rows that are selected from a list of numbers.
  ofOneDatabase(
    "a filtered page, with few matching rows: reads a bounded number of rows, and the next page continues",
    async () => {
      const caller = await newCaller();
      const first = await open(caller, {});
      await database.db.client.unsafe(`
      insert into usage_sessions (
        tenant_id, id, environment, api_key_id, lineage, status, reserved, price, metadata, created_at, expires_at, ended_at
      )
      select tenant_id, left(id, 14) || 'z' || lpad(i::text, 15, '0'), environment, 'key_other', '{}', 'released', 0, 1,
        '{}', created_at, expires_at, now()
      from usage_sessions, generate_series(1, 6000) i where id = '${first}'`);
      const filters = { ...window(), apiKeyId: caller.id };
      const page = await listUsageSessions(database.db, caller, { filters, before: null, limit: 10 });
      expect([page.items, page.next]).toEqual(["", expect.stringMatching(/^ses_/)]);
      const before = page.next as SessionId;
      const next = await listUsageSessions(database.db, caller, { filters, before, limit: 10 });
      expect(parseItems<{ sessionId: string }>(next).map(({ sessionId }) => sessionId)).toEqual([first]);
      expect(next.next).toBeNull();
    },
  );
});

test("the headroom of keys with caps: the credits that can still be held, read only on request", async () => {
  const tenantId = await seedTenant(database.db, { live: 100_000_000 });
  const newKey = async (cap: number | null, parent?: ApiKeyRecord, environment: "live" | "test" = "live") =>
    seedKey(database.db, tenantId, { environment, scopes: ["*"], spendLimitCreditMicros: cap }, parent);
  const root = await newKey(50_000_000);
  const child = await newKey(null, root.record);
  const grandchild = await newKey(12_000_000, child.record);
  const inTest = await newKey(null, root.record, "test");
  const headroom = async ({ secret }: typeof root) => (await callerOf(secret.keyId, "headroom")).headroom;
  expect((await callerOf(root.secret.keyId)).headroom).toBeNull();
  const id = await open(await callerOf(grandchild.secret.keyId), {});
  const account = 90_000_000;
  const noneReached = {
    ...{ reachedLimits: { self: null, ancestor: null, tenant: null }, hasOverdue: false },
    announcesExhaustion: false,
  };
  expect(await headroom(root)).toEqual({ own: 40_000_000, ancestors: null, account, ...noneReached });
  expect(await headroom(child)).toEqual({ own: null, ancestors: 40_000_000, account, ...noneReached });
  expect(await headroom(grandchild)).toMatchObject({ own: 2_000_000, ancestors: 40_000_000 });
  // A live cap does not count in test, and test credits are separate.
  expect(await headroom(inTest)).toMatchObject({ own: null, ancestors: null, account: 3_600_000_000 });
  // A missing meter counts as zero.
  await database.db.client`delete from api_key_meters where api_key_id = ${child.record.id}`;
  expect(await headroom(grandchild)).toMatchObject({ own: 2_000_000, ancestors: 40_000_000 });
  expect((await callerOf(child.secret.keyId)).reservedCreditMicros).toBe(0);
  await database.db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;
  expect(await headroom(root)).toMatchObject({ hasOverdue: true });
  // Concurrent look-ups of one key with different parts do not share a result.
  const asked = [null, "headroom", "balance", "headroom", "balance"] as const;
  const found = await Promise.all(asked.map((including) => callerOf(root.secret.keyId, including)));
  expect(found.map((caller) => [caller.headroom?.own, caller.balance?.availableCreditMicros])).toEqual([
    [undefined, undefined],
    [40_000_000, undefined],
    [undefined, account],
    [40_000_000, undefined],
    [undefined, account],
  ]);
});

test("the balance of a look-up: equals the result of `findCreditBalance` for the caller's environment", async () => {
  const tenantId = await seedTenant(database.db, { live: 2 ** 53 - 1 });
  const live = await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] });
  const inTest = await seedKey(database.db, tenantId, { scopes: ["*"] }, live.record);
  await open(await callerOf(live.secret.keyId), {});
  await database.db.client`
    update credit_accounts set low_threshold = 2, forfeited = 7, settled = 5 where tenant_id = ${tenantId}`;
  for (const { secret, record } of [live, inTest]) {
    const { balance } = await callerOf(secret.keyId, "balance");
    expect(balance?.reservedCreditMicros).toBe(record.environment === "live" ? 10_000_000 : 0);
    expect(balance).toEqual(await findCreditBalance(database.db, tenantId, record.environment));
  }
  // A look-up may also have a row for the target. Only the caller's row has a balance.
  const withTarget = await findCredential(database.db, inTest.secret.keyId, live.record.id, undefined, "balance");
  expect(withTarget?.caller.balance?.environment).toBe("test");
  await database.db.client`delete from credit_accounts where tenant_id = ${tenantId}`;
  expect((await callerOf(live.secret.keyId, "balance")).balance).toBeNull();
});
