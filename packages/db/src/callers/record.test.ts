/** The status and the inherited limits of a key follow from its whole lineage. */
import { describe, expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { findApiKey } from "../api-keys/api-keys.ts";

const { db } = await fileDatabase();
const tenantId = await seedTenant(db);

/** A key, its child and its grandchild. */
const seedLine = async () => {
  const request = { scopes: ["*"], environment: "live" } as const;
  const { record: parent } = await seedKey(db, tenantId, { ...request, scopes: ["*"] });
  const { record: child } = await seedKey(db, tenantId, { ...request, scopes: ["*"] }, parent);
  const { record: grandchild } = await seedKey(db, tenantId, { ...request, scopes: ["*"] }, child);
  return { parent, child, grandchild };
};
const revoke = ({ id }: ApiKeyRecord) => db.client`update api_keys set revoked_at = now() where id = ${id}`;
const expire = ({ id }: ApiKeyRecord) =>
  db.client`update api_keys set expires_at = now() - interval '1 second' where id = ${id}`;
const statuses = ({ parent, child, grandchild }: Awaited<ReturnType<typeof seedLine>>) =>
  Promise.all([parent, child, grandchild].map(async ({ id }) => (await findApiKey(db, tenantId, id))?.status));

describe("the status of a key", () => {
  test("a key with a revoked ancestor: revoked; with a revoked descendant: valid", async () => {
    const line = await seedLine();
    await revoke(line.child);
    expect(await statuses(line)).toEqual(["active", "revoked", "revoked"]);
  });

  test("a key with an expired ancestor: expired; with a revoked ancestor too: revoked", async () => {
    const line = await seedLine();
    await expire(line.parent);
    expect(await statuses(line)).toEqual(["expired", "expired", "expired"]);
    await revoke(line.child);
    expect(await statuses(line)).toEqual(["expired", "revoked", "revoked"]);
  });

  test("a key, at the moment of its expiry: expired by the database's clock", async () => {
    const { record } = await seedKey(db, tenantId);
    const statusAt = async (expiresAt: string) => {
      await db.client.unsafe(`update api_keys set expires_at = ${expiresAt} where id = '${record.id}'`);
      return (await findApiKey(db, tenantId, record.id))?.status;
    };
    expect(await statusAt("date_trunc('milliseconds', now())")).toBe("expired");
    expect(await statusAt("now() + interval '1 hour'")).toBe("active");
  });

  test("a key whose ancestor is missing: revoked", async () => {
    const { parent, child, grandchild } = await seedLine();
    await db.client`delete from api_keys where id = ${child.id}`;
    expect((await findApiKey(db, tenantId, grandchild.id))?.status).toBe("revoked");
    expect((await findApiKey(db, tenantId, parent.id))?.status).toBe("active");
  });
});

test("the inherited limits of several ancestors: the tightest; caps and open sessions only of the same environment", async () => {
  const limits = async (record: ApiKeyRecord) => (await findApiKey(db, tenantId, record.id))?.inheritedLimits;
  const { parent, child, grandchild } = await seedLine();
  const { record: ofTest } = await seedKey(db, tenantId, { environment: "test" }, grandchild);
  expect(await limits(grandchild)).toEqual({
    spendLimitCreditMicros: null,
    maxConcurrentSessions: null,
    expiresAt: null,
  });
  await db.client`
    update api_keys set spend_limit_credit_micros = 5, max_concurrent_sessions = 7, expires_at = '2099-01-02' where id = ${parent.id}`;
  await db.client`
    update api_keys set spend_limit_credit_micros = 9007199254740991, max_concurrent_sessions = 3, expires_at = '2099-01-01' where id = ${child.id}`;
  const expiresAt = new Date("2099-01-01");
  expect(await limits(child)).toEqual({
    ...{ spendLimitCreditMicros: 5, maxConcurrentSessions: 7 },
    expiresAt: new Date("2099-01-02"),
  });
  expect(await limits(grandchild)).toEqual({ spendLimitCreditMicros: 5, maxConcurrentSessions: 3, expiresAt });
  expect(await limits(ofTest)).toEqual({ spendLimitCreditMicros: null, maxConcurrentSessions: null, expiresAt });
});
