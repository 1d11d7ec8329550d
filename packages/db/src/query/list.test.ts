/**
 * Lists: their JSON is the API's representation of each record, their pages are bounded, and no list reads a whole
 * table.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { presentApiKey } from "@realtime-avatar/domain/api-keys/api-key";
import { type ApiKey, ApiKeyPage, type ApiKeyWithCreator } from "@realtime-avatar/domain/api-keys/schemas";
import { API_KEY_STATUSES } from "@realtime-avatar/domain/api-keys/status";
import { AUDIT_ACTIONS, AuditEvent, AuditEventPage, type AuditEventRecord } from "@realtime-avatar/domain/audit";
import { type AvatarRecord, newAvatar, presentAvatar } from "@realtime-avatar/domain/avatars/avatar";
import { type Avatar, AvatarPage } from "@realtime-avatar/domain/avatars/schemas";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { MAX_PAGE_BYTES, parseItems, type WrittenPage } from "@realtime-avatar/domain/page";
import { presentAs } from "@realtime-avatar/domain/present";
import { type JsonObject, validate } from "@realtime-avatar/domain/schema";
import type { TestDb } from "@realtime-avatar/testing/database";
import { connectTo } from "@realtime-avatar/testing/database";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { inStatus, operatorOrigin, seedCaller, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import type { TSchema } from "@sinclair/typebox";
import { sql } from "drizzle-orm";
import { findApiKey, revokeApiKey } from "../api-keys/api-keys.ts";
import { findCreator } from "../api-keys/creator.ts";
import { listApiKeys } from "../api-keys/list.ts";
import { recordUses } from "../api-keys/usage.ts";
import { listAuditEvents } from "../audit/audit-events.ts";
import { findAvatar, insertAvatar, updateAvatar } from "../avatars/avatars.ts";
import { listAvatars } from "../avatars/list.ts";
import type { Caller } from "../callers/callers.ts";
import { auditEvents } from "../schema/audit.ts";
import { prepared, selectColumns } from "./statement.ts";

const database = await serviceDatabase();
const { db } = database;

const all = { filters: {}, before: null, limit: 100 } as const;
/** The origin of public URLs. */
const ORIGIN = 'https://api.example.com/"\\é';
/** Checks that the text of a page equals the JSON of its items, and that the items match the schema. */
const check = (page: WrittenPage, shown: readonly object[], schema: TSchema): void => {
  expect(page.items).toBe(shown.map((item) => JSON.stringify(item)).join());
  expect(validate(schema, { data: parseItems(page), nextCursor: null })).toEqual([]);
};

/** All characters that JSON, PostgreSQL or JavaScript treat specially. */
const TEXTS = [
  "plain",
  '"quoted" \\ back\\\\slash / \'; drop table avatars; --',
  [...Array(31)].map((_, code) => String.fromCharCode(code + 1)).join(""),
  "\u007f\u0080\u009f\u00a0\u2028\u2029\ufeff\ufffe\uffff",
  "😀👩‍👩‍👧 é e\u0301 ß İ ١٢٣ שלום",
  '{"a":1}, $x %s $1 :name ? \u001f\u001e',
];
const deep = (depth: number): JsonObject => (depth === 0 ? {} : { a: [deep(depth - 1)] });
const OBJECTS: JsonObject[] = [
  {},
  JSON.parse('{"__proto__":{"x":1},"constructor":null,"toString":[],"":0}'),
  { numbers: [1e308, -1e-308, 5e-324, 0.1, -0, 1e21, 123456789012345680000, 9007199254740991, 1 / 3] },
  Object.fromEntries(TEXTS.map((text, index) => [text, { [index]: text }])),
  deep(31),
  { 10: 1, 9: 2, b: 3, a: [null, true, false, [], {}] },
];

