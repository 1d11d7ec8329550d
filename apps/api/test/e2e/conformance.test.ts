/**
 * Checks the service against its OpenAPI document. Generates requests for each operation from the document, valid and
 * invalid ones. Compares every response with the document: status, headers and body. LONG generates more requests for
 * each property.
 */

import { afterAll, describe, expect } from "bun:test";
import { connect } from "@realtime-avatar/db/connection/pool";
import { oneDatabase } from "@realtime-avatar/db/databases/databases";
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import { seedRecording } from "@realtime-avatar/testing/calls/recordings";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import fc from "fast-check";
import type { Dependencies } from "../../src/dependencies.ts";
import { EXAMPLES } from "../../src/openapi/examples.ts";
import { AMPLE_CREDITS, createTestApp, TEST_CONFIG, testStorage } from "../support/api.ts";
import { startConformanceCalls } from "../support/calls/conformance.ts";
import {
  type Answer,
  createBody,
  createTarget,
  document,
  expectAssetResponses,
  expectSessionProblems,
  HEADER_EDGES,
  listParameters,
  one,
  operations,
  type Sent,
  sendTo,
  validator,
} from "../support/openapi/conformance.ts";
import { describeOperation, newRecord, RUNS, sendToFresh } from "../support/openapi/describe-operation.ts";
import { arbitraryValues, bodySchema, type Described } from "../support/openapi/openapi.ts";
import { expectVideoResponses } from "../support/openapi/videos.ts";
import { expectWebhookResponses } from "../support/openapi/webhooks.ts";

const database = await fileDatabase();
const files = await testStorage(() => "http://localhost");
/** Limits that are never reached, so that responses have their headers. */
const rateLimit = { perSecond: 1_000_000, burst: 1_000_000 };
const calls = await startConformanceCalls(database);
const appWith = (given: Partial<Dependencies> = {}) =>
  createTestApp(database.db, {
    ...files,
    ...given,
    config: { ...calls.options.config, rateLimit, tenantRateLimit: rateLimit, ...given.config },
  });
const app = appWith();
const limited = appWith({ config: { ...TEST_CONFIG, rateLimit: { perSecond: 1, burst: 0 } } });
const nowhere = connect("postgres://nobody@127.0.0.1:1/nothing");
const unreachable = appWith({ databases: oneDatabase(nowhere) });
const tenantId = await seedTenant(database.db, { live: AMPLE_CREDITS });
const ROOT: Parameters<typeof seedKey>[2] = { environment: "live", scopes: ["*", "usage:write"] };
/** A live key with every scope. */
const { record, secret } = await seedKey(database.db, tenantId, ROOT);
const caller = { record, key: secret.reveal() };

/** A new key. By default, it is a child of the caller. */
const newKey = async (request: Parameters<typeof seedKey>[2] = {}, parent = caller.record) => {
  const all: typeof request = { ...ROOT, ...request };
  const { record, secret } = await seedKey(database.db, tenantId, all, parent);
  return { record, key: secret.reveal() };
};

afterAll(() => Promise.all([nowhere.close(), calls.stop()]));

const { test, note, testAllSeen } = newRecord();

/** Sends a request, by default with the caller's key, and checks the response against the document. */
const send = async (described: Described, sent: Sent, to = app): Promise<Answer> => {
  return note(described, await sendTo(to, described, { key: caller.key, ...sent }));
};

await calls.prepare(send);

const newRecording = (isReady = true) => seedRecording(database.db, tenantId, isReady);

/** The id of a new resource for the path of an operation. */
const freshId = (described: Described): Promise<string> =>
  createTarget(described, {
    send,
    newKey: async () => (await newKey()).record.id,
    newRecording: () => newRecording(),
    // Only an avatar with a source can be prepared.
    removeEndpoints: () => database.db.client`delete from webhook_endpoints`,
    giveSource: (id) => database.db.client`update avatars set source_asset_id = 'x' where id = ${id}`,
  });

/** Keys that every operation refuses or limits. */
const revoked = await newKey();
await send(one("revokeApiKey"), { id: revoked.record.id });
const expired = await newKey({ expiresAt: "2020-01-01T00:00:00Z" });
const readsUsage = await newKey({ scopes: ["usage:read"] });
const readsAvatars = await newKey({ scopes: ["avatars:read"] });
const often = await newKey();

