/** Tenants. */
import { expect, test } from "bun:test";
import { newId } from "@realtime-avatar/domain/id";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { insertTenant, listTenants } from "./tenants.ts";

const { db } = await fileDatabase();

const tenantOf = (createdAt: Date, name = "x") => ({ tenantId: newId("ten", createdAt, random), name, createdAt });

test("listTenants: all tenants, the oldest first", async () => {
  const [first, second] = [tenantOf(new Date("2026-01-01")), tenantOf(new Date("2026-01-02"), 'ü"\\')];
  await insertTenant(db, second, []);
  await insertTenant(db, first, []);
  expect(await listTenants(db)).toEqual([first, second].map((one) => ({ ...one, maxCallSeconds: null })));
});

test("a tenant with an existing id: refused", async () => {
  const tenant = tenantOf(new Date());
  await insertTenant(db, tenant, []);
  await expect(insertTenant(db, tenant, [])).rejects.toMatchObject({ code: "23505" });
});
