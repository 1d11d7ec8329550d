/** The tenants, keys and sessions that the benchmark of credits loads. */

import { auditEvent } from "@realtime-avatar/db/audit/audit-events";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { changeSessionLimit } from "@realtime-avatar/db/credits/credits";
import type { SessionId } from "@realtime-avatar/domain/id";
import { PRICE, seedCaller } from "@realtime-avatar/testing/credits";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { type Database, seedAvatars } from "../database.ts";
import { insertRows } from "../routes/rows.ts";

export { PRICE };

/** More credit micros than a run can hold, and less than 2^53. */
export const MUCH = 4_000_000_000_000_000;
/** Tenants of a load of many tenants. */
export const TENANTS = 64;
/**
 * Sessions that are open for reports, and avatars that are changed. Their number is so large that requests rarely wait
 * for a row.
 */
export const ROWS = 8192;
/** Sessions to list and to sum up. */
const LISTED = 1000;
/** Longer than a run: no session becomes overdue. */
export const LEASE_SECONDS = 86_400;

/** A tenant's key, as a caller and with its secret. */
export type Line = { caller: Caller; apiKey: string };

/** A live key of a new tenant with much credit. It has `depth` ancestors. The key and each ancestor have a cap. */
export const seedLine = async (db: Db, depth: number, cap = MUCH): Promise<Line> => {
  const tenantId = await seedTenant(db, { live: MUCH });
  // A run opens more sessions at once than a tenant may have by default.
  const target = { tenantId, id: tenantId, environment: "live" as const };
  const event = auditEvent("credits.limit_changed", target, operatorOrigin(), ["maxConcurrentSessions"]);
  await changeSessionLimit(db, { ...target, sessionLimit: MUCH }, event);
  const request = { spendLimitCreditMicros: cap };
  let line = await seedCaller(db, tenantId, request);
  for (let level = 0; level < depth; level++) line = await seedCaller(db, tenantId, request, line.record);
  return line;
};

/** The amount that each of these sessions holds. */
const HELD = 10 * PRICE;

/**
 * Opens `count` sessions of ten seconds, of `lines` in turn, which have no ancestors, and returns their ids in this
 * order. Writes directly to the tables, without entries, because the function would take minutes.
 */
export const openSessions = async (db: Db, lines: readonly Line[], count: number): Promise<SessionId[]> => {
  const callers = lines.map(({ caller }) => caller);
  const parameters = [callers.map(({ tenantId }) => tenantId), callers.map(({ id }) => id)];
  const [tenantId, keyId] = [1, 2].map(
    (list) => `((array['${parameters[list - 1]?.join("', '")}'])[(i - 1) % ${lines.length} + 1])`,
  );
  const expiresAt = `now() + interval '${LEASE_SECONDS} seconds'`;
  const columns =
    "tenant_id, environment, api_key_id, lineage, status, reserved, price, metadata, is_counted, created_at, expires_at, sweep_at";
  const values = `${tenantId}, 'live', ${keyId}, array[${keyId}], 'reserved', ${HELD}, ${PRICE}, '{}', true, now(), ${expiresAt}, ${expiresAt}`;
  const ids = await insertRows(db, ["usage_sessions", "ses", columns, values], count);
  const counted = `reserved = counter.reserved + opened * ${HELD}, open_sessions = counter.open_sessions + opened
    from (
      select tenant, key, (${count} + $3 - at) / $3 as opened from unnest($1::text[], $2::text[]) with ordinality line (tenant, key, at)
    ) line where counter.tenant_id = tenant`;
  const counters = [...parameters, lines.length];
  await db.run(`update credit_accounts counter set ${counted} and environment = 'live'`, counters);
  await db.run(`update api_key_meters counter set ${counted} and api_key_id = key`, counters);
  return ids as SessionId[];
};

export type World = {
  /** Accepts any number of statements at once. */
  db: Db;
  /** Tenants with one key each. The key of `deep` has eight ancestors; the cap of `capped` is 0. */
  flat: Line;
  deep: Line;
  capped: Line;
  /** For the server of bench/first, which ignores meters. */
  first: Line;
  many: readonly Line[];
  /** A tenant with sessions to list, and with as many avatars as `ROWS`. */
  reader: Line;
  /** Open sessions: of `reader`, and of `first`. */
  sessions: readonly SessionId[];
  firstSessions: readonly SessionId[];
  close(): Promise<void>;
};

export const seedWorld = async (database: Database): Promise<World> => {
  const db = connect(database.url, { deadlineMs: 3_600_000, connections: 4, waiting: 1_000_000 });
  const [flat, deep, first, reader] = [
    await seedLine(db, 0),
    await seedLine(db, 8),
    await seedLine(db, 0),
    await seedLine(db, 0),
  ];
  const world = {
    db,
    flat,
    deep,
    first,
    reader,
    capped: await seedLine(db, 0, 0),
    many: await Promise.all(Array.from({ length: TENANTS }, () => seedLine(db, 0))),
    sessions: await openSessions(db, [reader], ROWS),
    firstSessions: await openSessions(db, [first], ROWS),
  };
  await openSessions(db, [flat], LISTED);
  await seedAvatars({ ...database, tenantId: reader.caller.tenantId }, 1, ROWS);
  return { ...world, close: () => db.close() };
};
