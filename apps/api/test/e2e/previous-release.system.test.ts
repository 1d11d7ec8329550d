/** The previous release: an upgrade from it under load, both releases side by side, and a rollback. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { applyMigrations, type Migration, NO_TRANSACTION } from "@realtime-avatar/db/apply-migrations";
import { migrations, withLock } from "@realtime-avatar/db/migrate";
import { SCOPES } from "@realtime-avatar/domain/api-keys/scope";
import { ASSET_KINDS } from "@realtime-avatar/domain/assets/limits";
import { ASSET_STATUSES } from "@realtime-avatar/domain/assets/status";
import { AUDIT_ACTIONS } from "@realtime-avatar/domain/audit";
import { CHECK_CODES, VERDICTS } from "@realtime-avatar/domain/avatars/checks";
import { SOURCE_KINDS } from "@realtime-avatar/domain/avatars/source-kind";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { ENTRY_KINDS } from "@realtime-avatar/domain/credits/entry";
import { SESSION_STATUSES } from "@realtime-avatar/domain/credits/status";
import { newId } from "@realtime-avatar/domain/id";
import { ROLES } from "@realtime-avatar/domain/people/roles";
import { VIDEO_STATUSES } from "@realtime-avatar/domain/videos/status";
import { IS_ONE_DATABASE, type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import {
  hasPreviousRelease,
  PREVIOUS_MIGRATIONS,
  PREVIOUS_RELEASE,
  previousRelease,
} from "@realtime-avatar/testing/previous-release";
import { bun, REPOSITORY, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { random } from "@realtime-avatar/testing/random-bytes";
import { PUBLIC_URL, readAnswer, requestInit, startApi, type TestApi } from "../support/api.ts";
import { startFleet } from "../support/fleet.ts";
import { pageHeaders, seedPerson } from "../support/people/people.ts";

/** With LONG=1, tables have a million rows, and no request may take a second. Otherwise, tables have 500 rows. */
const isLong = process.env["LONG"] === "1";
const ROWS = isLong ? 1_000_000 : 500;
const ANSWERS = isLong ? 600 : 24;

// Without LONG=1, tests do not assert times, so that a slow disk does not fail one.
const api = await startApi();
/** A database whose checks a newer release has dropped. */
const newer = await startApi();

setDefaultTimeout(isLong ? 900_000 : 120_000);

const cli = async (program: string[], { url }: TestDatabase) => {
  const { code, stdout, stderr } = await runToEnd([...program, "--json"], { DATABASE_URL: url });
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
};

/** A database as the previous release leaves it, with credits and a key with all scopes. */
const previousDatabase = async () => {
  const database = await testDatabase({ migrated: false });
  const old = async (...args: string[]) => cli(await previousRelease("cli", ...args), database);
  expect(await old("migrate")).toEqual({ migrated: true });
  const { id: tenantId } = await old("tenants", "create", "--name", "Acme");
  const live = ["--tenant", tenantId, "--environment", "live"];
  const { apiKey } = await old("keys", "create", ...live, "--name", "ops", "--scopes", "*,usage:write");
  await old("credits", "grant", ...live, "--amount", "9000000000000", "--reference", "load");
  return { database, key: apiKey as string, tenantId: tenantId as string };
};

/** Adds rows of another tenant, so that the tables are large. */
const fill = async ({ db: { client } }: TestDatabase): Promise<void> => {
  const tenant = "'ten_00000000000000000000000000'";
  const id = (prefix: string): string => `'${prefix}_0' || lpad(n::text, 25, '0')`;
  const rows = `from generate_series(1, ${ROWS}) n`;
  await client.unsafe(`insert into tenants (tenant_id, name, created_at) values (${tenant}, 'Large', now())`);
  await client.unsafe(`
    insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
    select ${tenant}, ${id("key")}, lpad(n::text, 16, '0'), 'live', 'n', '{avatars:read}', '{}', 1, now() ${rows}`);
  await client.unsafe(`insert into api_key_meters (tenant_id, api_key_id) select ${tenant}, ${id("key")} ${rows}`);
  await client.unsafe(`
    insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings,
      metadata, version, created_at, updated_at)
    select ${tenant}, ${id("ava")}, 'live', 'n', 'image', 'm', 'draft', 0, '{}', '{}', 1, now(), now() ${rows}`);
  await client.unsafe(`
    insert into audit_events (tenant_id, id, environment, action, target_id, request_id, created_at)
    select ${tenant}, ${id("aud")}, 'live', 'avatar.created', ${id("ava")}, 'r', now() ${rows}`);
  await client.unsafe(`
    insert into usage_sessions (tenant_id, id, environment, api_key_id, lineage, status, reserved, price, metadata, created_at,
      ended_at, expires_at)
    select ${tenant}, ${id("ses")}, 'live', ${id("key")}, '{}', 'released', 1, 1, '{}', now(), now(), now() ${rows}`);
  await client.unsafe(`
    insert into credit_entries (tenant_id, id, environment, kind, amount, session_id, request_id, created_at)
    select ${tenant}, ${id("ent")}, 'live', 'hold', 1, ${id("ses")}, 'r', now() ${rows}`);
  await client.unsafe("analyze");
};

