/** `Idempotency-Key`: a repeated request gets the first response, and has no effect. */
import { describe, expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { openResponse } from "@realtime-avatar/domain/idempotency";
import { session } from "@realtime-avatar/testing/database";
import { cutBlocked, untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { type Answer, rowCounts, startApi } from "../support/api.ts";

const api = await startApi();
const made = await seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["*"] });
const root = made.secret.reveal();
const rootRecord = made.record;

let keys = 0;
/** A new Idempotency-Key. */
const next = (): string => `test-${++keys}`;
const post = (path: string, body: unknown, idempotencyKey: string, key = root, headers = {}) =>
  api.call("POST", `/api/v1/${path}`, { key, body, headers: { "idempotency-key": idempotencyKey, ...headers } });
/** A new key. By default, it is a child of `root`. */
const seed = (request: Parameters<typeof seedKey>[2] = { environment: "live", scopes: ["*"] }, parent = rootRecord) =>
  seedKey(api.database.db, api.tenantId, request, parent);
const avatar = { displayName: "Ada", sourceKind: "image", metadata: { b: [1, { y: 2, x: 1 }], a: "é" } };
const newKey = { name: "once", environment: "live", scopes: ["*"] };
const outcome = ({ status, body }: Answer) => [status, body.code];
/** The parts that a replay has in common with the first response. */
const lasting = ({ status, headers, text }: Answer) => [
  status,
  text,
  ...["location", "etag", "content-type", "cache-control"].map((name) => headers.get(name)),
];
const isReplay = ({ headers }: Answer): boolean => headers.get("idempotent-replayed") === "true";

/** Each POST with its body. The rotated key is a separate descendant of the caller. */
const posts: [string, (caller?: ApiKeyRecord) => Promise<[path: string, body: object]>][] = [
  ["creating an avatar", async () => ["avatars", avatar]],
  ["creating a key", async () => ["api-keys", newKey]],
  [
    "rotating a key",
    async (caller) => [`api-keys/${(await seed(undefined, caller)).record.id}/rotate`, { overlapSeconds: 60 }],
  ],
];

describe.each(posts)("%s", (_, request) => {
  test("a POST, repeated three times: its first response, byte for byte, and no effect", async () => {
    const [path, body] = await request();
    const key = next();
    const first = await post(path, body, key);
    expect([200, 201]).toContain(first.status);
    expect(isReplay(first)).toBe(false);
    const before = await rowCounts(api.database);
    for (let again = 0; again < 3; again++) {
      const answer = await post(path, body, key);
      expect(lasting(answer)).toEqual(lasting(first));
      expect(isReplay(answer)).toBe(true);
      expect(answer.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    }
    expect(await rowCounts(api.database)).toEqual(before);
    // Without the `Idempotency-Key`, or with another one, it is a new request.
    expect(isReplay(await post(path, body, next()))).toBe(false);
    expect(isReplay(await api.call("POST", `/api/v1/${path}`, { key: root, body }))).toBe(false);
  });

  test("a POST, 20 times at once: one effect, one response", async () => {
    const [path, body] = await request();
    const key = next();
    const before = (await rowCounts(api.database))[0] as Record<string, string>;
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(path, body, key)));
    expect(new Set(answers.map((answer) => JSON.stringify(lasting(answer)))).size).toBe(1);
    expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1);
    const after = (await rowCounts(api.database))[0] as Record<string, string>;
    expect(Number(after["events"])).toBe(Number(before["events"]) + 1);
  });

  test("a POST, repeated with equal JSON: replayed; with another value: 422", async () => {
    const [path, body] = await request();
    const key = next();
    const first = await post(path, body, key);
    const shuffled = JSON.stringify(Object.fromEntries(Object.entries(body).reverse()), null, 3);
    expect(lasting(await post(path, shuffled, key))).toEqual(lasting(first));
    const before = await rowCounts(api.database);
    const [[name, value] = ["", ""]] = Object.entries(body);
    const changed = { ...body, [name]: typeof value === "number" ? value + 1 : `${value}!` };
    const refused = await post(path, changed, key);
    expect(outcome(refused)).toEqual([422, "idempotency_key_reused"]);
    expect(await rowCounts(api.database)).toEqual(before);
    expect(lasting(await post(path, body, key))).toEqual(lasting(first));
  });

  test("a POST, another key with the same Idempotency-Key: another request", async () => {
    const [path, body] = await request();
    const key = next();
    await post(path, body, key);
    const colleague = (await seed()).secret.reveal();
    expect(isReplay(await post(path, body, key, colleague))).toBe(false);
    const foreign = await seedKey(api.database.db, await seedTenant(api.database.db), { scopes: ["*"] });
    const answer = await post(path, body, key, foreign.secret.reveal());
    expect(isReplay(answer)).toBe(false);
  });

  test("a POST that is repeated after a lost connection: executed once", async () => {
    const { db } = api.database;
    const { record, secret } = await seed();
    const [path, body] = await request(record);
    const key = next();
    for (const cut of [true, false]) {
      const holder = session(api.database.url);
      await holder.client`begin`;
      await holder.client`select 1 from api_keys where id = ${record.id} for update`;
      const pending = post(path, body, key, secret.reveal());
      if (cut) {
        await cutBlocked(db);
        const answer = await pending;
        expect([...outcome(answer), answer.body.retryable]).toEqual([503, "outcome_unknown", true]);
      } else {
        await untilBlocked(db);
        await holder.client`commit`;
        expect([200, 201]).toContain((await pending).status);
      }
      await holder.close();
    }
    expect(isReplay(await post(path, body, key, secret.reveal()))).toBe(true);
    expect(await db.client`select 1 from audit_events where actor_id = ${record.id}`).toHaveLength(1);
  });
});

