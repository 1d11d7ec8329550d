import { describe, expect, test } from "bun:test";
import { UsageSession } from "@realtime-avatar/domain/credits/schemas";
import type { Environment } from "@realtime-avatar/domain/environment";
import { isId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { callAnew, rowCounts, startApi } from "../../test/support/api.ts";

const PATH = "/api/v1/usage/sessions";
const SECOND = 1_000_000;

const api = await startApi();
const key = await api.key();

const open = (body: object, caller = key, headers: Record<string, string> = {}) =>
  api.call("POST", PATH, { key: caller, body, headers });
const report = (id: string, usedCreditMicros: number, caller = key, headers: Record<string, string> = {}) =>
  api.call("POST", `${PATH}/${id}/usage`, { key: caller, body: { usedCreditMicros }, headers });
const release = (id: string, body?: object, caller = key, headers: Record<string, string> = {}) =>
  api.call("POST", `${PATH}/${id}/release`, { key: caller, headers, ...(body && { body }) });
const read = async (id: string, caller = key) => (await api.call("GET", `${PATH}/${id}`, { key: caller })).body;

/** A tenant with this number of seconds of live credits, and its keys. */
const tenantWith = async (seconds: number) => {
  const tenantId = await seedTenant(api.database.db, { live: seconds * SECOND });
  type Request = Parameters<typeof seedKey>[2];
  type Parent = Awaited<ReturnType<typeof seedKey>>["record"];
  const newKey = async (request: Request = {}, parent?: Parent) => {
    const all = { environment: "live" as Environment, scopes: ["*" as const, "usage:write" as const], ...request };
    const { record, secret } = await seedKey(api.database.db, tenantId, all, parent);
    return { record, key: secret.reveal() };
  };
  return { tenantId, newKey };
};
/** An avatar of the tenant of `key` in this status. */
const avatarIn = async (status: string): Promise<string> => {
  const body = { displayName: "Ada", sourceKind: "image" };
  const { id } = (await api.call("POST", "/api/v1/avatars", { key, body })).body;
  await api.database.db.client`update avatars set status = ${status} where id = ${id}`;
  return id;
};

describe("the opening of a session", () => {
  test("a new session, opened and read: 201 with location and version, the same when read", async () => {
    const avatarId = await avatarIn("ready");
    const metadata = { user_id: "user-17", "": "x" };
    expect((await open({ maxSessionSeconds: 60, avatarId, metadata })).body.errors).toMatchObject([
      { pointer: "#/metadata/", code: "invalid_name" },
    ]);
    const sent = { maxSessionSeconds: 60, avatarId, metadata: { user_id: "user-17", note: "ä 👩‍🚀" } };
    const { status, headers, body } = await open(sent);
    expect([status, headers.get("location"), headers.get("etag")]).toEqual([201, `${PATH}/${body.sessionId}`, '"1"']);
    expect(isId("ses", body.sessionId)).toBe(true);
    expect(validate(UsageSession, body)).toEqual([]);
    expect(body).toMatchObject({
      environment: "live",
      avatarId,
      avatarName: "Ada",
      status: "reserved",
      startedAt: null,
      billedCreditMicros: null,
      usedCreditMicros: 0,
      priceCreditMicrosPerSecond: SECOND,
      metadata: sent.metadata,
      reservedCreditMicros: 60 * SECOND,
    });
    expect(Date.parse(body.expiresAt) - Date.parse(body.createdAt)).toBeWithin(110_000, 180_000);
    const found = await api.call("GET", `${PATH}/${body.sessionId}`, { key });
    expect([found.status, found.headers.get("etag"), found.body]).toMatchObject([200, '"1"', body]);
  });

  test("a new session, above the cap of its key or an ancestor: 402 that names only the key of the cap", async () => {
    const { newKey } = await tenantWith(1000);
    const root = await newKey({ spendLimitCreditMicros: 20 * SECOND });
    const child = await newKey({ spendLimitCreditMicros: 15 * SECOND }, root.record);
    const other = await newKey({}, root.record);
    const { sessionId } = (await open({ maxSessionSeconds: 10 }, child.key)).body;
    const [own, ancestors] = [
      await open({ maxSessionSeconds: 6 }, child.key),
      await open({ maxSessionSeconds: 11 }, other.key),
    ];
    for (const [{ status, body }, limitedBy, seconds] of [
      [own, "self", 6],
      [ancestors, "ancestor", 11],
    ] as const) {
      expect([status, body.code, body.limitedBy, body.requiredCreditMicros]).toEqual([
        402,
        "spend_limit_exceeded",
        limitedBy,
        seconds * SECOND,
      ]);
      expect(Object.keys(body).sort()).toEqual(
        "code detail limitedBy requestId requiredCreditMicros retryable status title type".split(" "),
      );
    }
    const self = async (caller: string) => (await api.call("GET", "/api/v1/api-keys/self", { key: caller })).body;
    expect(await self(root.key)).toMatchObject({ spentCreditMicros: 0, reservedCreditMicros: 10 * SECOND });
    await release(sessionId, { usedCreditMicros: 3 * SECOND }, child.key);
    expect(await self(root.key)).toMatchObject({ spentCreditMicros: 3 * SECOND, reservedCreditMicros: 0 });
    expect(await self(child.key)).toMatchObject({ spentCreditMicros: 3 * SECOND });
    const { data } = (await api.call("GET", "/api/v1/api-keys", { key: root.key })).body;
    const spent = Object.fromEntries(data.map((one: { id: string; spentCreditMicros: number }) => [one.id, one]));
    expect(spent[root.record.id]).toMatchObject({ spentCreditMicros: 3 * SECOND, reservedCreditMicros: 0 });
    expect(spent[other.record.id]).toMatchObject({ spentCreditMicros: 0 });
    const patched = await api.call("PATCH", `/api/v1/api-keys/${child.record.id}`, {
      key: root.key,
      body: { name: "y" },
    });
    const revoked = await api.call("DELETE", `/api/v1/api-keys/${child.record.id}`, { key: root.key });
    for (const { body } of [patched, revoked]) expect(body.spentCreditMicros).toBe(3 * SECOND);
  });

  test("a new session, refused: no write", async () => {
    const { newKey } = await tenantWith(5);
    const { key: poor } = await newKey();
    const { key: capped } = await newKey({ spendLimitCreditMicros: SECOND });
    const before = await rowCounts(api.database);
    const lsn = async () => (await api.database.db.client`select pg_current_wal_insert_lsn()::text as lsn`)[0]?.["lsn"];
    // The first use of a key is recorded.
    await api.uses.flush();
    const refuse = async () => {
      const start = await lsn();
      expect((await open({ maxSessionSeconds: 6 }, poor, { "idempotency-key": "a" })).status).toBe(402);
      expect((await open({ maxSessionSeconds: 2 }, capped)).status).toBe(402);
      return (await lsn()) !== start;
    };
    // At times, PostgreSQL writes records for itself, such as those of a vacuum. A refusal that writes would write each
    // time.
    let isWritten = true;
    for (let tries = 0; isWritten && tries < 5; tries++) isWritten = await refuse();
    expect(isWritten).toBe(false);
    expect(await rowCounts(api.database)).toEqual(before);
    // A refusal is not stored: the same request succeeds once it fits.
    expect((await open({ maxSessionSeconds: 5 }, poor)).status).toBe(201);
  });

  test("a new session whose avatar is not ready: 409; of another caller: 404", async () => {
    const foreign = await (await tenantWith(10)).newKey();
    const ready = await avatarIn("ready");
    for (const status of ["draft", "preprocessing", "failed", "disabled"]) {
      const { body } = await open({ maxSessionSeconds: 1, avatarId: await avatarIn(status) });
      expect([body.status, body.code]).toEqual([409, "avatar_not_ready"]);
      expect(body.detail).toStartWith(`The status of the avatar is \`${status}\`. `);
    }
    const unknown = [await avatarIn("deleted"), "ava_01h455vb4pex5vsknk084sn02q", "x", key.slice(0, 30)];
    const answers = await Promise.all(unknown.map((avatarId) => open({ maxSessionSeconds: 1, avatarId })));
    answers.push(await open({ maxSessionSeconds: 1, avatarId: ready }, foreign.key));
    answers.push(await open({ maxSessionSeconds: 1, avatarId: ready }, await api.key({ scopes: ["*"] })));
    // The detail names the environment of the key.
    const textOf = ({ body }: (typeof answers)[number]) => JSON.stringify({ ...body, requestId: null });
    expect(new Set(answers.map((answer) => textOf(answer).replace(/\b(live|test)\b/g, "<environment>"))).size).toBe(1);
    expect(answers[0]?.body).toMatchObject({ status: 404, code: "not_found" });
  });

  test("the metadata of a session, with names such as __proto__: plain data", async () => {
    const text = '{"maxSessionSeconds":1,"metadata":{"__proto__":"a","constructor":"b","user_id":"\\u2028"}}';
    const { body, text: opened } = await api.call("POST", PATH, {
      key,
      body: text,
      headers: { "idempotency-key": "proto" },
    });
    expect(opened).toContain('"metadata":{"__proto__":"a","constructor":"b","user_id":"\u2028"}');
    const shown = JSON.stringify(await read(body.sessionId));
    expect(shown).toContain('"metadata":{"__proto__":"a","constructor":"b"');
    expect(JSON.stringify((await release(body.sessionId, {}, key, { "idempotency-key": "p" })).body)).toContain(
      "__proto__",
    );
    expect((await release(body.sessionId, {}, key, { "idempotency-key": "p" })).text).toContain('"__proto__":"a"');
  });
});

describe("an Idempotency-Key", () => {
  test("an open, repeated with its Idempotency-Key: one session, the same response", async () => {
    const { newKey } = await tenantWith(10);
    const { key: caller } = await newKey();
    const headers = { "idempotency-key": "call-1" };
    const all = await Promise.all(Array.from({ length: 8 }, () => open({ maxSessionSeconds: 10 }, caller, headers)));
    expect(new Set(all.map(({ text }) => text)).size).toBe(1);
    expect(all.filter((answer) => answer.headers.get("idempotent-replayed") === null)).toHaveLength(1);
    const [first] = all;
    expect(first?.body.reservedCreditMicros).toBe(10 * SECOND);
    // The balance is used up. The replay takes precedence over the refusal.
    const again = await open({ maxSessionSeconds: 10 }, caller, headers);
    expect([again.status, again.text, again.headers.get("idempotent-replayed"), again.headers.get("etag")]).toEqual([
      201,
      first?.text ?? "",
      "true",
      '"1"',
    ]);
    expect(again.headers.get("location")).toBe(first?.headers.get("location") ?? "");
    expect((await open({ maxSessionSeconds: 9 }, caller, headers)).body.code).toBe("idempotency_key_reused");
  });

  test("a report and a release, repeated with an Idempotency-Key: executed once, the same bytes", async () => {
    const avatarId = await avatarIn("ready");
    const { sessionId } = (await open({ maxSessionSeconds: 60, avatarId, metadata: { user_id: "u" } })).body;
    const headers = { "idempotency-key": "once" };
    const reported = await report(sessionId, 5, key, headers);
    expect(reported.body).toMatchObject({ status: "started", usedCreditMicros: 5, mustEnd: false, avatarName: "Ada" });
    await report(sessionId, 7);
    const replayed = await report(sessionId, 5, key, headers);
    expect([replayed.text, replayed.headers.get("etag")]).toEqual([reported.text, '"2"']);
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    expect((await report(sessionId, 6, key, headers)).body.code).toBe("idempotency_key_reused");
    const all = await Promise.all(Array.from({ length: 6 }, () => release(sessionId, { reason: "x" }, key, headers)));
    expect(new Set(all.map(({ text }) => text)).size).toBe(1);
    expect(all.filter((answer) => answer.headers.get("idempotent-replayed") === null)).toHaveLength(1);
    expect(all[0]?.body).toMatchObject({ status: "released", billedCreditMicros: 7 });
    // A failed request is not stored.
    expect((await report(sessionId, 9, key, { "idempotency-key": "late" })).body.code).toBe("session_closed");
    const [row] = await api.database.db.client`select count(*) from idempotency_claims where idempotency_key = 'late'`;
    expect(row?.["count"]).toBe("0");
  });
});

describe("the report and the release of a session", () => {
  test("a release, with the engine's usage: charged once; a second release with another usage: 409", async () => {
    const engine = await api.key({ environment: "live", scopes: ["usage:write"] });
    const { sessionId } = (await open({ maxSessionSeconds: 60 })).body;
    expect((await report(sessionId, 0, engine)).body).toMatchObject({ status: "started", usedCreditMicros: 0 });
    expect((await report(sessionId, 4, engine)).body.usedCreditMicros).toBe(4);
    const ended = await release(sessionId, { usedCreditMicros: 5 }, engine);
    expect([ended.status, ended.body.billedCreditMicros, ended.headers.get("etag")]).toEqual([200, 5, '"4"']);
    expect((await release(sessionId, { usedCreditMicros: 5 }, engine)).text).toBe(ended.text);
    expect((await release(sessionId, undefined, engine)).text).toBe(ended.text);
    const other = await release(sessionId, { usedCreditMicros: 6 }, engine);
    expect([other.status, other.body.code]).toEqual([409, "session_closed"]);
    expect((await report(sessionId, 1, engine)).body.code).toBe("session_closed");
    expect(await read(sessionId)).toMatchObject(ended.body);
  });

  test("a release by a key without usage:write: only of sessions of the key and its descendants, without a usage", async () => {
    const { newKey } = await tenantWith(1000);
    const parent = await newKey({ scopes: ["realtime:write", "usage:read"] });
    const child = await newKey({ scopes: ["realtime:write"] }, parent.record);
    const sibling = await newKey({ scopes: ["realtime:write"] }, parent.record);
    const { sessionId } = (await open({ maxSessionSeconds: 60 }, child.key)).body;
    const figure = await release(sessionId, { usedCreditMicros: 0 }, child.key);
    expect([figure.status, figure.body.code, figure.body.requiredScope]).toEqual([
      403,
      "insufficient_scope",
      "usage:write",
    ]);
    expect((await release(sessionId, {}, sibling.key)).status).toBe(404);
    expect((await release(sessionId, undefined, parent.key)).body).toMatchObject({
      status: "released",
      billedCreditMicros: 0,
    });
  });

  test("a report, credits nearly used up or the cap lowered: `mustEnd`", async () => {
    const { newKey } = await tenantWith(1000);
    const root = await newKey();
    const child = await newKey({ spendLimitCreditMicros: 100 * SECOND }, root.record);
    const { sessionId } = (await open({ maxSessionSeconds: 60 }, child.key)).body;
    expect((await report(sessionId, 1, root.key)).body.mustEnd).toBe(false);
    const body = { spendLimitCreditMicros: SECOND };
    await api.call("PATCH", `/api/v1/api-keys/${child.record.id}`, { key: root.key, body });
    expect((await report(sessionId, 2, root.key)).body.mustEnd).toBe(true);
  });

  test("a report, of a session whose key is revoked: `mustEnd`", async () => {
    const { newKey } = await tenantWith(1000);
    const root = await newKey();
    const child = await newKey({}, root.record);
    const { sessionId } = (await open({ maxSessionSeconds: 60 }, child.key)).body;
    expect((await report(sessionId, 1, root.key)).body.mustEnd).toBe(false);
    await api.call("DELETE", `/api/v1/api-keys/${child.record.id}`, { key: root.key });
    expect((await report(sessionId, 2, root.key)).body.mustEnd).toBe(true);
  });

  test("an overdue session, reported: 409; released before its start: failed", async () => {
    const { sessionId } = (await open({ maxSessionSeconds: 60 })).body;
    await api.database.db
      .client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${sessionId}`;
    expect((await report(sessionId, 1)).body.code).toBe("session_closed");
    expect((await release(sessionId)).body).toMatchObject({ status: "failed", billedCreditMicros: 0 });
  });
});

test("overdue sessions, before a refusal: closed, at most once a second for a tenant", async () => {
  const { tenantId, newKey } = await tenantWith(20);
  const { key: caller, record } = await newKey({ spendLimitCreditMicros: 20 * SECOND });
  const first = (await open({ maxSessionSeconds: 20 }, caller)).body;
  const overdue = () => api.database.db.client`
    update usage_sessions set expires_at = now() - interval '1 second' where tenant_id = ${tenantId} and ended_at is null`;
  await overdue();
  // Every concurrent request finds the credits that the one sweep has freed.
  const all = await Promise.all(Array.from({ length: 4 }, () => open({ maxSessionSeconds: 10 }, caller)));
  expect(all.map(({ status }) => status).sort()).toEqual([201, 201, 402, 402]);
  expect(await read(first.sessionId, caller)).toMatchObject({ status: "failed", billedCreditMicros: 0 });
  expect(record.tenantId).toBe(tenantId);
  await overdue();
  expect((await open({ maxSessionSeconds: 20 }, caller)).status).toBe(402);
  // Another replica sweeps separately.
  const other = await callAnew(api.database.db)("POST", PATH, { key: caller, body: { maxSessionSeconds: 20 } });
  expect(other.status).toBe(201);
});

describe("the list of sessions", () => {
  const list = async (query: Record<string, string>, caller = key) =>
    (await api.call("GET", `${PATH}?${new URLSearchParams(query)}`, { key: caller })).body;

  test("the list, filtered: newest first, each session equal to its own read", async () => {
    const { newKey } = await tenantWith(1000);
    const { key: caller, record } = await newKey();
    const { key: other } = await newKey();
    const opened: string[] = [];
    for (const [by, user] of [
      [caller, "a"],
      [other, "a"],
      [caller, "b"],
    ] as const) {
      opened.unshift((await open({ maxSessionSeconds: 1, metadata: { user_id: user } }, by)).body.sessionId);
    }
    await report(opened[0] ?? "", 1, caller);
    await release(opened[1] ?? "", { usedCreditMicros: 2 }, caller);
    const page = await list({}, caller);
    expect(page.data).toEqual(await Promise.all(opened.map((id) => read(id, caller))));
    expect(page.nextCursor).toBeNull();
    const ids = async (query: Record<string, string>) =>
      (await list(query, caller)).data.map(({ sessionId }: UsageSession) => opened.indexOf(sessionId));
    expect(await ids({ endUserId: "a" })).toEqual([1, 2]);
    expect(await ids({ status: "released" })).toEqual([1]);
    expect(await ids({ apiKeyId: record.id })).toEqual([0, 2]);
    expect(await ids({ apiKeyId: record.id, endUserId: "b", status: "started" })).toEqual([0]);
    expect(await ids({ avatarId: "x" })).toEqual([]);
  });

  test("the list, in pages: the cursor keeps the window", async () => {
    const { tenantId, newKey } = await tenantWith(1000);
    const { key: caller } = await newKey();
    for (let made = 0; made < 3; made++) await open({ maxSessionSeconds: 1 }, caller);
    const first = await list({ limit: "2" }, caller);
    expect(Object.keys(first)).toEqual(["from", "to", "data", "nextCursor"]);
    expect(Date.parse(first.to) - Date.parse(first.from)).toBe(30 * 86_400_000);
    await open({ maxSessionSeconds: 1 }, caller);
    const second = await list({ cursor: first.nextCursor, limit: "200" }, caller);
    expect([second.data.length, second.from, second.to]).toEqual([1, first.from, first.to]);
    const same = { cursor: first.nextCursor, from: first.from.replace("Z", "+00:00"), to: first.to };
    expect((await list(same, caller)).data).toEqual(second.data);
    const later = new Date(Date.parse(first.from) + 1).toISOString();
    expect((await list({ ...same, from: later }, caller)).errors).toMatchObject([{ code: "invalid_cursor" }]);
    // The window includes a session created at its start, and excludes one created at its end.
    const at = first.data[1].createdAt;
    const [row] = await api.database.db.client`
      select count(*) filter (where created_at >= ${at}) as since, count(*) filter (where created_at < ${at}) as before
      from usage_sessions where tenant_id = ${tenantId}`;
    expect((await list({ from: at }, caller)).data).toHaveLength(Number(row?.["since"]));
    expect((await list({ to: at }, caller)).data).toHaveLength(Number(row?.["before"]));
  });
});