describe.each(operations.map((described, at) => [described.operation.operationId, described, at] as const))(
  "%s",
  (_, described, at) => {
    const { operation, path } = described;
    const schema = bodySchema(operation);
    const needsKey = operation.security.length > 0;
    describeOperation(described, { test, send, freshId });

    for (const { name, schema: headerSchema } of listParameters(described, "header")) {
      test(`the header ${name}, random: accepted exactly if valid by the document`, async () => {
        const body = await createBody(described, send);
        const wild = fc.stringMatching(/^[ -~]{0,40}$/).map((value) => value.trim());
        const edges = fc.constantFrom(...HEADER_EDGES);
        // The document says for all operations that other malformed headers are replaced or ignored.
        const refusal = { "Idempotency-Key": "malformed_request", "If-Match": "validation_failed" }[name];
        const sampling = refusal ? { seed: 9, numRuns: RUNS } : { seed: at + 1, numRuns: RUNS / 4 };
        const sendNext = sendToFresh({ send, freshId }, described);
        await fc.assert(
          fc.asyncProperty(
            fc.oneof(arbitraryValues(document, headerSchema).map(String), wild, edges),
            async (value) => {
              // Removes characters that HTTP cannot carry.
              const sent = value.replace(/[^\x20-\x7e]/g, "").trim();
              const { code } = await sendNext({ body, headers: { [name]: sent } });
              const isMet = validator.errors(headerSchema, sent).length === 0;
              if (refusal) expect([sent, code === refusal]).toEqual([sent, !isMet]);
              else expect([sent, code]).toEqual([sent, null]);
            },
          ),
          sampling,
        );
      });
    }

    if (needsKey) {
      test("a key, of every kind: the documented response", async () => {
        const id = await freshId(described);
        const needed = operation["x-required-scope"];
        const powerless = needed === "usage:read" ? readsAvatars : readsUsage;
        expect((await send(described, { id, key: null })).code).toBe("missing_api_key");
        expect((await send(described, { id, key: "nonsense" })).code).toBe("invalid_api_key");
        expect((await send(described, { id, key: revoked.key })).code).toBe("revoked_api_key");
        expect((await send(described, { id, key: expired.key })).code).toBe("expired_api_key");
        const { code, text } = await send(described, { id, key: powerless.key });
        if (needed === undefined) expect(code).toBeNull();
        else expect(JSON.parse(text)).toMatchObject({ code: "insufficient_scope", requiredScope: needed });
      });

      test("requests, above the rate: the documented 429", async () => {
        const body = schema ? {} : undefined;
        // A window can end between two requests.
        while ((await send(described, { id: "x", key: often.key, body }, limited)).code !== "rate_limited");
      });
    }

    if (path.startsWith("/api/v1")) {
      test("an unreachable database, any request: the documented 503", async () => {
        const body = described.operation.requestBody?.content["application/json"]?.example;
        const { code } = await send(described, { id: "x", body }, unreachable);
        expect(code).toBe("unavailable");
      });
    }
  },
);

