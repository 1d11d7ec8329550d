/**
 * The service is held to its document: requests are made up from what the document says of each operation, those that
 * meet it and those that do not, and every answer is compared with it: status, headers and body.
 */
import { afterAll, beforeAll, describe, expect, test as register, setDefaultTimeout } from "bun:test";
import { connect } from "@realtime-avatar/db/connection/pool";
import { seedKey, seedTenant, type TestDatabase, testDatabase } from "@realtime-avatar/db/testing";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import fc from "fast-check";
import type { Dependencies } from "../../src/dependencies.ts";
import { describeApi } from "../../src/openapi/write-file.ts";
import { createTestApp, TEST_CONFIG } from "../support/api.ts";
import {
  bodySchema,
  type Described,
  documentJudge,
  type OpenApi,
  operationsOf,
  type Parameter,
  resolved,
  type Schema,
  valuesAround,
  valuesOf,
} from "../support/openapi.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(120_000);

const document = JSON.parse(JSON.stringify(describeApi())) as OpenApi;
const judge = documentJudge(document);
const operations = operationsOf(document);
const RUNS = 25;

let database: TestDatabase;
let app: ReturnType<typeof createTestApp>;
/** With limits that nobody reaches, so that their headers are there. */
const rateLimit = { perSecond: 1_000_000, burst: 1_000_000 };
const appWith = (given: Partial<Dependencies> = {}) =>
  createTestApp(database.db, {
    config: { ...TEST_CONFIG, rateLimit, tenantRateLimit: rateLimit },
    ...given,
  });
let tenantId: ApiKeyRecord["tenantId"];
/** Live, with every scope. */
let caller: { record: ApiKeyRecord; key: string };

/** A new key, a child of the caller unless it is to be another's. */
const newKey = async (
  request: Parameters<typeof seedKey>[2] = {},
  parent = caller.record,
): Promise<{ record: ApiKeyRecord; key: string }> => {
  const asked: typeof request = { environment: "live", scopes: ["*"], ...request };
  const { record, secret } = await seedKey(database.db, tenantId, asked, parent);
  return { record, key: secret.reveal() };
};

beforeAll(async () => {
  database = await testDatabase();
  tenantId = await seedTenant(database.db);
  app = appWith();
  const { record, secret } = await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] });
  caller = { record, key: secret.reveal() };
});
afterAll(() => database.close());

/** How many tests there are, and how many have run: what they have seen together is judged only when all have. */
const tests = { registered: 0, run: 0 };
const test = (name: string, body: () => Promise<void>): void => {
  tests.registered++;
  register(name, async () => {
    await body();
    tests.run++;
  });
};

type Sent = {
  key?: string | null;
  id?: string;
  query?: string;
  /** As JSON, or as it is. */
  body?: unknown;
  text?: string;
  headers?: Record<string, string>;
};
type Answer = { status: number; headers: Headers; text: string; code: ProblemCode | null };

/** What was answered, by operation: the statuses, and the codes of problems. */
const seen = new Map<string, Set<string>>();
let clients = 0;

