/**
 * The totals of lists equal the number of items on all pages, up to `MAX_COUNTED`, and read a bounded number of rows.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import type { API_KEY_LIST } from "@realtime-avatar/domain/api-keys/schemas";
import { API_KEY_STATUSES } from "@realtime-avatar/domain/api-keys/status";
import type { AVATAR_LIST } from "@realtime-avatar/domain/avatars/schemas";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import type { TenantId } from "@realtime-avatar/domain/id";
import { MAX_COUNTED, type PageRequest, parseItems, type Total, type WrittenPage } from "@realtime-avatar/domain/page";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { rowId } from "@realtime-avatar/testing/postgres/plans";
import { countingRows } from "@realtime-avatar/testing/postgres/rows-read";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { countApiKeys, listApiKeys } from "../api-keys/list.ts";
import { countAvatars, listAvatars } from "../avatars/list.ts";

const { db } = await fileDatabase();
type AvatarFilters = PageRequest<typeof AVATAR_LIST>["filters"];
type KeyFilters = PageRequest<typeof API_KEY_LIST>["filters"];

/**
 * Inserts avatars and keys. Mixed: avatars in every status and of both kinds, the first half in `test`; every third key
 * is revoked, every fifth expired. Otherwise: ready avatars and active keys, all in `live`.
 */
const insertRows = async (tenantId: TenantId, rows: number, isMixed: boolean): Promise<void> => {
  const known = isMixed ? AVATAR_STATUSES : ["ready"];
  const statuses = known.map((status) => `'${status}'`).join();
  const lastOfTest = isMixed ? rows / 2 : 0;
  await db.client.unsafe(`
    insert into avatars (
      tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings, metadata, version,
      created_at, updated_at
    )
    select '${tenantId}', ${rowId("ava")}, case when i <= ${lastOfTest} then 'test' else 'live' end, 'name ' || i % 10,
      case when i % 4 = 0 then 'video' else 'image' end, 'm', (array[${statuses}])[1 + i % ${known.length}],
      0, '{}', '{}', 1, now(), now()
    from generate_series(1, ${rows}) i;
    insert into api_keys (
      tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at, revoked_at, expires_at
    )
    select '${tenantId}', ${rowId("key")}, substr(md5('${tenantId}' || i), 1, 16), case when i <= ${lastOfTest} then 'test' else 'live' end,
      'name ' || i % 10, '{*}', '{}', 1, now() - interval '1 day', case when ${isMixed} and i % 3 = 0 then now() end,
      case when ${isMixed} and i % 5 = 0 then now() - interval '1 hour' end
    from generate_series(1, ${rows}) i;
    analyze avatars, api_keys`);
};

/** The number of items on all pages. */
const itemsOnPages = async (read: (before: never) => Promise<WrittenPage>): Promise<number> => {
  let count = 0;
  for (let before: string | null = null; ; ) {
    const page = await read(before as never);
    count += parseItems(page).length;
    if (page.next === null) return count;
    before = page.next;
  }
};

const [small, large] = [await seedTenant(db), await seedTenant(db)];
/** More rows than the maximum of a count. */
const ROWS = MAX_COUNTED + 100;
/** A search reads at most 15,000 rows and the index of names. It reads the found rows again by their ids. */
const MAX_READ = 4 * MAX_COUNTED;
const NONE = { count: 0, isExact: true };
beforeAll(async () => {
  await insertRows(small, 210, true);
  await insertRows(large, ROWS, false);
});

test("avatars, counted with each filter and in each environment: equals the number of items on all pages", async () => {
  const kinds = [{}, { sourceKind: "image" }, { sourceKind: "video" }] as const;
  const statuses = [{}, ...AVATAR_STATUSES.map((status) => ({ status }))];
  const searches = [{}, { name: "NAME 3" }, { id: "ava_01h455vb4p0000000000000150" }, { from: "2030-01-01T00:00:00Z" }];
  for (const environment of ["live", "test"] as const) {
    const owner = { tenantId: small, environment };
    for (const kind of kinds) {
      for (const status of statuses) {
        for (const search of searches) {
          const filters = { ...kind, ...status, ...search } as AvatarFilters;
          const count = await itemsOnPages((before) => listAvatars(db, owner, { filters, before, limit: 100 }, ""));
          expect([filters, await countAvatars(db, owner, filters)]).toEqual([filters, { count, isExact: true }]);
        }
      }
    }
  }
  expect((await countAvatars(db, { tenantId: small, environment: "live" }, {})).count).toBeGreaterThan(50);
});

test("keys, counted with each filter, by callers of both environments: equals the number of items on all pages", async () => {
  const environments = [{}, { environment: "live" }, { environment: "test" }] as const;
  const statuses = [{}, ...API_KEY_STATUSES.map((status) => ({ status }))];
  const searches = [{}, { name: "name 3" }, { ancestorId: "key_01h455vb4p0000000000000001" }];
  for (const reach of [["live", "test"], ["test"]] as const) {
    for (const environment of environments) {
      for (const status of statuses) {
        for (const search of searches) {
          const filters = { ...environment, ...status, ...search } as KeyFilters;
          const count = await itemsOnPages((before) => listApiKeys(db, small, reach, { filters, before, limit: 100 }));
          expect([filters, await countApiKeys(db, small, reach, filters)]).toEqual([filters, { count, isExact: true }]);
        }
      }
    }
  }
  expect((await countApiKeys(db, small, ["live", "test"], { status: "active" })).count).toBeGreaterThan(100);
});

describe("more items than the maximum", () => {
  const reads: number[] = [];
  const counted = countingRows(db, reads);
  const environments = ["live", "test"] as const;
  const owner = { tenantId: large, environment: "live" } as const;
  const most = { count: MAX_COUNTED, isExact: false };

  test.each<[string, () => Promise<Total>, Total]>([
    ["avatars", () => countAvatars(counted, owner, {}), most],
    ["avatars with a status", () => countAvatars(counted, owner, { status: "ready" }), most],
    ["avatars with a status that no avatar has", () => countAvatars(counted, owner, { status: "failed" }), NONE],
    [
      "avatars with a name",
      () => countAvatars(counted, owner, { name: "name 3" }),
      { count: ROWS / 10, isExact: true },
    ],
    ["keys", () => countApiKeys(counted, large, environments, {}), most],
    ["keys with a status", () => countApiKeys(counted, large, environments, { status: "active" }), most],
    [
      "keys with a status that no key has",
      () => countApiKeys(counted, large, environments, { status: "revoked" }),
      NONE,
    ],
    ["keys with a name", () => countApiKeys(counted, large, environments, { name: "name" }), most],
  ])("%s: the maximum, in one statement that reads a bounded number of rows", async (_, count, total) => {
    reads.length = 0;
    expect(await count()).toEqual(total);
    expect([reads.length, Math.max(...reads) <= MAX_READ]).toEqual([1, true]);
  });
});
