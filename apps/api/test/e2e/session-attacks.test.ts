/**
 * Attacks with usage sessions: other environments and tenants, extreme figures, forged cursors, and the content of a
 * 402.
 */
import { describe, expect, test } from "bun:test";
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { rowCounts, startApi } from "../support/api.ts";

const PATH = "/api/v1/usage/sessions";
const SECOND = 1_000_000;
const UNKNOWN = "ses_01h455vb4pex5vsknk084sn02q";
const api = await startApi();
const key = await api.key();

const open = (body: object, caller = key) => api.call("POST", PATH, { key: caller, body });
const report = (id: string, body: object | string, caller = key) =>
  api.call("POST", `${PATH}/${id}/usage`, { key: caller, body });
const release = (id: string, body: object, caller = key) =>
  api.call("POST", `${PATH}/${id}/release`, { key: caller, body });
const list = (query: Record<string, string>, caller = key, path = PATH) =>
  api.call("GET", `${path}?${new URLSearchParams(query)}`, { key: caller });
/** A key of another tenant with live credits. */
const foreignKey = async (request: Partial<CreateApiKey> = {}): Promise<string> => {
  const tenantId = await seedTenant(api.database.db, { live: 1e12 });
  const all = { environment: "live" as const, scopes: ["*" as const, "usage:write" as const], ...request };
  return (await seedKey(api.database.db, tenantId, all)).secret.reveal();
};

test("a session, read, reported or released by another environment or tenant: 404 without a write", async () => {
  const { sessionId } = (await open({ maxSessionSeconds: 10 })).body;
  const inTest = await api.key({ environment: "test", scopes: ["*", "usage:write"] });
  const callers = [inTest, await foreignKey(), await foreignKey({ environment: "test" })];
  const before = await rowCounts(api.database);
  for (const caller of callers) {
    const headers = { "idempotency-key": "a" };
    for (const id of [sessionId, UNKNOWN]) {
      const answers = [
        await api.call("GET", `${PATH}/${id}`, { key: caller }),
        await report(id, { usedCreditMicros: 0 }, caller),
        await release(id, { usedCreditMicros: 0 }, caller),
        await api.call("POST", `${PATH}/${id}/release`, { key: caller, headers }),
        await api.call("POST", `${PATH}/${id}/usage`, { key: caller, headers, body: { usedCreditMicros: 0 } }),
      ];
      const texts = answers.map(({ body }) => JSON.stringify({ ...body, requestId: null }));
      // The same bytes as for an unknown session.
      expect([answers[0]?.status, new Set(texts).size]).toEqual([404, 1]);
    }
    expect((await list({}, caller)).body.data).toEqual([]);
    expect((await list({}, caller, "/api/v1/usage/summary")).body.data).toEqual([]);
    expect((await list({ sessionId }, caller, "/api/v1/credits/entries")).body.data).toEqual([]);
  }
  expect(await rowCounts(api.database)).toEqual(before);
  expect((await release(sessionId, {})).body.billedCreditMicros).toBe(0);
});

describe("extreme usage figures", () => {
  test("a usage figure, near the largest number: cut at the hold; -0 is 0", async () => {
    const { sessionId } = (await open({ maxSessionSeconds: 10 })).body;
    expect((await report(sessionId, '{"usedCreditMicros":-0}')).body.usedCreditMicros).toBe(0);
    for (const figure of ["9007199254740992", "-1", "1e400", "0.5", '"1"', "null"]) {
      const { status } = await report(sessionId, `{"usedCreditMicros":${figure}}`);
      expect([figure, status]).toEqual([figure, 422]);
    }
    expect((await report(sessionId, '{"usedCreditMicros":9007199254740991}')).body.usedCreditMicros).toBe(10 * SECOND);
    const { body } = await release(sessionId, { usedCreditMicros: Number.MAX_SAFE_INTEGER });
    expect(body.billedCreditMicros).toBe(10 * SECOND);
    // The same charge, written in another way.
    expect((await release(sessionId, { usedCreditMicros: 10 * SECOND })).status).toBe(200);
  });

  test("a usage figure, of a very old session: no overflow", async () => {
    const caller = await foreignKey({ scopes: ["*", "usage:write"] });
    const { sessionId } = (await open({ maxSessionSeconds: 1800 }, caller)).body;
    await report(sessionId, { usedCreditMicros: 0 }, caller);
    await api.database.db.client`
      update usage_sessions set price = 1000000000000, started_at = now() - interval '300 years' where id = ${sessionId}`;
    const ended = await release(sessionId, { usedCreditMicros: Number.MAX_SAFE_INTEGER }, caller);
    expect(ended.body.billedCreditMicros).toBe(1800 * SECOND);
  });
});

test("metadata of the maximum size: stored, listed and found, in pages of bounded size", async () => {
  const caller = await foreignKey();
  // Six bytes of JSON for each character.
  const metadata = Object.fromEntries(
    Array.from({ length: 16 }, (_, at) => [at === 0 ? "user_id" : `n${at}`.padEnd(40, "\u0001"), "\u0001".repeat(500)]),
  );
  for (let opened = 0; opened < 25; opened++) {
    expect((await open({ maxSessionSeconds: 1, metadata }, caller)).status).toBe(201);
  }
  let seen = 0;
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: Record<string, string> =
      cursor === "" ? { limit: "200", endUserId: metadata["user_id"] ?? "" } : { cursor };
    const page = await list(query, caller);
    expect(page.text.length).toBeLessThan(1.2 * 1024 * 1024);
    seen += page.body.data.length;
    cursor = page.body.nextCursor;
  }
  expect(seen).toBe(25);
});

