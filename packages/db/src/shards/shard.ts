/**
 * A shard: a schema that has all tables of the service, and its own schema of functions. Citus can place it on any of
 * its nodes. An installation with one database has no shards, and does not use this file.
 *
 * All texts are written for one database. This file turns them into the texts of a shard. A shard has the tables of
 * both `public` and `fleet` and the journal of migrations. Its functions name their schema, so that no session can
 * divert them.
 */
import { CALLED_FILES, FUNCTION_FILES } from "../../generated/function-files.ts";
import type { ShardOptions } from "../connection/pool.ts";
import { FUNCTIONS_SCHEMA, functionsSchema } from "../functions/schema.ts";

/** The schema of the tables of a shard: `s00`, `s01`, … */
export const shardSchema = (shard: number): string => `s${String(shard).padStart(2, "0")}`;

/** A text of SQL with the tables of a shard in place of the tables of one database. */
export const textInShard = (text: string, shard: number): string =>
  text
    .replaceAll(/"(?:public|fleet)"\./g, `"${shardSchema(shard)}".`)
    .replaceAll(/\b(?:public|fleet|drizzle)\./g, `${shardSchema(shard)}.`);

/**
 * The end of a move waits for statements that write to the shard, but not for statements that only lock rows. A write
 * that has locked its caller could then be accepted after the move, while the caller is revoked on the new node. So a
 * function that the service calls first runs an UPDATE that changes no row: Citus keeps its lock until the commit. A
 * function that only reads is `stable`. It cannot run the UPDATE, and does not need it.
 */
const HOLD_SHARD = `
create function rta.hold_shard() returns boolean
language plpgsql as $$
begin
  update public.job_slots set lease = lease where tenant_id = '';
  return true;
end $$;
`;

/** The place of the hold in a function that often finds no work: before the first lock. */
const PLACE_OF_HOLD = "  -- A shard is held from here on.\n";

/** The function of a file with the hold: at this place, or before the declarations that lock rows. */
const holding = (text: string): string =>
  text.includes(PLACE_OF_HOLD)
    ? text.replace(PLACE_OF_HOLD, "  perform rta.hold_shard();\n")
    : text.replace(/ as \$\$\n(#.*\n)?(?:declare\n)?/, " as $$$$\n$1declare\n  v_hold boolean := rta.hold_shard();\n");

/** The names of the functions that the service calls. */
export const CALLED_FUNCTIONS: readonly string[] = [...CALLED_FILES].map(
  (text) => /^create function rta\.(\w+)/m.exec(text)?.[1] ?? "",
);

const holds = (text: string): boolean => CALLED_FILES.has(text) && !/\blanguage \w+ stable\b/.test(text);

/** The files of the functions, with the texts of a shard. */
const filesOf = (shard: number, files: readonly string[]): string[] =>
  [...files.map((text) => (holds(text) ? holding(text) : text)), HOLD_SHARD].map((text) => textInShard(text, shard));

/**
 * The schema of the functions of a shard, and the text that creates it. Its name ends with the name of the shard.
 * `files`: the files of another version, in tests.
 */
export const functionsInShard = (shard: number, files = FUNCTION_FILES): { name: string; create: string } =>
  functionsSchema(filesOf(shard, files), `_${shardSchema(shard)}`);

/**
 * The options of `connect` for a shard. Its statements are those of one database. A statement that Citus distributes
 * cannot have a generic plan, so the server chooses the plan.
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
