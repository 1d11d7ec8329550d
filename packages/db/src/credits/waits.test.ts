/** Operations on credits that wait for another one: the committed result of the other one decides. */
import { describe, expect, test } from "bun:test";
import type { SessionId } from "@realtime-avatar/domain/id";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { CreditWorld, type NewKey, type SessionToOpen } from "@realtime-avatar/testing/credits/world";
import { session, type TestDb } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { whileExpiring, whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { releaseSession, reportUsage, sweepSessions } from "./usage-sessions.ts";

const database = await fileDatabase();
await mutate(database.db);
const holder = await fixture(session(database.url));

const root: NewKey = { parent: null, environment: "live", cap: null, isMetered: true };
/** A tenant with 100 credit micros. */
const worldOf = async (...keys: Partial<NewKey>[]): Promise<CreditWorld> => {
  const world = await CreditWorld.create(
    database.db,
    keys.map((key) => ({ ...root, ...key })),
  );
  await world.move("grant", { environment: "live", amount: 100, sessionId: null, reference: null });
  return world;
};
const toOpen = (changes: Partial<SessionToOpen> = {}): SessionToOpen => ({
  ...{ key: 0, isOld: false, avatar: null, maxSeconds: 60, minSeconds: 60, price: 1, claim: null },
  ...changes,
});

const whileWaiting = <Result>(
  before: (client: TestDb["client"]) => Promise<unknown>,
  work: () => Promise<Result>,
  during?: () => Promise<unknown>,
): Promise<Result> => whileHeld(database, ({ client }) => before(client), work, during);
/**
 * Like `whileWaiting`, but the callers of the tenant expire meanwhile. `column`: the column with the time of their end.
 */
const whileCallersExpire = <Result>(
  tenantId: string,
  before: (client: TestDb["client"]) => Promise<unknown>,
  work: () => Promise<Result>,
  column = "api_keys set expires_at",
): Promise<Result> =>
  whileExpiring(
    database,
    (at) => database.db.client.unsafe(`update ${column} = ${at} where tenant_id = '${tenantId}'`),
    ({ client }) => before(client),
    work,
  );
const kindOf = async (world: CreditWorld, changes: Partial<SessionToOpen> = {}, wait = false) =>
  (await world.open([toOpen(changes)], wait))[0]?.stored;

describe("an open that waits", () => {
  test("an open, an ancestor's cap is lowered during the wait: refused by that cap", async () => {
    const world = await worldOf({ cap: 90 }, { parent: 0 });
    const { id } = world.caller(0);
    const outcome = await whileWaiting(
      (client) => client`update api_keys set spend_limit_credit_micros = 59, version = version + 1 where id = ${id}`,
      () => kindOf(world, { key: 1 }, true),
    );
    expect(outcome).toEqual({ kind: "spend_limit_exceeded", limitedBy: "ancestor" });
  });

  test("an open, the credits under the key's cap are held during the wait: refused by the cap", async () => {
    const world = await worldOf({ cap: 100 });
    const { id, tenantId } = world.caller(0);
    const outcome = await whileWaiting(
      (client) => client`
        update api_key_meters set reserved = reserved + 41 where tenant_id = ${tenantId} and api_key_id = ${id}`,
      () => kindOf(world),
    );
    expect(outcome).toEqual({ kind: "spend_limit_exceeded", limitedBy: "self" });
  });

  test("an open, the balance is held during the wait: insufficient credits", async () => {
    const world = await worldOf({});
    const outcome = await whileWaiting(
      (client) => client`
        update credit_accounts set reserved = reserved + 41 where tenant_id = ${world.tenantId} and environment = 'live'`,
      () => kindOf(world),
    );
    expect(outcome).toEqual({ kind: "insufficient_credits" });
  });

  test("an open, a part of the balance is held during the wait: its hold is added", async () => {
    const world = await worldOf({ cap: 100 });
    const { id, tenantId } = world.caller(0);
    const outcome = await whileWaiting(
      async (client) => {
        await client`
          update api_key_meters set reserved = reserved + 7 where tenant_id = ${tenantId} and api_key_id = ${id}`;
        await client`
          update credit_accounts set reserved = reserved + 7 where tenant_id = ${tenantId} and environment = 'live'`;
      },
      () => kindOf(world),
    );
    expect(outcome).toEqual({ kind: "written", reserved: 60 });
    const [held] = await database.db.client`
      select meter.reserved::integer as meter, account.reserved::integer as account
      from api_key_meters meter join credit_accounts account using (tenant_id)
      where tenant_id = ${tenantId} and environment = 'live'`;
    expect({ ...held }).toEqual({ meter: 67, account: 67 });
  });

  test.each([
    ["a deleted avatar", "deleted", { kind: "avatar_not_found" }],
    ["an avatar that is not ready", "failed", { kind: "avatar_not_ready" }],
  ])("an open that waits for the account: finds %s", async (_, status, outcome) => {
    const world = await worldOf({});
    const changed = await whileWaiting(
      async (client) => {
        await client`update credit_accounts set version = version + 1 where tenant_id = ${world.tenantId}`;
      },
      () => kindOf(world, { avatar: "ready" }),
      () =>
        database.db
          .client`update avatars set status = ${status} where tenant_id = ${world.tenantId} and status = 'ready'`,
    );
    expect(changed).toEqual(outcome as never);
  });

  test.each(["api_keys set expires_at", "api_key_credentials set retired_at"])(
    "an open whose caller ends during the wait: stale: %s",
    async (change) => {
      const world = await worldOf({});
      const { tenantId } = world;
      const outcome = await whileCallersExpire(
        tenantId,
        (client) => client`update credit_accounts set version = version + 1 where tenant_id = ${tenantId}`,
        () => kindOf(world),
        change,
      );
      expect(outcome).toEqual({ kind: "stale" });
    },
  );

  test("a batch of opens, the caller of one tenant ends while the account of another is awaited: stale", async () => {
    const [one, two] = [await worldOf({}), await worldOf({})];
    const [first, last] = [one, two].toSorted((a, b) => (a.tenantId < b.tenantId ? -1 : 1)) as [
      CreditWorld,
      CreditWorld,
    ];
    const outcomes = await whileCallersExpire(
      first.tenantId,
      (client) => client`update credit_accounts set version = version + 1 where tenant_id = ${last.tenantId}`,
      () =>
        CreditWorld.openTogether(
          database.db,
          [first, last].map((world) => ({ world, toOpen: toOpen() })),
        ),
    );
    expect(outcomes).toEqual(["stale", "written"]);
    expect((await first.counters()).stored).toEqual((await first.counters()).expected);
  });

  test("an open, the same claim is committed during the wait: replayed, although no credits are left", async () => {
    const world = await worldOf({ cap: 60 });
    const { tenantId } = world;
    const [first, second] = [world.open([toOpen({ claim: "a" })]), world.open([toOpen({ claim: "a" })])];
    const outcomes = [...(await first), ...(await second)].map(({ stored }) => stored);
    expect(outcomes.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toEqual([
      { kind: "replayed", reserved: 60 },
      { kind: "written", reserved: 60 },
    ]);
    const [row] = await database.db.client`
      select count(*)::integer as sessions from usage_sessions where tenant_id = ${tenantId}`;
    expect(row?.["sessions"]).toBe(1);
  });

  test("an open, the meter is created during the wait: uses the meter", async () => {
    const world = await worldOf({ cap: 100, isMetered: false });
    const { id, tenantId } = world.caller(0);
    const outcome = await whileWaiting(
      (client) => client`insert into api_key_meters (tenant_id, api_key_id, reserved) values (${tenantId}, ${id}, 41)`,
      () => kindOf(world),
    );
    expect(outcome).toEqual({ kind: "spend_limit_exceeded", limitedBy: "self" });
  });
});

/** The rows of `all` that are locked now. `name`: an SQL expression for the name of a row. */
const lockedOf = async (all: readonly string[], table: string, name: string, tenantIds: readonly string[]) => {
  const free = await database.db.client.unsafe(
    `select ${name} as name from ${table} where tenant_id = any($1) and ${name} = any($2) for update skip locked`,
    [tenantIds as string[], all as string[]],
  );
  return all.filter((one) => !free.some(({ name }) => name === one));
};

describe("the order of locks", () => {
  const ROUNDS = 3;
  const open = (world: CreditWorld) => () => kindOf(world, { key: 2, maxSeconds: 1, minSeconds: 1 });
  const release = (world: CreditWorld) => async () => {
    const outcome = await releaseSession(
      database.db,
      world.session(0),
      { isEngine: true, used: 0, reason: null },
      world.caller(0),
      operatorOrigin(),
    );
    return outcome.kind;
  };
  const sweep = (world: CreditWorld) => () => sweepSessions(database.db, world.tenantId, operatorOrigin());

  test.each<[string, (world: CreditWorld) => () => Promise<unknown>]>([
    ["opening a session", open],
    ["a release", release],
    ["a sweep", sweep],
  ])("the locks of %s: meters by primary key, then the account", async (name, work) => {
    for (let round = 0; round < ROUNDS; round++) {
      const world = await worldOf({}, { parent: 0 }, { parent: 1 });
      const { tenantId } = world;
      const keys = world.records.map(({ id }) => id).toSorted();
      const meters = () => lockedOf(keys, "api_key_meters", "api_key_id", [tenantId]);
      const accounts = () => lockedOf(["live"], "credit_accounts", "environment", [tenantId]);
      /** The locked rows while `work` waits for the row that `hold` locks. */
      const waitFor = async (hold: (client: TestDb["client"]) => Promise<unknown>): Promise<string[]> => {
        await open(world)();
        if (name === "a sweep") await world.expire(world.session(0));
        let locked: string[] = [];
        await whileWaiting(hold, work(world), async () => {
          locked = [...(await meters()), ...(await accounts())];
        });
        world.sessions.length = 0;
        return locked;
      };
      expect(
        await waitFor((client) => client`select from credit_accounts where tenant_id = ${tenantId} for update`),
      ).toEqual([...keys, "live"]);
      for (const [at, key] of keys.entries()) {
        const held = (client: TestDb["client"]) =>
          client`select from api_key_meters where tenant_id = ${tenantId} and api_key_id = ${key} for update`;
        expect(await waitFor(held)).toEqual(keys.slice(0, at + 1));
      }
    }
  });

  test("the locks of a batch: all meters, then the accounts by primary key", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const worlds = [await worldOf({}), await worldOf({})].toSorted((a, b) => (a.tenantId < b.tenantId ? -1 : 1));
      const tenants = worlds.map(({ tenantId }) => tenantId);
      const accounts = tenants.map((tenantId) => `${tenantId} live`);
      const keys = worlds.map(({ records }) => records[0]?.id ?? "");
      for (const [at, tenantId] of tenants.entries()) {
        let locked: string[] = [];
        await whileWaiting(
          (client) => client`select from credit_accounts where tenant_id = ${tenantId} for update`,
          () =>
            CreditWorld.openTogether(
              database.db,
              worlds.toReversed().map((world) => ({ world, toOpen: toOpen({ maxSeconds: 1, minSeconds: 1 }) })),
            ),
          async () => {
            locked = [
              ...(await lockedOf(keys, "api_key_meters", "api_key_id", tenants)),
              ...(await lockedOf(accounts, "credit_accounts", "tenant_id || ' ' || environment", tenants)),
            ];
          },
        );
        expect(locked).toEqual([...keys, ...accounts.slice(0, at + 1)]);
      }
    }
  });
});