describe("responses that need two requests", () => {
  const avatar = { displayName: "x", sourceKind: "image" };

  test("a list with a cursor: 200; with an invalid cursor: 422", async () => {
    await database.db.client`delete from webhook_endpoints`;
    for (const [list, create, body] of [
      ["listAvatars", "createAvatar", avatar],
      ["listApiKeys", "createApiKey", { name: "x" }],
      ["listAuditEvents", "createAvatar", avatar],
      ["listAssets", "uploadAsset", undefined],
      ["listWebhookEndpoints", "createWebhookEndpoint", { url: null }],
      ["listUsageSessions", "openUsageSession", { maxSessionSeconds: 1 }],
      ["listVideos", "createVideo", EXAMPLES.CreateVideo],
      ["listCreditEntries", "openUsageSession", { maxSessionSeconds: 1 }],
    ] as const) {
      for (let made = 0; made < 2; made++) await send(one(create), { body });
      const first = JSON.parse((await send(one(list), { query: "limit=1" })).text);
      const query = new URLSearchParams({ cursor: first.nextCursor }).toString();
      expect(JSON.parse((await send(one(list), { query })).text).data.length).toBeGreaterThan(0);
      expect((await send(one(list), { query: "cursor=none" })).code).toBe("validation_failed");
    }
  });

  test("recordings, a page at a time, and one without a file: 200, and the documented problem", async () => {
    await newRecording();
    const id = await newRecording(false);
    const { nextCursor } = JSON.parse((await send(one("listRecordings"), { query: "limit=1" })).text);
    expect((await send(one("listRecordings"), { query: `cursor=${nextCursor}` })).status).toBe(200);
    expect((await send(one("listRecordings"), { query: "cursor=none" })).code).toBe("validation_failed");
    expect((await send(one("getRecordingAccess"), { id })).code).toBe("recording_not_ready");
  });

  test("If-None-Match with the current version: 304; If-Match with an outdated one: 412", async () => {
    const made = await send(one("createAvatar"), { body: avatar });
    const [id, etag = ""] = [JSON.parse(made.text).id, made.headers.get("etag") ?? ""];
    expect((await send(one("getAvatar"), { id, headers: { "if-none-match": etag } })).status).toBe(304);
    const changed = { id, body: { displayName: "y" }, headers: { "if-match": etag } };
    expect((await send(one("updateAvatar"), changed)).status).toBe(200);
    expect((await send(one("updateAvatar"), changed)).code).toBe("precondition_failed");
    expect((await send(one("deleteAvatar"), changed)).code).toBe("precondition_failed");
    const key = await newKey();
    for (const operationId of ["updateApiKey", "revokeApiKey"]) {
      const stale = { id: key.record.id, body: { name: "y" }, headers: { "if-match": '"999"' } };
      expect((await send(one(operationId), stale)).code).toBe("precondition_failed");
    }
  });

  test("a transition, not allowed: 409", async () => {
    const { id } = JSON.parse((await send(one("createAvatar"), { body: avatar })).text);
    expect((await send(one("updateAvatar"), { id, body: { status: "ready" } })).code).toBe("invalid_transition");
    expect((await send(one("prepareAvatar"), { id })).code).toBe("invalid_transition");
    const { record } = await newKey();
    await send(one("revokeApiKey"), { id: record.id });
    expect((await send(one("updateApiKey"), { id: record.id, body: { name: "y" } })).code).toBe("invalid_transition");
    expect((await send(one("rotateApiKey"), { id: record.id, body: {} })).code).toBe("invalid_transition");
  });

  test("a rotation, during an overlap: 409 with Retry-After", async () => {
    const { record, key } = await newKey();
    const rotation = { id: record.id, key, body: { overlapSeconds: 60 } };
    const newest = JSON.parse((await send(one("rotateApiKey"), rotation)).text).apiKey;
    const refused = await send(one("rotateApiKey"), { ...rotation, key: newest });
    expect([refused.code, refused.headers.has("retry-after")]).toEqual(["rotation_in_progress", true]);
  });

  test("a key, above the tenant's quota: 409", async () => {
    const config = { ...TEST_CONFIG, maxActiveKeysPerTenant: 1, rateLimit, tenantRateLimit: rateLimit };
    const { code } = await send(one("createApiKey"), { body: { name: "x" } }, appWith({ config }));
    expect(code).toBe("quota_exceeded");
  });

  test("a session above a cap or a limit, of an unknown avatar, or ended: the documented problem", async () => {
    const poor = await seedKey(database.db, await seedTenant(database.db), ROOT);
    await expectSessionProblems(send, newKey, poor.secret.reveal(), () => freshId(one("getUsageSession")));
  });

  test("a call, above a cap or a limit, queued, repeated, or without LiveKit: the documented response", async () => {
    const poor = await seedKey(database.db, await seedTenant(database.db), ROOT);
    const without = appWith({ config: { ...calls.options.config, livekit: null } });
    const sendWithout = (described: Described, sent: Sent) => send(described, sent, without);
    const agents = { ...calls.options.config.agents, name: "an-agent" };
    const agent = appWith({ config: { ...calls.options.config, agents } });
    const sendToAgent = (described: Described, sent: Sent) => send(described, sent, agent);
    await calls.expectResponses({ send, sendWithout, sendToAgent, newKey, poor: poor.secret.reveal() });
  });

  test("a video, above a cap or a limit, repeated, foreign or in use: the documented response", async () => {
    const poor = await seedKey(database.db, await seedTenant(database.db), ROOT);
    const config = { ...TEST_CONFIG, maxRunningVideosPerTenant: 1, rateLimit, tenantRateLimit: rateLimit };
    const one = appWith({ config });
    const sendLimited = (described: Described, sent: Sent) => send(described, sent, one);
    await expectVideoResponses({ send, sendLimited, newKey, poor: poor.secret.reveal() }, database.db);
  });

  test("assets, uploaded, completed, in use and above the quota: the documented response", async () => {
    const full = appWith({ config: { ...TEST_CONFIG, maxAssetsPerTenant: 1, rateLimit, tenantRateLimit: rateLimit } });
    await expectAssetResponses(send, (described, sent) => send(described, sent, full));
  });

  test("webhook endpoints, repeated, rotated, disabled, changed meanwhile and too many: the documented response", async () => {
    await database.db.client`delete from webhook_endpoints`;
    const own = async () => {
      const { record, key } = await newKey();
      return { id: record.id, key };
    };
    const newTenant = async () => {
      const tenant = await seedTenant(database.db);
      await database.db.client`delete from credit_accounts where tenant_id = ${tenant}`;
      return (await seedKey(database.db, tenant, ROOT)).secret.reveal();
    };
    await expectWebhookResponses(send, own, newTenant);
  });

  test("a grant, wider than the caller's: 403", async () => {
    const narrow = await newKey({ scopes: ["api_keys:write"], spendLimitCreditMicros: 1 });
    const { record } = await newKey();
    const excess = { key: narrow.key, id: record.id };
    expect((await send(one("createApiKey"), { ...excess, body: { name: "x" } })).code).toBe("grant_exceeds_caller");
    expect((await send(one("updateApiKey"), { ...excess, body: { name: "x" } })).code).toBe("grant_exceeds_caller");
    expect((await send(one("rotateApiKey"), { ...excess, body: {} })).code).toBe("grant_exceeds_caller");
    expect((await send(one("revokeApiKey"), excess)).code).toBe("grant_exceeds_caller");
  });

  test("a request, repeated with its Idempotency-Key: replayed, or the documented problem", async () => {
    const headers = { "idempotency-key": "conformance" };
    const bodies = { createAvatar: avatar, createApiKey: { name: "x" }, rotateApiKey: { overlapSeconds: 60 } };
    const ofSessions: [operationId: string, body: object, other: object][] = [
      ["openUsageSession", { maxSessionSeconds: 1 }, { maxSessionSeconds: 2 }],
      ["reportUsage", { usedCreditMicros: 1 }, { usedCreditMicros: 2 }],
      ["releaseSession", { reason: "x" }, { reason: "y" }],
    ];
    for (const [operationId, body, other] of ofSessions) {
      const id = await freshId(one(operationId));
      const first = await send(one(operationId), { id, headers, body });
      const again = await send(one(operationId), { id, headers, body });
      expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
      expect((await send(one(operationId), { id, headers, body: other })).code).toBe("idempotency_key_reused");
    }
    for (const [operationId, body] of Object.entries(bodies)) {
      const { record, key } = await newKey();
      const { record: target } = await newKey({}, record);
      const sent = { id: target.id, key, headers };
      const first = await send(one(operationId), { ...sent, body });
      const again = await send(one(operationId), { ...sent, body });
      expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
      const other = operationId === "rotateApiKey" ? { overlapSeconds: 61 } : { ...body, metadata: {}, name: "y" };
      const { metadata, name, ...rest } = other as Record<string, unknown>;
      const reused =
        operationId === "createAvatar" ? { ...rest, metadata } : operationId === "createApiKey" ? { name } : rest;
      expect((await send(one(operationId), { ...sent, body: reused })).code).toBe("idempotency_key_reused");
      if (operationId === "createAvatar") continue;
      const rotated = await send(one("rotateApiKey"), { id: record.id, body: { overlapSeconds: 60 } });
      const newer = JSON.parse(rotated.text).apiKey;
      expect((await send(one(operationId), { ...sent, key: newer, body })).code).toBe("replay_unavailable");
    }
  });

  test("a problem, read by a browser: an HTML page", async () => {
    const { text } = await send(one("getProblemType"), { id: "not_found", headers: { accept: "text/html" } });
    expect(text).toStartWith("<!doctype html>");
  });

  test("reports of leaked keys, 31 from one client: 429", async () => {
    const headers = { "x-forwarded-for": "192.0.2.1" };
    const codes = [];
    for (let sent = 0; sent < 31; sent++) {
      codes.push((await send(one("reportLeakedKey"), { body: { apiKey: "x" }, headers })).code);
    }
    expect(codes.at(-1)).toBe("rate_limited");
  });

  // Problems that need a defect of the service or a broken connection: faults.ts and avatars.test.ts test them.
  test("a malformed Host, on every operation: 400", async () => {
    for (const described of operations) {
      const { operation } = described;
      const body = operation.requestBody?.content["application/json"]?.example;
      const { code } = await send(described, { id: "x", body, headers: { host: "a b" } });
      expect([operation.operationId, code]).toEqual([operation.operationId, "malformed_request"]);
    }
  });

  // Problems of people: people-routes.test.ts and keys-of-people.test.ts test them.
  const OF_PEOPLE: readonly ProblemCode[] = ["invalid_session", "insufficient_role", "passkey_required"];
  const UNSEEN: readonly ProblemCode[] = ["internal_error", "outcome_unknown", ...OF_PEOPLE];

  testAllSeen(operations, () => UNSEEN);
});
