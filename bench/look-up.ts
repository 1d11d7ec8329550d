/** What the servers that one would write first have in common: the look-up of the key, and the form of a list. */
import { createHash } from "node:crypto";
import { Elysia } from "elysia";
import type postgres from "postgres";

type Key = { id: string; tenantId: string; environment: string };

/** The key of the secret in `authorization`, by one SELECT, without lineage or expiry; null when it is unknown. */
const keyOf = async (sql: postgres.Sql, authorization: string | undefined): Promise<Key | null> => {
  const secret = authorization?.slice("Bearer ".length) ?? "";
  const digest = createHash("sha256").update(secret).digest();
  const [key] = await sql<Key[]>`
    select api_keys.id, api_keys.tenant_id as "tenantId", environment from api_key_credentials
    join api_keys on api_keys.tenant_id = api_key_credentials.tenant_id and api_keys.id = api_key_id
    where api_key_credentials.key_id = ${secret.split("_")[2] ?? ""} and digest = ${digest}`;
  return key ?? null;
};

/** Routes that get the key of the request; 401 without one. */
export const withKey = (sql: postgres.Sql) =>
  new Elysia().resolve(async ({ headers, status }) => {
    const key = await keyOf(sql, headers["authorization"]);
    return key ? { key } : status(401);
  });

/** The newest 50 of a list. No filters, no cursor, no validation of the response. */
export const pageOf = (data: readonly postgres.Row[]) => ({ data, nextCursor: data.at(-1)?.["id"] ?? null });