/** Changes that a later release can make, by the rules for migrations. */
const NEXT = Date.UTC(2100, 0);
const LATER: Migration[] = [
  ["api_keys", "avatars", "usage_sessions", "api_key_meters", "credit_accounts", "credit_entries", "audit_events"]
    .map(
      (table) => `ALTER TABLE "${table}" ADD COLUMN "later" text,
        ADD COLUMN "later_count" bigint DEFAULT 0 NOT NULL,
        ADD CONSTRAINT "${table}_later_check" CHECK ("later" <> '') NOT VALID;`,
    )
    .join("--> statement-breakpoint\n"),
  `ALTER TABLE "avatars" VALIDATE CONSTRAINT "avatars_later_check";`,
  `ALTER TABLE "audit_events" VALIDATE CONSTRAINT "audit_events_later_check";`,
  `${NO_TRANSACTION}CREATE INDEX CONCURRENTLY IF NOT EXISTS "later_avatars_index" ON "avatars" ("tenant_id","later");
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "later_events_index" ON "audit_events" ("tenant_id","later");`,
].map((text, index) => ({ tag: `later_${index}`, when: NEXT + index, text }));
const migrateLater = ({ url }: TestDatabase): Promise<boolean> =>
  withLock(url, {}, (client) => applyMigrations(client, LATER));

/** Drops the columns of a later release, and changes a type, so that PostgreSQL plans statements again. */
const contract = async ({ db: { client } }: TestDatabase): Promise<void> => {
  for (const table of ["avatars", "api_keys", "audit_events"]) {
    await client.unsafe(`alter table ${table} drop column later`);
  }
  // A type without a length, so that PostgreSQL rewrites no rows.
  await client.unsafe("alter table avatars alter column model_id type varchar");
};

const AVATAR = { displayName: "Ada", sourceKind: "image" };

/**
 * The load of callers: each request goes to the next of the ready processes. Records the responses that are not a
 * success.
 */
const createLoad = (key: string) => {
  const refused: string[] = [];
  let longestMs = 0;
  const ask = async (url: string, method: string, path: string, body?: object, headers = {}): Promise<Response> => {
    const start = performance.now();
    const response = await fetch(`${url}/api/v1${path}`, requestInit(method, { key, body, headers }));
    longestMs = Math.max(longestMs, performance.now() - start);
    if (!response.ok) refused.push(`${method} ${path}: ${response.status} ${await response.clone().text()}`);
    return response;
  };
  const steps: ((url: string) => Promise<Response>)[] = [
    (url) => ask(url, "POST", "/avatars", AVATAR),
    (url) => ask(url, "GET", "/avatars?limit=2"),
    async (url) => {
      const { body } = await readAnswer(await ask(url, "POST", "/avatars", AVATAR));
      await ask(url, "PATCH", `/avatars/${body.id}`, { displayName: "Grace" });
      return ask(url, "GET", `/avatars/${body.id}`);
    },
    async (url) => {
      const child = { name: "child", environment: "live", scopes: ["avatars:read"] };
      const { body } = await readAnswer(await ask(url, "POST", "/api-keys", child));
      return ask(url, "DELETE", `/api-keys/${body.id}`);
    },
    async (url) => {
      const { body } = await readAnswer(await ask(url, "POST", "/usage/sessions", { maxSessionSeconds: 60 }));
      await ask(url, "POST", `/usage/sessions/${body.sessionId}/usage`, { usedCreditMicros: 1_000_000 });
      return ask(url, "POST", `/usage/sessions/${body.sessionId}/release`, { usedCreditMicros: 2_000_000 });
    },
    (url) => ask(url, "GET", "/usage/sessions?limit=2"),
    (url) => ask(url, "GET", "/credits/balance"),
    (url) => ask(url, "GET", "/credits/entries?limit=2"),
    (url) => ask(url, "GET", "/audit-events?limit=20"),
    (url) => ask(url, "GET", "/api-keys?limit=2"),
    (url) => ask(url, "GET", "/api-keys/self"),
    (url) => ask(url, "POST", "/avatars", AVATAR, { "idempotency-key": crypto.randomUUID() }),
  ];
  let sent = 0;
  return {
    send: (url: string): Promise<Response> => (steps[sent++ % steps.length] as (typeof steps)[number])(url),
    refused,
    longestMs: () => longestMs,
  };
};

