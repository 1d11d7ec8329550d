/** The list of assets: its JSON equals the API's representation of each record, for any content; its pages end. */
import { expect, test } from "bun:test";
import { type AssetRecord, presentAsset } from "@realtime-avatar/domain/assets/asset";
import type { AssetErrorCode } from "@realtime-avatar/domain/assets/errors";
import { ASSET_KINDS } from "@realtime-avatar/domain/assets/limits";
import { AssetPage } from "@realtime-avatar/domain/assets/schemas";
import { ASSET_STATUSES } from "@realtime-avatar/domain/assets/status";
import { newId } from "@realtime-avatar/domain/id";
import { parseItems, type WrittenPage } from "@realtime-avatar/domain/page";
import { validate } from "@realtime-avatar/domain/schema";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { plannedAsset, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { findAsset, insertAsset } from "./assets.ts";
import { listAssets } from "./list.ts";

const { db } = await serviceDatabase();

const TEXTS = ["plain", "\"\\ / ' \u0001\u001f", "\u007f\u2028\u2029\ufeff", "😀é\u0301 שלום", '{"a":1}, $1 :name ?'];
const OBJECTS = [
  {},
  { a: [1e308, 0.1, 5e-324] },
  JSON.parse('{"__proto__":{"x":null}}'),
  { [TEXTS[1] as string]: TEXTS[3] },
];
const ORIGIN = 'https://example.com:8443/"';
const pick = <Item>(items: readonly Item[], at: number): Item => items[at % items.length] as Item;

const check = (page: WrittenPage, shown: readonly AssetRecord[]): void => {
  expect(page.items).toBe(shown.map((asset) => JSON.stringify(presentAsset(asset, ORIGIN))).join());
  expect(validate(AssetPage, { data: parseItems(page), nextCursor: null })).toEqual([]);
};

test("the JSON of the list, of random assets: equals the representation of each record; its pages end", async () => {
  const caller = await seedCaller(db);
  const all: AssetRecord[] = [];
  for (let at = 0; at < 60; at++) {
    const now = new Date(Date.UTC(2026, 0, 1, 0, 0, 0, pick([0, 1, 10, 120, 999], at)) + at * 86_400_000);
    const status = pick(ASSET_STATUSES, at);
    const isKnown = at % 2 === 0 || status === "ready";
    const asset = plannedAsset(caller, {
      id: newId("ast", now, random),
      kind: pick(ASSET_KINDS, at),
      status,
      contentType: isKnown ? pick(TEXTS, at).slice(0, 60) : null,
      sizeBytes: isKnown ? pick([0, 1, 2 ** 53 - 1], at) : null,
      sha256: isKnown ? "0f".repeat(32) : null,
      publicType: status === "ready" ? "image/webp" : null,
      remoteUrl: at % 3 === 0 ? pick(TEXTS, at) : null,
      reservedBytes: 1,
      error: status === "failed" ? { code: pick(TEXTS, at) as AssetErrorCode, detail: pick(TEXTS, at + 1) } : null,
      originalFilename: at % 4 === 0 ? null : pick(TEXTS, at),
      metadata: pick(OBJECTS, at),
      createdAt: now,
      updatedAt: now,
    });
    const write = { asset, job: null, quota: { maxAssets: 100, maxBytes: 100 } };
    expect(await insertAsset(db, write, caller, seedOrigin(caller))).toEqual({ kind: "written" });
    expect(await findAsset(db, caller, asset.id)).toEqual(asset);
    all.unshift(asset);
  }
  const page = { before: null, limit: 100 };
  const listed = all.filter(({ status }) => status !== "deleted");
  check(await listAssets(db, caller, { ...page, filters: {} }, ORIGIN), listed);
  for (const kind of ASSET_KINDS) {
    check(
      await listAssets(db, caller, { ...page, filters: { kind } }, ORIGIN),
      listed.filter((asset) => asset.kind === kind),
    );
    for (const status of ASSET_STATUSES) {
      check(
        await listAssets(db, caller, { ...page, filters: { kind, status } }, ORIGIN),
        all.filter((asset) => asset.kind === kind && asset.status === status),
      );
    }
  }
  for (const filters of [{}, { kind: "image" }] as const) {
    const expected = listed.filter(({ kind }) => filters.kind === undefined || kind === filters.kind);
    const found: unknown[] = [];
    for (let before: AssetRecord["id"] | null = null; ; ) {
      const some: WrittenPage = await listAssets(db, caller, { filters, before, limit: 7 }, ORIGIN);
      expect(parseItems(some).length).toBeLessThanOrEqual(7);
      found.push(...parseItems(some));
      if (some.next === null) break;
      before = some.next as AssetRecord["id"];
    }
    expect(found as object[]).toEqual(expected.map((asset) => presentAsset(asset, ORIGIN)));
  }
  const [other, test] = [await seedCaller(db), { ...caller, environment: "test" } as const];
  for (const owner of [other, test]) {
    expect(await listAssets(db, owner, { ...page, filters: {} }, ORIGIN)).toEqual({ items: "", next: null });
  }
});
