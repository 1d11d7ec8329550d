/** The contents of a database, for tests that search it for secrets. */
import { expect } from "bun:test";
import type { TestDatabase } from "@realtime-avatar/testing/database";

/** Every table of the database or the shard, and the running statements, as text. */
export const dump = async ({ client, shard }: TestDatabase["db"]): Promise<string> => {
  const tables = await client<{ name: string }[]>`
    select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema') and (${shard === null} or schemaname = current_schema())`;
  const contents = await Promise.all(
    tables.map(async ({ name }) =>
      JSON.stringify(await client.unsafe(`select t::text, to_json(t)::text as json from ${name} t`)),
    ),
  );
  expect(tables.length).toBeGreaterThanOrEqual(6);
  const activity = await client`select query from pg_stat_activity`;
  return [...contents, JSON.stringify(activity)].join("\n");
};
