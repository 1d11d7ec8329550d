/** Waiting changes of keys and people are announced, and delay look-ups. */
import { describe, expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import type { TestDb } from "@realtime-avatar/testing/database";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { sql } from "drizzle-orm";
import { prepared } from "../query/statement.ts";
import { apiKeys } from "../schema/api-keys.ts";
import { userSessions } from "../schema/people.ts";
import {
  announceWhileWaiting,
  delayWhilePending,
  HAS_PENDING_CHANGE,
  HAS_PENDING_CHANGE_OF_PERSON,
  sweepPendingChanges,
} from "./pending-changes.ts";

const { db } = await serviceDatabase();
const tenantId = await seedTenant(db);

const insertRow = ({ id }: ApiKeyRecord, ago: string) => db.client`
  insert into pending_changes values (${tenantId}, ${id}, now() - ${ago}::interval)
  on conflict (tenant_id, subject_id) do update set announced_at = excluded.announced_at`;
/** Waits until the announcement of a change has been withdrawn. The change itself does not wait for it. */
const untilWithdrawn = async (record: ApiKeyRecord): Promise<void> => {
  await until(async () => (await rowsOf(record)).length === 0, { pollMs: 5 });
};
const rowsOf = ({ id }: ApiKeyRecord) => db.client`select from pending_changes where subject_id = ${id}`;

test("a pending change, of a key: counts for it and its descendants for one second", async () => {
  const { record: parent } = await seedKey(db, tenantId);
  const { record: child } = await seedKey(db, tenantId, {}, parent);
  const { record: grandchild } = await seedKey(db, tenantId, {}, child);
  const select = prepared<{ isPending: boolean }>(
    "test",
    sql`select ${HAS_PENDING_CHANGE} as "isPending" from ${apiKeys} where ${apiKeys.id} = ${sql.placeholder("id")}`,
  );
  const pending = () =>
    Promise.all([parent, child, grandchild].map(async ({ id }) => (await select(db, { id }))[0]?.isPending));
  expect(await pending()).toEqual([false, false, false]);
  await insertRow(child, "0 seconds");
  expect(await pending()).toEqual([false, true, true]);
  // The row of a process that ended before it could withdraw the announcement.
  await insertRow(child, "1.1 seconds");
  expect(await pending()).toEqual([false, false, false]);
});

test("a pending change, of people: counts for the session, its user and the tenant's people", async () => {
  const of = (name: string) => ({
    user: `usr_${name.padStart(26, "0")}`,
    session: `uss_${name.padStart(26, "0")}`,
  });
  const [ada, bob] = [of("a"), of("b")];
  for (const { user, session } of [ada, bob]) {
    await db.client`insert into users values (${tenantId}, ${user}, ${user}, 'x', 'owner', 1, now())`;
    await db.client`
      insert into user_sessions values
        (${tenantId}, ${session}, ${user}, 'psk_', ${Buffer.alloc(32)}, null, 1, now(), now(), now())`;
  }
  const select = prepared<{ isPending: boolean }>(
    "test_of_person",
    sql`select ${HAS_PENDING_CHANGE_OF_PERSON} as "isPending" from ${userSessions} order by ${userSessions.id}`,
  );
  const pending = async () => (await select(db, {})).map(({ isPending }) => isPending);
  const cases: [string, boolean[]][] = [
    [ada.session, [true, false]],
    [bob.user, [false, true]],
    [tenantId, [true, true]],
  ];
  for (const [id, expected] of cases) {
    expect(await pending()).toEqual([false, false]);
    await db.client`insert into pending_changes values (${tenantId}, ${id}, now())`;
    expect(await pending()).toEqual(expected);
    await db.client`update pending_changes set announced_at = now() - interval '1.1 seconds'`;
    expect(await pending()).toEqual([false, false]);
    await db.client`delete from pending_changes`;
  }
});

describe("delayWhilePending", () => {
  test("a look-up, while a change is pending: repeated until no change is pending", async () => {
    let lookUps = 0;
    expect(
      await delayWhilePending(
        async () => ++lookUps,
        (found) => found < 4,
      ),
    ).toBe(4);
    expect(lookUps).toBe(4);
  });

  test("a look-up, while a change is always pending: gives up after a bounded number of repetitions", async () => {
    let lookUps = 0;
    expect(
      await delayWhilePending(
        async () => ++lookUps,
        () => true,
      ),
    ).toBe(51);
  });
});

describe("announceWhileWaiting", () => {
  test("a change that waits: announced, and withdrawn at its end", async () => {
    const { record } = await seedKey(db, tenantId);
    const change = async (): Promise<string> => {
      await until(async () => (await rowsOf(record)).length > 0, { pollMs: 5 });
      return "done";
    };
    expect(await announceWhileWaiting(db, record, change)).toBe("done");
    await untilWithdrawn(record);
  });

  test("a change that fails while it is announced: withdrawn, its error is thrown", async () => {
    const { record } = await seedKey(db, tenantId);
    const change = async (): Promise<never> => {
      await until(async () => (await rowsOf(record)).length > 0, { pollMs: 5 });
      throw new Error("the change failed");
    };
    await expect(announceWhileWaiting(db, record, change)).rejects.toThrow("the change failed");
    await untilWithdrawn(record);
  });

  test("a change that does not wait: not announced", async () => {
    const { record } = await seedKey(db, tenantId);
    let statements = 0;
    const counting = {
      ...db,
      run: () => {
        statements++;
        return Promise.resolve([]);
      },
    };
    await announceWhileWaiting(counting, record, async () => {});
    expect(statements).toBe(0);
  });

  test("a change with a withdrawal that never returns: completed", async () => {
    const { record } = await seedKey(db, tenantId);
    const sent: string[] = [];
    const stuck: TestDb = {
      ...db,
      run: (_text, _parameters, name = "") => {
        sent.push(name);
        return name.startsWith("withdraw") ? new Promise(() => {}) : Promise.resolve([]);
      },
      within: () => stuck,
    };
    const change = async (): Promise<string> => {
      await until(() => sent.length > 0, { pollMs: 5 });
      return "done";
    };
    expect(await announceWhileWaiting(stuck, record, change)).toBe("done");
    await until(() => sent.at(-1) === "withdraw_pending_change", { pollMs: 5 });
  });

  test("a change with a slow announcement: announced once, then withdrawn", async () => {
    const { record } = await seedKey(db, tenantId);
    const sent: string[] = [];
    const announcement = Promise.withResolvers<never[]>();
    const slow: TestDb = {
      ...db,
      run: (_text, _parameters, name = "") => {
        sent.push(name);
        return name.startsWith("announce") ? announcement.promise : Promise.resolve([]);
      },
      within: () => slow,
    };
    await announceWhileWaiting(slow, record, async () => {
      await until(() => sent.length > 0, { pollMs: 5 });
      // Longer than the pause before the next announcement.
      await Bun.sleep(500);
    });
    expect(sent).toEqual(["announce_pending_change"]);
    announcement.resolve([]);
    await until(() => sent.length !== 1, { pollMs: 5 });
    expect(sent).toEqual(["announce_pending_change", "withdraw_pending_change"]);
  });

  test("a change with failing announcements: completed", async () => {
    const { record } = await seedKey(db, tenantId);
    let failures = 0;
    const failing = {
      ...db,
      run: () => {
        failures++;
        return Promise.reject(new Error("no connection"));
      },
    };
    const change = async (): Promise<string> => {
      await until(() => failures > 0, { pollMs: 5 });
      return "done";
    };
    expect(await announceWhileWaiting(failing, record, change)).toBe("done");
  });
});

test("sweepPendingChanges, with rows of several ages: deletes those of a minute or more", async () => {
  const { record: old } = await seedKey(db, tenantId);
  const { record: recent } = await seedKey(db, tenantId);
  await insertRow(old, "61 seconds");
  await insertRow(recent, "50 seconds");
  expect(await sweepPendingChanges(db)).toBe(1);
  expect([(await rowsOf(old)).length, (await rowsOf(recent)).length]).toEqual([0, 1]);
});