describe("the JSON that the database writes", () => {
  test("the JSON of avatars with any content and status: equals the representation of their records", async () => {
    const tenantId = await seedTenant(db);
    const caller = await seedCaller(db, tenantId);
    const made: AvatarRecord[] = [];
    for (let index = 0; index < 40; index++) {
      const now = new Date(Date.UTC(2026, 0, 1, 0, 0, 0, [0, 1, 10, 100, 120, 999][index % 6]) + index * 86_400_000);
      const avatar = newAvatar(
        {
          displayName: TEXTS[index % TEXTS.length] ?? "",
          sourceKind: index % 2 === 0 ? "image" : "video",
          ...(index % 3 === 0 ? {} : { sourceAssetId: TEXTS[(index + 1) % TEXTS.length] ?? "" }),
          ...(index % 4 === 0 ? {} : { defaultVoiceId: `12345678${TEXTS[(index + 2) % TEXTS.length]}` }),
          settings: OBJECTS[index % OBJECTS.length] ?? {},
          metadata: OBJECTS[(index + 1) % OBJECTS.length] ?? {},
        },
        { id: newId("ava", now, random), tenantId, environment: "live", defaultModelId: TEXTS[index % 5] ?? "", now },
      );
      const cacheManifestId = index % 5 === 0 ? null : (TEXTS[index % TEXTS.length] ?? "");
      const cacheVersion = index % 2 === 0 ? 0 : Number.MAX_SAFE_INTEGER;
      const status = AVATAR_STATUSES[index % AVATAR_STATUSES.length] ?? "draft";
      const detail = TEXTS[index % TEXTS.length] ?? "";
      const check = {
        code: "face_size",
        verdict: "warn",
        measured: [0.1, 1e21, 5e-324, null][index % 4] ?? null,
      } as const;
      const preview = index % 3 === 0 ? null : "Aa0_-".repeat(9).slice(0, 43);
      made.unshift({
        ...avatar,
        status,
        error: index % 2 === 0 ? null : detail,
        checks:
          index % 5 === 0
            ? []
            : [
                { ...check, limit: -0.5, detail },
                { ...check, limit: null, detail: "x" },
              ],
        pendingSourceAssetId: index % 4 === 0 ? detail : null,
        previewToken: preview,
        previewFile: preview && "1/0af-webp",
        cacheManifestId,
        cacheVersion,
      });
    }
    for (const avatar of made.toReversed()) {
      const { sourceAssetId, id } = avatar;
      const create = { ...avatar, sourceAssetId: null };
      expect(await insertAvatar(db, create, null, caller, operatorOrigin())).toEqual({ kind: "written" });
      // Any text, because versions without assets accepted it.
      await db.client`update avatars set source_asset_id = ${sourceAssetId} where tenant_id = ${tenantId} and id = ${id}`;
    }

    const listed = made.filter(({ status }) => status !== "deleted");
    check(
      await listAvatars(db, caller, all, ORIGIN),
      listed.map((avatar) => presentAvatar(avatar, ORIGIN)),
      AvatarPage,
    );
    for (const status of AVATAR_STATUSES) {
      const page = await listAvatars(db, caller, { ...all, filters: { status } }, ORIGIN);
      check(
        page,
        made.filter((avatar) => avatar.status === status).map((avatar) => presentAvatar(avatar, ORIGIN)),
        AvatarPage,
      );
    }
    // Equals a read of one avatar, also after a change.
    const [newest] = listed as [AvatarRecord];
    const changes = { settings: OBJECTS[3] ?? {}, metadata: OBJECTS[2] ?? {}, displayName: TEXTS[4] ?? "" };
    const provided = inStatus(newest.status);
    await updateAvatar(db, newest.id, changes, provided, caller, operatorOrigin());
    const changed = await findAvatar(db, caller, newest.id);
    expect(changed).toMatchObject({ displayName: TEXTS[4] ?? "", version: 2 });
    check(
      await listAvatars(db, caller, { ...all, limit: 1 }, ORIGIN),
      [presentAvatar(changed as AvatarRecord, ORIGIN)],
      AvatarPage,
    );
  });

  test("the JSON of keys with status, limits and last use: equals the representation of their records", async () => {
    const tenantId = await seedTenant(db);
    const root = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const parents = await Promise.all(
      [{}, { expiresAt: soon }, { spendLimitCreditMicros: Number.MAX_SAFE_INTEGER }, { spendLimitCreditMicros: 0 }].map(
        (request) => seedKey(db, tenantId, { environment: "live", scopes: ["*"], ...request }, root.record),
      ),
    );
    for (const [index, { record }] of parents.entries()) {
      const request = { name: TEXTS[index] ?? "", scopes: ["avatars:read", "usage:write"] as const };
      await seedKey(
        db,
        tenantId,
        { ...request, scopes: [...request.scopes], expiresAt: record.expiresAt?.toISOString() ?? null },
        record,
      );
      await seedKey(db, tenantId, { name: TEXTS[index + 1] ?? "", spendLimitCreditMicros: index }, record);
    }
    await recordUses(db, [{ tenantId, id: root.record.id, usedAt: new Date() }]);
    const target = (await findApiKey(db, tenantId, parents[0]?.record.id ?? root.record.id)) ?? root.record;
    await revokeApiKey(db, target, { version: null }, null, operatorOrigin());
    await db.client`update api_keys set expires_at = now() - interval '1 second' where id = ${parents[1]?.record.id ?? ""}`;

    await db.client.begin(async (transaction) => {
      await transaction`alter table audit_events disable trigger user`;
      await transaction`update audit_events set actor_id = ${root.record.id}, actor_key_id = ${root.record.keyId}
        where tenant_id = ${tenantId} and target_id <> ${root.record.id}`;
      await transaction`alter table audit_events enable trigger user`;
    });
    const shown: ApiKeyWithCreator[] = [];
    for (const { id } of await db.client`select id from api_keys where tenant_id = ${tenantId} order by id desc`) {
      const record = await findApiKey(db, tenantId, id);
      if (record) shown.push({ ...presentApiKey(record), ...(await findCreator(db, record, "live")) });
    }
    expect(shown).toHaveLength(13);
    expect(new Set(shown.map(({ status }) => status))).toEqual(new Set(API_KEY_STATUSES));
    expect(shown.map(({ createdByName }) => createdByName)).toEqual([...Array(12).fill(root.record.name), null]);
    expect(shown.some(({ lastUsedAt }) => lastUsedAt !== null)).toBe(true);
    for (const status of [undefined, ...API_KEY_STATUSES]) {
      for (const environment of [undefined, "live", "test"] as const) {
        const filters = { ...(status && { status }), ...(environment && { environment }) };
        const page = await listApiKeys(db, tenantId, ["live", "test"], { ...all, filters });
        const expected = shown.filter(
          (key) => (status ?? key.status) === key.status && (environment ?? key.environment) === key.environment,
        );
        check(page, expected, ApiKeyPage);
        expect(page.next).toBeNull();
      }
    }
  });

  test("a list of keys of an invisible environment: empty, without a statement", async () => {
    const unused = { ...db, batch: () => Promise.reject(new Error("a statement was sent")) };
    const page = { ...all, filters: { environment: "live" } } as const;
    expect(await listApiKeys(unused, await seedTenant(db), ["test"], page)).toEqual({ items: "", next: null });
  });

  test("the JSON of audit events of every action: equals the representation of their records", async () => {
    const tenantId = await seedTenant(db);
    const caller = await seedCaller(db, tenantId);
    for (const [index, action] of AUDIT_ACTIONS.entries()) {
      await db.client`insert into audit_events values (${tenantId}, ${newId("aud", new Date(), random)},
        ${index % 3 === 0 ? "test" : "live"}, ${index % 2 === 0 ? null : caller.id}, ${index % 2 === 0 ? null : caller.keyId},
        ${action}, ${index % 2 === 0 ? (TEXTS[1] as string) : caller.id}, ${TEXTS[4] as string}, ${new Date(1_800_000_000_000 + index)},
        ${index % 2 === 0 ? [] : ["name", "scopes"]})`;
    }
    await db.client`update api_keys set name = ${TEXTS[1] as string} where tenant_id = ${tenantId} and id = ${caller.id}`;
    const presentIn =
      (environment: "live" | "test") =>
      (record: AuditEventRecord): AuditEvent => {
        const actorType = record.actorId && (record.actorId.startsWith("usr_") ? "user" : "api_key");
        // The key is live.
        const nameOf = (id: string | null) =>
          id === caller.id && environment === "live" ? (TEXTS[1] as string) : null;
        const names = { actorName: nameOf(record.actorId), targetName: nameOf(record.targetId) };
        return presentAs(AuditEvent, { ...record, ...names, actorType, changedFields: [...record.changedFields] });
      };
    const select = prepared<AuditEventRecord>(
      "test",
      sql`select ${selectColumns(auditEvents)} from ${auditEvents} where tenant_id = ${sql.placeholder("tenantId")} order by id desc`,
    );
    const records = await select(db, { tenantId });
    expect(records.length).toBeGreaterThan(AUDIT_ACTIONS.length);
    for (const environment of ["live", "test"] as const) {
      const visible = records.filter(
        (record) =>
          record.environment === environment || (environment === "live" && record.targetId.startsWith("key_")),
      );
      const present = presentIn(environment);
      check(await listAuditEvents(db, { tenantId, environment }, all), visible.map(present), AuditEventPage);
      for (const action of AUDIT_ACTIONS) {
        const page = await listAuditEvents(db, { tenantId, environment }, { ...all, filters: { action } });
        check(page, visible.filter((record) => record.action === action).map(present), AuditEventPage);
      }
    }
  });
});

