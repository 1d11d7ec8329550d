/** The last use of keys. */
import { describe, expect, test } from "bun:test";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { findApiKey } from "./api-keys.ts";
import { recordUses } from "./usage.ts";

const { db } = await serviceDatabase();
const tenantId = await seedTenant(db);
const seed = async () => (await seedKey(db, tenantId)).record.id;
const minute = (value: number) => new Date(Date.UTC(2026, 0, 1, 0, value));

describe("the recorded uses", () => {
  test("uses, recorded in any order: the latest of each key is stored", async () => {
    const [one, two, unused] = [await seed(), await seed(), await seed()];
    const lastUses = () =>
      Promise.all([one, two, unused].map(async (id) => (await findApiKey(db, tenantId, id))?.lastUsedAt));
    expect(await lastUses()).toEqual([null, null, null]);
    const use = (id: typeof one, usedAt: Date) => ({ tenantId, id, usedAt });
    await recordUses(db, [use(one, minute(2)), use(two, minute(2))]);
    await recordUses(db, [use(two, minute(1)), use(one, minute(3))]);
    expect(await lastUses()).toEqual([minute(3), minute(2), null]);
  });

  test("uses, recorded by replicas in opposite orders: no deadlock", async () => {
    const uses = await Promise.all(
      Array.from({ length: 50 }, async () => ({ tenantId, id: await seed(), usedAt: minute(0) })),
    );
    await recordUses(db, uses);
    for (let round = 1; round <= 20; round++) {
      const later = uses.map((use) => ({ ...use, usedAt: minute(round) }));
      await Promise.all([recordUses(db, later), recordUses(db, later.toReversed())]);
    }
    const rows = await db.client`select 1 from api_key_usage where last_used_at = ${minute(20)}`;
    expect(rows).toHaveLength(50);
  });
});