/** Sends a request, and holds the answer to the document. */
const send = async (
  { method, path, operation }: Described,
  { key = caller.key, id = "", query = "", body, text: raw, headers = {} }: Sent,
  to = app,
): Promise<Answer> => {
  clients++;
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const url = `http://localhost${path.replace(/\{\w+\}/, id)}${query === "" ? "" : `?${query}`}`;
  const response = await to.handle(
    new Request(url, {
      method,
      headers: {
        // Each is another client: what is limited by client is limited where a test wants it to be.
        "x-forwarded-for": `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`,
        ...(key === null || operation.security.length === 0 ? {} : { authorization: `Bearer ${key}` }),
        ...(sent === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    }),
  );
  const text = await response.text();
  const { status } = response;
  const differences = judge.differences(operation, { status, headers: response.headers, text });
  if (differences.length > 0) {
    throw new Error(
      `${operation.operationId} ${status} ${query} ${JSON.stringify(body)}\n${differences.join("\n")}\n${text}`,
    );
  }
  const code = status >= 400 ? (JSON.parse(text).code as ProblemCode) : null;
  const { operationId } = operation;
  seen.set(operationId, (seen.get(operationId) ?? new Set()).add(code ?? String(status)));
  return { status, headers: response.headers, text, code };
};

const one = (operationId: string): Described => {
  const found = operations.find(({ operation }) => operation.operationId === operationId);
  if (!found) throw new Error(`no operation ${operationId}`);
  return found;
};

/** Something for an operation to work on: an id that its path can take. */
const freshId = async ({ path }: Described): Promise<string> => {
  if (path.startsWith("/problems/")) return "not_found";
  if (!path.includes("{id}")) return "";
  if (path.startsWith("/api/v1/api-keys")) return (await newKey()).record.id;
  const made = await send(one("createAvatar"), { body: { displayName: "x", sourceKind: "image" } });
  return JSON.parse(made.text).id;
};

const parametersOf = ({ operation }: Described, where: Parameter["in"]): Parameter[] =>
  operation.parameters.map((given) => resolved<Parameter>(document, given)).filter((given) => given.in === where);

/** What is sent as a query parameter, as the schema of the document sees it: whole numbers are numbers. */
const decoded = (schema: Schema, text: string): unknown =>
  schema["type"] === "integer" && /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : text;

const TEXTS = [
  "",
  "0",
  "1",
  "50",
  "100",
  "101",
  "1.0",
  "+5",
  "x",
  "live",
  "ready",
  "image",
  "avatar.created",
  "0123456789ABCDEF",
  "x".repeat(64),
  "x".repeat(65),
];

/** Query parameters: those that meet the document, and those near them. A cursor is opaque: only a page gives one. */
const queriesOf = (described: Described): fc.Arbitrary<[name: string, value: string][]> => {
  const known = parametersOf(described, "query").filter(({ name }) => name !== "cursor");
  const values = known.map(({ name, schema }) =>
    fc
      .oneof(valuesOf(document, schema).map(String), fc.constantFrom(...TEXTS))
      .map((value): [string, string] => [name, value]),
  );
  const unknown = fc.tuple(fc.constantFrom("unknown", "Limit", "__proto__"), fc.constantFrom(...TEXTS));
  return fc.array(
    fc.oneof(...values.map((arbitrary) => ({ arbitrary, weight: 3 })), { arbitrary: unknown, weight: 1 }),
    { maxLength: 3 },
  );
};

const REFUSALS = ["validation_failed", "malformed_json"];

describe.each(operations.map((described) => [described.operation.operationId, described] as const))(
  "%s",
  (_, described) => {
    const { operation, path } = described;
    const schema = bodySchema(operation);
    const needsKey = operation.security.length > 0;

    if (schema) {
      test("takes the bodies that meet the document", async () => {
        await fc.assert(
          fc.asyncProperty(valuesOf(document, schema), async (body) => {
            const { code } = await send(described, { id: await freshId(described), body });
            expect(REFUSALS).not.toContain(code ?? "none");
          }),
          { seed: 6, numRuns: RUNS },
        );
      });

      test("refuses the bodies that do not, and no others", async () => {
        const verdicts = { met: 0, missed: 0 };
        await fc.assert(
          fc.asyncProperty(valuesAround(document, schema), async (body) => {
            const errors = judge.errors(schema, body);
            verdicts[errors.length === 0 ? "met" : "missed"]++;
            const { code } = await send(described, { id: await freshId(described), body });
            expect([body, errors, code === "validation_failed"]).toEqual([body, errors, errors.length > 0]);
          }),
          { seed: 7, numRuns: 3 * RUNS },
        );
        expect(Math.min(verdicts.met, verdicts.missed)).toBeGreaterThan(5);
      });

      test("answers to what is no body as the document says", async () => {
        const id = await freshId(described);
        for (const text of ["", "{", "[".repeat(65), "nonsense"]) {
          expect((await send(described, { id, text })).code).toBe("malformed_json");
        }
        expect((await send(described, { id, text: "{}", headers: { "content-type": "text/plain" } })).status).toBe(415);
        expect((await send(described, { id, text: `"${"x".repeat(128 * 1024)}"` })).status).toBe(413);
      });
    }

    if (path.startsWith("/api/v1")) {
      test("takes the query parameters that meet the document, and no others", async () => {
        const known = new Map(parametersOf(described, "query").map(({ name, schema }) => [name, schema]));
        const body = schema
          ? document.paths[path]?.[described.method.toLowerCase()]?.requestBody?.content["application/json"]?.example
          : undefined;
        await fc.assert(
          fc.asyncProperty(queriesOf(described), async (pairs) => {
            const names = pairs.map(([name]) => name);
            const isMet =
              new Set(names).size === names.length &&
              pairs.every(([name, value]) => {
                const schema = known.get(name);
                return schema !== undefined && judge.errors(schema, decoded(schema, value)).length === 0;
              });
            const query = new URLSearchParams(pairs).toString();
            const { code } = await send(described, { id: await freshId(described), query, body });
            expect([query, code === "validation_failed"]).toEqual([query, !isMet]);
          }),
          { seed: 8, numRuns: known.size > 0 ? 3 * RUNS : 10 },
        );
      });
    }

    for (const { name, schema: headerSchema } of parametersOf(described, "header")) {
      test(`answers to any ${name} as the document says`, async () => {
        const body = described.operation.requestBody?.content["application/json"]?.example;
        const wild = fc.stringMatching(/^[ -~]{0,40}$/).map((value) => value.trim());
        const edges = fc.constantFrom(
          "",
          "*",
          '"1"',
          'W/"1"',
          '"1", "2"',
          '"999"',
          "1",
          "x".repeat(255),
          "x".repeat(256),
          `"${"1".repeat(1022)}"`,
          `"${"1".repeat(1023)}"`,
          "a b",
        );
        await fc.assert(
          fc.asyncProperty(fc.oneof(valuesOf(document, headerSchema).map(String), wild, edges), async (value) => {
            // What HTTP itself cannot carry never comes so far.
            const sent = value.replace(/[^\x20-\x7e]/g, "").trim();
            const { code } = await send(described, { id: await freshId(described), body, headers: { [name]: sent } });
            const isMet = judge.errors(headerSchema, sent).length === 0;
            // The others are replaced or ignored when they are malformed, as the document says of each.
            const refusal = { "Idempotency-Key": "malformed_request", "If-Match": "validation_failed" }[name];
            if (refusal) expect([sent, code === refusal]).toEqual([sent, !isMet]);
            else expect([sent, code]).toEqual([sent, null]);
          }),
          { seed: 9, numRuns: RUNS },
        );
      });
    }

    if (needsKey) {
      test("answers to keys of every kind as the document says", async () => {
        const id = await freshId(described);
        const revoked = await newKey();
        await send(one("revokeApiKey"), { id: revoked.record.id });
        const expired = await newKey({ expiresAt: "2020-01-01T00:00:00Z" });
        const powerless = await newKey({ scopes: ["usage:read"] });
        expect((await send(described, { id, key: null })).code).toBe("missing_api_key");
        expect((await send(described, { id, key: "nonsense" })).code).toBe("invalid_api_key");
        expect((await send(described, { id, key: revoked.key })).code).toBe("revoked_api_key");
        expect((await send(described, { id, key: expired.key })).code).toBe("expired_api_key");
        const needed = operation["x-required-scope"];
        const { code, text } = await send(described, { id, key: powerless.key });
        if (needed === undefined) expect(code).toBeNull();
        else expect(JSON.parse(text)).toMatchObject({ code: "insufficient_scope", requiredScope: needed });
      });

      test("is limited as the document says", async () => {
        const limited = appWith({
          config: { ...TEST_CONFIG, rateLimit: { perSecond: 1, burst: 0 } },
        });
        const { key } = await newKey();
        const codes = new Set<string | null>();
        for (let sent = 0; sent < 50 && !codes.has("rate_limited"); sent++) {
          codes.add((await send(described, { id: "x", key, body: schema ? {} : undefined }, limited)).code);
        }
        expect(codes).toContain("rate_limited");
      });
    }

    if (path.includes("{")) {
      test("finds nothing where the document says that nothing is", async () => {
        const body = described.operation.requestBody?.content["application/json"]?.example;
        for (const id of ["x", "ava_01h455vb4pex5vsknk084sn02q", "key_01h455vb4pex5vsknk084sn02q", "not_found%20"]) {
          expect((await send(described, { id, body })).code).toBe("not_found");
        }
      });
    }

    if (path.startsWith("/api/v1")) {
      test("without a database, is unavailable as the document says", async () => {
        const nowhere = connect("postgres://nobody@127.0.0.1:1/nothing");
        const body = described.operation.requestBody?.content["application/json"]?.example;
        const { code } = await send(described, { id: "x", body }, appWith({ db: nowhere }));
        expect(code).toBe("unavailable");
        await nowhere.close();
      });
    }
  },
);

describe("what takes two requests to come about", () => {
  const avatar = { displayName: "x", sourceKind: "image" };

  test("a page, and the next one", async () => {
    for (const [list, create, body] of [
      ["listAvatars", "createAvatar", avatar],
      ["listApiKeys", "createApiKey", { name: "x" }],
      ["listAuditEvents", "createAvatar", avatar],
    ] as const) {
      for (let made = 0; made < 2; made++) await send(one(create), { body });
      const first = JSON.parse((await send(one(list), { query: "limit=1" })).text);
      const query = new URLSearchParams({ cursor: first.nextCursor }).toString();
      expect(JSON.parse((await send(one(list), { query })).text).data.length).toBeGreaterThan(0);
      expect((await send(one(list), { query: "cursor=none" })).code).toBe("validation_failed");
    }
  });

  test("a version that is known, and one that is gone", async () => {
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

  test("a move that is not there", async () => {
    const { id } = JSON.parse((await send(one("createAvatar"), { body: avatar })).text);
    expect((await send(one("updateAvatar"), { id, body: { status: "ready" } })).code).toBe("invalid_transition");
    const { record } = await newKey();
    await send(one("revokeApiKey"), { id: record.id });
    expect((await send(one("updateApiKey"), { id: record.id, body: { name: "y" } })).code).toBe("invalid_transition");
    expect((await send(one("rotateApiKey"), { id: record.id, body: {} })).code).toBe("invalid_transition");
  });

  test("a rotation while an overlap runs", async () => {
    const { record, key } = await newKey();
    const rotation = { id: record.id, key, body: { overlapSeconds: 60 } };
    const newest = JSON.parse((await send(one("rotateApiKey"), rotation)).text).apiKey;
    const refused = await send(one("rotateApiKey"), { ...rotation, key: newest });
    expect([refused.code, refused.headers.has("retry-after")]).toEqual(["rotation_in_progress", true]);
  });

  test("one key more than the tenant may have", async () => {
    const config = { ...TEST_CONFIG, maxActiveKeysPerTenant: 1, rateLimit, tenantRateLimit: rateLimit };
    const { code } = await send(one("createApiKey"), { body: { name: "x" } }, appWith({ config }));
    expect(code).toBe("quota_exceeded");
  });

  test("more than the caller has", async () => {
    const narrow = await newKey({ scopes: ["api_keys:write"], spendLimitCreditMicros: 1 });
    const { record } = await newKey();
    const excess = { key: narrow.key, id: record.id };
    expect((await send(one("createApiKey"), { ...excess, body: { name: "x" } })).code).toBe("grant_exceeds_caller");
    expect((await send(one("updateApiKey"), { ...excess, body: { name: "x" } })).code).toBe("grant_exceeds_caller");
    expect((await send(one("rotateApiKey"), { ...excess, body: {} })).code).toBe("grant_exceeds_caller");
    expect((await send(one("revokeApiKey"), excess)).code).toBe("grant_exceeds_caller");
  });

  test("the same again, with the same Idempotency-Key", async () => {
    const headers = { "idempotency-key": "conformance" };
    const bodies = { createAvatar: avatar, createApiKey: { name: "x" }, rotateApiKey: { overlapSeconds: 60 } };
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

  test("a page, for a browser", async () => {
    const { text } = await send(one("getProblemType"), { id: "not_found", headers: { accept: "text/html" } });
    expect(text).toStartWith("<!doctype html>");
  });

  test("more reports of leaked keys than a client may make", async () => {
    const headers = { "x-forwarded-for": "192.0.2.1" };
    const codes = [];
    for (let sent = 0; sent < 31; sent++) {
      codes.push((await send(one("reportLeakedKey"), { body: { apiKey: "x" }, headers })).code);
    }
    expect(codes.at(-1)).toBe("rate_limited");
  });

  // Those that take a defect of ours, or a connection that breaks: faults.ts and avatars.test.ts have them.
  test("a malformed Host, of every operation", async () => {
    for (const described of operations) {
      const { operation } = described;
      const body = operation.requestBody?.content["application/json"]?.example;
      const { code } = await send(described, { id: await freshId(described), body, headers: { host: "a b" } });
      expect([operation.operationId, code]).toEqual([operation.operationId, "malformed_request"]);
    }
  });

  const UNSEEN: readonly ProblemCode[] = ["internal_error", "outcome_unknown"];

  register("and so every answer of every operation has been seen", () => {
    if (tests.run < tests.registered) return;
    for (const { operation } of operations) {
      const documented = Object.entries(operation.responses).flatMap(([status, response]) => {
        const media = resolved(document, response).content?.["application/problem+json"];
        return media ? Object.keys(media.examples ?? {}) : [status];
      });
      const missing = documented.filter(
        (code) => !UNSEEN.includes(code as ProblemCode) && !seen.get(operation.operationId)?.has(code),
      );
      expect([operation.operationId, missing]).toEqual([operation.operationId, []]);
    }
  });
});
