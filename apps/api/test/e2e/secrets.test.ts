/**
 * Issues keys, ends requests in every possible way, and then searches logs, responses and the database for the secrets.
 */
import { describe, expect, test } from "bun:test";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { session } from "@realtime-avatar/testing/database";
import { cutBlocked } from "@realtime-avatar/testing/postgres/waits";
import { until } from "@realtime-avatar/testing/until";
import { type Answer, startApi, type TestApi, UUID_V7 } from "../support/api.ts";
import { dump } from "../support/dump.ts";

const secrets: string[] = [];
const answers: Answer[] = [];

const drive = async (method: string, path: string, options: Parameters<TestApi["call"]>[2] = {}): Promise<Answer> => {
  const answer = await api.call(method, path, options);
  answers.push(answer);
  return answer;
};

const api = await startApi();
const root = await api.key();
secrets.push(root);
const path = "/api/v1/api-keys";
for (const name of ["one", "two", "three"]) {
  const { body } = await api.call("POST", path, { key: root, body: { name, environment: "live", scopes: ["*"] } });
  secrets.push(body.apiKey);
}
const [, one = "", two = "", three = ""] = secrets;
const powerless = await api.key({ scopes: ["usage:read"] });
const powerful = await api.key();
secrets.push(powerless, powerful);

