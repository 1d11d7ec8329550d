/** Databases of older versions and of a newer one: see "Upgrade and roll back" in docs/deployment.md. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { migrate, withLock } from "@realtime-avatar/db/migrate";
import { migrateShard } from "@realtime-avatar/db/shards/migrate-shard";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import { digestApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { newId, newRequestId } from "@realtime-avatar/domain/id";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { bun, REPOSITORY, runToEnd } from "@realtime-avatar/testing/processes";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { callAnew, type TestApi } from "../support/api.ts";
import { start, stop } from "../support/process.ts";

// Tests do not assert times, so that a slow disk does not fail one.
setDefaultTimeout(120_000);

const MIGRATIONS = join(REPOSITORY, "packages/db/migrations");
const journal: { entries: { tag: string; when: number }[] } = JSON.parse(
  await readFile(join(MIGRATIONS, "meta/_journal.json"), "utf8"),
);

/**
 * With LONG=1, every earlier schema is tested, with the service as a process. Otherwise, only the first and the last
 * schema are tested, with the service in this process.
 */
const isLong = process.env["LONG"] === "1";

const avatar = { displayName: "Ada", sourceKind: "image", metadata: { b: 1, a: "é" } };
const cli = async ({ url }: TestDatabase, ...args: string[]) => {
  const { code, stdout, stderr } = await runToEnd(bun("apps/cli/src/main.ts", ...args, "--json"), {
    DATABASE_URL: url,
  });
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
};
type Service = { call: TestApi["call"]; stop: () => Promise<void> };
const startProcess = async ({ url }: TestDatabase): Promise<Service> => {
  const running = await start({ DATABASE_URL: url });
  return { call: running.call, stop: async () => expect(await stop(running)).toBe(0) };
};

/** The service in this process, which takes a tenth of the processor time. */
const startHere = async ({ db }: TestDatabase): Promise<Service> => ({
  call: callAnew(db),
  stop: async () => {},
});

/** Calls the service so that each of its statements runs. */
const exercise = async ({ call }: Service, key: string): Promise<void> => {
  const headers = { "idempotency-key": newRequestId(new Date(), random) };
  const made = await call("POST", "/api/v1/avatars", { key, body: avatar, headers });
  const replayed = await call("POST", "/api/v1/avatars", { key, body: avatar, headers });
  expect([made.status, replayed.status, replayed.text]).toEqual([201, 201, made.text]);
  const path = `/api/v1/avatars/${made.body.id}`;
  expect((await call("PATCH", path, { key, body: { displayName: "Grace" } })).status).toBe(200);
  expect((await call("GET", path, { key })).body.displayName).toBe("Grace");
  expect((await call("GET", "/api/v1/avatars", { key })).body.data[0].id).toBe(made.body.id);
  const child = await call("POST", "/api/v1/api-keys", { key, body: { name: "child", scopes: ["avatars:read"] } });
  expect((await call("DELETE", `/api/v1/api-keys/${child.body.id}`, { key })).body.status).toBe("revoked");
  const events = await call("GET", `/api/v1/audit-events?targetId=${made.body.id}`, { key });
  expect(events.body.data.map(({ action }: { action: string }) => action)).toEqual([
    "avatar.updated",
    "avatar.created",
  ]);
};

