/**
 * A shard: a schema that has all tables of the service, and its own schema of functions. Citus can place it on any of its nodes. One
 * database has no shards, and none of this applies to it.
 *
 * All texts are written for one database. Here they become those of a shard: it has the tables of both `public` and `fleet` and the
 * journal of migrations, and its functions name them, so that no session can divert them.
 */
import { CALLED_FILES, FUNCTION_FILES } from "../../generated/function-files.ts";
import type { ShardOptions } from "../connection/pool.ts";
import { FUNCTIONS_SCHEMA, functionsSchema } from "../functions/schema.ts";

/** The schema of the tables of a shard: `s00`, `s01`, … */
export const shardSchema = (shard: number): string => `s${String(shard).padStart(2, "0")}`;

/** A text of SQL with the tables of a shard in the place of those of one database. */
export const textInShard = (text: string, shard: number): string =>
  text
    .replaceAll(/"(?:public|fleet)"\./g, `"${shardSchema(shard)}".`)
    .replaceAll(/\b(?:public|fleet|drizzle)\./g, `${shardSchema(shard)}.`);

/**
 * The end of a move waits for statements that write to the shard, and not for those that only lock rows. A write that has locked its
 * caller could otherwise be accepted after the move, while the caller is revoked on the new node. So a function that the service calls
 * first runs an UPDATE that changes no row: the lock that Citus takes for it lasts until the commit. A function that only reads is
 * `stable`, may not run it, and does not need it.
 */
const HOLD_SHARD = `
create function rta.hold_shard() returns boolean
language plpgsql as $$
begin
  update public.job_slots set lease = lease where tenant_id = '';
  return true;
end $$;
`;

/** In a function that often finds nothing to do: the place of the hold, before the first lock. */
const PLACE_OF_HOLD = "  -- A shard is held from here on.\n";

/** The function of a file with the hold: at its place, or before the declarations that lock rows. */
const holding = (text: string): string =>
  text.includes(PLACE_OF_HOLD)
    ? text.replace(PLACE_OF_HOLD, "  perform rta.hold_shard();\n")
    : text.replace(/ as \$\$\n(?:declare\n)?/, " as $$$$\ndeclare\n  v_hold boolean := rta.hold_shard();\n");

/** The names of the functions that the service calls. */
export const CALLED_FUNCTIONS: readonly string[] = [...CALLED_FILES].map(
  (text) => /^create function rta\.(\w+)/m.exec(text)?.[1] ?? "",
);

const holds = (text: string): boolean => CALLED_FILES.has(text) && !/\blanguage \w+ stable\b/.test(text);

/** The files of the functions as a shard has them. */
const filesOf = (shard: number, files: readonly string[]): string[] =>
  [...files.map((text) => (holds(text) ? holding(text) : text)), HOLD_SHARD].map((text) => textInShard(text, shard));

/**
 * The schema of the functions of a shard, and the text that creates it. Its name ends with that of the shard. `files`: for tests, those of
 * another version.
 */
export const functionsInShard = (shard: number, files = FUNCTION_FILES): { name: string; create: string } =>
  functionsSchema(filesOf(shard, files), `_${shardSchema(shard)}`);

/**
 * How `connect` reaches a shard: the statements are those of one database. Those that Citus distributes cannot have a generic plan, so the server
 * decides.
 */
export const shardOptions = (shard: number, files = FUNCTION_FILES): ShardOptions => {
  const { name } = functionsInShard(shard, files);
  const texts = new Map<string, string>();
  return {
    number: shard,
    searchPath: shardSchema(shard),
    textOf: (text) => {
      const known = texts.get(text);
      if (known !== undefined) return known;
      const own = textInShard(text.replaceAll(FUNCTIONS_SCHEMA, name), shard);
      texts.set(text, own);
      return own;
    },
  };
};
