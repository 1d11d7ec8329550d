/**
 * For tests: a real PostgreSQL for the process, and a fresh database for each file that asks for one. The server is
 * the embedded one, in a folder that goes when the tests end; with DATABASE_URL, that server, on which the databases
 * of the tests come and go beside whatever else it holds. Preload this file, so that it can clean up at the end.
 */
import { afterAll } from "bun:test";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiKeyRecord, type CreateApiKey, issueApiKey, OPERATOR } from "@realtime-avatar/domain/api-key";
import type { ApiKeySecret } from "@realtime-avatar/domain/api-key-secret";
import { newId, newRequestId, type RandomBytes, type TenantId } from "@realtime-avatar/domain/id";
import postgres from "postgres";
import { driver } from "./connection/driver.ts";
import { type Host, hostsOf } from "./connection/hosts.ts";
import { connect, type Db } from "./connection/pool.ts";
import { openByTcp } from "./embedded-testing.ts";
import { migrate } from "./migrate.ts";
import { insertRootApiKey } from "./statements/api-keys.ts";
import type { Origin } from "./statements/audit-events.ts";
import { insertTenant } from "./statements/tenants.ts";

/** A new folder that every user can enter: PostgreSQL may run as another user than the tests. */
export const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-test-"));
  await chmod(folder, 0o755);
  return folder;
};

type Server = { url: string; admin: postgres.Sql; template: string; close(): Promise<void> };

const withDatabase = (url: string, name: string): string => {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
};

const uniqueName = (): string => `avatar_test_${randomBytes(6).toString("hex")}`;

const startServer = async (): Promise<Server> => {
  let url = process.env["DATABASE_URL"];
  let stop = async (): Promise<void> => {};
  if (!url) {
    const folder = await temporaryFolder();
    // Durability is nothing to a database that lives for a minute; it is back on where durability is tested.
    const embedded = await openByTcp(join(folder, "data"), { settings: { fsync: "off", max_connections: "200" } });
    url = embedded.url;
    stop = async () => {
      await embedded.close();
      await rm(folder, { recursive: true });
    };
  }
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  const template = uniqueName();
  await admin.unsafe(`create database ${template} encoding 'UTF8' locale 'C' template template0`);
  await migrate(withDatabase(url, template));
  const close = async (): Promise<void> => {
    await admin.unsafe(`drop database ${template} with (force)`);
    await admin.end();
    await stop();
  };
  return { url, admin, template, close };
};

let server: Promise<Server> | null = null;

afterAll(async () => {
  await (await server)?.close();
  server = null;
});

/** A database as it is shipped, and a plain client to look at it and to meddle with it. */
export type TestDb = Db & { client: postgres.Sql };

/** A plain client of the first host of a URL. */
export const client = (url: string, connections = 1): postgres.Sql =>
  driver(url, hostsOf(url)[0] as Host, { max: connections });

/** One session: statements and client share its connection, and may share a transaction. */
export const session = (url: string): TestDb => {
  const own = client(url);
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

/** A pooler in transaction mode before the server of DATABASE_URL, if the tests are to go through one. */
const POOLER_PORT = process.env["TEST_POOLER_PORT"];
const pooled = (url: string): string => {
  const changed = new URL(url);
  if (POOLER_PORT !== undefined) changed.host = `127.0.0.1:${POOLER_PORT}`;
  return changed.href;
};

export type TestDatabase = { url: string; db: TestDb; close(): Promise<void> };

/** A fresh database with every migration applied, or with none. */
export const testDatabase = async (options: { migrated?: boolean } = {}): Promise<TestDatabase> => {
  server ??= startServer();
  const { url, admin, template } = await server;
  const name = uniqueName();
  const source = options.migrated === false ? "template0" : template;
  await admin.unsafe(`create database ${name} encoding 'UTF8' locale 'C' template ${source}`);
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

/** Asks again and again, until `question` finds a row; fails when it has asked so often that it never will. */
const until = async (question: () => Promise<readonly unknown[]>): Promise<void> => {
  for (let asked = 0; asked < 20_000; asked++) {
    if ((await question()).length > 0) return;
  }
  throw new Error("what the test waits for does not happen");
};

/** Waits until a statement on this database waits for a lock. */
export const untilBlocked = ({ client }: TestDb): Promise<void> =>
  until(() => client`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);

/** Waits until a statement on this database waits for a lock, and cuts its connection. */
export const cutBlocked = ({ client }: TestDb): Promise<void> =>
  until(
    () => client`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
  );

/** From now on; the function that it gives waits until a credential has been looked up since. */
export const watchLookUps = async ({ client }: TestDb): Promise<() => Promise<void>> => {
  const [clock] = await client`select clock_timestamp() as now`;
  return () =>
    until(
      () => client`
        select 1 from pg_stat_activity where datname = current_database() and state = 'idle'
          and query like '%"judgedAt"%' and query_start > ${clock?.["now"]}`,
    );
};

export const random: RandomBytes = (count) => randomBytes(count);

/** An origin of a write by whoever runs the service, now. */
export const operatorOrigin = (): Origin => {
  const now = new Date();
  return { actor: null, requestId: newRequestId(now, random), now, random };
};

/** A tenant to work with. */
export const seedTenant = async (db: Db): Promise<TenantId> => {
  const createdAt = new Date();
  const tenantId = newId("ten", createdAt, random);
  await insertTenant(db, { tenantId, name: "Tenant of a test", createdAt });
  return tenantId;
};

/** A key to work with; one of `parent`'s, if it is given, whatever `parent` may grant. */
export const seedKey = async (
  db: Db,
  tenantId: TenantId,
  request: Partial<CreateApiKey> = {},
  parent?: ApiKeyRecord,
): Promise<{ record: ApiKeyRecord; secret: ApiKeySecret }> => {
  const origin = operatorOrigin();
  const creator = parent ? { ...OPERATOR, id: parent.id, lineage: parent.lineage } : OPERATOR;
  const issued = issueApiKey({ name: "Key of a test", ...request }, creator, {
    tenantId,
    judgedAt: new Date(0),
    now: origin.now,
    random,
  });
  if (!(await insertRootApiKey(db, issued.record, issued.secret, origin))) throw new Error("the key was not written");
  return issued;
};