await drive("POST", "/api/v1/avatars", { key: one, body: { displayName: "fine", sourceKind: "image" } });
// Secrets in wrong places.
await drive("POST", path, { key: one, body: { [two]: 1 } });
await drive("POST", `${path}?${two}=${two}`, { key: one, body: { name: "x" } });
await drive("POST", path, { key: one, body: { name: 5, environment: two, scopes: [two], expiresAt: two } });
await drive("POST", path, { key: one, body: `{"name": "${two}` });
await drive("POST", path, { key: one, body: { name: "x" }, headers: { "x-request-id": two } });
await drive("POST", path, { key: one, body: two, headers: { "content-type": two } });
await drive("GET", `/${two}`, { key: one });
await drive("GET", `/api/v1/avatars/${two}`, { key: one });
await drive("PATCH", path, { key: one, headers: { "user-agent": two, referer: two, cookie: `key=${two}` } });
await drive("POST", "/api/v1/avatars", {
  key: one,
  body: { displayName: "", sourceKind: two, metadata: { [two]: "\u0000" } },
});
// All operations on a key and on an avatar.
const made = await drive("POST", path, { key: one, body: { name: "rotated", scopes: ["*"] } });
const rotation = { key: one, body: { overlapSeconds: 60 } };
const rotated = await drive("POST", `${path}/${made.body.id}/rotate`, rotation);
await drive("PATCH", `${path}/${made.body.id}`, {
  key: one,
  body: { name: "changed" },
  headers: { "if-match": two },
});
await drive("PATCH", `${path}/${made.body.id}`, { key: one, body: { name: "changed" } });
await drive("GET", `${path}/${made.body.id}`, { key: one });
await drive("GET", `${path}/${two}`, { key: one });
await drive("GET", `${path}?cursor=${two}&status=${two}&${two}=1`, { key: one });
await drive("GET", path, { key: one });
await drive("GET", `${path}/self`, { key: rotated.body.apiKey });
await drive("GET", `/api/v1/audit-events?targetId=${two.slice(0, 64)}`, { key: one });
await drive("GET", "/api/v1/audit-events", { key: one });
await drive("POST", "/api/v1/leaked-keys", { body: { apiKey: rotated.body.apiKey } });
await drive("POST", "/api/v1/leaked-keys", { body: { apiKey: `${two}x` }, headers: { "x-forwarded-for": two } });
await drive("POST", "/api/v1/leaked-keys", { body: { [two]: two } });
for (let count = 0; count < 31; count++) {
  await api.call("POST", "/api/v1/leaked-keys", {
    body: { apiKey: two.slice(1) },
    headers: { "x-forwarded-for": "::1" },
  });
}
await drive("POST", "/api/v1/leaked-keys", { body: { apiKey: two }, headers: { "x-forwarded-for": "::1" } });
await drive("DELETE", `${path}/${made.body.id}`, { key: one });
await drive("POST", `${path}/${made.body.id}/rotate`, { key: one, body: {} });
const avatar = await drive("POST", "/api/v1/avatars", { key: one, body: { displayName: "x", sourceKind: "image" } });
await drive("GET", `/api/v1/avatars/${avatar.body.id}`, { key: one, headers: { "if-none-match": '"1"' } });
await drive("PATCH", `/api/v1/avatars/${avatar.body.id}`, {
  key: one,
  body: { displayName: "y" },
  headers: { "if-match": '"7"' },
});
// The stored responses for replays.
const headers = { "idempotency-key": "the-same" };
const kept = await drive("POST", path, { key: one, body: { name: "kept", scopes: ["*"] }, headers });
await drive("POST", path, { key: one, body: { name: "kept", scopes: ["*"] }, headers });
await drive("POST", path, { key: one, body: { name: "other" }, headers });
await drive("POST", path, { key: one, body: { name: "x" }, headers: { "idempotency-key": `${two} ${two}` } });
const ofKept = { key: kept.body.apiKey, body: { name: "by kept", scopes: ["*"] }, headers };
await drive("POST", path, ofKept);
const other = await drive("POST", `${path}/${kept.body.id}/rotate`, { key: one, body: { overlapSeconds: 60 } });
await drive("POST", path, { ...ofKept, key: other.body.apiKey });
// Credentials of every kind.
for (const authorization of [
  two,
  `Basic ${two}`,
  `Bearer ${two}x`,
  `Bearer ${two.slice(0, -1)}`,
  `Bearer ${two} ${two}`,
  `Bearer Bearer ${two}`,
]) {
  await drive("POST", path, { headers: { authorization }, body: { name: "x" } });
}
await drive("POST", path, { key: powerless, body: { name: "x" } });
await drive("POST", path, { key: three, body: "x".repeat(200_000) });
await drive("POST", path, { key: three, body: { name: "x", expiresAt: "2000-01-01T00:00:00Z" } });
await drive("POST", "/api/v1/avatars", { key: three, body: { displayName: "tripwire", sourceKind: "image" } });
const { client } = api.database.db;
const id = (secret: string) => parseApiKey(secret)?.keyId ?? "";
await client`update api_keys set scopes = '{api_keys:write}' where key_id = ${id(three)}`;
await drive("POST", path, { key: three, body: { name: "x", scopes: ["*"] } });
// A defect of the service, in a statement with a digest and in one without.
await client`alter table api_keys add constraint tripwire check (name <> 'tripwire')`;
await client`alter table audit_events add constraint tripwire check (action <> 'avatar.created') not valid`;
await drive("POST", path, { key: one, body: { name: "tripwire" } });
await drive("POST", "/api/v1/avatars", { key: one, body: { displayName: "x", sourceKind: "image" } });
await client`update api_keys set revoked_at = now() where key_id = ${id(two)}`;
await drive("POST", path, { key: two, body: { name: "x" } });
await client`update api_keys set expires_at = date_trunc('milliseconds', now()) where key_id = ${id(three)}`;
await drive("POST", path, { key: three, body: { name: "x" } });
await client`alter table api_key_credentials rename to elsewhere`;
await drive("POST", path, { key: one, body: { name: "x" } });
await client`alter table elsewhere rename to api_key_credentials`;
// A connection that breaks during a write.
const holder = session(api.database.url);
await holder.client`begin`;
await holder.client`select 1 from api_keys where key_id = ${id(powerful)} for update`;
const pending = drive("POST", path, { key: powerful, body: { name: "x" } });
await cutBlocked(api.database.db);
await pending;
await holder.close();

for (const { body } of answers) if (body?.apiKey) secrets.push(body.apiKey);
// A line is written after its response is sent.
for (const { headers } of answers) {
  await until(() => api.log.some((line) => line.includes(headers.get("x-request-id") ?? "none")), { pollMs: 1 });
}