describe("a page of a list", () => {
  /** Rows like those of requests, with ids in order. */
  const seedAvatars = (tenantId: TenantId, count: number, bytes: number) =>
    db.client.unsafe(`insert into avatars select '${tenantId}', 'ava_01h455vb4p' || lpad(i::text, 16, '0'), 'live', 'n', 'image', 'm',
      'ready', null, null, null, 0, json_build_object('a', repeat('x', ${bytes})), json_build_object('b', repeat('y', ${bytes})),
      1, now(), now() from generate_series(1, ${count}) i`);

  /** Every page of avatars from the first, with at most `limit` in each. */
  const pagesOf = async (tenantId: TenantId, limit: number): Promise<WrittenPage[]> => {
    const pages: WrittenPage[] = [];
    for (let before: AvatarRecord["id"] | null = null; ; ) {
      const page: WrittenPage = await listAvatars(
        db,
        { tenantId, environment: "live" },
        { filters: {}, before, limit },
        ORIGIN,
      );
      pages.push(page);
      if (page.next === null) return pages;
      before = page.next as AvatarRecord["id"];
    }
  };

  test("a page of large avatars: at most 1 MiB, and the next page continues", async () => {
    const tenantId = await seedTenant(db);
    await seedAvatars(tenantId, 40, 32_000);
    const pages = await pagesOf(tenantId, 100);
    expect(pages.map((page) => parseItems(page).length)).toEqual([16, 16, 8]);
    for (const { items } of pages) expect(Buffer.byteLength(items)).toBeLessThanOrEqual(MAX_PAGE_BYTES);
    const ids = pages.flatMap((page) => parseItems<Avatar>(page)).map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort().reverse());
    expect(ids).toHaveLength(40);
    // Exactly the number of rows, and one fewer.
    expect((await pagesOf(tenantId, 8)).map((page) => parseItems(page).length)).toEqual([8, 8, 8, 8, 8]);
    expect((await pagesOf(tenantId, 13)).map((page) => parseItems(page).length)).toEqual([13, 13, 13, 1]);
  });

  test("equal pages, read at once: share one read; different pages: do not share", async () => {
    const [one, other] = [await seedTenant(db), await seedTenant(db)];
    await seedAvatars(one, 3, 1);
    const pool = connectTo(database);
    const sent: (readonly unknown[])[] = [];
    const counting: TestDb = {
      ...db,
      run: (text, parameters) => {
        sent.push(parameters);
        return pool.run(text, parameters);
      },
      batch: async (kind, input) => (await kind.run(counting, [input, input, input]))[2] as never,
    };
    const page = await listAvatars(counting, { tenantId: one, environment: "live" }, all, ORIGIN);
    expect(sent).toHaveLength(1);
    expect(parseItems(page)).toHaveLength(3);
    // Through the pool, which batches concurrent requests. Different pages share a statement.
    const ask = (tenantId: TenantId, environment: "live" | "test", limit: number, before: "ava" | null = null) =>
      listAvatars(
        pool,
        { tenantId, environment },
        { ...all, limit, before: before && (`ava_01h455vb4p${"2".padStart(16, "0")}` as AvatarRecord["id"]) },
        ORIGIN,
      );
    const pages = await Promise.all([
      ...Array.from({ length: 20 }, () => ask(one, "live", 100)),
      ask(one, "live", 2),
      ask(one, "test", 100),
      ask(other, "live", 100),
      ask(one, "live", 100, "ava"),
      ...API_KEY_STATUSES.map((status) => listApiKeys(pool, one, ["live", "test"], { ...all, filters: { status } })),
    ]);
    await pool.close();
    expect(pages.map((read) => parseItems(read).length)).toEqual([...Array(20).fill(3), 2, 0, 0, 1, 0, 0, 0]);
  });
});

