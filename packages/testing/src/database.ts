/**
 * A real PostgreSQL for the tests of a process, and a new database for each test file. The server is embedded, in a
 * folder that is removed when the tests end. With DATABASE_URL, the databases of the tests are created on that server
 * and dropped at the end. Preload this file, so that it can clean up.
 */
import { afterAll } from "bun:test";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { migrate } from "@realtime-avatar/db/migrate";
import postgres from "postgres";
import { client, connectTo, PATIENT, shardOfUrl, withDatabase } from "./postgres/client.ts";
import { openByTcp } from "./postgres/embedded.ts";
import {
  createDatabase,
  createServiceRole,
  preparedDataDirectory,
  SERVICE_ROLE,
  TEMPLATE,
} from "./postgres/prepared.ts";
import { IS_AWAY, IS_ONE_DATABASE, shardClient, shardDatabase } from "./postgres/shard.ts";
import { removeAtEnd, temporaryFolder } from "./temporary-folder.ts";

export { client, connectTo, IS_AWAY, IS_ONE_DATABASE, preparedDataDirectory };

/** `role`: a role with the rights of the service in each migrated database, and the password of the URL. */
type Server = { url: string; admin: postgres.Sql; template: string; role: string; close(): Promise<void> };

const uniqueName = (): string => `avatar_test_${randomBytes(6).toString("hex")}`;

const connectAdmin = (url: string): postgres.Sql => postgres(url, { max: 1, onnotice: () => {} });

const startServer = async (): Promise<Server> => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  const data = await preparedDataDirectory(join(folder, "data"));
  // A database that exists for a minute needs no durability. Tests of durability enable it.
  const { url } = await openByTcp(data, { settings: { fsync: "off", max_connections: "200" } });
  return { url, admin: connectAdmin(url), template: TEMPLATE, role: SERVICE_ROLE, close: async () => {} };
};

/** The server of DATABASE_URL. */
const useServer = async (url: string): Promise<Server> => {
  const admin = connectAdmin(url);
  const [template, role] = [uniqueName(), uniqueName()];
  await admin.unsafe(createDatabase(template, "template0"));
  await migrate(withDatabase(url, template));
  await createServiceRole(withDatabase(url, template), role);
  const close = async (): Promise<void> => {
    await admin.unsafe(`drop database ${template} with (force)`);
    await admin.unsafe(`drop role ${role}`);
    await admin.end();
  };
  return { url, admin, template, role, close };
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

/** The sessions that the running test has opened; null outside of tests. */
let ofTest: Set<postgres.Sql> | null = null;

/** From now on, `endSessions` closes each opened session. */
export const watchSessions = (): void => {
  ofTest = new Set();
};

/**
 * Closes the remaining sessions of a test. A failed test may have left a transaction open, for which its other
 * statements and those of the next test would wait.
 */
export const endSessions = async (): Promise<void> => {
  const left = ofTest ?? [];
  ofTest = null;
  await Promise.all([...left].map((client) => client.end({ timeout: 0 })));
};

/** Opens one session: statements and client share its connection, and may share a transaction. It is closed with its test at the latest. */
export const session = (url: string, options: object = {}): TestDb => {
  const own = shardClient(url, 1, options);
  ofTest?.add(own);
  const db: TestDb = {
    client: own,
    deadlineMs: 60_000,
    shard: shardOfUrl(url),
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
    close: () => {
      ofTest?.delete(own);
      return own.end();
    },
  };
  return db;
};

/** The port of a pooler in transaction mode in front of the server of DATABASE_URL; undefined without one. */
const POOLER_PORT = process.env["TEST_POOLER_PORT"];
const pooled = (url: string): string => {
  const changed = new URL(url);
  if (POOLER_PORT !== undefined) changed.host = `127.0.0.1:${POOLER_PORT}`;
  return changed.href;
};

export type TestDatabase = {
  url: string;
  db: TestDb;
  /** The URL for a role that has only the rights of the service. Undefined with TEST_SHARD. */
  serviceUrl?: string;
  /**
   * The variables with which a process of the service reaches the database. With TEST_SHARD, only for a database with
   * `isServed`.
   */
  variables: Record<string, string>;
  /** With TEST_SHARD: the coordinator of the shard, its number, and the URL at its node. */
  shard?: { coordinator: string; number: number; node: string };
  close(): Promise<void>;
};

/**
 * `deadlineMs`: the limit of each statement, for tests that hold a lock for as long as a slow machine needs. `isOne`:
 * one database even with TEST_SHARD, for tests that are skipped then. `isServed`: processes of the service use it.
 */
export type TestDatabaseOptions = { migrated?: boolean; deadlineMs?: number; isOne?: boolean; isServed?: boolean };

/** Creates a database with every migration applied, or with none. */
export const testDatabase = async (given: TestDatabaseOptions = {}): Promise<TestDatabase> => {
  const { migrated, isOne, isServed, ...options } = given;
  if (!IS_ONE_DATABASE && migrated !== false && isOne !== true) return shardDatabase({ isServed, ...options });
  const serverUrl = process.env["DATABASE_URL"];
  server ??= serverUrl ? useServer(serverUrl) : startServer();
  const { url, admin, template, role } = await server;
  const name = uniqueName();
  await admin.unsafe(createDatabase(name, migrated === false ? "template0" : template));
  const db = connect(pooled(withDatabase(url, name)), { prepare: POOLER_PORT === undefined, ...PATIENT, ...options });
  const own = client(withDatabase(url, name), 10);
  return {
    url: withDatabase(url, name),
    serviceUrl: Object.assign(new URL(withDatabase(url, name)), { username: role }).href,
    variables: { DATABASE_URL: withDatabase(url, name) },
    db: { ...db, client: own },
    close: async () => {
      await Promise.all([db.close(), own.end()]);
      await admin.unsafe(`drop database ${name} with (force)`);
    },
  };
};
