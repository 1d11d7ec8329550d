/** Searches of keys and avatars: their results, their pages and their indexes. */
import { beforeAll, describe, expect, test } from "bun:test";
import type { API_KEY_LIST, ApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import type { AVATAR_LIST, Avatar } from "@realtime-avatar/domain/avatars/schemas";
import { type ApiKeyId, type AvatarId, newId, type TenantId } from "@realtime-avatar/domain/id";
import { type PageRequest, parseItems, type WrittenPage } from "@realtime-avatar/domain/page";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { ofOneDatabase } from "@realtime-avatar/testing/postgres/one-database";
import { explainedSession } from "@realtime-avatar/testing/postgres/plans";
import { countingRows } from "@realtime-avatar/testing/postgres/rows-read";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedAvatar, seedCaller, seedKey, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { findApiKey, revokeApiKey } from "../api-keys/api-keys.ts";
import { listApiKeys } from "../api-keys/list.ts";
import { listAvatars } from "../avatars/list.ts";
import type { Caller } from "../callers/callers.ts";
import type { Db } from "../connection/pool.ts";
import { searchInputs } from "./search.ts";

const database = await fileDatabase();
const { db } = database;
const explained = await explainedSession(database.url);
const explainedEmpty = await explainedSession((await fileDatabase()).url);

type AvatarFilters = PageRequest<typeof AVATAR_LIST>["filters"];
type KeyFilters = PageRequest<typeof API_KEY_LIST>["filters"];

const avatarPage = (
  { tenantId }: { tenantId: TenantId },
  filters: AvatarFilters,
  { before = null, limit = 100, pool = db }: { before?: AvatarId | null; limit?: number; pool?: Db } = {},
) => listAvatars(pool, { tenantId, environment: "live" }, { filters, before, limit }, "https://example.com");
const keyPage = (tenantId: TenantId, filters: KeyFilters, before: ApiKeyId | null = null, limit = 100) =>
  listApiKeys(db, tenantId, ["live", "test"], { filters, before, limit });

/** The names on all pages, and the number of pages. */
const allAvatars = async (caller: { tenantId: TenantId }, filters: AvatarFilters, limit = 100) => {
  const names: string[] = [];
  let pages = 0;
  for (let before: AvatarId | null = null; ; ) {
    const page = await avatarPage(caller, filters, { before, limit });
    pages++;
    names.push(...parseItems<Avatar>(page).map(({ displayName }) => displayName));
    if (page.next === null) return { names, pages };
    before = page.next as AvatarId;
  }
};

describe("a part of a name", () => {
  const NAMES = [
    "Support Bot",
    "support agent",
    "100% real",
    "1000 real",
    "snake_case",
    "snakeXcase",
    "back\\slash",
    "Zoë",
    "ZOË",
    "Zoe\u0308",
    "İzmir",
    "izmir",
    "日本語のアバター",
    "'; drop table avatars; --",
    "<script>",
    "x".repeat(160),
  ];
  let caller: Caller;
  beforeAll(async () => {
    caller = await seedCaller(db);
    for (const displayName of NAMES) await seedAvatar(db, caller, { displayName });
    await seedAvatar(db, await seedCaller(db), { displayName: "support of another tenant" });
  });

  test.each([
    ["SUPPORT", ["support agent", "Support Bot"]],
    ["port b", ["Support Bot"]],
    ["100%", ["100% real"]],
    ["%", ["100% real"]],
    ["snake_", ["snake_case"]],
    ["\\", ["back\\slash"]],
    ["zoë", ["Zoe\u0308", "ZOË", "Zoë"]],
    ["oË", ["Zoe\u0308", "ZOË", "Zoë"]],
    ["İ", ["İzmir"]],
    ["IZMIR", ["izmir"]],
    ["本語", ["日本語のアバター"]],
    ["'; drop", ["'; drop table avatars; --"]],
    ["<", ["<script>"]],
    ["X".repeat(160), ["x".repeat(160)]],
    ["absent", []],
  ])("a name, searched for %j: %j", async (name, found) => {
    expect(await allAvatars(caller, { name })).toEqual({ names: found, pages: 1 });
  });

  test("a name, with a status and a kind: rows that match all filters", async () => {
    expect((await allAvatars(caller, { name: "support", status: "draft" })).names).toHaveLength(2);
    expect((await allAvatars(caller, { name: "support", status: "ready" })).names).toHaveLength(0);
    expect((await allAvatars(caller, { name: "s", status: "draft", sourceKind: "image" }, 1)).names).toEqual(
      NAMES.filter((name) => name.toLowerCase().includes("s")).reverse(),
    );
  });
});

describe("avatars by their creation", () => {
  test("an id or a time: the avatars in the range", async () => {
    const caller = await seedCaller(db);
    const [first, second] = [await seedAvatar(db, caller), await seedAvatar(db, caller)];
    const foreign = await seedAvatar(db, await seedCaller(db));
    const ids = async (filters: AvatarFilters) =>
      parseItems<Avatar>(await avatarPage(caller, filters)).map(({ id }) => id);
    expect(await ids({ id: first.id })).toEqual([first.id]);
    expect(await ids({ id: foreign.id })).toEqual([]);
    expect(await ids({ id: "ava" })).toEqual([]);
    expect(await ids({ from: first.createdAt.toISOString() })).toEqual([second.id, first.id]);
    expect(await ids({ to: first.createdAt.toISOString() })).toEqual([]);
    const after = new Date(second.createdAt.getTime() + 1).toISOString();
    expect(await ids({ from: first.createdAt.toISOString(), to: after, name: "X" })).toEqual([second.id, first.id]);
    expect(await ids({ from: after })).toEqual([]);
  });
});

const reads: number[] = [];
const counting = (pool: Db): Db => countingRows(pool, reads);

/** More rows than one page of a search reads. */
const ROWS = 16_000;

describe("more avatars than a page reads", () => {
  let caller: Caller;
  beforeAll(async () => {
    caller = await seedCaller(db);
    // In the order of creation. The oldest 300 have a second name, and one of them has a third name.
    const ids = Array.from({ length: ROWS }, (_, at) => newId("ava", new Date(Date.UTC(2026, 0, 1) + at), random));
    await db.client`
      insert into avatars (
        tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings, metadata, version,
        created_at, updated_at
      )
      select ${caller.tenantId}, id, 'live', case when at = 7 then 'The Needle' when at <= 300 then 'old ' || at else 'new ' || at end,
        'image', 'm', case when at % 2 = 0 then 'ready' else 'failed' end, 0, '{}', '{}', 1, now(), now()
      from unnest(${ids}::text[]) with ordinality row (id, at)`;
    await db.client`analyze avatars`;
  });

  test("a rare text of an old avatar: on the first page, by the index", async () => {
    expect(await allAvatars(caller, { name: "needle" })).toEqual({ names: ["The Needle"], pages: 1 });
    expect(await allAvatars(caller, { name: "needle", status: "failed" })).toEqual({ names: ["The Needle"], pages: 1 });
    expect((await allAvatars(caller, { name: "needle", status: "ready" })).names).toEqual([]);
  });

  test.each([
    ["a text that is rare", "needle", 5000],
    ["a text that is rare in the sample, and absent", "absent", 5000],
    // Reads the newest 15,000 rows, then the last of them again.
    ["a text that is frequent in the sample, and in no new name", "old", 40_000],
    ["a frequent text", "new 1", 2000],
  ])("%s: a page reads few rows", async (_, name, most) => {
    reads.length = 0;
    await avatarPage(caller, { name }, { pool: counting(db) });
    expect(reads).toHaveLength(1);
    expect(reads[0]).toBeLessThan(most);
  });

  test("a text that no name contains: one empty page", async () => {
    expect(await allAvatars(caller, { name: "absent" })).toEqual({ names: [], pages: 1 });
  });

  test("a text that is too short for the index: short pages, until it is found", async () => {
    const page = await avatarPage(caller, { name: "ee" });
    expect([page.items, page.next]).toEqual(["", expect.stringMatching(/^ava_/)]);
    expect(await allAvatars(caller, { name: "ee" })).toEqual({ names: ["The Needle"], pages: 2 });
  });

  test.each([
    ["a frequent text", "NEW 1", {}],
    ["a text of only old avatars", "old", {}],
    ["a text of only old avatars, with a status", "old", { status: "ready" }],
    ["a text that is in few names of any age", "77", {}],
    ["a letter beyond ASCII and an ASCII letter", "é", {}],
  ] as const)("%s: each row once, newest first, with pages of any size", async (_, name, more) => {
    const rows = await db.client<{ name: string }[]>`
      select display_name as name from avatars where tenant_id = ${caller.tenantId} and status = any(${"status" in more ? [more.status] : ["ready", "failed"]})
        and strpos(lower(display_name), ${name.toLowerCase()}) > 0 order by id desc`;
    expect((await allAvatars(caller, { name, ...more })).names).toEqual(rows.map(({ name }) => name));
  });

  /** Pads a name, because a page reads fewer rows for a longer text: 2,500 rows for this length. */
  const long = (text: string): string => text.padEnd(160, ".");
  /**
   * Seeds more rows than two pages read. The oldest `old` rows have another name. All or none of the 30 rows of the
   * sample have it.
   */
  const seedOld = async (old: number, isSampleOld: boolean): Promise<TenantId> => {
    const tenantId = await seedTenant(db);
    const ids = Array.from({ length: 2 * ROWS }, (_, at) => newId("ava", new Date(Date.UTC(2026, 0, 1) + at), random));
    await db.client`
      insert into avatars (
        tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings, metadata, version,
        created_at, updated_at
      )
      select ${tenantId}, id, 'live',
        case when case when hashtext(id) & 1023 = 0 then ${isSampleOld} else at / 6 <= ${old} end then ${long("old")} else ${long("new")} end,
        'image', 'm', 'ready', 0, '{}', '{}', 1, now(), now()
      from unnest(${ids}::text[]) with ordinality row (id, at) where hashtext(id) & 1023 = 0 or at % 6 = 0`;
    return tenantId;
  };

  test.each([
    ["the sample has a part of the text too often", 1000, true],
    ["the sample has no part of the text, but the index finds more rows than a page reads", 2650, false],
  ])("%s: short pages, until it is found", async (_, old, isSampleOld) => {
    const tenantId = await seedOld(old, isSampleOld);
    const name = long("old");
    const [total] = await db.client<{ count: number }[]>`
      select count(*)::integer as count from avatars where tenant_id = ${tenantId} and display_name = ${name}`;
    const page = await avatarPage({ tenantId }, { name });
    expect([parseItems(page).length < 100, page.next]).toEqual([true, expect.stringMatching(/^ava_/)]);
    expect((await allAvatars({ tenantId }, { name })).names).toHaveLength(total?.count ?? 0);
  });

  test.each([
    ["needle", 12_000, 15_000],
    ["zoë", 7_000, 15_000],
    ["привет, мир", 3_000, 8_000],
    [`b${"a".repeat(80)}`, 1000, 5000],
    ["𐀀".repeat(160), 300, 1000],
    [
      Array.from({ length: 160 }, (_, at) => String.fromCodePoint(0x430 + (at % 32), 0x3b1 + (at % 25))).join(""),
      1,
      1000,
    ],
  ])("the text %j: a page reads fewer rows if each costs more", (name, least, most) => {
    const { maxRead } = searchInputs("ava", { name }, null);
    expect([maxRead >= least, maxRead <= most]).toEqual([true, true]);
  });

  // The server keeps a plan that was made while the tables were empty until they are analyzed.
  ofOneDatabase.each([
    ["large", explained],
    ["empty", explainedEmpty],
  ])(
    "a plan that was made for %s tables: reads the list in order, and the index of names at most once",
    async (_, session) => {
      await session.explain();
      await session.db.client`set enable_seqscan = off`;
      session.plans.length = 0;
      await avatarPage(caller, { name: "needle" }, { pool: session.db });
      const [plan = ""] = session.plans;
      expect(session.plans).toHaveLength(1);
      for (const index of ["avatars_newest_index", "avatars_name_sample_index", "avatars_name_index"]) {
        expect(plan).toContain(index);
      }
      // The condition on the tenant is one of the index, and the index is not read unless `by_index` has a row.
      expect(plan).toMatch(/Index Cond: \(\(\(tenant_id \|\| ''::text\) = .*~~ inputs\.pattern\)\)/);
      expect(plan).toContain("One-Time Filter");
      expect(plan).not.toContain("Seq Scan");
      // `normalize` takes time proportional to the square of the number of marks in a name.
      expect(plan).not.toContain("normalize(");
    },
  );
});

describe("keys", () => {
  test("keys by name, status, environment, id and ancestor: rows that match all filters", async () => {
    const tenantId = await seedTenant(db);
    const { record: root } = await seedKey(db, tenantId, { environment: "live", name: "Root", scopes: ["*"] });
    const { record: child } = await seedKey(db, tenantId, { environment: "live", name: "Child one" }, root);
    const { record: grandchild } = await seedKey(db, tenantId, { environment: "test", name: "GRANDCHILD" }, child);
    const { record: other } = await seedKey(db, tenantId, { environment: "live", name: "Other child" });
    await seedKey(db, await seedTenant(db), { name: "child of another tenant" });
    await revokeApiKey(
      db,
      (await findApiKey(db, tenantId, other.id)) ?? other,
      { version: null },
      await seedCaller(db, tenantId),
      seedOrigin(),
    );
    const ids = async (filters: KeyFilters) => parseItems<ApiKey>(await keyPage(tenantId, filters)).map(({ id }) => id);
    expect(await ids({ name: "child" })).toEqual([other.id, grandchild.id, child.id]);
    expect(await ids({ name: "child", status: "active" })).toEqual([grandchild.id, child.id]);
    expect(await ids({ name: "child", status: "revoked" })).toEqual([other.id]);
    expect(await ids({ name: "child", status: "expired" })).toEqual([]);
    expect(await ids({ name: "child", environment: "test" })).toEqual([grandchild.id]);
    expect(await ids({ name: "child", environment: "live", status: "active" })).toEqual([child.id]);
    expect(await ids({ id: child.id })).toEqual([child.id]);
    expect(await ids({ ancestorId: root.id })).toEqual([grandchild.id, child.id]);
    expect(await ids({ ancestorId: root.id, name: "one" })).toEqual([child.id]);
    expect(await ids({ ancestorId: child.id, status: "active" })).toEqual([grandchild.id]);
    expect(await ids({ ancestorId: other.id })).toEqual([]);
    expect(await ids({ from: grandchild.createdAt.toISOString() })).toContain(other.id);
  });

  test("more keys than a page reads, a rare name of the oldest: on the first page", async () => {
    const tenantId = await seedTenant(db);
    await db.client`
      insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      select ${tenantId}, 'key_01h455vb4p' || lpad(i::text, 16, '0'), lpad(i::text, 16, '0'), 'live',
        case when i = 3 then 'Needle' else 'n' || i end, '{*}', '{}', 1, now() from generate_series(1, ${ROWS}) i`;
    for (const filters of [{}, { status: "active" }, { environment: "live" }] as const) {
      const page = await keyPage(tenantId, { name: "needle", ...filters });
      expect([parseItems<ApiKey>(page).map(({ name }) => name), page.next]).toEqual([["Needle"], null]);
    }
    const names: string[] = [];
    for (let before: ApiKeyId | null = null; ; ) {
      const page = await keyPage(tenantId, { name: "n19", status: "active" }, before);
      names.push(...parseItems<ApiKey>(page).map(({ name }) => name));
      if (page.next === null) break;
      before = page.next as ApiKeyId;
    }
    expect([names.length, new Set(names).size]).toEqual([111, 111]);
  });
});

describe.skipIf(process.env["LONG"] !== "1")("a tenant with 1,000,000 avatars and keys", () => {
  const WORDS =
    "Ada Grace Support Sales Agent Berlin Retail Bank Clinic Coach Teacher Concierge Zoë Chen Hotel Demo".split(" ");
  const MANY = 1_000_000;
  const tenantId = newId("ten", new Date(), random);
  const pool = counting(explainedEmpty.db);

  beforeAll(async () => {
    const { client } = explainedEmpty.db;
    await client`insert into tenants (tenant_id, name, created_at) values (${tenantId}, 'n', now())`;
    const start = Date.UTC(2026, 0, 1);
    const ids = Array.from({ length: MANY }, (_, at) => newId("ava", new Date(start + at), random).slice(4));
    await client`
      create table names as select id, at, case when at = 5 then 'The Needle' when at <= 300000 then 'legacy ' else '' end
        || (${WORDS}::text[])[1 + (hashint8(at) & 1023) % 16] || ' ' || (${WORDS}::text[])[1 + (hashint8(at) >> 10 & 1023) % 16]
        || ' ' || (hashint8(at * 7) & 1048575) as name
      from unnest(${ids}::text[]) with ordinality row (id, at)`;
    await client`
      insert into avatars (
        tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings, metadata, version,
        created_at, updated_at
      )
      select ${tenantId}, 'ava_' || id, 'live', name, 'image', 'm', 'ready', 0, '{}', '{}', 1, now(), now() from names order by at`;
    await client`
      insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
      select ${tenantId}, 'key_' || id, lpad(at::text, 16, '0'), 'live', name, '{*}', '{}', 1, now() from names order by at`;
    for (const table of ["avatars", "api_keys"]) await client.unsafe(`vacuum analyze ${table}`);
  }, 600_000);

  const lists = {
    avatars: (name: string, before: string | null) =>
      avatarPage({ tenantId }, { name }, { before: before as AvatarId, pool }),
    keys: (name: string, before: string | null) =>
      listApiKeys(pool, tenantId, ["live", "test"], { filters: { name }, before: before as ApiKeyId, limit: 100 }),
    "active keys": (name: string, before: string | null) =>
      listApiKeys(pool, tenantId, ["live", "test"], {
        filters: { name, status: "active" },
        before: before as ApiKeyId,
        limit: 100,
      }),
  };

  test.each(
    Object.keys(lists).flatMap((list) =>
      [
        ["a rare word", "needle", 1],
        ["an absent word", "absent text", 1],
        ["a number", "98765", 1],
        ["a number that many names contain", "777", 1],
        ["a frequent word", "ada", 1],
        ["a long text", "x".repeat(120), 1],
        ["a word of only old names", "legacy", 60],
        ["frequent words that never occur in one name", "zoë zoë ada", 200],
        ["two letters", "zq", 100],
        ["a wildcard", "%", 100],
      ].map((each) => [list, ...each] as [keyof typeof lists, string, string, number]),
    ),
  )(
    "a search of %s for %s: each page reads few rows, and all matches are found",
    async (list, _, name, maxPages) => {
      reads.length = 0;
      const found: string[] = [];
      let pages = 0;
      for (let before: string | null = null; found.length === 0; ) {
        const page: WrittenPage = await lists[list](name, before);
        pages++;
        found.push(...parseItems<{ id: string }>(page).map(({ id }) => id.slice(4)));
        before = page.next;
        if (before === null) break;
      }
      const rows = await explainedEmpty.db.client<{ id: string }[]>`
      select id from names where strpos(lower(name), ${name}) > 0 order by id desc limit ${Math.max(1, found.length)}`;
      expect(found).toEqual(rows.map(({ id }) => id));
      expect(pages).toBeLessThanOrEqual(maxPages);
      expect(Math.max(...reads)).toBeLessThan(60_000);
    },
    600_000,
  );
});
