/** The scripts that pgbench runs: the statements of the service's own create, and the smallest insert of the same row. */

import { insertAvatar } from "@realtime-avatar/db/avatars/avatars";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { newAvatar } from "@realtime-avatar/domain/avatars/avatar";
import { newId } from "@realtime-avatar/domain/id";
import { secureRandom } from "@realtime-avatar/runtime/random";
import type { Database } from "./database.ts";

type Statement = { text: string; parameters: readonly unknown[] };

/** A `Db` that runs each input as its own batch and adds every statement to `recorded`. */
const recordingDb = (db: Db, recorded: Statement[]): Db => {
  const recorder: Db = {
    ...db,
    run: (text, parameters) => {
      recorded.push({ text, parameters });
      return db.run(text, parameters);
    },
    batch: async (kind, input) => (await kind.run(recorder, [input]))[0] as never,
  };
  return recorder;
};

/** An SQL expression for an id that increases with time like those of the service; pgbench evaluates it for each row. */
const freshId = (prefix: string): string =>
  `'${prefix}_0' || lpad(to_hex((extract(epoch from clock_timestamp()) * 1e6)::bigint), 14, '0') || left(replace(gen_random_uuid()::text, '-', ''), 11)`;

/** An id that differs in each row, also inside the text of an array or of a composite value. */
const OWN_ID = /(ava|aud)_[0-9a-z]{26}/g;

/** An SQL expression for `value` as a parameter of this type, with new ids in place of the ids of the row. */
const expression = (value: unknown, type: string): string => {
  if (value === null || value === undefined) return `null::${type}`;
  const text =
    value instanceof Date ? value.toISOString() : Array.isArray(value) ? `{${value.join(",")}}` : String(value);
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return `(${quoted.replaceAll(OWN_ID, (_, prefix) => `' || ${freshId(prefix)} || '`)})::${type}`;
};

/** A pgbench script with exactly the statements that `work` executes. */
const scriptOf = async (db: Db, work: (db: Db) => Promise<unknown>): Promise<string> => {
  const recorded: Statement[] = [];
  await work(recordingDb(db, recorded));
  let script = "";
  for (const { text, parameters } of recorded) {
    // Casts each expression, because only a literal gets its type from its place. The server knows the type of each
    // parameter.
    const [{ types = [] } = {}] = await db.run<{ types: string[] }>(
      "select parameter_types::text[] as types from pg_prepared_statements where statement = $1 limit 1",
      [text],
    );
    const filled = text.replace(/\$(\d+)/g, (_, number) => {
      const type = types[Number(number) - 1];
      if (!type) throw new Error(`The type of $${number} is unknown: ${text}`);
      return expression(parameters[Number(number) - 1], type);
    });
    script += `${filled.replace(/\s+/g, " ")};\n`;
  }
  return script;
};

/** The statements of one `POST /avatars`. */
export const createScript = ({ db, apiKey }: Database): Promise<string> =>
  scriptOf(db, async (to) => {
    const credential = await findCredential(to, parseApiKey(apiKey)?.keyId ?? "");
    if (!credential) throw new Error("The benchmark's API key does not exist.");
    const { caller } = credential;
    const now = new Date();
    const context = { ...caller, id: newId("ava", now, secureRandom), defaultModelId: "m", now };
    const avatar = newAvatar({ displayName: "Ada", sourceKind: "image", metadata: { team: "support" } }, context);
    await insertAvatar(to, avatar, null, caller, {
      actor: caller,
      requestId: context.id.slice(4),
      now,
      random: secureRandom,
    });
  });

/** One insert of the same row. */
export const insertScript = ({ tenantId }: Database): string =>
  `insert into avatars values ('${tenantId}', ${freshId("ava")}, 'live', 'Ada', 'image', 'm', 'draft', null, null, null, 0, '{}', '{"team": "support"}', 1, now(), now());`;
