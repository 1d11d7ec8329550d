/** The guarantees of the database itself, read from its catalog and tested on its tables. */
import { beforeAll, describe, expect, test } from "bun:test";
import { newId } from "@realtime-avatar/domain/id";
import { IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  assetJob,
  newJobId,
  plannedAsset,
  plannedAvatar,
  seedAsset,
  seedAvatar,
  seedCaller,
  seedKey,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { Glob } from "bun";
import { is } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import { insertAsset } from "./assets/assets.ts";
import { insertAvatar } from "./avatars/avatars.ts";

const modules = await Array.fromAsync(new Glob("schema/*.ts").scan(import.meta.dir), (path) => import(`./${path}`));
const TABLES: unknown[] = modules.flatMap((module) => Object.values(module));

const database = await fileDatabase();

/** On Citus the tables come from the same migrations. The tests of `verify` examine them. */
describe.skipIf(!IS_ONE_DATABASE)("the catalog of one database", () => {
  test("every key and unique index, except those of api_key_credentials: begins with tenant_id", async () => {
    const indexes = await database.db.client<{ table: string; first: string }[]>`
      select c.relname as table, a.attname as first
      from pg_index i
      join pg_class c on c.oid = i.indrelid
      join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
      where c.relnamespace = 'public'::regnamespace and (i.indisunique or i.indisprimary)`;
    const foreignKeys = await database.db.client<{ table: string; first: string }[]>`
      select c.relname as table, a.attname as first
      from pg_constraint k
      join pg_class c on c.oid = k.conrelid
      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[1]
      where c.relnamespace = 'public'::regnamespace and k.contype = 'f'`;
    const tables = new Set(indexes.map(({ table }) => table));
    expect([...tables].sort()).toEqual([
      "api_key_credentials",
      "api_key_meters",
      "api_key_pending_changes",
      "api_key_usage",
      "api_keys",
      "asset_meters",
      "assets",
      "audit_events",
      "avatars",
      "call_agents",
      "call_recordings",
      "call_segments",
      "call_tickets",
      "call_transcripts",
      "call_turns",
      "calls",
      "connection_histories",
      "conversation_usage",
      "credit_accounts",
      "credit_entries",
      "idempotency_keys",
      "invitations",
      "job_slots",
      "jobs",
      "passkeys",
      "people_seen",
      "recording_fragments",
      "recordings",
      "spent_challenges",
      "tenant_settings",
      "tenants",
      "unneeded_files",
      "usage_sessions",
      "user_identities",
      "user_sessions",
      "users",
      "videos",
      "webhook_deliveries",
      "webhook_endpoints",
      "webhook_events",
      "webhook_hosts",
      "webhook_turns",
    ]);
    expect(foreignKeys.map(({ table }) => table).sort()).toEqual([
      "api_keys",
      "asset_meters",
      "assets",
      "audit_events",
      "avatars",
      "credit_accounts",
      "credit_entries",
      "invitations",
      "job_slots",
      "jobs",
      "passkeys",
      "spent_challenges",
      "usage_sessions",
      "user_identities",
      "user_sessions",
      "users",
      "videos",
      "webhook_endpoints",
      "webhook_turns",
    ]);
    for (const { table, first } of [...indexes, ...foreignKeys]) {
      expect(`${table}: ${first}`).toBe(`${table}: ${table === "api_key_credentials" ? "key_id" : "tenant_id"}`);
    }
  });

  test("the tables, in the catalog: each has a primary key and no sequence", async () => {
    const sequences = await database.db.client`
      select 1 from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace`;
    expect(sequences).toHaveLength(0);
    const bare = await database.db.client`
      select 1 from pg_class c where relkind = 'r' and relnamespace = 'public'::regnamespace
        and not exists (select 1 from pg_index i where i.indrelid = c.oid and i.indisprimary)`;
    expect(bare).toHaveLength(0);
  });

  test("the columns of ids, in every table: compared bytewise", async () => {
    const columns = await database.db.client<{ name: string; collation: string }[]>`
      select c.relname || '.' || a.attname as name, l.collname as collation
      from pg_attribute a
      join pg_class c on c.oid = a.attrelid and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
      join pg_collation l on l.oid = a.attcollation
      where a.attname in ('tenant_id', 'id', 'key_id', 'api_key_id', 'actor_id', 'actor_key_id', 'target_id',
        'user_id', 'passkey_id', 'identity_id', 'created_by')`;
    expect(columns.length).toBeGreaterThan(10);
    for (const { name, collation } of columns) expect(`${name} ${collation}`).toBe(`${name} C`);
  });

  test("the constraints, in the catalog: equal those of schema.ts", async () => {
    const found = await database.db.client<{ name: string }[]>`
      select conname as name from pg_constraint where contype = 'c' and connamespace in ('public'::regnamespace, 'fleet'::regnamespace)`;
    const tables = TABLES.filter((table) => is(table, PgTable));
    const declared = tables.flatMap((table) => getTableConfig(table).checks.map(({ name }) => name));
    expect(found.map(({ name }) => name).sort()).toEqual(declared.sort());
    expect(declared.length).toBeGreaterThan(25);
  });
});

describe("the constraints", () => {
  /** The required values of each row. The other values are those of a row that the service has written. */
  const OWN_VALUES = {
    tenants: () => ({ tenant_id: newId("ten", new Date(), random) }),
    api_keys: () => ({ id: newId("key", new Date(), random), key_id: keyId() }),
    api_key_credentials: () => ({ key_id: keyId() }),
    avatars: () => ({ id: newId("ava", new Date(), random) }),
    assets: () => ({
      id: newId("ast", new Date(), random),
      public_token: Buffer.from(random(32)).toString("base64url"),
    }),
    asset_meters: () => ({ environment: "test" }),
    jobs: () => ({ id: newJobId(), target_id: newJobId() }),
    audit_events: () => ({ id: newId("aud", new Date(), random) }),
  };
  type Table = keyof typeof OWN_VALUES;
  const keyId = (): string => Buffer.from(random(8)).toString("hex");

  beforeAll(async () => {
    const caller = await seedCaller(database.db);
    await seedAvatar(database.db, caller);
    await seedAsset(database.db, caller.tenantId);
    const asset = plannedAsset(caller);
    const quota = { maxAssets: 10, maxBytes: 1e9 };
    await insertAsset(database.db, { asset, job: assetJob(asset), quota }, caller, seedOrigin(caller));
  });

  const insert = async (table: Table, change: object): Promise<string> => {
    const { client } = database.db;
    const values = JSON.stringify({ ...OWN_VALUES[table](), ...change });
    // Two statements, because Citus refuses an INSERT with a subquery.
    const populated = `select json_populate_record(one, $1::text::json)::text as row from ${table} one limit 1`;
    const [{ row }] = await client.unsafe<[{ row: string }]>(populated, [values]);
    try {
      await client.unsafe(`insert into ${table} values (($1::text::${table}).*)`, [row]);
      return "accepted";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  const long = (length: number): string => "😀".repeat(length);
  const CHECK = "23514";
  const NOT_NULL = "23502";
  const FOREIGN_KEY = "23503";

  test.each<[Table, object, string]>([
    ["tenants", {}, "accepted"],
    ["tenants", { name: "" }, CHECK],
    ["tenants", { name: long(121) }, CHECK],
    ["tenants", { tenant_id: "ten_x" }, CHECK],
    ["api_keys", {}, "accepted"],
    ["api_keys", { name: long(120) }, "accepted"],
    ["api_keys", { name: long(121) }, CHECK],
    ["api_keys", { name: "" }, CHECK],
    ["api_keys", { name: null }, NOT_NULL],
    ["api_keys", { environment: "prod" }, CHECK],
    ["api_keys", { scopes: [] }, CHECK],
    ["api_keys", { scopes: Array(16).fill("*") }, "accepted"],
    ["api_keys", { scopes: Array(17).fill("*") }, CHECK],
    ["api_keys", { scopes: ["avatars"] }, CHECK],
    ["api_keys", { scopes: ["*", null] }, CHECK],
    ["api_keys", { spend_limit_credit_micros: -1 }, CHECK],
    ["api_keys", { spend_limit_credit_micros: "9007199254740991" }, "accepted"],
    ["api_keys", { spend_limit_credit_micros: "9007199254740992" }, CHECK],
    ["api_keys", { lineage: Array.from({ length: 8 }, () => newId("key", new Date(), random)) }, "accepted"],
    ["api_keys", { lineage: Array.from({ length: 9 }, () => newId("key", new Date(), random)) }, CHECK],
    ["api_keys", { id: "key_01h455vb4pex5vsknk084sn02q", lineage: ["key_01h455vb4pex5vsknk084sn02q"] }, CHECK],
    ["api_keys", { version: 0 }, CHECK],
    ["api_keys", { id: "ava_01h455vb4pex5vsknk084sn02q" }, CHECK],
    ["api_keys", { key_id: "short" }, CHECK],
    ["api_keys", { tenant_id: "ten_01h455vb4pex5vsknk084sn02q" }, FOREIGN_KEY],
    ["api_key_credentials", {}, "accepted"],
    ["api_key_credentials", { digest: "rta_live_secret" }, CHECK],
    ["api_key_credentials", { key_id: "0123456789abcde_" }, CHECK],
    ["avatars", {}, "accepted"],
    ["avatars", { display_name: long(160) }, "accepted"],
    ["avatars", { display_name: long(161) }, CHECK],
    ["avatars", { display_name: "" }, CHECK],
    ["avatars", { source_kind: "gif" }, CHECK],
    ["avatars", { status: "new" }, CHECK],
    ["avatars", { environment: "prod" }, CHECK],
    ["avatars", { model_id: "" }, CHECK],
    ["avatars", { source_asset_id: "" }, CHECK],
    ["avatars", { source_asset_id: long(161) }, CHECK],
    ["avatars", { default_voice_id: long(7) }, CHECK],
    ["avatars", { default_voice_id: long(161) }, CHECK],
    ["avatars", { cache_version: -1 }, CHECK],
    ["avatars", { id: "key_01h455vb4pex5vsknk084sn02q" }, CHECK],
    ["avatars", { cache_manifest_id: "" }, CHECK],
    ["avatars", { pending_source_asset_id: "" }, CHECK],
    ["avatars", { pending_source_asset_id: long(161) }, CHECK],
    ["avatars", { generation: -1 }, CHECK],
    ["avatars", { error: "" }, CHECK],
    ["avatars", { error: long(500) }, "accepted"],
    ["avatars", { error: long(501) }, CHECK],
    ["avatars", { checks: {} }, CHECK],
    ["avatars", { checks: Array(32).fill({}) }, "accepted"],
    ["avatars", { checks: Array(33).fill({}) }, CHECK],
    ["avatars", { preview_token: "a".repeat(43), preview_file: "1/0af-webp" }, "accepted"],
    ["avatars", { preview_token: "a".repeat(42), preview_file: "1/0af-webp" }, CHECK],
    ["avatars", { preview_token: '"'.repeat(43), preview_file: "1/0af-webp" }, CHECK],
    ["avatars", { preview_token: "a".repeat(43) }, CHECK],
    ["avatars", { preview_file: "1/0af-webp" }, CHECK],
    ["avatars", { preview_token: "a".repeat(43), preview_file: "../0af-webp" }, CHECK],
    ["avatars", { preview_token: "a".repeat(43), preview_file: "1/../a-webp" }, CHECK],
    ["avatars", { settings: [] }, CHECK],
    ["avatars", { metadata: [] }, CHECK],
    ["avatars", { settings: { x: "y".repeat(32_768) } }, CHECK],
    ["avatars", { metadata: { x: "y".repeat(32_768 - 8) } }, "accepted"],
    ["avatars", { metadata: { x: "y".repeat(32_768 - 7) } }, CHECK],
    ["avatars", { version: 0 }, CHECK],
    ["avatars", { tenant_id: "ten_01h455vb4pex5vsknk084sn02q" }, FOREIGN_KEY],
    ["assets", {}, "accepted"],
    ["assets", { id: "ava_01h455vb4pex5vsknk084sn02q" }, CHECK],
    ["assets", { kind: "text" }, CHECK],
    ["assets", { status: "new" }, CHECK],
    ["assets", { content_type: null }, CHECK],
    ["assets", { content_type: long(65) }, CHECK],
    ["assets", { size_bytes: -1 }, CHECK],
    ["assets", { sha256: "0".repeat(63) }, CHECK],
    ["assets", { sha256: "A".repeat(64) }, CHECK],
    ["assets", { public_token: '"'.repeat(43) }, CHECK],
    ["assets", { remote_url: long(2048) }, "accepted"],
    ["assets", { remote_url: long(2049) }, CHECK],
    ["assets", { reserved_bytes: "9007199254740992" }, CHECK],
    ["assets", { status: "failed" }, CHECK],
    ["assets", { status: "failed", error_code: "x", error_detail: "y" }, "accepted"],
    ["assets", { status: "failed", error_code: "x" }, CHECK],
    ["assets", { error_code: "x", error_detail: "y" }, CHECK],
    ["assets", { status: "pending_upload", content_type: null, size_bytes: null, sha256: null }, "accepted"],
    ["assets", { original_filename: long(241) }, CHECK],
    ["assets", { metadata: [] }, CHECK],
    ["assets", { tenant_id: "ten_01h455vb4pex5vsknk084sn02q" }, FOREIGN_KEY],
    ["asset_meters", {}, "accepted"],
    ["asset_meters", { assets: -1 }, CHECK],
    ["asset_meters", { bytes: -1 }, CHECK],
    ["asset_meters", { environment: "prod" }, CHECK],
    ["jobs", {}, "accepted"],
    ["jobs", { kind: "prepare_avatar" }, "accepted"],
    ["jobs", { kind: "other" }, CHECK],
    ["jobs", { generation: 0 }, CHECK],
    ["jobs", { lease: "x" }, CHECK],
    ["jobs", { leased_until: new Date() }, CHECK],
    ["jobs", { last_error: long(501) }, CHECK],
    ["audit_events", {}, "accepted"],
    ["audit_events", { actor_id: "key_01h455vb4pex5vsknk084sn02q" }, CHECK],
    ["audit_events", { id: "ava_01h455vb4pex5vsknk084sn02q" }, CHECK],
    ["audit_events", { environment: "prod" }, CHECK],
    ["audit_events", { tenant_id: "ten_01h455vb4pex5vsknk084sn02q" }, FOREIGN_KEY],
  ])("a row of %s, with %j: %s", async (table, change, outcome) => {
    expect(await insert(table, change)).toBe(outcome);
  });

  test.each(["update audit_events set action = 'x'", "delete from audit_events", "truncate audit_events"])(
    "the audit trail, on %s: refused",
    async (statement) => {
      await seedKey(database.db, await seedTenant(database.db));
      const before = await database.db.client`select count(*) from audit_events`;
      await expect(database.db.client.unsafe(statement).execute()).rejects.toMatchObject({ code: "23001" });
      expect(await database.db.client`select count(*) from audit_events`).toEqual(before);
    },
  );
});

describe("the creation of an avatar", () => {
  test("a creation, committed: the resource and its audit event, with the right ids", async () => {
    const { db } = database;
    const caller = await seedCaller(db);
    const origin = seedOrigin(caller);
    const { tenantId } = caller;
    const avatar = plannedAvatar(caller, { displayName: "Ada", metadata: JSON.parse('{"__proto__":{"a":1e308}}') });
    const { id } = avatar;
    expect(await insertAvatar(db, avatar, null, caller, origin)).toEqual({ kind: "written" });

    const [row] = await db.client`select *, metadata::text as text from avatars where id = ${id}`;
    expect(row).toMatchObject({
      tenant_id: tenantId,
      display_name: "Ada",
      text: '{"__proto__":{"a":1e+308}}',
      version: 1,
    });
    expect(await db.client`select * from audit_events where target_id = ${id}`).toMatchObject([
      {
        tenant_id: tenantId,
        environment: "live",
        actor_id: caller.id,
        actor_key_id: caller.keyId,
        action: "avatar.created",
        request_id: origin.requestId,
        created_at: origin.now,
      },
    ]);
  });

  test("a creation whose audit event fails: nothing is written", async () => {
    const { db } = database;
    const caller = await seedCaller(db);
    const now = new Date();
    // Two sources with the same randomness make the same id of the audit event.
    const origin = () => ({ actor: caller, requestId: "r", now, random: () => new Uint8Array(10).fill(7) });
    const [first, second] = [plannedAvatar(caller), plannedAvatar(caller)];
    expect(await insertAvatar(db, first, null, caller, origin())).toEqual({ kind: "written" });
    await expect(insertAvatar(db, second, null, caller, origin())).rejects.toMatchObject({ code: "23505" });
    expect(await db.client`select id from avatars where tenant_id = ${caller.tenantId}`).toMatchObject([
      { id: first.id },
    ]);
  });
});
