import { describe, expect, test } from "bun:test";
import { rotateApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import { rotatedApiKey } from "@realtime-avatar/domain/api-keys/rotate";
import { checksum, generateApiKey, parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedKey } from "@realtime-avatar/testing/seeds";
import { type Answer, callAnew, rowCounts, startApi } from "../../test/support/api.ts";

const PATH = "/api/v1/leaked-keys";

const api = await startApi();
const seeded = await seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["*"] });
const root = seeded.secret.reveal();
const rootRecord = seeded.record;

const report = (apiKey: unknown, headers = {}) => api.call("POST", PATH, { body: { apiKey }, headers });
const self = async (key: string) => (await api.call("GET", "/api/v1/api-keys/self", { key })).status;
const make = () => seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["*"] }, rootRecord);
/** A response without the parts that differ between requests. */
const bare = ({ status, headers, text }: Answer) => [
  status,
  text,
  [...headers].filter(([name]) => !["x-request-id", "date"].includes(name)),
];

describe("a leaked key", () => {
  test("a leaked key, reported: revoked with its descendants before the response, without an actor", async () => {
    const { record, secret } = await make();
    const child = await seedKey(api.database.db, api.tenantId, { scopes: ["*"] }, record);
    const response = await report(secret.reveal());
    expect([response.status, response.body]).toEqual([202, { status: "accepted" }]);
    expect(await Promise.all([secret.reveal(), child.secret.reveal()].map(self))).toEqual([401, 401]);
    const { body } = await api.call("GET", `/api/v1/audit-events?targetId=${record.id}&limit=1`, { key: root });
    expect(body.data).toMatchObject([
      {
        action: "api_key.reported_leaked",
        changedFields: ["status"],
        actorId: null,
        actorKeyId: null,
        environment: "live",
        requestId: response.headers.get("x-request-id"),
      },
    ]);
    expect((await api.call("GET", `/api/v1/api-keys/${record.id}`, { key: root })).body.status).toBe("revoked");
  });

  test("a report, of any secret: the same response; only a valid secret has an effect", async () => {
    const { record, secret } = await make();
    const expected = bare(await report(secret.reveal()));
    const live = await make();
    const late = await make();
    await api.database.db.client`
      update api_keys set expires_at = date_trunc('milliseconds', now()) where id = ${late.record.id}`;
    const other = generateApiKey("live", random).reveal();
    // The public part of a valid key, with another secret.
    const body = `${live.secret.reveal().slice(0, 26)}${other.slice(26, -6)}`;
    const forged = body + checksum(body);
    expect(parseApiKey(forged)?.keyId).toBe(live.secret.keyId);
    const before = await rowCounts(api.database);
    for (const apiKey of [
      secret.reveal(),
      late.secret.reveal(),
      other,
      forged,
      live.secret.reveal().slice(0, -1),
      ` ${live.secret.reveal()}`,
      `${live.secret}`,
      live.secret.reveal().toLowerCase(),
      live.secret.reveal().replace("live", "test"),
      live.record.id,
      "x",
    ]) {
      expect(bare(await report(apiKey))).toEqual(expected);
    }
    expect(await rowCounts(api.database)).toEqual(before);
    expect(await self(live.secret.reveal())).toBe(200);
    expect(record.status).toBe("active");
  });

  test("a report, waiting while the key is rotated: the new secret stays valid", async () => {
    const { record, secret } = await make();
    const found = await findCredential(api.database.db, secret.keyId);
    if (!found) throw new Error("no key");
    const rotated = rotatedApiKey(found.caller, {}, OPERATOR, random);
    const rotate = (holder: Db) => rotateApiKey(holder, rotated, null, operatorOrigin());
    expect((await whileHeld(api.database, rotate, () => report(secret.reveal()))).status).toBe(202);
    expect(await self(rotated.secret.reveal())).toBe(200);
    expect((await api.call("GET", `/api/v1/api-keys/${record.id}`, { key: root })).body.status).toBe("active");
  });

  test("a leaked key, reported ten times at once: revoked once", async () => {
    const { record, secret } = await make();
    const responses = await Promise.all(Array.from({ length: 10 }, () => report(secret.reveal())));
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(202));
    const events = await api.database.db.client`
      select 1 from audit_events where target_id = ${record.id} and action = 'api_key.reported_leaked'`;
    expect(events).toHaveLength(1);
  });

  test("a report, without valid credentials: 202", async () => {
    const { secret } = await make();
    const response = await api.call("POST", PATH, {
      body: { apiKey: secret.reveal() },
      headers: { authorization: "Bearer junk", "idempotency-key": "x".repeat(300) },
    });
    expect(response.status).toBe(202);
    expect(await self(secret.reveal())).toBe(401);
  });
});

describe("the limit of reports", () => {
  test("reports, more than 30 a minute from one client: 429, before the body is read", async () => {
    const from = (address: string) => ({ "x-forwarded-for": address });
    const call = callAnew(api.database.db);
    const report = (apiKey: unknown, headers: Record<string, string>) =>
      call("POST", PATH, { body: { apiKey }, headers });
    const { secret } = await make();
    for (let count = 0; count < 30; count++) {
      expect((await report(count % 2 ? "x" : 5, from("203.0.113.7"))).status).toBe(count % 2 ? 202 : 422);
    }
    const refused = await report(secret.reveal(), from("203.0.113.7"));
    expect([refused.status, refused.body.code, refused.body.retryable]).toEqual([429, "rate_limited", true]);
    const retryAfter = Number(refused.headers.get("retry-after"));
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThanOrEqual(60);
    const headers = { ...from("203.0.113.7"), "content-type": "text/plain" };
    expect((await call("POST", PATH, { body: "x", headers })).status).toBe(429);
    expect(await self(secret.reveal())).toBe(200);
    // Other clients and other routes are not limited.
    expect((await report(secret.reveal(), from("203.0.113.8"))).status).toBe(202);
    expect((await call("GET", "/api/v1/avatars", { key: root, headers: from("203.0.113.7") })).status).toBe(200);
  });

  test("reports, with forged forwarding headers: also 429", async () => {
    for (let count = 0; count < 30; count++) {
      await report("x", { "x-forwarded-for": `198.51.100.${count}, 203.0.113.9` });
    }
    expect((await report("x", { "x-forwarded-for": "192.0.2.1, 203.0.113.9" })).status).toBe(429);
  });
});
