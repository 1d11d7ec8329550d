/**
 * A shard for each test file: with TEST_SHARD, the tests of `packages/db` run on shards of Citus, each reached on its
 * `node` or through the `coordinator`, or with functions that run `away` from it, at the coordinator. DATABASE_URL is
 * the database of the coordinator; without it, CITUS_BIN names a build (`citus.ts`).
 */

import { randomBytes } from "node:crypto";
import { connect } from "@realtime-avatar/db/connection/pool";
import { FUNCTIONS_SCHEMA } from "@realtime-avatar/db/functions/schema";
import { withLock } from "@realtime-avatar/db/migrate";
import { migrateShard } from "@realtime-avatar/db/shards/migrate-shard";
import { readPlacement } from "@realtime-avatar/db/shards/placement";
import { shardOptions, shardSchema } from "@realtime-avatar/db/shards/shard";
import { migrateShards } from "@realtime-avatar/db/shards/split";
import { CITUS_BIN, dropDatabase, newDatabase, startCitus } from "./citus.ts";
import { client, PATIENT, shardOfUrl } from "./client.ts";

const THROUGH = process.env["TEST_SHARD"];
/** Whether the tests run on one database, which is the case without TEST_SHARD. */
export const IS_ONE_DATABASE = THROUGH !== "node" && THROUGH !== "coordinator" && THROUGH !== "away";
/** Whether functions run away from their shard. Each of their statements is then a slow request to another node. */
export const IS_AWAY = THROUGH === "away";

let citus: Promise<string> | null = null;
const coordinatorUrl = (): Promise<string> => {
  const url = process.env["DATABASE_URL"];
  citus ??= url === undefined ? startCitus(CITUS_BIN ?? "") : Promise.resolve(url);
  return citus;
};

/** The shard of the next test file. Another process on the same coordinator begins elsewhere. */
let next = Number(process.env["TEST_SHARD_FIRST"] ?? 0);

/**
 * Converts the SQL of a test to a form that Citus accepts. Citus refuses clocks in UPDATE, DELETE and INSERT … SELECT,
 * and sums of a time and an interval of which one is a column. It also cannot disable a trigger.
 */
const distributable = (text: string): string => {
  const trigger = /^\s*alter table \w+ (disable|enable) trigger \w+/i.exec(text)?.[1];
  if (trigger) return `set local session_replication_role = ${trigger === "disable" ? "replica" : "origin"}`;
  if (!/^\s*(?:with|update|delete|insert\b.*?\bselect)\b/is.test(text)) return text;
  return text
    .replaceAll(/\b(?:now|clock_timestamp)\(\)/g, `timestamptz '${new Date().toISOString()}'`)
    .replaceAll(
      /(timestamptz '[^']*'|[\w.]+) ([-+]) (interval '[^']*'|make_interval\([^()]*\))(?! \*)/g,
      "(($1 at time zone 'utc') $2 $3) at time zone 'utc'",
    );
};

/** Statements for the coordinator alone: changes of tables, triggers, functions and types. */
const DEFINITION = /^\s*(?:create|alter|drop)\b/i;

/** Citus refuses it in the transaction of the statements before it. */
const ANALYZE_AT_END = /(?<=;)\s*(?=analyze [^;]*$)/;

