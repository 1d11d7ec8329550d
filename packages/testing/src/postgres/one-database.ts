/** Tests of properties that only an installation with one database has. With TEST_SHARD they are skipped. */
import { test } from "bun:test";
import { IS_ONE_DATABASE } from "./shard.ts";

/**
 * A test that is skipped with TEST_SHARD. Of plans: some count the plans of a prepared statement, or set up tables in a way that Citus refuses. Of rights and
 * migrations: shards have tests of these in `shards/` and `shards.test.ts` of the API. Of triggers that write to further tables: Citus does
 * not let them.
 */
export const ofOneDatabase = test.skipIf(!IS_ONE_DATABASE);
