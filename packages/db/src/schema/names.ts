/**
 * The current names of objects, which lists and reads show beside their ids. Each is one look-up by a primary key, only
 * for the rows of a page. NULL when the object does not exist or has no name.
 */
import { type Column, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { apiKeys } from "./api-keys.ts";
import { assets } from "./assets.ts";
import { avatars } from "./avatars.ts";
import { passkeys, users } from "./people.ts";
import { webhookEndpoints } from "./webhooks.ts";

type Value = Column | SQL;

/** `named`: the query around it may read the same table. */
const nameIn = (table: PgTable, name: Column, tenantId: Value, id: Value, condition: SQL = sql`true`): SQL => sql`(
  select named.${sql.identifier(name.name)} from ${table} named
  where named.tenant_id = ${tenantId} and named.id = ${id} and ${condition}
)`;

export const apiKeyName = (tenantId: Value, id: Value): SQL => nameIn(apiKeys, apiKeys.name, tenantId, id);

export const avatarName = (tenantId: Value, id: Value): SQL => nameIn(avatars, avatars.displayName, tenantId, id);

/**
 * The name of an object of any kind, for a reader in the environment `reader`. A reader in test does not learn the
 * names of live objects. An object that has only an address, such as an endpoint without a description, has no name.
 */
export const objectName = (tenantId: Value, id: Value, reader: SQL): SQL => {
  const isVisible = sql`(named.environment = ${reader} or ${reader} = 'live')`;
  return sql`case left(${id}, 4)
    when 'key_' then ${nameIn(apiKeys, apiKeys.name, tenantId, id, isVisible)}
    when 'ava_' then ${nameIn(avatars, avatars.displayName, tenantId, id, isVisible)}
    when 'ast_' then ${nameIn(assets, assets.originalFilename, tenantId, id, isVisible)}
    when 'whe_' then ${nameIn(webhookEndpoints, webhookEndpoints.description, tenantId, id, isVisible)}
    when 'usr_' then ${nameIn(users, users.name, tenantId, id)}
    when 'psk_' then ${nameIn(passkeys, passkeys.name, tenantId, id)}
  end`;
};
