/**
 * Servers that are restored according to docs/scaling.md, also to a state before a move. Needs Citus: see `citus.ts` of
 * testing.
 */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFile, chmod, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { client } from "@realtime-avatar/testing/database";
import { CITUS_BIN, type Citus, type CitusNode, startNodes } from "@realtime-avatar/testing/postgres/citus";
import { findTestCaller, seedAvatar, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { removeAtEnd, temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { connect } from "../connection/pool.ts";
import { openDatabase } from "../open.ts";
import { moveShard } from "./manage.ts";
import { readPlacement } from "./placement.ts";
import { shardOptions } from "./shard.ts";
import { migrateShards } from "./split.ts";
import { verifySchema } from "./verify.ts";

setDefaultTimeout(600_000);

const SHARD = 1;
const RESTORED =
  /^The coordinator has shard 1 at 127\.0\.0\.1:\d+, and 127\.0\.0\.1:\d+ at .* was restored from before a move/;

describe.skipIf(CITUS_BIN === undefined)("an installation with restored servers", () => {
  let folder = "";
  let citus: Citus;
  beforeAll(async () => {
    folder = await temporaryFolder();
    removeAtEnd(folder);
    // The account of the servers writes to this folder.
    await chmod(folder, 0o777);
    const archive = (port: number): string => join(folder, `wal-${port}`);
    citus = await startNodes(CITUS_BIN as string, (port) => ({
      ...{ archive_mode: "on", archive_command: `mkdir -p ${archive(port)} && cp %p ${archive(port)}/%f` },
    }));
    await migrateShards(citus.coordinator, SHARD + 1);
  });

  const config = { dataDirectory: "", deadlineMs: 30_000, connections: 4, prepare: true, isByNode: true };
  const open = (refreshMs: number | null, url = citus.coordinator) =>
    openDatabase({ ...config, databaseUrl: url }, { refreshMs });
  const verify = async (url = citus.coordinator): Promise<string[]> => {
    const { databases, server } = await open(null, url);
    const found = await verifySchema(databases, server);
    await databases.close();
    return found.map(({ problem }) => problem);
  };
  const run = async (url: string, ...texts: string[]): Promise<void> => {
    const admin = client(url);
    for (const text of texts) await admin.unsafe(text);
    await admin.end();
  };
  const portOfShard = async (): Promise<number> => {
    const admin = client(citus.coordinator);
    const port = (await readPlacement((text) => admin.unsafe(text))).get(SHARD)?.port;
    await admin.end();
    return port as number;
  };
  const otherPort = async (): Promise<number> => {
    const at = await portOfShard();
    return citus.nodes.slice(1).find(({ server }) => server.port !== at)?.server.port as number;
  };
  const move = async (): Promise<void> =>
    moveShard(citus.coordinator, SHARD, { host: "127.0.0.1", port: await otherPort() });
  const at = (port: number): CitusNode => citus.nodes.find(({ server }) => server.port === port) as CitusNode;

  const directories = new Map<CitusNode, string>();
  /** Takes a base backup. Returns a function that restores it, with or without the archived WAL. */
  const backUp = async (node: CitusNode) => {
    const admin = client(node.url);
    const [row] = await admin<
      { directory: string }[]
    >`select setting as directory from pg_settings where name = 'data_directory'`;
    await admin.end();
    directories.set(node, row?.directory ?? "");
    const copy = join(folder, `base-${node.server.port}-${Bun.nanoseconds()}`);
    await Bun.$`${CITUS_BIN}/bin/pg_basebackup -d ${node.url} -D ${copy} -c fast`.quiet();
    return async (withWal: boolean): Promise<void> => {
      const directory = directories.get(node) as string;
      const { uid, gid } = await stat(directory);
      await rm(directory, { recursive: true });
      await Bun.$`cp -a ${copy} ${directory}`.quiet();
      if (withWal) {
        await appendFile(
          join(directory, "postgresql.auto.conf"),
          `restore_command = 'cp ${folder}/wal-${node.server.port}/%f %p'\n`,
        );
        await writeFile(join(directory, "recovery.signal"), "");
      }
      await Bun.$`chown -R ${uid}:${gid} ${directory}`.quiet();
      await chmod(directory, 0o700);
      await node.server.start();
      // Recovery from the archive ends after the first connections are accepted.
      const own = client(node.url);
      while ((await own`select pg_is_in_recovery() as is`)[0]?.["is"]) await Bun.sleep(50);
      await own.end();
    };
  };

  /** Writes an avatar at the node of the shard. Returns the number of avatars. */
  const write = async (): Promise<number> => {
    const url = at(await portOfShard()).url;
    const db = connect(url, { shard: shardOptions(SHARD), deadlineMs: 30_000 });
    const { secret } = await seedKey(db, await seedTenant(db), { environment: "live", scopes: ["*"] });
    await seedAvatar(db, await findTestCaller(db, secret.keyId));
    const [row] = await db.run<{ count: number }>("select count(*)::integer as count from avatars", []);
    await db.close();
    return row?.count ?? 0;
  };

  test("a dump of the coordinator, restored into an empty database: its shards are on no node until migrate places them", async () => {
    const rows = await write();
    const url = await citus.database("restored");
    await Bun.$`${CITUS_BIN}/bin/pg_dump ${citus.coordinator} | ${CITUS_BIN}/bin/psql -q -v ON_ERROR_STOP=1 ${url}`.quiet();
    expect((await verify(url)).filter((problem) => problem === "it is on no node")).toHaveLength(SHARD + 1);
    await migrateShards(url, SHARD + 1);
    expect(await verify(url)).toEqual([]);
    const { databases } = await open(null, url);
    const [row] = await databases
      .ofShard(SHARD)
      .run<{ count: number }>("select count(*)::integer as count from avatars", []);
    expect(row?.count).toBe(rows);
    await databases.close();
  });

  test("the coordinator, restored to a state before a move without its WAL: all commands refuse, no row is lost, and the state can be corrected", async () => {
    const restore = await backUp(citus.nodes[0]);
    const before = await write();
    await move();
    const place = await portOfShard();
    const rows = await write();
    expect(rows).toBe(before + 1);
    await citus.nodes[0].server.kill();
    await restore(false);
    expect(await portOfShard()).not.toBe(place);

    expect((await verify()).join("\n")).toMatch(RESTORED);
    await expect(move()).rejects.toThrow(RESTORED);
    await expect(migrateShards(citus.coordinator, SHARD + 1)).rejects.toThrow(RESTORED);
    await expect(migrateShards(citus.coordinator, SHARD + 2)).rejects.toThrow(RESTORED);
    await expect(open(500)).rejects.toThrow(RESTORED);

    await run(
      citus.coordinator,
      `update pg_dist_placement set groupid = (select groupid from pg_dist_node where nodename = '127.0.0.1' and nodeport = ${place})
       where shardid in (select shardid from pg_dist_shard join pg_class on oid = logicalrelid where relnamespace = 's01'::regnamespace)`,
      "select start_metadata_sync_to_all_nodes()",
    );
    expect(await verify()).toEqual([]);
    expect(await write()).toBe(rows + 1);
    await move();
    expect(await write()).toBe(rows + 2);
    expect(await verify()).toEqual([]);
  });

  test("a node, restored to a state before a move away from it: all commands refuse; after the old tables are dropped, the installation works", async () => {
    const from = at(await portOfShard());
    const restore = await backUp(from);
    await write();
    await move();
    const rows = await write();
    await from.server.kill();
    await restore(false);

    expect((await verify()).join("\n")).toMatch(RESTORED);
    await expect(move()).rejects.toThrow(RESTORED);

    const admin = client(from.url);
    await admin.unsafe("set citus.override_table_visibility = off; set citus.enable_manual_changes_to_shards = on");
    const [tables] = await admin<{ names: string }[]>`
      select string_agg(format('s01.%I', relname), ', ') as names from pg_class
      where relnamespace = 's01'::regnamespace and relkind = 'r' and relname ~ '_[0-9]+$'`;
    await admin.unsafe(`drop table ${tables?.names} cascade`);
    await admin.end();
    await run(citus.coordinator, `select start_metadata_sync_to_node('127.0.0.1', ${from.server.port})`);
    expect(await verify()).toEqual([]);
    expect(await write()).toBe(rows + 1);
    await move();
    expect(await write()).toBe(rows + 2);
  });

  test("all servers, each restored from a base backup before a move and its archived WAL: in their last state", async () => {
    const restores = await Promise.all(citus.nodes.map(backUp));
    await write();
    await move();
    const place = await portOfShard();
    const rows = await write();
    await run(citus.coordinator, "select run_command_on_all_nodes('select pg_switch_wal()')", "select pg_switch_wal()");
    // Waits for the archiver of each server.
    for (const { url } of citus.nodes) {
      const own = client(url);
      const isArchived = async () =>
        (await own`select 1 from pg_stat_archiver where last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1)`)
          .length > 0;
      while (!(await isArchived())) await Bun.sleep(50);
      await own.end();
    }
    for (const { server } of citus.nodes) await server.kill();
    await Promise.all(restores.map((restore) => restore(true)));
    expect(await portOfShard()).toBe(place);
    expect(await verify()).toEqual([]);
    expect(await write()).toBe(rows + 1);
    await move();
    expect(await write()).toBe(rows + 2);
  });
});
