/** The look-up of a key in the contestants' servers that one would write first: one SELECT, without lineage or expiry. */
import { createHash } from "node:crypto";
import type postgres from "postgres";

export type Key = { id: string; tenantId: string; environment: string };

/** The key of the secret in `authorization`; null when it is unknown. */
export const keyOf = async (sql: postgres.Sql, authorization: string | undefined): Promise<Key | null> => {
  const secret = authorization?.slice("Bearer ".length) ?? "";
  const digest = createHash("sha256").update(secret).digest();
  const [key] = await sql<Key[]>`
    select api_keys.id, api_keys.tenant_id as "tenantId", environment from api_key_credentials
    join api_keys on api_keys.tenant_id = api_key_credentials.tenant_id and api_keys.id = api_key_id
    where api_key_credentials.key_id = ${secret.split("_")[2] ?? ""} and digest = ${digest}`;
  return key ?? null;
};
