/**
 * The lists with names, for a tenant with 1,000,000 audit events, 100,000 keys and 100,000 sessions (only LONG=1 uses
 * all of them).
 */
import { describe, expect, test } from "bun:test";
import { firstIdAt, newId } from "@realtime-avatar/domain/id";
import { parseItems, type WrittenPage } from "@realtime-avatar/domain/page";
import { session } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedCaller } from "@realtime-avatar/testing/seeds";
import { listApiKeys } from "../api-keys/list.ts";
import type { Db } from "../connection/pool.ts";
import { listCreditEntries } from "../credits/credits.ts";
import { listUsageSessions } from "../credits/list-usage-sessions.ts";
import { listAuditEvents } from "./audit-events.ts";

const isLong = process.env["LONG"] === "1";
const DAYS = 100;
const EVENTS_OF_DAY = isLong ? 10_000 : 200;
const SESSIONS_OF_DAY = isLong ? 1000 : 20;
const KEYS = isLong ? 100_000 : 1000;

const database = await fileDatabase();
const db = await fixture(session(database.url));
const caller = await seedCaller(database.db);
const { tenantId } = caller;
const person = newId("usr", new Date(), random);
const dayStart = (day: number): Date => new Date(Date.UTC(2026, 0, 1 + day));
/** An id of row `i` of that day. */
const idOf = (prefix: "aud" | "ses" | "ent", day: number): string =>
  `'${firstIdAt(prefix, dayStart(day)).slice(0, 14)}' || lpad(i::text, 16, '0')`;
const keyId = `'key_01h455vb4p' || lpad((i + 1)::text, 16, '0')`;

/** One key writes nearly all events. A person writes one in a hundred, and creates the keys. */
const seed = async (): Promise<void> => {
  const { client } = database.db;
  await client.unsafe(`
    insert into users values ('${tenantId}', '${person}', 'ada@example.com', 'Ada', 'owner', 1, now());
    insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      select '${tenantId}', ${keyId}, lpad(i::text, 16, '0'), 'live', 'Key ' || i, '{*}', '{}', 1, now() from generate_series(0, ${KEYS - 1}) i`);
  for (let day = 0; day < DAYS; day++) {
    await client.unsafe(`
      insert into audit_events (tenant_id, id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at)
        select '${tenantId}', ${idOf("aud", day)}, 'live', case when i % 100 = 0 then '${person}' else '${caller.id}' end,
          case when i % 100 > 0 then '${caller.keyId}' end, case when i % 10 = 0 then 'api_key.created' else 'avatar.created' end,
          case when i % 10 = 0 then 'key_01h455vb4p' || lpad((1 + ${day} * ${EVENTS_OF_DAY / 10} + i / 10)::text, 16, '0') else 'ava_' || i end,
          'r', '${dayStart(day).toISOString()}' from generate_series(0, ${EVENTS_OF_DAY - 1}) i;
      insert into usage_sessions (
        tenant_id, id, environment, api_key_id, lineage, status, reserved, price, metadata, created_at, ended_at, expires_at,
        reported_by, closed_by
      )
        select '${tenantId}', ${idOf("ses", day)}, 'live', ${keyId}, '{}', 'released', 1, 1, '{}', '${dayStart(day).toISOString()}', now(),
          now(), ${keyId}, ${keyId} from generate_series(0, ${SESSIONS_OF_DAY - 1}) i;
      insert into credit_entries (tenant_id, id, environment, kind, amount, api_key_id, request_id, created_at)
        select '${tenantId}', ${idOf("ent", day)}, 'live', 'hold', 1, ${keyId}, 'r', now() from generate_series(0, ${SESSIONS_OF_DAY - 1}) i`);
  }
  await client.unsafe("analyze");
};

/** Runs a statement after it has counted the blocks that it reads. */
let blocks = 0;
const counting: Db = {
  ...db,
  run: async (text, parameters) => {
    const [row] = await db.run<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) ${text}`,
      parameters,
    );
    const plan = row?.["QUERY PLAN"][0].Plan ?? {};
    blocks += (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
    return db.run(text, parameters);
  },
  batch: async (kind, input) => (await kind.run(counting, [input]))[0] as never,
};

const page = { filters: {}, before: null, limit: 100 } as const;
const window = { from: dayStart(30).toISOString(), to: dayStart(31).toISOString() };
const events = (filters: object) => (read: Db) => listAuditEvents(read, caller, { ...page, filters });
type Case = [string, (read: Db) => Promise<WrittenPage>, rows: number];
const CASES: Case[] = [
  ["events", events({}), 100],
  ["events of a busy key", events({ actorId: caller.id }), 100],
  ["events of a person", events({ actorId: person }), 100],
  ["events without an actor", events({ actorId: "usr_x" }), 0],
  ["events of a day", events(window), 100],
  ["events of a person on a day", events({ ...window, actorId: person }), Math.min(100, EVENTS_OF_DAY / 100)],
  [
    "events of a busy key with an action that it never did",
    events({ actorId: caller.id, action: "avatar.deleted" }),
    0,
  ],
  [
    "events of a day with an action",
    events({ ...window, action: "api_key.created" }),
    Math.min(100, EVENTS_OF_DAY / 10),
  ],
  ["keys with their creators", (read) => listApiKeys(read, tenantId, ["live", "test"], page), 100],
  [
    "sessions",
    (read) =>
      listUsageSessions(read, caller, {
        ...page,
        filters: { from: dayStart(10).toISOString(), to: dayStart(99).toISOString() },
      }),
    100,
  ],
  ["entries", (read) => listCreditEntries(read, caller, page), 100],
];

await seed();

describe("a page of a large list", () => {
  test.each(CASES)("%s, with names: reads a bounded number of blocks", async (name, read, rows) => {
    blocks = 0;
    expect(parseItems(await read(counting))).toHaveLength(rows);
    // 100 rows with three names each read about 3,000 blocks of the cache. So do 5,000 rows that a filter omits.
    expect([name, blocks < 6000]).toEqual([name, true]);
  });
});
