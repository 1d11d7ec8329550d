/** Compares the responses to the lanes of `credits.ts` with the tables, and runs the queries of the invariants. */
import { findCreditDrift, listKeysAboveCap } from "@realtime-avatar/db/credits/invariants";
import { session as connection, type TestDb } from "@realtime-avatar/testing/database";
import type { CreditLoad, TriedSession } from "./credits.ts";

type SessionRow = {
  name: string;
  id: string;
  apiKeyId: string;
  status: string;
  reserved: number;
  used: number;
  expiresAt: Date;
  endedAt: Date | null;
  /** The kinds of its entries, sorted. */
  entries: string;
};

const readSessions = async ({ client }: TestDb, tenantId: string): Promise<SessionRow[]> => client<SessionRow[]>`
  select metadata->>'user_id' as name, id, api_key_id as "apiKeyId", status, reserved::float8 as reserved,
    used::float8 as used, expires_at as "expiresAt", ended_at as "endedAt", (
      select string_agg(kind, ' ' order by kind) from credit_entries entry
      where entry.tenant_id = session.tenant_id and entry.session_id = session.id
    ) as entries
  from usage_sessions session where tenant_id = ${tenantId}`;

/**
 * Finds openings whose claim does not belong to the session of their Idempotency-Key, and sessions with a key but
 * without a claim.
 */
const findWrongClaims = async ({ client }: TestDb, tenantId: string, retried: readonly string[]): Promise<string[]> => {
  const rows = await client<{ name: string }[]>`
    with claimed as (
      select claim.idempotency_key, session.metadata->>'user_id' as name
      from idempotency_claims claim
      left join credit_entries entry
        on entry.tenant_id = claim.tenant_id and entry.id = claim.attempt_id and entry.kind = 'hold'
      left join usage_sessions session
        on session.tenant_id = entry.tenant_id and session.id = entry.session_id and session.api_key_id = claim.caller_id
      where claim.tenant_id = ${tenantId} and claim.request = 'POST /api/v1/usage/sessions'
    )
    select idempotency_key as name from claimed where name is distinct from idempotency_key
    union all
    select name from unnest(${retried as string[]}::text[]) name
    where name not in (select idempotency_key from claimed)`;
  return rows.map(({ name }) => `${name} and its claim do not belong together`);
};

/** The violations of a session's row, according to its responses. */
const violationsOf = (session: TriedSession, row: SessionRow): string[] => {
  const isExpired = row.entries.includes("expire");
  const { name, reported, reportable, released, isReleaseDeclined } = session;
  const right: Record<string, boolean> = {
    "belongs to another key": row.apiKeyId === session.apiKeyId,
    "holds another amount": session.id === null || row.reserved === session.reserved,
    "is charged more than it holds": row.used <= row.reserved,
    "has the wrong entries": (row.endedAt === null ? ["hold"] : ["expire hold settle", "hold release settle"]).includes(
      row.entries,
    ),
  };
  if (isExpired) right["was closed before the end of its lease"] = Number(row.endedAt) >= Number(row.expiresAt);
  if (released) {
    right["has another end than in its response"] =
      row.status === released.status &&
      row.used === released.billedCreditMicros &&
      row.endedAt?.toISOString() === released.endedAt;
  } else {
    right["has another usage than reported"] = row.used >= reported && row.used <= reportable;
    right["was closed without a release or an expired lease"] = row.endedAt === null || isExpired;
    right["is open, although its release was declined"] = row.endedAt !== null || !isReleaseDeclined;
  }
  return Object.entries(right)
    .filter(([, isRight]) => !isRight)
    .map(([violation]) => `${name} ${violation}: ${JSON.stringify({ session, row })}`);
};

/**
 * Compares the responses with the rows. `opened`: sessions with a 201. `lost`: opened sessions without a row.
 * `duplicated`: requests that have opened several sessions. `expired`: sessions that were closed by the end of their
 * lease.
 */
export const checkCredits = async (databaseUrl: string, { credits, sessions }: CreditLoad) => {
  const { tenantId } = credits;
  const db = connection(databaseUrl);
  const violations = (await findCreditDrift(db, tenantId, 10)).map((drift) => `adrift: ${JSON.stringify(drift)}`);
  for (const key of await listKeysAboveCap(db, tenantId)) violations.push(`above its cap: ${JSON.stringify(key)}`);
  const opened = sessions.filter(({ known }) => known === "acknowledged");
  const retried = opened.filter(({ isRetried }) => isRetried).map(({ name }) => name);
  violations.push(...(await findWrongClaims(db, tenantId, retried)));
  const rows = Map.groupBy(await readSessions(db, tenantId), ({ name }) => name);
  await db.close();
  const counts = { opened: opened.length, expired: 0, lost: 0, duplicated: 0 };
  for (const session of sessions) {
    const { name, known, id, wasUnknown, isRetried, isLate } = session;
    const found = rows.get(name) ?? [];
    rows.delete(name);
    if (found.length > 1) counts.duplicated++;
    if (known === "acknowledged" && !found.some((row) => row.id === id)) counts.lost++;
    const mustBeAbsent = isLate || ((known === "refused" || known === "declined") && !wasUnknown);
    if (mustBeAbsent && found.length > 0) violations.push(`${name} was ${known}, and has a row`);
    if (isRetried && known !== "acknowledged" && known !== "declined") violations.push(`${name} was never answered`);
    for (const row of found) violations.push(...violationsOf(session, row));
    counts.expired += found.filter(({ entries }) => entries.includes("expire")).length;
  }
  for (const name of rows.keys()) violations.push(`${name} has a row, and was never sent`);
  return { ...counts, violations };
};