/** The parts that must not be found: the secrets, and the secret part of each without its public handle. */
const parts = (): string[] =>
  secrets.flatMap((secret) => [secret, secret.slice(26), secret.slice(26, 46), secret.slice(-20)]);

describe("every kind of end of a request", () => {
  test("the responses of all requests: every status and code occurs", () => {
    const codes = new Set(answers.map(({ status, body }) => `${status} ${body?.code ?? ""}`.trim()));
    expect([...codes].sort()).toEqual([
      "200",
      "201",
      "202",
      "304",
      "400 malformed_json",
      "400 malformed_request",
      "401 expired_api_key",
      "401 invalid_api_key",
      "401 missing_api_key",
      "401 revoked_api_key",
      "403 grant_exceeds_caller",
      "403 insufficient_scope",
      "404 not_found",
      "405 method_not_allowed",
      "409 invalid_transition",
      "409 replay_unavailable",
      "412 precondition_failed",
      "413 body_too_large",
      "415 unsupported_media_type",
      "422 idempotency_key_reused",
      "422 validation_failed",
      "429 rate_limited",
      "500 internal_error",
      "503 outcome_unknown",
      "503 unavailable",
    ]);
  });

  test("the secrets, after all requests: none in the log", () => {
    const log = api.log.join("");
    for (const part of parts()) expect(log).not.toContain(part);
    // Masking, the last defence, had nothing to mask.
    expect(log).not.toContain("_****");
  });

  test("the secrets, after all requests: each only in the response that has issued it", () => {
    for (const { text, headers, body } of answers) {
      const shown = text.replace(body?.apiKey ?? "-", "") + JSON.stringify([...headers]);
      for (const part of parts()) expect(shown).not.toContain(part);
    }
  });

  test("the secrets, after all requests: none in the database", async () => {
    const text = await dump(api.database.db);
    // Checks the dump: it contains the public part of each key.
    for (const secret of secrets) expect(text).toContain(parseApiKey(secret)?.keyId ?? "none");
    for (const part of parts()) expect(text).not.toContain(part);
    for (const part of parts()) expect(text).not.toContain(Buffer.from(part).toString("hex"));
  });
});

describe("the log line of a request", () => {
  test("a log line, of each request: has the status and the problem of the response", () => {
    for (const { status, headers, body } of answers) {
      const id = headers.get("x-request-id");
      const lines = api.log.map((line) => JSON.parse(line)).filter(({ requestId }) => requestId === id);
      expect(lines).toMatchObject([{ status, ...(body?.code ? { problem: body.code } : {}) }]);
      expect(lines[0].level).toBe(status >= 500 ? 50 : 30);
    }
  });

  test("a log line, of a creation: caller, request and duration, without the body", () => {
    const lines = api.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "request");
    const created = lines.find(({ status, route }) => status === 201 && route === "/api/v1/avatars");
    expect(created).toMatchObject({
      level: 30,
      method: "POST",
      route: "/api/v1/avatars",
      status: 201,
      tenantId: api.tenantId,
      keyId: parseApiKey(secrets[1] ?? "")?.keyId,
    });
    expect(created.requestId).toMatch(UUID_V7);
    expect(created.durationMs).toBeGreaterThan(0);
    expect(lines).toHaveLength(answers.length + 3 + 31);
    expect(api.log.join("")).not.toContain("displayName");
  });

  test("a log line, of a refused key: names the problem and the key; the tenant only for the true secret", () => {
    const lines = api.log.map((line) => JSON.parse(line));
    const revoked = lines.find(({ problem }) => problem === "revoked_api_key");
    expect(revoked).toMatchObject({ status: 401, tenantId: api.tenantId, keyId: parseApiKey(secrets[2] ?? "")?.keyId });
    // Without the true secret, the line names no tenant.
    const missing = lines.find(({ problem }) => problem === "missing_api_key");
    expect([missing.tenantId, missing.keyId]).toEqual([undefined, undefined]);
  });
});