describe("the end of a session", () => {
  const opened = async (world: CreditWorld) => {
    await world.open([toOpen()]);
    return world.session(0);
  };

  test("an end by concurrent releases and sweeps: written once", async () => {
    const world = await worldOf({}, { parent: 0 });
    for (let round = 0; round < 10; round++) {
      const id = await opened(world);
      const release = () =>
        releaseSession(database.db, id, { isEngine: true, used: 0, reason: null }, world.caller(0), operatorOrigin());
      const outcomes = await Promise.all([
        release(),
        release(),
        sweepSessions(database.db, null, operatorOrigin()),
        release(),
      ]);
      expect(outcomes.map((outcome) => (typeof outcome === "number" ? "swept" : outcome.kind))).toEqual([
        "written",
        "written",
        "swept",
        "written",
      ]);
      world.sessions.length = 0;
      const [row] = await database.db.client`
        select count(*)::integer as entries from credit_entries where session_id = ${id}`;
      expect(row?.["entries"]).toBe(3);
    }
    const [account] = await database.db.client`
      select reserved::integer, settled::integer from credit_accounts
      where tenant_id = ${world.tenantId} and environment = 'live'`;
    expect({ ...account }).toEqual({ reserved: 0, settled: 0 });
  });

  test("an end that is written while a report waits: the report finds the session closed", async () => {
    const world = await worldOf({});
    const id = await opened(world);
    const outcome = await whileWaiting(
      (client) => client`update usage_sessions set status = 'released', ended_at = now() where id = ${id}`,
      () => reportUsage(database.db, id, { used: 1, leaseSeconds: 60 }, world.caller(0)),
    );
    expect(outcome).toMatchObject({ kind: "session_closed", session: { status: "released", usedCreditMicros: 0 } });
  });

  test("an end by a sweep, while a report is written: not written", async () => {
    const world = await worldOf({});
    const id = await opened(world);
    await database.db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;
    await holder.client`begin`;
    await holder.client`update usage_sessions set expires_at = now() + interval '1 minute' where id = ${id}`;
    expect(await sweepSessions(database.db, world.tenantId, operatorOrigin())).toBe(0);
    await holder.client`commit`;
    expect(await sweepSessions(database.db, world.tenantId, operatorOrigin())).toBe(0);
  });

  test("an end whose caller expires during the wait: stale", async () => {
    const world = await worldOf({});
    const id = await opened(world);
    const outcome = await whileCallersExpire(
      world.tenantId,
      (client) => client`update credit_accounts set version = version + 1 where tenant_id = ${world.tenantId}`,
      () =>
        releaseSession(database.db, id, { isEngine: true, used: 0, reason: null }, world.caller(0), operatorOrigin()),
    );
    expect(outcome).toEqual({ kind: "stale" });
  });
});