describe("a cursor of sessions", () => {
  const forged = (filters: [string, string][], id = "ses_7zzzzzzzzzzzzzzzzzzzzzzzzz", prefix = "ses"): string =>
    Buffer.from(JSON.stringify([1, prefix, filters, id])).toString("base64url");
  const window: [string, string][] = [
    ["from", "2026-01-01T00:00:00.000Z"],
    ["to", "2026-01-02T00:00:00.000Z"],
  ];

  test("a forged cursor: 422, or no item of another window, list or tenant", async () => {
    const refused = async (cursor: string, path = PATH) => {
      const { status, body } = await list({ cursor }, key, path);
      expect([status, body.code]).toEqual([422, "validation_failed"]);
    };
    await refused(forged([]));
    await refused(forged([["to", "2026-01-02T00:00:00.000Z"]]));
    await refused(
      forged([
        ["from", "0001-01-01T00:00:00.000Z"],
        ["to", "2026-01-02T00:00:00.000Z"],
      ]),
    );
    await refused(forged([["environment", "test"], ...window]));
    await refused(forged([...window, ["tenantId", "ten_01h455vb4pex5vsknk084sn02q"]]));
    await refused(forged([["groupBy", "apiKey"], ...window].toSorted() as [string, string][]));
    await refused(forged(window, "ent_01h455vb4pex5vsknk084sn02q"));
    // A cursor of the list does not fit another list.
    await refused(forged(window), "/api/v1/usage/summary");
    await refused(forged(window), "/api/v1/credits/entries");
    const foreign = await foreignKey();
    await open({ maxSessionSeconds: 1 }, foreign);
    await open({ maxSessionSeconds: 1 }, foreign);
    const { nextCursor } = (await list({ limit: "1" }, foreign)).body;
    const { data } = (await list({ cursor: nextCursor, limit: "200" })).body;
    for (const { apiKeyId } of data) expect(apiKeyId).not.toBe((await list({}, foreign)).body.data[0].apiKeyId);
  });

  test("a window, at the edge of time: empty or 422, never 500", async () => {
    for (const query of [
      { to: "0000-01-02T00:00:00Z" },
      { from: "9999-12-31T00:00:00Z", to: "9999-12-31T23:59:59.999Z" },
      { from: "1969-12-31T00:00:00Z", to: "1970-01-01T00:00:00Z" },
    ]) {
      for (const path of [PATH, "/api/v1/usage/summary"]) {
        const { status, body } = await list(query, key, path);
        expect([status, body.data]).toEqual([200, []]);
        expect(body.from).toMatch(/^\d{4}-/);
      }
    }
    expect((await list({ to: "0000-01-01T00:00:00Z" })).body.errors).toMatchObject([{ code: "empty_window" }]);
    expect((await list({ to: "0000-01-01T00:00:00+01:00" })).body.errors).toMatchObject([
      { code: "invalid_date_time" },
    ]);
  });
});

test("a session, without credits and with other errors: the other refusals come first", async () => {
  const tenantId = await seedTenant(api.database.db, { live: 1e12 });
  const newKey = (request: Partial<CreateApiKey>, parent?: Awaited<ReturnType<typeof seedKey>>["record"]) =>
    seedKey(api.database.db, tenantId, { environment: "live", ...request }, parent);
  const root = await newKey({ scopes: ["*"], spendLimitCreditMicros: 7 * SECOND });
  const parent = await newKey({ scopes: ["*"], spendLimitCreditMicros: 6 * SECOND }, root.record);
  const child = await newKey({ scopes: ["realtime:write"], spendLimitCreditMicros: 6 * SECOND }, parent.record);
  const reader = await newKey({ scopes: ["usage:read"], spendLimitCreditMicros: 0 }, parent.record);
  const secret = child.secret.reveal();
  await open({ maxSessionSeconds: 5 }, root.secret.reveal());
  const limited = await open({ maxSessionSeconds: 5 }, secret);
  expect(limited.body).toEqual({
    ...{ type: "/problems/spend_limit_exceeded", title: limited.body.title, status: 402 },
    ...{ detail: "The spend cap of an ancestor of the calling key leaves less than the session needs." },
    ...{ code: "spend_limit_exceeded", requestId: limited.body.requestId, retryable: false },
    ...{ requiredCreditMicros: 5 * SECOND, limitedBy: "ancestor" },
  });
  // The response contains no figure of an ancestor, not even in its headers.
  const sent = limited.text + JSON.stringify([...limited.headers]);
  for (const number of [7 * SECOND, 6 * SECOND, 2 * SECOND]) expect(sent).not.toContain(String(number));
  for (const { record } of [root, parent]) expect(sent).not.toContain(record.id);
  expect((await open({ maxSessionSeconds: 5 }, reader.secret.reveal())).status).toBe(403);
  expect((await open({ maxSessionSeconds: 0 }, secret)).status).toBe(422);
  expect((await open({ maxSessionSeconds: 5, minSessionSeconds: 6 }, secret)).status).toBe(422);
  expect((await api.call("POST", PATH, { key: secret, body: "{" })).status).toBe(400);
});
