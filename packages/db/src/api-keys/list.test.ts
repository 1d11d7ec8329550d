/** Which keys a list has. */
import { describe, expect, test } from "bun:test";
import type { ApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { ApiKeyId } from "@realtime-avatar/domain/id";
import { itemsOf } from "@realtime-avatar/domain/page";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { listApiKeys } from "./list.ts";

const { db } = await fileDatabase();

const ids: Record<string, ApiKeyId> = {};
const tenantId = await seedTenant(db);
const seed = async (name: string, environment: Environment, parent?: Parameters<typeof seedKey>[3]) => {
  const { record } = await seedKey(db, tenantId, { name, environment, scopes: ["*"] }, parent);
  ids[name] = record.id;
  return record;
};
const live = await seed("live", "live");
await seed("test", "test");
const revoked = await seed("revoked", "live", live);
await seed("below revoked", "test", revoked);
const expired = await seed("expired", "test");
await seed("below expired", "test", expired);
await db.client`update api_keys set revoked_at = now() where id = ${revoked.id}`;
await db.client`update api_keys set expires_at = now() - interval '1 second' where id = ${expired.id}`;
await seedKey(db, await seedTenant(db), { name: "another tenant", environment: "live" });

type Filters = Parameters<typeof listApiKeys>[3]["filters"];
const names = async (environments: readonly Environment[], filters: Filters = {}) => {
  const page = await listApiKeys(db, tenantId, environments, { filters, before: null, limit: 100 });
  expect(page.next).toBeNull();
  return itemsOf<ApiKey>(page).map(({ name }) => name);
};
const BOTH = ["live", "test"] as const;

describe("listApiKeys", () => {
  test("a list, of a tenant and environments: every key, newest first", async () => {
    const all = ["below expired", "expired", "below revoked", "revoked", "test", "live"];
    expect(await names(BOTH)).toEqual(all);
    expect(await names(["test"])).toEqual(["below expired", "expired", "below revoked", "test"]);
    expect(await names(BOTH, { environment: "live" })).toEqual(["revoked", "live"]);
  });

  test("a list, filtered by status: that of the whole lineage", async () => {
    expect(await names(BOTH, { status: "active" })).toEqual(["test", "live"]);
    expect(await names(BOTH, { status: "revoked" })).toEqual(["below revoked", "revoked"]);
    expect(await names(BOTH, { status: "expired" })).toEqual(["below expired", "expired"]);
    expect(await names(BOTH, { status: "revoked", environment: "test" })).toEqual(["below revoked"]);
  });

  test("a list, of an invisible environment: empty without a statement", async () => {
    const unused = { ...db, batch: () => Promise.reject(new Error("a statement was sent")) };
    const page = { filters: { environment: "live" }, before: null, limit: 10 } as const;
    expect(await listApiKeys(unused, tenantId, ["test"], page)).toEqual({ items: "", next: null });
  });

  test("a list, its second page: continues below the last key", async () => {
    const page = (before: ApiKeyId | null) => listApiKeys(db, tenantId, BOTH, { filters: {}, before, limit: 4 });
    const first = await page(null);
    expect(first.next).toBe(ids["revoked"] ?? "");
    const second = await page(first.next as ApiKeyId);
    expect(itemsOf<ApiKey>(second).map(({ name }) => name)).toEqual(["test", "live"]);
    expect(second.next).toBeNull();
  });
});
