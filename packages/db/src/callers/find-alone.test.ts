/** The look-up on a shard has the same result as the look-up on one database, for keys in every state. */
import { expect, test } from "bun:test";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { seedCaller, seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { seedEndpoint } from "@realtime-avatar/testing/webhooks/seeds";
import { findAlone, findTogether, type LookUp } from "./callers.ts";

const { db } = await fileDatabase();

test("each key, with each target and each part of its credits: the same result by both look-ups", async () => {
  const tenantId = await seedTenant(db);
  await seedMovement(db, tenantId);
  const root = await seedCaller(db, tenantId, { spendLimitCreditMicros: 90_000_000, maxConcurrentSessions: 2 });
  const middle = await seedCaller(db, tenantId, { maxConcurrentSessions: 5 }, root.record);
  const leaf = await seedCaller(db, tenantId, { spendLimitCreditMicros: 50_000_000 }, middle.record);
  const test = await seedCaller(db, tenantId, { environment: "test" }, root.record);
  const expired = await seedCaller(db, tenantId, { expiresAt: "2090-01-01T00:00:00.000Z" });
  const below = await seedCaller(db, tenantId, {}, expired.record);
  const revoked = await seedCaller(db, tenantId);
  const orphan = await seedCaller(db, tenantId, {}, revoked.record);
  const retired = await seedCaller(db, tenantId);
  const callers = [root, middle, leaf, test, expired, below, revoked, orphan, retired];
  const states: (() => Promise<unknown>)[] = [
    async () => {},
    async () => seedSession(db, leaf.caller),
    async () => seedSession(db, middle.caller),
    async () => seedEndpoint(db, root.caller),
    async () => db.client`update usage_sessions set sweep_at = now() - interval '1 hour'`,
    async () => db.client`update credit_accounts set exhausted_at = now(), max_concurrent_sessions = 1`,
    async () => db.client`update api_keys set expires_at = now() - interval '1 second' where id = ${expired.record.id}`,
    async () => db.client`update api_keys set revoked_at = now() where id = ${revoked.record.id}`,
    async () => db.client`
      update api_key_credentials set retired_at = now() - interval '1 hour', retired_by = api_key_id, is_unused = true
      where key_id = ${retired.record.keyId}`,
    async () => db.client`
      insert into pending_changes (tenant_id, subject_id, announced_at) values (${tenantId}, ${middle.record.id}, now())`,
    async () => db.client`
      insert into api_key_usage (tenant_id, api_key_id, last_used_at) values (${tenantId}, ${leaf.record.id}, now())`,
    async () => db.client`delete from credit_accounts where environment = 'test'`,
  ];
  const lookUps: LookUp[] = callers.flatMap(({ record }) =>
    [null, leaf.record.id, "key_01h455vb4pex5vsknk084sn02q" as const].flatMap((targetId) =>
      ([null, "headroom", "balance"] as const).map((including) => ({
        keyId: record.keyId,
        targetId,
        isKnown: true,
        including,
      })),
    ),
  );
  lookUps.push({ keyId: "unknownunknown00", targetId: null, isKnown: false, including: "headroom" });
  expect(ENVIRONMENTS).toHaveLength(2);
  for (const change of states) {
    await change();
    // In one transaction, all statements have one time.
    await db.client.begin(async (transaction) => {
      const run = async (text: string, parameters: readonly unknown[]) =>
        (await transaction.unsafe(text, parameters as never[], { prepare: true })) as never;
      const together = await findTogether({ run }, lookUps);
      expect(await Promise.all(lookUps.map((lookUp) => findAlone({ run }, lookUp)))).toEqual(together);
      expect(together.filter((found) => found !== null)).toHaveLength(lookUps.length - 1);
    });
  }
});