describe.skipIf(!hasPreviousRelease)("the previous release", () => {
  test("replaced under load, beside this version, then back: no request fails", async () => {
    const { database, key, tenantId } = await previousDatabase();
    await fill(database);
    const old = await previousRelease("api");
    const load = createLoad(key);
    const fleet = await startFleet({ DATABASE_URL: database.url }, load.send, old);
    try {
      await fleet.untilAnswered(ANSWERS);
      // The migrations of this version, and its functions.
      await cli(bun("apps/cli/src/main.ts", "migrate"), database);
      await fleet.untilAnswered(ANSWERS);
      await fleet.replace(0);
      await migrateLater(database);
      await fleet.untilAnswered(ANSWERS);
      if (isLong) await fleet.replace(1);
      await fleet.untilAnswered(ANSWERS);
      await contract(database);
      await fleet.untilAnswered(ANSWERS);
      await fleet.replace(0, undefined, old);
      await fleet.untilAnswered(ANSWERS);
    } finally {
      await fleet.stop();
    }
    expect(fleet.failures).toEqual([]);
    expect(load.refused).toEqual([]);
    if (isLong) {
      const count = [...fleet.statuses.values()].reduce((sum, one) => sum + one);
      process.stdout.write(`the longest of ${count} turns: ${load.longestMs()} ms\n`);
      expect(load.longestMs()).toBeLessThan(1000);
    }
    const verified = await cli(bun("apps/cli/src/main.ts", "credits", "verify", "--tenant", tenantId), database);
    expect(verified.drift).toEqual([]);
    const [row] = await database.db.client`select count(*)::int as count from drizzle.__drizzle_migrations`;
    expect(row?.["count"]).toBeGreaterThanOrEqual(PREVIOUS_MIGRATIONS + LATER.length);
    await database.close();
  });
});

/** The columns with lists of values that the API shows. */
const VALUES = {
  actions: AUDIT_ACTIONS,
  assetKinds: ASSET_KINDS,
  assetStatuses: ASSET_STATUSES.filter((status) => status !== "deleted"),
  avatarStatuses: AVATAR_STATUSES.filter((status) => status !== "deleted"),
  checkCodes: CHECK_CODES,
  entryKinds: ENTRY_KINDS,
  roles: ROLES,
  scopes: SCOPES,
  sessionStatuses: SESSION_STATUSES,
  sourceKinds: SOURCE_KINDS,
  verdicts: VERDICTS,
  videoStatuses: VIDEO_STATUSES.filter((status) => status !== "deleted"),
} satisfies Record<string, readonly string[]>;
type Values = Record<keyof typeof VALUES, readonly string[]>;
const UNKNOWN = Object.fromEntries(Object.keys(VALUES).map((name) => [name, ["later"]])) as unknown as Values;

