/** Fixtures for the tests of a file. Call these while the file loads: `const { db } = await fileDatabase();`. */
import { afterAll, afterEach, beforeEach, setDefaultTimeout } from "bun:test";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { grantService } from "@realtime-avatar/db/grant";
import { shardOptions } from "@realtime-avatar/db/shards/shard";
import {
  endSessions,
  IS_ONE_DATABASE,
  client as plainClient,
  type TestDatabase,
  testDatabase,
  watchSessions,
} from "./database.ts";
import { PATIENT } from "./postgres/client.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const opened: { close(): unknown }[] = [];

/**
 * Closes `resource` after the tests of this file, the latest fixture first. Also gives each test a minute, because
 * tests do not assert times and a slow disk must not fail one. A file whose tests need a longer timeout sets it after
 * its last fixture.
 */
export const fixture = async <Resource extends { close(): unknown }>(
  resource: Resource | Promise<Resource>,
): Promise<Resource> => {
  // On shards, three servers share the machine.
  setDefaultTimeout(IS_ONE_DATABASE ? 60_000 : 300_000);
  const ready = await resource;
  opened.push(ready);
  afterAll(async () => {
    await opened.pop()?.close();
  });
  return ready;
};

/** A database for this file. The sessions on it end with the test that opens them. */
export const fileDatabase = (options?: Parameters<typeof testDatabase>[0]): Promise<TestDatabase> => {
  beforeEach(watchSessions);
  afterEach(endSessions);
  return fixture(testDatabase(options));
};

/** A folder for this file. */
export const fileFolder = async (): Promise<string> => {
  const folder = await temporaryFolder();
  await fixture({ close: () => rm(folder, { recursive: true, force: true }) });
  return folder;
};

/** A role for this file, without rights, and the pool of its connections. */
export const fileRole = async (
  { url, db: { client: own }, shard }: TestDatabase,
  role = `service_${randomBytes(6).toString("hex")}`,
): Promise<Db & { role: string; url: string }> => {
  const name = `"${role.replaceAll('"', '""')}"`;
  const password = randomBytes(12).toString("hex");
  const client = shard ? plainClient(shard.coordinator) : own;
  await client.unsafe(`create role ${name} login password '${password}'`);
  if (shard) {
    // The nodes connect to each other with this password.
    const text = `insert into pg_dist_authinfo values (0, '${role}', 'password=${password}')`;
    await client`select run_command_on_all_nodes(${text})`;
  }
  const ownUrl = Object.assign(new URL(url), { username: encodeURIComponent(role), password }).href;
  const db = connect(ownUrl, { ...PATIENT, connections: 8, shard: shard ? shardOptions(shard.number) : null });
  const close = async (): Promise<void> => {
    await db.close();
    await client.unsafe(`drop owned by ${name}; drop role ${name}`);
    if (shard) await client.end();
  };
  return fixture({ ...db, close, role, url: ownUrl });
};

/** Connects as a role that has only the rights of the service in a migrated database. */
export const serviceRole = async (database: TestDatabase): Promise<Db> => {
  const { shard, serviceUrl } = database;
  if (!shard) return fixture(connect(serviceUrl ?? "", { ...PATIENT, connections: 8 }));
  const role = await fileRole(database);
  await grantService(shard.coordinator, role.role, { shards: [shard.number] });
  return role;
};

/**
 * A database for this file whose statements run as a role with only the rights of the service. `client` is that of the
 * owner.
 */
export const serviceDatabase = async (): Promise<TestDatabase> => {
  const database = await fileDatabase();
  return { ...database, db: { ...(await serviceRole(database)), client: database.db.client } };
};