describe("a database of an older version", () => {
  /** Applies only the first migrations, like an earlier version of the program. */
  const migrateFirst = async ({ db: { client } }: TestDatabase, count: number): Promise<void> => {
    await client.unsafe(`create schema drizzle;
      create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`);
    for (const { tag, when } of journal.entries.slice(0, count)) {
      const text = await readFile(join(MIGRATIONS, `${tag}.sql`), "utf8");
      const statements = text.startsWith("-- no transaction") ? text.split("--> statement-breakpoint") : [text];
      for (const statement of statements) await client.unsafe(statement);
      await client`insert into drizzle.__drizzle_migrations (hash, created_at) values (${tag}, ${when})`;
    }
  };

  /** Rows in the form of the first version. Returns their key and avatar. */
  const seedRows = async (database: TestDatabase): Promise<{ key: string; avatarId: string }> => {
    const { client } = database.db;
    const now = new Date();
    const tenantId = newId("ten", now, random);
    await client`insert into tenants (tenant_id, name, created_at) values (${tenantId}, 'Old tenant', ${now})`;
    const { record, secret } = issueApiKey({ name: "old", environment: "live", scopes: ["*"] }, OPERATOR, {
      tenantId,
      checkedAt: now,
      now,
      random,
    });
    const avatarId = newId("ava", now, random);
    await client`
      insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      values (${tenantId}, ${record.id}, ${record.keyId}, 'live', 'old', array['*'], '{}', 1, ${now})`;
    await client`
      insert into api_key_credentials (key_id, tenant_id, api_key_id, digest, created_at)
      values (${secret.keyId}, ${tenantId}, ${record.id}, ${Buffer.from(digestApiKey(secret))}, ${now})`;
    await client`
      insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings,
        metadata, version, created_at, updated_at)
      values (${tenantId}, ${avatarId}, 'live', 'Old', 'video', 'm', 'draft', 0, '{}', '{"b": 1, "a": 2}', 1, ${now}, ${now})`;
    await client`
      insert into audit_events (tenant_id, id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at)
      values (${tenantId}, ${newId("aud", now, random)}, 'live', ${record.id}, ${record.keyId}, 'avatar.created', ${avatarId},
        ${newRequestId(now, random)}, ${now})`;
    return { key: secret.reveal(), avatarId };
  };
  const rowsOf = async ({ db: { client } }: TestDatabase) =>
    Promise.all(
      ["tenants", "api_keys", "api_key_credentials", "avatars", "audit_events"].map(
        async (table) => [...(await client.unsafe(`select * from ${table}`))] as object[],
      ),
    );

  const tags = journal.entries.slice(0, -1).map(({ tag }) => tag);
  const counts = isLong ? tags.map((_, index) => index + 1) : [1, tags.length];

  test.each(counts.map((count) => [tags[count - 1], count] as const))(
    "a database, migrated no later than %s: keeps its rows and serves once migrated",
    async (_, count) => {
      const database = await testDatabase({ migrated: false });
      await migrateFirst(database, count);
      const { key, avatarId } = await seedRows(database);
      const before = await rowsOf(database);
      const service = await (isLong ? startProcess : startHere)(database);
      const unready = await service.call("GET", "/readyz");
      expect([unready.status, unready.body.reason]).toEqual([503, "migrations_pending"]);

      const migrated = async (): Promise<object> =>
        isLong ? cli(database, "migrate") : { migrated: await migrate(database.url) };
      expect(await migrated()).toEqual({ migrated: true });
      expect(await rowsOf(database)).toMatchObject(before);
      expect((await service.call("GET", "/readyz")).status).toBe(200);
      const old = await service.call("GET", `/api/v1/avatars/${avatarId}`, { key });
      expect([old.status, old.body.displayName, old.text.includes('{"b":1,"a":2}')]).toEqual([200, "Old", true]);
      const events = await service.call("GET", `/api/v1/audit-events?targetId=${avatarId}`, { key });
      expect(events.body.data).toMatchObject([{ action: "avatar.created", changedFields: [] }]);
      await exercise(service, key);
      await service.stop();
      expect(await migrate(database.url)).toBe(false);
      await database.close();
    },
  );
});

/** Changes that a later version can make: one table at a time, tolerated by the current version. */
const TABLES = ["avatars", "api_keys", "audit_events"];
const expand = async ({ db: { client } }: TestDatabase): Promise<void> => {
  for (const table of TABLES) {
    await client.unsafe(`alter table ${table} add column later text`);
    await client.unsafe(`create index ${table}_later_index on ${table} (tenant_id, later)`);
  }
  const [{ newest } = { newest: 0 }] = await client<{ newest: string }[]>`
    select max(created_at) as newest from drizzle.__drizzle_migrations`;
  await client`insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', ${Number(newest) + 1000})`;
};

/** Runs `migrate` on the database of a test. */
const migrateTest = ({ url, shard }: TestDatabase): Promise<boolean> =>
  shard ? withLock(shard.coordinator, {}, (admin) => migrateShard(admin, shard.number)) : migrate(url);

describe("a schema newer than the program", () => {
  test("a newer schema, under an older program: served, and left unchanged", async () => {
    const database = await testDatabase();
    await expand(database);
    const { secret } = await seedKey(database.db, await seedTenant(database.db), {
      environment: "live",
      scopes: ["*"],
    });
    const service = await startHere(database);
    expect((await service.call("GET", "/readyz")).status).toBe(200);
    await exercise(service, secret.reveal());
    expect(await migrateTest(database)).toBe(false);
    await database.close();
  });
});
