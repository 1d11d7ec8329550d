/** The end of secrets that a rotation has replaced, and the right to report a key with them. */
import { expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import { rotatedApiKey } from "@realtime-avatar/domain/api-keys/rotate";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { findTestCaller, seedKey, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { type Caller, findCredential } from "../callers/callers.ts";
import { findApiKey, rotateApiKey } from "./api-keys.ts";

const { db } = await fileDatabase();
const tenantId = await seedTenant(db);

const rotate = async (id: ApiKeyRecord["id"], overlapSeconds: number, caller: Caller | null): Promise<string> => {
  const target = (await findApiKey(db, tenantId, id)) as ApiKeyRecord;
  const rotated = rotatedApiKey(target, { overlapSeconds }, OPERATOR, random);
  const { kind } = await rotateApiKey(db, rotated, caller, seedOrigin(caller));
  if (kind !== "written") throw new Error(kind);
  return rotated.record.keyId;
};

test("an overlap beyond the expiry of the key: the old secret ends with the key", async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const { record, secret } = await seedKey(db, tenantId, { expiresAt });
  await rotate(record.id, 7 * 86_400, null);
  const [row] = await db.client`select retired_at from api_key_credentials where key_id = ${secret.keyId}`;
  expect(row?.["retired_at"].toISOString()).toBe(expiresAt);
});

test.each([
  ["the operator", false],
  ["an ancestor", true],
] as const)("a key that has rotated itself, then rotated by %s: no old secret may report it", async (_, hasParent) => {
  const parent = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
  const { record, secret } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] }, parent.record);
  const second = await rotate(record.id, 0, await findTestCaller(db, secret.keyId));
  const third = await rotate(record.id, 0, await findTestCaller(db, second));
  const mayReport = async (...keyIds: string[]) =>
    Promise.all(keyIds.map(async (keyId) => (await findCredential(db, keyId))?.mayReport));
  expect(await mayReport(secret.keyId, second, third)).toEqual([true, true, true]);
  const last = await rotate(record.id, 0, hasParent ? await findTestCaller(db, parent.secret.keyId) : null);
  expect(await mayReport(secret.keyId, second, third, last)).toEqual([false, false, false, true]);
});

test("a secret that its key has replaced by a rotation: may report the key for seven days", async () => {
  const { record, secret } = await seedKey(db, tenantId, { environment: "live", scopes: ["*"] });
  await rotate(record.id, 0, await findTestCaller(db, secret.keyId));
  for (const [days, expected] of [
    [6.9, true],
    [7.1, false],
  ] as const) {
    await db.client`
      update api_key_credentials set retired_at = now() - make_interval(secs => ${days * 86_400}::float8)
      where key_id = ${secret.keyId}`;
    expect((await findCredential(db, secret.keyId))?.mayReport).toBe(expected);
  }
});