test("one Idempotency-Key, on four paths: four requests", async () => {
  const key = next();
  const [one, other] = [await seed(), await seed()];
  const answers = [
    await post("avatars", avatar, key),
    await post("api-keys", newKey, key),
    await post(`api-keys/${one.record.id}/rotate`, {}, key),
    await post(`api-keys/${other.record.id}/rotate`, {}, key),
  ];
  expect(answers.map(isReplay)).toEqual([false, false, false, false]);
});

test("a refused POST, repeated: executed once it is allowed", async () => {
  const key = next();
  const { record, secret } = await seed({ environment: "live", scopes: ["api_keys:write"] });
  const { db } = api.database;
  expect(outcome(await post("api-keys", newKey, key, secret.reveal()))).toEqual([403, "grant_exceeds_caller"]);
  expect((await post("api-keys", { name: "" }, key, secret.reveal())).status).toBe(422);
  await db.client`update api_keys set scopes = '{*}', version = version + 1 where id = ${record.id}`;
  const answer = await post("api-keys", newKey, key, secret.reveal());
  expect([answer.status, isReplay(answer)]).toEqual([201, false]);
});

test("a replay, after the expiry passed, the grant was narrowed or the target was deleted: the first response", async () => {
  const { db } = api.database;
  const caller = await seed();
  const by = caller.secret.reveal();
  const target = await seed(undefined, caller.record);
  const body = { ...newKey, expiresAt: new Date(Date.now() + 3_600_000).toISOString(), spendLimitCreditMicros: null };
  const [create, rotate] = [next(), next()];
  const created = await post("api-keys", body, create, by);
  const path = `api-keys/${target.record.id}/rotate`;
  const rotated = await post(path, {}, rotate, by);
  await db.client`
    update api_keys set scopes = '{api_keys:write}', spend_limit_credit_micros = 1, version = version + 1
    where id = ${caller.record.id}`;
  expect(lasting(await post("api-keys", body, create, by))).toEqual(lasting(created));
  expect(lasting(await post(path, {}, rotate, by))).toEqual(lasting(rotated));
  await db.client`update api_keys set revoked_at = now(), version = version + 1 where id = ${target.record.id}`;
  expect(lasting(await post(path, {}, rotate, by))).toEqual(lasting(rotated));
  // A different body is refused as such, despite other errors.
  expect(outcome(await post(path, { overlapSeconds: 1 }, rotate, by))).toEqual([422, "idempotency_key_reused"]);
  // A caller without the right to call is refused as such.
  await db.client`update api_keys set scopes = '{usage:read}', version = version + 1 where id = ${caller.record.id}`;
  expect(outcome(await post("api-keys", body, create, by))).toEqual([403, "insufficient_scope"]);
});

