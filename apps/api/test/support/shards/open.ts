/** Support for tests: opens the shards of an installation by the URL of its coordinator. */

import type { Databases } from "@realtime-avatar/db/databases/databases";
import { openDatabase } from "@realtime-avatar/db/open";
import { shardSchema } from "@realtime-avatar/db/shards/shard";
import type { TestDatabase } from "@realtime-avatar/testing/database";
import { shardClient } from "@realtime-avatar/testing/postgres/shard";

type ShardOptions = { deadlineMs?: number; refreshMs?: number | null; isByNode?: boolean };

/** Opens the shards like the service. */
export const openDatabases = async (url: string, options: ShardOptions = {}): Promise<Databases> => {
  const { deadlineMs = 30_000, refreshMs = null, isByNode = true } = options;
  const config = { databaseUrl: url, dataDirectory: "", deadlineMs, connections: 8, prepare: true, isByNode };
  return (await openDatabase(config, { refreshMs })).databases;
};

/** A shard as the database of a test. `client` goes through the coordinator. Closing it closes all of `databases`. */
export const openShard = (url: string, databases: Databases, shard: number): TestDatabase => {
  const own = new URL(url);
  own.searchParams.set("search_path", shardSchema(shard));
  const client = shardClient(own.href, 4);
  const close = async (): Promise<void> => {
    await Promise.all([databases.close(), client.end()]);
  };
  return {
    url: own.href,
    db: { ...databases.ofShard(shard), client },
    shard: { coordinator: url, number: shard, node: url },
    variables: {},
    close,
  };
};
