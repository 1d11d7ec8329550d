/** The look-up of callers and the lists of the first version. */
import { createHash } from "node:crypto";
import { Elysia } from "elysia";
import type postgres from "postgres";

type Key = { id: string; tenantId: string; environment: string };
type Person = { userId: string; tenantId: string };

const digestOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

/** The key of the secret in `authorization`, by one SELECT, without lineage or expiry; null when it is unknown. */
const keyOf = async (sql: postgres.Sql, authorization: string | undefined): Promise<Key | null> => {
  const secret = authorization?.slice("Bearer ".length) ?? "";
  const [key] = await sql<Key[]>`
    select api_keys.id, api_keys.tenant_id as "tenantId", environment from api_key_credentials
    join api_keys on api_keys.tenant_id = api_key_credentials.tenant_id and api_keys.id = api_key_id
    where api_key_credentials.key_id = ${secret.split("_")[2] ?? ""} and digest = ${digestOf(secret)}`;
  return key ?? null;
};

/** The person of the session in the cookie, by one SELECT; null without a session. */
const personOf = async (sql: postgres.Sql, cookie: string | undefined): Promise<Person | null> => {
  const [token = "", tenant = "", id = ""] = /rta_session_([^_]+)_([^_]+)_\w+/.exec(cookie ?? "") ?? [];
  const [person] = await sql<Person[]>`
    select user_id as "userId", user_sessions.tenant_id as "tenantId" from user_sessions
    join users on users.tenant_id = user_sessions.tenant_id and users.id = user_id
    where user_sessions.tenant_id = ${`ten_${tenant}`} and user_sessions.id = ${`uss_${id}`}
      and digest = ${digestOf(token)} and expires_at > now()`;
  return person ?? null;
};

/** Routes that get the key of the request; 401 without one. */
export const withKey = (sql: postgres.Sql) =>
  new Elysia({ prefix: "/api/v1" }).resolve(async ({ headers, status }) => {
    const key = await keyOf(sql, headers["authorization"]);
    return key ? { key } : status(401);
  });

/** Routes that get the person of the request; 401 without one. */
export const withPerson = (sql: postgres.Sql) =>
  new Elysia({ prefix: "/api/v1" }).resolve(async ({ headers, status }) => {
    const person = await personOf(sql, headers["cookie"]);
    return person ? { person } : status(401);
  });

/** The newest 50 of a list. No filters, no cursor, no validation of the response. */
export const firstPage = (data: readonly postgres.Row[]) => ({ data, nextCursor: data.at(-1)?.["id"] ?? null });
/** A list as a file. No texts are escaped, and the whole list is in memory. */
export const csvResponse = (rows: readonly postgres.Row[]): Response =>
  new Response(rows.map((row) => `${Object.values(row).join(",")}\n`).join(""), {
    headers: { "content-type": "text/csv" },
  });