/** Writes a row with each of the values. Returns the ids of the rows. */
const seedValues = async ({ database, tenantId }: TestApi, values: Values): Promise<Record<string, string[]>> => {
  const { client } = database.db;
  const now = new Date();
  const ids: Record<string, string[]> = {};
  const seed = async (prefix: Parameters<typeof newId>[0], table: string, row: Record<string, unknown>) => {
    const id = newId(prefix, now, random);
    const fields = { tenant_id: tenantId, id, created_at: now, ...row };
    await client`insert into ${client(table)} ${client(fields as unknown as Record<string, string>)}`;
    ids[table] = [...(ids[table] ?? []), id];
    return id;
  };
  const live = { environment: "live" };
  const versioned = { ...live, metadata: {}, version: 1 };
  for (const action of values.actions) {
    await seed("aud", "audit_events", { ...live, action, target_id: "key_x", request_id: "r" });
  }
  const avatar = { ...versioned, display_name: "x", model_id: "m", settings: {}, cache_version: 0, updated_at: now };
  const check = { code: CHECK_CODES[0], verdict: "pass", measured: null, limit: null, detail: "x" };
  const checks = client.json([
    ...values.checkCodes.map((code) => ({ ...check, code })),
    ...values.verdicts.map((verdict) => ({ ...check, verdict })),
  ]);
  for (const status of values.avatarStatuses) {
    for (const source_kind of values.sourceKinds)
      await seed("ava", "avatars", { ...avatar, status, source_kind, checks });
  }
  const file = { content_type: "image/png", size_bytes: 1, reserved_bytes: 1, sha256: "0".repeat(64), updated_at: now };
  for (const status of values.assetStatuses) {
    const error = status === "failed" ? { error_code: "later", error_detail: "x" } : {};
    for (const kind of values.assetKinds) {
      const public_token = newId("ast", now, random).padEnd(43, "x");
      await seed("ast", "assets", { ...versioned, ...file, ...error, status, kind, public_token });
      // The file of a video.
      if (kind === "video" && status === "ready") {
        const generated = {
          origin: "generated",
          duration_ms: 1,
          public_token: newId("ast", now, random).padEnd(43, "x"),
        };
        await seed("ast", "assets", { ...versioned, ...file, status, kind, ...generated });
      }
    }
  }
  const keys: string[] = [];
  for (const scope of values.scopes) {
    const key_id = newId("key", now, random).slice(-16);
    const scopes = [scope];
    keys.push(await seed("key", "api_keys", { ...live, name: "x", key_id, scopes, lineage: [], version: 1 }));
  }
  await client`insert into api_key_meters ${client(keys.map((id) => ({ tenant_id: tenantId, api_key_id: id })))}`;
  const session = { ...versioned, api_key_id: keys[0], lineage: [], reserved: 1, price: 1, expires_at: now };
  for (const status of values.sessionStatuses) {
    const ended_at = ["released", "failed"].includes(status) ? now : null;
    await seed("ses", "usage_sessions", { ...session, status, ended_at });
  }
  const video_id = newId("vid", now, random);
  const session_id = await seed("ses", "usage_sessions", {
    ...session,
    status: "started",
    is_counted: false,
    video_id,
  });
  for (const status of values.videoStatuses) {
    const isRunning = ["queued", "rendering"].includes(status);
    const billed = isRunning ? {} : { billed_seconds: 0, billed_credit_micros: 0 };
    const more = {
      ...(status === "ready" ? { asset_id: ids["assets"]?.[0], duration_ms: 1 } : {}),
      ...(status === "failed" ? { error_code: "later", error_detail: "x" } : {}),
    };
    const said = {
      avatar_id: ids["avatars"]?.[0],
      text: "x",
      api_key_id: keys[0],
      reserved_credit_micros: 1,
      session_id,
    };
    await seed("vid", "videos", { ...versioned, ...said, ...billed, ...more, status, updated_at: now });
  }
  for (const kind of values.entryKinds) {
    await seed("ent", "credit_entries", { ...live, kind, amount: 1, request_id: "r" });
  }
  for (const role of values.roles) await seed("usr", "users", { email: `${role}@x.test`, name: "x", role, version: 1 });
  return ids;
};

const PATHS: Record<string, string> = {
  api_keys: "/api/v1/api-keys",
  assets: "/api/v1/assets",
  audit_events: "/api/v1/audit-events",
  avatars: "/api/v1/avatars",
  credit_entries: "/api/v1/credits/entries",
  usage_sessions: "/api/v1/usage/sessions",
  users: "/api/v1/users",
  videos: "/api/v1/videos",
};
const TABLES_WITHOUT_READ = ["audit_events", "credit_entries"];

/**
 * Reads each list and each row of `ids` from `url`, as a person. Returns the responses that are not 200 or lack a row.
 */