test("the usage that a release states: counts only with usage:write", async () => {
  const world = await worldOf({});
  for (const [isEngine, reported, charged] of [
    [true, null, 1],
    [true, 5, 5],
    [false, null, 0],
  ] as const) {
    await world.open([toOpen({ maxSeconds: 10, minSeconds: 10 })]);
    const id = world.sessions.at(-1) as SessionId;
    if (reported) await reportUsage(database.db, id, { used: reported, leaseSeconds: 60 }, world.caller(0));
    const release = { isEngine, used: 1, reason: null };
    const outcome = await releaseSession(database.db, id, release, world.caller(0), operatorOrigin());
    expect(outcome).toMatchObject({ kind: "written", hasEnded: true, session: { usedCreditMicros: charged } });
  }
});

test("a started session, released without usage:write: stays open, marked once", async () => {
  const world = await worldOf({});
  await world.open([toOpen({ maxSeconds: 10, minSeconds: 10 })]);
  const id = world.session(0);
  const report = (used: number) => reportUsage(database.db, id, { used, leaseSeconds: 60 }, world.caller(0));
  expect(await report(5)).toMatchObject({ session: { mustEnd: false } });
  const release = (isEngine: boolean) =>
    releaseSession(database.db, id, { isEngine, used: null, reason: "r" }, world.caller(0), operatorOrigin());
  const first = await release(false);
  expect(first).toMatchObject({ hasEnded: false, session: { status: "started", mustEnd: true, version: 3 } });
  expect(await release(false)).toEqual(first);
  expect(await report(6)).toMatchObject({ kind: "written", session: { mustEnd: true, usedCreditMicros: 6 } });
  const { id: keyId } = world.caller(0);
  const ended = { status: "released", usedCreditMicros: 6, reportedBy: keyId, closedBy: keyId };
  expect(await release(true)).toMatchObject({ hasEnded: true, session: ended });
  const [row] = await database.db.client`select reason from usage_sessions where id = ${id}`;
  expect(row?.["reason"]).toBe("r");
});

