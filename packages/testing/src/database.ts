/**
 * A real PostgreSQL for the tests of a process, and a new database for each test file. The server is embedded, in a folder
 * that is removed when the tests end. With DATABASE_URL, it is that server: the databases of the tests are created there and
 * dropped at the end. Preload this file, so that it can clean up.
 */
import { afterAll } from "bun:test";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { openEmbedded } from "@realtime-avatar/db/connection/embedded";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { driver } from "@realtime-avatar/db/connection/server/driver";
import { type Host, hostsOf } from "@realtime-avatar/db/connection/server/hosts";
import { migrate } from "@realtime-avatar/db/migrate";
import postgres from "postgres";
import { cacheFolder } from "./bundles.ts";
import { openByTcp } from "./postgres/embedded.ts";
import { removeAtEnd, temporaryFolder } from "./temporary-folder.ts";

type Server = { url: string; admin: postgres.Sql; template: string; close(): Promise<void> };

const withDatabase = (url: string, name: string): string => {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
};

const uniqueName = (): string => `avatar_test_${randomBytes(6).toString("hex")}`;

const connectAdmin = (url: string): postgres.Sql => postgres(url, { max: 1, onnotice: () => {} });

/** The template in a prepared data directory. The database `postgres` cannot be one: its server always has a session there. */
const TEMPLATE = "avatar_test_template";
const createDatabase = (name: string, source: string): string =>
  `create database ${name} encoding 'UTF8' locale 'C' template ${source}`;

/** Everything that the schema of a database is made from. The lock file tells the version of PostgreSQL. */
const SCHEMA_SOURCES = [
  ...["bun.lock", "patches/*", "packages/testing/src/database.ts"],
  ...["packages/db/{src,migrations}/**", "packages/domain/src/**"],
];

/** Creates the prepared data directory in the cache. The test processes run at once: the first that is ready wins. */
const prepare = async (target: string): Promise<void> => {
  const folder = await temporaryFolder();
  const embedded = await openEmbedded(join(folder, "data"), { settings: { fsync: "off" } });
  const admin = client(embedded.url);
  await admin.unsafe(createDatabase(TEMPLATE, "template0"));
  await admin.end();
  await Promise.all([embedded.url, withDatabase(embedded.url, TEMPLATE)].map((url) => migrate(url)));
  await embedded.close();
  await rm(join(embedded.directory, "server.log"));
  const draft = `${target}.${process.pid}`;
  await Bun.$`cp -a ${join(folder, "data")} ${draft}`.quiet();
  await rm(folder, { recursive: true });
  await rename(draft, target).catch(async (error: Error) => {
    await rm(draft, { recursive: true });
    if (!existsSync(target)) throw error;
  });
};

/** The prepared data directory, kept between runs; null until a test needs it. */
let prepared: Promise<string> | null = null;

const findPrepared = async (): Promise<string> => {
  // Only the user who created its files can read them.
  const data = join(cacheFolder("test-databases", SCHEMA_SOURCES), `data-${process.getuid?.()}`);
  if (!existsSync(data)) await prepare(data);
  return data;
};

/**
 * Creates `data` as a data directory whose embedded database has the schema and no rows, and returns it. It is a copy of
 * one that is created once: a copy takes a tenth of the time of initdb and the migrations.
 */
export const preparedDataDirectory = async (data: string): Promise<string> => {
  prepared ??= findPrepared();
  await Bun.$`cp -a ${await prepared} ${data}`.quiet();
  return data;
};

const startServer = async (): Promise<Server> => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  const data = await preparedDataDirectory(join(folder, "data"));
  // A database that lives for a minute needs no durability. Tests of durability switch it on again.
  const { url } = await openByTcp(data, { settings: { fsync: "off", max_connections: "200" } });
  return { url, admin: connectAdmin(url), template: TEMPLATE, close: async () => {} };
};

/** The server of DATABASE_URL. */
const useServer = async (url: string): Promise<Server> => {
  const admin = connectAdmin(url);
  const template = uniqueName();
  await admin.unsafe(createDatabase(template, "template0"));
  await migrate(withDatabase(url, template));
  const close = async (): Promise<void> => {
    await admin.unsafe(`drop database ${template} with (force)`);
    await admin.end();
  };
  return { url, admin, template, close };
};

let server: Promise<Server> | null = null;

// The databases on the server of DATABASE_URL. The embedded server ends with this process.
afterAll(async () => {
  if (!process.env["DATABASE_URL"]) return;
  await (await server)?.close();
  server = null;
});

/** The pool that the service uses, and a plain client to inspect and change the database directly. */
export type TestDb = Db & { client: postgres.Sql };

/** Opens a plain client of the first host of a URL. */
export const client = (url: string, connections = 1, options: object = {}): postgres.Sql =>
  driver(url, hostsOf(url)[0] as Host, { max: connections, ...options });

/** Opens one session: statements and client share its connection, and may share a transaction. */
export const session = (url: string, options: object = {}): TestDb => {
  const own = client(url, 1, options);
  const db: TestDb = {
    client: own,
    deadlineMs: 60_000,
    run: async <Row extends object>(text: string, parameters: readonly unknown[]) =>
      (await own.unsafe(text, parameters as never[], { prepare: true })) as unknown as Row[],
    batch: async (kind, input) => {
      const [output] = await kind.run(db, [input]);
      return output as never;
    },
    until: () => db,
    stats: () => {
      throw new Error("one session has no pool");
    },
    within: () => db,
    close: () => own.end(),
  };
  return db;
};

/** The port of a pooler in transaction mode in front of the server of DATABASE_URL; undefined for none. */
const POOLER_PORT = process.env["TEST_POOLER_PORT"];
const pooled = (url: string): string => {
  const changed = new URL(url);
  if (POOLER_PORT !== undefined) changed.host = `127.0.0.1:${POOLER_PORT}`;
  return changed.href;
};

export type TestDatabase = { url: string; db: TestDb; close(): Promise<void> };

/** Creates a database with every migration applied, or with none. */
export const testDatabase = async (options: { migrated?: boolean } = {}): Promise<TestDatabase> => {
  const serverUrl = process.env["DATABASE_URL"];
  server ??= serverUrl ? useServer(serverUrl) : startServer();
  const { url, admin, template } = await server;
  const name = uniqueName();
  await admin.unsafe(createDatabase(name, options.migrated === false ? "template0" : template));
  const db = connect(pooled(withDatabase(url, name)), { prepare: POOLER_PORT === undefined });
  const own = client(withDatabase(url, name), 10);
  return {
    url: withDatabase(url, name),
    db: { ...db, client: own },
    close: async () => {
      await Promise.all([db.close(), own.end()]);
      await admin.unsafe(`drop database ${name} with (force)`);
    },
  };
};