const failedReads = async (url: string, cookie: string, ids: Record<string, string[]>): Promise<string[]> => {
  const get = async (path: string) =>
    readAnswer(await fetch(url + path, requestInit("GET", { headers: pageHeaders(cookie) })));
  const failures: string[] = [];
  for (const [table, rows] of Object.entries(ids)) {
    const list = await get(`${PATHS[table]}?limit=100`);
    if (list.status !== 200) failures.push(`${table}: ${list.status}`);
    failures.push(...rows.filter((id) => !list.text.includes(id)).map((id) => `${table}: without ${id}`));
    for (const id of TABLES_WITHOUT_READ.includes(table) ? [] : rows) {
      const one = await get(`${PATHS[table]}/${id}`);
      if (one.status !== 200) failures.push(`${table}/${id}: ${one.text}`);
    }
  }
  return failures;
};

test("docs/deployment.md, the oldest release to go back to: the previous release", async () => {
  const text = (await Bun.file(join(REPOSITORY, "docs/deployment.md")).text()).replace(/\s+/g, " ");
  const newest = migrations()[PREVIOUS_MIGRATIONS - 1]?.tag;
  expect(text).toContain(`\`${newest}\` (commit \`${PREVIOUS_RELEASE.slice(0, 7)}\`)`);
});

describe("values of another release", () => {
  const why = IS_ONE_DATABASE ? "" : " (not on Citus: that release is tested on one database)";
  const reads = test.skipIf(!hasPreviousRelease || !IS_ONE_DATABASE);

  reads(`the previous release, reading every value that this version writes: no 500${why}`, async () => {
    // The previous release has no videos, but reads their usage sessions and files.
    const { videos: _, ...ids } = await seedValues(api, VALUES);
    const { cookie } = await seedPerson(api, "owner");
    const variables = { PORT: "0", DATABASE_URL: api.database.url, PUBLIC_URL };
    const old = startProcess(await previousRelease("api"), variables);
    const [, url = ""] = await old.waitFor(/"url":"(http:[^"]+)"/);
    expect(await failedReads(url, cookie, ids)).toEqual([]);
    old.kill("SIGTERM");
    await old.exited;
  });

  test("this version, reading values that a newer one writes: no 500", async () => {
    const { client } = newer.database.db;
    const checks = await client<{ name: string; table: string }[]>`
      select conname as name, relname as table from pg_constraint join pg_class on pg_class.oid = conrelid
      where contype = 'c' and connamespace = current_schema()::regnamespace`;
    for (const { name, table } of checks) await client`alter table ${client(table)} drop constraint ${client(name)}`;
    const ids = await seedValues(newer, UNKNOWN);
    const { cookie } = await seedPerson(newer, "owner");
    expect(await failedReads(newer.url, cookie, ids)).toEqual([]);

    const key = await newer.key({ environment: "live", scopes: ["*", "usage:write"] });
    const write = async (method: string, table: string, action = "", body?: object) => {
      const { status } = await newer.call(method, `${PATHS[table]}/${ids[table]?.[0]}${action}`, { key, body });
      return `${method} ${table}${action}: ${status}`;
    };
    // Each request is refused or executed, but is never a defect.
    const written = [
      await write("PATCH", "avatars", "", { displayName: "y" }),
      await write("POST", "avatars", "/prepare", {}),
      await write("DELETE", "avatars"),
      await write("POST", "assets", "/complete", {}),
      await write("DELETE", "assets"),
      await write("POST", "usage_sessions", "/usage", { usedCreditMicros: 1 }),
      await write("POST", "usage_sessions", "/release", {}),
      await write("PATCH", "api_keys", "", { name: "y" }),
      await write("DELETE", "api_keys"),
      await write("DELETE", "videos"),
    ];
    expect(written.filter((line) => !/: (200|409)$/.test(line))).toEqual([]);

    const known = await newer.key({ environment: "live", scopes: ["avatars:read"] });
    await client`update api_keys set scopes = '{later,avatars:read}' where scopes = '{avatars:read}'`;
    expect((await newer.call("GET", PATHS["avatars"] ?? "", { key: known })).status).toBe(200);
    expect((await newer.call("POST", PATHS["avatars"] ?? "", { key: known, body: {} })).status).toBe(403);
    const person = await seedPerson(newer, "viewer");
    await client`update users set role = 'later' where id = ${person.id}`;
    expect((await person.call("GET", "/api/v1/user-sessions/current")).status).toBe(403);
  });
});
