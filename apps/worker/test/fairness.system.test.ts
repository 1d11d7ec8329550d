/** Preparations of many tenants: a tenant that floods the queue delays another one by at most its turn. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { findTestCaller, seedAvatar, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { preparationTests } from "./support/preparations.ts";

// Tests do not assert times, and a slow disk must not fail one.
setDefaultTimeout(600_000);

/**
 * How many jobs one tenant has. One worker runs two jobs at once, so without turns this tenant would take all slots.
 */
const FLOOD = process.env["LONG"] === "1" ? 3000 : 200;
/** How many jobs each of the others has. */
const FEW = 10;

const tests = preparationTests();

const seedTester = async (): Promise<Caller> => {
  const { db } = tests.world.database;
  const { secret } = await seedKey(db, await seedTenant(db), { environment: "test", scopes: ["*"] });
  return findTestCaller(db, secret.keyId);
};
const seedMany = async (by: Caller, count: number): Promise<AvatarRecord[]> => {
  const avatars: AvatarRecord[] = [];
  const { db } = tests.world.database;
  // Fewer at a time than the queue of the database accepts.
  while (avatars.length < count) {
    const some = Array.from({ length: Math.min(100, count - avatars.length) }, () =>
      seedAvatar(db, by, { sourceAssetId: "ast_test_ready" }),
    );
    avatars.push(...(await Promise.all(some)));
  }
  return avatars;
};
/** How many avatars of the tenant have been prepared, in total or before one of another tenant's avatars. */
const preparedOf = async ({ tenantId }: Caller, until: AvatarRecord | null = null): Promise<number> => {
  const [row] = await tests.world.database.db.client`
    select count(*)::integer as prepared from audit_events
    where tenant_id = ${tenantId} and action = 'avatar.prepared' and created_at <= coalesce(
      (select created_at from audit_events where target_id = ${until?.id ?? ""} and action = 'avatar.prepared'), 'infinity'
    )`;
  return row?.["prepared"];
};

test("tenants with few jobs, beside a flood: served in turns", async () => {
  const flood = await seedTester();
  await seedMany(flood, FLOOD);
  const others = await Promise.all([seedTester(), seedTester(), seedTester()]);
  const avatars = (await Promise.all(others.map((by) => seedMany(by, FEW)))).flat();
  tests.start();
  for (const avatar of avatars) expect(await tests.settled(avatar)).toMatchObject({ status: "ready", lastError: null });
  // With turns, the flood has as many as each of the others, plus the running ones.
  const counts = await Promise.all(avatars.map((avatar) => preparedOf(flood, avatar)));
  expect(Math.max(...counts)).toBeLessThanOrEqual(2 * FEW);
});

test("a tenant, one job at a time beside a flood: waits for few jobs of the flood", async () => {
  const [flood, other] = [await seedTester(), await seedTester()];
  await seedMany(flood, FLOOD);
  tests.start();
  const waits: number[] = [];
  for (let count = 0; count < FEW && (await preparedOf(flood)) < FLOOD / 2; count++) {
    const [avatar] = (await seedMany(other, 1)) as [AvatarRecord];
    // Preparations during its creation do not count.
    const before = await preparedOf(flood);
    expect(await tests.settled(avatar)).toMatchObject({ status: "ready", lastError: null });
    waits.push((await preparedOf(flood, avatar)) - before);
  }
  expect(waits.length).toBeGreaterThan(2);
  // Without turns, each would wait for the rest of the flood: more than half of it.
  expect(Math.max(...waits)).toBeLessThanOrEqual(FLOOD / 4);
});