describe("the secret in a stored response", () => {
  test("a secret, repeated with its Idempotency-Key: the same secret; it works", async () => {
    const key = next();
    const { body: first } = await post("api-keys", newKey, key);
    const { body: again } = await post("api-keys", newKey, key);
    expect(again.apiKey).toBe(first.apiKey);
    const path = `api-keys/${first.id}/rotate`;
    const rotated = await post(path, { overlapSeconds: 60 }, key, first.apiKey);
    const lost = await post(path, { overlapSeconds: 60 }, key, first.apiKey);
    expect(lasting(lost)).toEqual(lasting(rotated));
    expect((await api.call("GET", "/api/v1/api-keys/self", { key: lost.body.apiKey })).body.id).toBe(first.id);
  });

  test("a secret, repeated with a rotated secret of the caller: 409 with the location", async () => {
    const caller = await seed();
    const key = next();
    const first = await post("api-keys", newKey, key, caller.secret.reveal());
    const path = `/api/v1/api-keys/${caller.record.id}/rotate`;
    const { body: rotated } = await api.call("POST", path, { key: root, body: { overlapSeconds: 600 } });
    const before = await rowCounts(api.database);
    const answer = await post("api-keys", newKey, key, rotated.apiKey);
    expect(outcome(answer)).toEqual([409, "replay_unavailable"]);
    expect(answer.headers.get("location")).toBe(first.headers.get("location"));
    expect(await rowCounts(api.database)).toEqual(before);
    // During the overlap, the old secret decrypts it. Responses without a secret need no decryption.
    expect(lasting(await post("api-keys", newKey, key, caller.secret.reveal()))).toEqual(lasting(first));
    const avatarKey = next();
    const made = await post("avatars", avatar, avatarKey, caller.secret.reveal());
    expect(lasting(await post("avatars", avatar, avatarKey, rotated.apiKey))).toEqual(lasting(made));
  });

  test("a secret, in its stored response: sealed, not openable from the database alone", async () => {
    const key = next();
    const { body: made } = await post("api-keys", newKey, key);
    const { client } = api.database.db;
    const [row] = await client`select * from idempotency_claims where idempotency_key = ${key}`;
    const sealed: Uint8Array = row?.["response_body"];
    expect(Buffer.from(sealed).toString("latin1")).not.toContain(made.apiKey.slice(26));
    expect(Buffer.from(sealed).toString("latin1")).not.toContain("once");
    // An attacker with a dump and the source lacks the caller's secret, and nothing else decrypts the response.
    const request = "POST /api/v1/api-keys";
    const secret = parseApiKey(root);
    if (!secret) throw new Error("no secret");
    const head = {
      status: row?.["status"],
      location: row?.["location"],
      etag: row?.["etag"],
      bodyHash: row?.["body_hash"],
    };
    expect(openResponse(sealed, head, { secret, idempotencyKey: key, request })).toContain(made.apiKey);
    const digests = await client`select key_id, encode(digest, 'hex') as hex from api_key_credentials`;
    for (const { key_id: keyId, hex } of digests) {
      for (const text of [hex, keyId, `rta_live_${keyId}_${hex.slice(0, 49)}`]) {
        const guess = { reveal: () => text } as typeof secret;
        expect(openResponse(sealed, head, { secret: guess, idempotencyKey: key, request })).toBeNull();
      }
    }
    expect(openResponse(sealed, head, { secret, idempotencyKey: next(), request })).toBeNull();
  });
});

describe("a changed stored response", () => {
  const forge = async (change: string) => {
    const key = next();
    await post("api-keys", newKey, key);
    const { client } = api.database.db;
    await client.unsafe(`update idempotency_claims set ${change} where idempotency_key = '${key}'`);
    return post("api-keys", newKey, key);
  };

  test.each([
    ["unsealed", `sealed_for = null, response_body = convert_to('{"apiKey":"forged"}', 'UTF8')`],
    ["with another status", "status = 203"],
    ["with another address", "location = '/evil'"],
    ["with another version", `etag = '"9"'`],
    ["with another sealed text", "response_body = response_body || '\\x00'::bytea"],
  ])("a stored response, changed in the database: 409: %s", async (_, change) => {
    const answer = await forge(change);
    expect(outcome(answer)).toEqual([409, "replay_unavailable"]);
    expect(answer.text).not.toContain("forged");
  });

  test("a stored response, with the hash of another body: 409", async () => {
    const [one, other] = [next(), next()];
    await post("api-keys", newKey, one);
    const wanted = { ...newKey, scopes: ["avatars:read"] };
    await post("api-keys", wanted, other);
    const { client } = api.database.db;
    await client`
      update idempotency_claims set body_hash = (select body_hash from idempotency_claims where idempotency_key = ${other})
      where idempotency_key = ${one}`;
    expect(outcome(await post("api-keys", wanted, one))).toEqual([409, "replay_unavailable"]);
  });

  test("a stored rotation that can no longer be decrypted: 409 with the key's location", async () => {
    const caller = await seed();
    const child = await seed(undefined, caller.record);
    const key = next();
    const path = `api-keys/${child.record.id}/rotate`;
    await post(path, {}, key, caller.secret.reveal());
    const rotation = { key: root, body: { overlapSeconds: 600 } };
    const { body } = await api.call("POST", `/api/v1/api-keys/${caller.record.id}/rotate`, rotation);
    const answer = await post(path, {}, key, body.apiKey);
    expect(outcome(answer)).toEqual([409, "replay_unavailable"]);
    expect(answer.headers.get("location")).toBe(`/api/v1/api-keys/${child.record.id}`);
  });
});

test.each(["fine", "no good at all", "x".repeat(300)])(
  "PATCH, GET and DELETE, with the Idempotency-Key %s: the header is ignored",
  async (key) => {
    const headers = { "idempotency-key": key };
    const made = (await post("avatars", avatar, next())).body;
    for (const [method, path, body] of [
      ["PATCH", `/api/v1/avatars/${made.id}`, { displayName: "y" }],
      ["PATCH", `/api/v1/avatars/${made.id}`, { displayName: "z" }],
      ["GET", `/api/v1/avatars/${made.id}`, undefined],
      ["DELETE", `/api/v1/avatars/${made.id}`, undefined],
      ["POST", "/api/v1/leaked-keys", { apiKey: "x" }],
    ] as const) {
      const answer = await api.call(method, path, { key: root, headers, body });
      expect([200, 202]).toContain(answer.status);
      expect(isReplay(answer)).toBe(false);
    }
  },
);
