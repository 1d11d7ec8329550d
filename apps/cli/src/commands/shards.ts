/** `shards`: the shards of an installation on Citus; and `verify`, which also verifies one database. */

import type { OpenDatabase } from "@realtime-avatar/db/open";
import { abandonPassphrase } from "@realtime-avatar/db/shards/abandon";
import { listShards, type ShardState } from "@realtime-avatar/db/shards/manage";
import { type Finding, verifySchema } from "@realtime-avatar/db/shards/verify";
import { countTenants } from "@realtime-avatar/db/tenants/tenants";
import type { Shards } from "@realtime-avatar/domain/shards";
import type { Command } from "commander";
import { withOpenDatabase } from "../database.ts";
import { type OutputOptions, shardParser, withOutputOptions } from "../options.ts";
import { type Columns, print, table, UsageError } from "../terminal.ts";
import { parseShards } from "./migrate.ts";

/** Timeout for the nodes to report the sizes of their shards. */
const LIST_MS = 60_000;

const withShards = (work: (database: OpenDatabase, shards: Shards) => Promise<void>): Promise<void> =>
  withOpenDatabase(async (database) => {
    const shards = database.databases.shards();
    if (shards === null) throw new Error("This installation has one database, and no shards.");
    await work(database, shards);
  });

type ShownShard = ShardState & { tenants: number | null };

const MIB = 1024 * 1024;
const COLUMNS: Columns<ShownShard> = {
  SHARD: ({ shard }) => String(shard),
  NODE: ({ node }) => node,
  TENANTS: ({ tenants }) => (tenants === null ? null : String(tenants)),
  ROWS: ({ rows }) => (rows === null ? null : String(rows)),
  "SIZE (MIB)": ({ bytes }) => (bytes === null ? null : String(Math.ceil(bytes / MIB))),
};

const list = (options: OutputOptions): Promise<void> =>
  withShards(async ({ databases, server }, { count }) => {
    const states = await listShards(server.within(LIST_MS), count);
    const shown = states.map(async (state) => ({
      ...state,
      // Unknown for an unresponsive node.
      tenants: await countTenants(databases.ofShard(state.shard)).catch(() => null),
    }));
    const all = await Promise.all(shown);
    print(options, all, table(COLUMNS, all));
  });

/** Parses `host:port`. */
const parseNode = (text: string): { host: string; port: number } => {
  const [, host = "", port = ""] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === "") throw new UsageError("<node>: Must be the host and the port of a node, as `shards` lists it.");
  return { host, port: Number(port) };
};

const move = (shard: number, node: { host: string; port: number }, options: OutputOptions): Promise<void> =>
  withShards(async (database, { count }) => {
    if (shard >= count) throw new UsageError(`<shard>: There are ${count} shards, from 0.`);
    await database.move(shard, node);
    print(options, { shard, node: `${node.host}:${node.port}` }, `Shard ${shard} is on ${node.host}:${node.port}.`);
  });

const rebalance = (options: OutputOptions): Promise<void> =>
  withShards(async (database) => {
    const moved = await database.rebalance();
    print(options, { moved }, moved === 0 ? "The shards are balanced already." : `Moved ${moved} shards.`);
  });

const add = (more: number, options: OutputOptions): Promise<void> =>
  withShards(async (database, { count }) => {
    const shards = count + more;
    await database.migrate(shards);
    print(options, { shards }, `There are ${shards} shards.`);
  });

const abandon = (shards: readonly number[], options: OutputOptions & { confirm: string }): Promise<void> =>
  withShards(async (database) => {
    const passphrase = abandonPassphrase(shards);
    if (options.confirm !== passphrase) {
      throw new UsageError(
        `--confirm: All tenants of these shards are lost for ever. To do that, write --confirm "${passphrase}".`,
      );
    }
    await database.abandon(shards);
    print(options, { abandoned: shards }, `Given up, and empty now: ${shards.join(", ")}.`);
  });

const COLUMNS_OF_FINDINGS: Columns<Finding> = { PLACE: ({ place }) => place, PROBLEM: ({ problem }) => problem };

const verify = (options: OutputOptions): Promise<void> =>
  withOpenDatabase(async ({ databases, server }) => {
    const findings = await verifySchema(databases, server);
    const count = databases.shards()?.count;
    const fine =
      count === undefined ? "The database is as it should be." : `All ${count} shards are as they should be.`;
    print(options, { findings }, findings.length === 0 ? fine : table(COLUMNS_OF_FINDINGS, findings));
    if (findings.length > 0) process.exitCode = 1;
  });

export const addShards = (program: Command): void => {
  const shards = program.command("shards").description("see and move the shards of an installation on Citus");
  withOutputOptions(shards.command("list", { isDefault: true }))
    .description("list the shards, with their nodes, tenants, rows (about) and sizes")
    .action(list);
  withOutputOptions(shards.command("move"))
    .argument("<shard>", "the number of a shard", shardParser("<shard>"))
    .argument("<node>", "host:port of a node", parseNode)
    .description("move a shard to another node while the service runs")
    .action(move);
  withOutputOptions(shards.command("rebalance"))
    .description("move shards until all nodes have about the same amount of data")
    .action(rebalance);
  const parseShard = shardParser("<shards...>");
  withOutputOptions(shards.command("abandon"))
    .argument("<shards...>", "the numbers of all shards of a node that is lost", (text, all: number[] = []) => [
      ...all,
      parseShard(text),
    ])
    .requiredOption("--confirm <passphrase>", "confirms that their tenants are lost for ever")
    .description("give up the shards of a node that is lost, with all tenants; empty ones take their place")
    .action(abandon);
  withOutputOptions(shards.command("add"))
    .argument("<count>", "how many", parseShards)
    .description("add shards, for new tenants")
    .action(add);
  withOutputOptions(program.command("verify"))
    .description(
      "verify the schema, the triggers that protect it, and every node; exit code 0 if all is well, 1 if not",
    )
    .action(verify);
};
