/**
 * A shard for each test file: with TEST_SHARD, the tests of `packages/db` run on shards of Citus, each reached on its `node` or through
 * the `coordinator`. DATABASE_URL is the database of the coordinator; without it, CITUS_BIN names a build (`citus.ts`).
 */

import { connect } from "@realtime-avatar/db/connection/pool";
import { withLock } from "@realtime-avatar/db/migrate";
import { migrateShard } from "@realtime-avatar/db/shards/migrate-shard";
import { placementOf } from "@realtime-avatar/db/shards/placement";
import { schemaOf, shardOptions } from "@realtime-avatar/db/shards/shard";
import { CITUS_BIN, startCitus } from "./citus.ts";
import { client } from "./client.ts";

const THROUGH = process.env["TEST_SHARD"];
export const USES_SHARDS = THROUGH === "node" || THROUGH === "coordinator";

let citus: Promise<string> | null = null;
const coordinatorUrl = (): Promise<string> => {
  const url = process.env["DATABASE_URL"];
  citus ??= url === undefined ? startCitus(CITUS_BIN ?? "") : Promise.resolve(url);
  return citus;
};

/** The shard of the next test file. Another process on the same coordinator begins elsewhere. */
let next = Number(process.env["TEST_SHARD_FIRST"] ?? 0);

/** A plain client. With a shard as the search path of the URL, its texts become those of the shard. */
export const shardClient = (url: string, connections = 1, options: object = {}): ReturnType<typeof client> => {
  const own = client(url, connections, options);
  const [, number] = /^s(\d+)$/.exec(new URL(url).searchParams.get("search_path") ?? "") ?? [];
  if (number === undefined) return own;
  const { textOf } = shardOptions(Number(number));
  return new Proxy(own, {
    apply: (target, _, [first, ...values]: [TemplateStringsArray | string, ...never[]]) => {
      if (typeof first === "string" || !("raw" in first)) return target(first as never, ...values);
      const strings = first.map(textOf);
      return target(Object.assign(strings, { raw: strings }), ...values);
    },
    get: (target, key) =>
      key === "unsafe"
        ? (text: string, ...rest: [never[], object]) => target.unsafe(textOf(text), ...rest)
        : Reflect.get(target, key),
  });
};

/** A new shard. `url` has its schema as the search path. */
export const shardDatabase = async () => {
  const coordinator = await coordinatorUrl();
  const number = next++;
  await withLock(coordinator, {}, (admin) => migrateShard(admin, number));
  const url = new URL(coordinator);
  if (THROUGH === "node") {
    const admin = client(coordinator);
    const node = (await placementOf((text) => admin.unsafe(text))).get(number);
    if (node) url.host = `${node.host}:${node.port}`;
    await admin.end();
  }
  url.searchParams.set("search_path", schemaOf(number));
  const db = connect(url.href, { shard: shardOptions(number) });
  const own = shardClient(url.href, 10);
  const close = async (): Promise<void> => {
    await Promise.all([db.close(), own.end()]);
  };
  return { url: url.href, db: { ...db, client: own }, shard: { coordinator, number }, close };
};