/** A client that converts each text (`distributable`), also in transactions. `coordinator`: for definitions. */
const ofShard = <Client extends object>(
  own: Client,
  textOf: (text: string) => string,
  coordinator?: ReturnType<typeof client>,
): Client => {
  const plain = own as unknown as ReturnType<typeof client>;
  const at = (text: string) => (coordinator && DEFINITION.test(text) ? coordinator : plain);
  return new Proxy(plain, {
    apply: (_target, _, [first, ...values]: [TemplateStringsArray | string, ...never[]]) => {
      if (typeof first === "string") return plain(textOf(first) as never, ...values);
      if (!("raw" in first)) return plain(first as never, ...values);
      const strings = distributable(textOf(first.join("\0"))).split("\0");
      const given = values.map((value) => (value === FUNCTIONS_SCHEMA ? textOf(value) : value));
      return at(strings[0] ?? "")(Object.assign(strings, { raw: strings }), ...(given as never[]));
    },
    get: (_target, key) => {
      if (key === "unsafe") {
        return (text: string, ...rest: [never[], object]) => {
          const [own = "", analyze] = distributable(textOf(text)).split(ANALYZE_AT_END);
          const ran = at(own).unsafe(own, ...rest);
          return analyze === undefined ? ran : ran.then(() => plain.unsafe(analyze));
        };
      }
      if (key === "begin") {
        return (work: (transaction: object) => unknown) =>
          plain.begin((transaction) => work(ofShard(transaction, textOf)) as never);
      }
      if (key === "end" && coordinator) return () => Promise.all([plain.end(), coordinator.end()]);
      return Reflect.get(plain, key);
    },
  }) as unknown as Client;
};

/**
 * A plain client. If the search path of the URL is a shard, it converts its texts for the shard. `coordinator`: the URL
 * for definitions of tables and triggers.
 */
export const shardClient = (
  url: string,
  connections = 1,
  options: object = {},
  coordinator?: string,
): ReturnType<typeof client> => {
  const own = client(url, connections, options);
  const number = shardOfUrl(url);
  if (number === null) return own;
  const { textOf } = shardOptions(number);
  if (coordinator === undefined) return ofShard(own, textOf);
  const definer = new URL(coordinator);
  definer.searchParams.set("search_path", shardSchema(number));
  definer.searchParams.set("citus.enable_unsafe_triggers", "on");
  return ofShard(own, textOf, client(definer.href));
};

/**
 * Makes the coordinator run functions itself. It then sends their statements to the node of the shard one by one, as
 * for a function that runs while its shard moves to another node.
 */
const keepFunctions = async (coordinator: string): Promise<void> => {
  const admin = client(coordinator);
  await admin`update pg_dist_object set distribution_argument_index = null, colocationid = null where classid = 'pg_proc'::regclass`;
  await admin.end();
};

/**
 * A new shard: the next one of the shared installation, or the only one of a new installation. Also returns the
 * function that ends it.
 */
const newShard = async (isInstallation: boolean) => {
  const url = await coordinatorUrl();
  if (isInstallation) {
    const name = `avatar_test_${randomBytes(6).toString("hex")}`;
    const coordinator = await newDatabase(url, name);
    await migrateShards(coordinator, 1);
    if (IS_AWAY) await keepFunctions(coordinator);
    return { coordinator, number: 0, end: () => dropDatabase(url, name) };
  }
  const number = next++;
  await withLock(url, {}, (admin) => migrateShard(admin, number));
  if (IS_AWAY) await keepFunctions(url);
  return { coordinator: url, number, end: async () => {} };
};

/** A new shard. `url` has its schema as the search path. `isServed`: processes of the service use it. */
export const shardDatabase = async (given: { isServed?: boolean | undefined; deadlineMs?: number } = {}) => {
  const { isServed = false, ...options } = given;
  const { coordinator, number, end } = await newShard(isServed);
  const url = new URL(coordinator);
  url.searchParams.set("search_path", shardSchema(number));
  const admin = client(coordinator);
  const node = (await readPlacement((text) => admin.unsafe(text))).get(number);
  await admin.end();
  const atNode = Object.assign(new URL(url), { host: `${node?.host}:${node?.port}` }).href;
  const own = shardClient(atNode, 10, {}, coordinator);
  if (THROUGH === "node") url.href = atNode;
  const db = connect(url.href, { shard: shardOptions(number), ...PATIENT, ...options });
  const close = async (): Promise<void> => {
    await Promise.all([db.close(), own.end()]);
    await end();
  };
  const variables = { DATABASE_URL: coordinator, DATABASE_SHARD_NODES: String(THROUGH === "node") };
  return { url: url.href, db: { ...db, client: own }, shard: { coordinator, number, node: atNode }, variables, close };
};