test("a report that uses up the hold: the call must end", async () => {
  const world = await worldOf({});
  await world.open([toOpen({ maxSeconds: 10, minSeconds: 10, price: 1 })]);
  const report = (used: number) =>
    reportUsage(database.db, world.session(0), { used, leaseSeconds: 60 }, world.caller(0));
  expect(await report(9)).toMatchObject({ session: { mustEnd: false } });
  expect(await report(10)).toMatchObject({ session: { mustEnd: true } });
});

test("amounts near the largest number: no overflow, limits are not exceeded", async () => {
  const world = await worldOf({ cap: 2 ** 53 - 1 });
  const price = 2 ** 53 - 1;
  expect(await kindOf(world, { price, maxSeconds: 1800, minSeconds: 1800 })).toEqual({
    ...{ kind: "spend_limit_exceeded", limitedBy: "self" },
  });
  expect(await kindOf(world, { price, maxSeconds: 1800, minSeconds: 1 })).toEqual({ kind: "insufficient_credits" });
  const movement = { environment: "live", sessionId: null, reference: null } as const;
  expect((await world.move("grant", { ...movement, amount: 2 ** 53 - 101 })).stored).toBe("written");
  expect(await kindOf(world, { price, maxSeconds: 1800, minSeconds: 1 })).toEqual({ kind: "written", reserved: price });
  expect((await world.move("grant", { ...movement, amount: 1 })).stored).toBe("too_large");
});

test("a cap of 0, and a balance of 0: no session opens", async () => {
  const world = await worldOf({ cap: 0 }, { cap: null }, { environment: "test" });
  expect(await kindOf(world, { minSeconds: 1 })).toEqual({ kind: "spend_limit_exceeded", limitedBy: "self" });
  expect(await kindOf(world, { key: 2, minSeconds: 1 })).toEqual({ kind: "insufficient_credits" });
  await database.db.client`delete from credit_accounts where tenant_id = ${world.tenantId} and environment = 'test'`;
  expect(await kindOf(world, { key: 2, minSeconds: 1 })).toEqual({ kind: "insufficient_credits" });
});
