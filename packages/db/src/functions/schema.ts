/**
 * The schema of the database functions, which execute the writes of callers and the creates of root keys. Its name
 * contains a hash of their text, and the schema is never changed. So replicas of two versions use two schemas side by
 * side. `migrate` creates the schema.
 *
 * The files are valid SQL in a schema `rta`, so that they can be tried in psql.
 */
import { createHash } from "node:crypto";
import { FUNCTION_FILES } from "../../generated/function-files.ts";

/** The names of the schemas of functions, of every version: a regular expression of PostgreSQL. */
export const SCHEMA_NAMES = "^rta_[0-9a-f]{12}$";

/**
 * The schema of these files, and the text that creates it with its types and functions. Run the text in one
 * transaction. `suffix`: the end of the schema's name.
 */
export const functionsSchema = (files: readonly string[], suffix = ""): { name: string; create: string } => {
  const name = `rta_${createHash("sha256").update(files.join("\0")).digest("hex").slice(0, 12)}${suffix}`;
  const create = [
    `create schema ${name};`,
    ...files.map((text) => text.replaceAll(/\brta\./g, `${name}.`)),
    `revoke execute on all functions in schema ${name} from public;`,
  ].join("\n");
  return { name, create };
};

/** Identifies the functions of a schema at a server: their number, and a digest of their texts. */
export const DIGEST = `count(*) || ' ' || md5(string_agg(proname || ' ' || md5(prosrc), '' order by proname collate "C"))`;

const md5 = (text: string): string => createHash("md5").update(text).digest("hex");

/** `DIGEST` of the functions that the text `create` creates. */
export const functionsDigest = (create: string): string => {
  const functions = [...create.matchAll(/^create function \w+\.(\w+)\(.*?\$\$(.*?)\$\$/gms)];
  const texts = functions.map(([, name = "", body = ""]) => `${name} ${md5(body)}`).sort();
  return `${texts.length} ${md5(texts.join(""))}`;
};

/** The schema of the functions of this program, and the text that creates it. */
export const { name: FUNCTIONS_SCHEMA, create: CREATE_FUNCTIONS } = functionsSchema(FUNCTION_FILES);