describe("a filter that few rows match", () => {
  const KEYS = 5000;
  let tenantId: TenantId;
  let oldest: string;

  beforeAll(async () => {
    tenantId = await seedTenant(db);
    const { record } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
    // Its id is below all others, so it is examined last.
    oldest = "key_00000000000000000000000000";
    await db.client.unsafe(`
      insert into api_keys select '${tenantId}', '${oldest}', lpad('z', 16, 'z'), 'live', 'oldest', '{*}', null, null, null, '{}', 1, now();
      insert into api_keys select '${tenantId}', 'key_01h455vb4p' || lpad(i::text, 16, '0'), lpad(i::text, 16, '0'), 'live', 'n', '{*}',
        null, null, null, '{${record.id}}', 1, now() from generate_series(1, ${KEYS}) i;
      insert into audit_events (tenant_id, id, environment, action, target_id, request_id, created_at)
        select '${tenantId}', 'aud_00000000000000000000000000', 'test', 'avatar.deleted', 'ava_x', 'r', now();
      insert into audit_events (tenant_id, id, environment, action, target_id, request_id, created_at)
        select '${tenantId}', 'aud_01h455vb4p' || lpad(i::text, 16, '0'), 'live', 'avatar.created', 'ava_x', 'r', now()
        from generate_series(1, ${3 * KEYS}) i;
      analyze`);
  });

  /** Reads a list to its end. Returns the number of its pages, and its items. */
  const readAll = async <Item>(read: (before: string | null) => Promise<WrittenPage>) => {
    const items: Item[] = [];
    let pages = 0;
    for (let before: string | null = null; ; pages++) {
      const page: WrittenPage = await read(before);
      items.push(...parseItems<Item>(page));
      if (page.next === null) return { pages: pages + 1, items };
      expect(before === null || page.next < before).toBe(true);
      before = page.next;
    }
  };
  const readKeys = (filters: { status?: "active" | "revoked" | "expired"; environment?: "live" | "test" }) =>
    readAll<ApiKey>((before) =>
      listApiKeys(db, tenantId, ["live", "test"], { filters, before: before as Caller["id"] | null, limit: 100 }),
    );

  test("a filter by status, without revoked or expired keys: ends in one page", async () => {
    for (const filters of [
      { status: "revoked" },
      { status: "expired" },
      { environment: "test" },
      { status: "revoked", environment: "live" },
      { status: "expired", environment: "test" },
      { status: "active", environment: "test" },
    ] as const) {
      expect(await readKeys(filters)).toEqual({ pages: 1, items: [] });
    }
  });

  test("a filter by status, with one old matching key: each page reads a bounded number of keys; a later page has the key", async () => {
    await db.client`update api_keys set revoked_at = now() where id = ${oldest} and tenant_id = ${tenantId}`;
    const { pages, items } = await readKeys({ status: "revoked" });
    expect(items.map(({ name }) => name)).toEqual(["oldest"]);
    expect(pages).toBe(6);
    expect((await readKeys({ status: "active", environment: "live" })).items).toHaveLength(KEYS + 1);
    await db.client`update api_keys set revoked_at = null where id = ${oldest} and tenant_id = ${tenantId}`;
  });

  test("a filter for rare events: read by an index, or page by page", async () => {
    const read = (environment: "live" | "test", filters: object) =>
      readAll<{ action: string }>((before) =>
        listAuditEvents(db, { tenantId, environment }, { filters, before: before as never, limit: 100 }),
      );
    expect(await read("test", {})).toMatchObject({ pages: 1, items: [{ action: "avatar.deleted" }] });
    expect(await read("test", { action: "avatar.deleted" })).toMatchObject({ pages: 1, items: [{}] });
    expect(await read("live", { action: "api_key.created" })).toMatchObject({ pages: 1, items: [{}] });
    expect(await read("live", { action: "api_key.revoked" })).toEqual({ pages: 1, items: [] });
    // A target with many events, all by other credentials.
    const rare = await read("live", { targetId: "ava_x", actorKeyId: "0000000000000000" });
    expect([rare.items.length, rare.pages]).toEqual([0, 4]);
  });
});
