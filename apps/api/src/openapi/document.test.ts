/** The document of the API: current, clean, and with examples that hold. `conformance.test.ts` holds the service to it. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { PROBLEMS } from "@realtime-avatar/domain/problem";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Document, type RulesetDefinition, Spectral } from "@stoplight/spectral-core";
import { Json } from "@stoplight/spectral-parsers";
import { oas } from "@stoplight/spectral-rulesets";
import { Elysia } from "elysia";
import { documentJudge, type OpenApi, operationsOf, type Parameter, resolved } from "../../test/support/openapi.ts";
import { createApp } from "../app.ts";
import { readConfig } from "../config.ts";
import type { Dependencies } from "../dependencies.ts";
import { openApiDocument } from "./document.ts";
import { describeApi, OPENAPI_FILE } from "./write-file.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const document = JSON.parse(JSON.stringify(describeApi())) as OpenApi;
const clone = (): OpenApi => structuredClone(document);

/** What Spectral's `oas` rules have to say, all that it recommends. */
const spectral = async (described: OpenApi): Promise<string[]> => {
  const linter = new Spectral();
  linter.setRuleset({ extends: [[oas as unknown as RulesetDefinition, "recommended"]], rules: {} });
  const found = await linter.run(new Document(JSON.stringify(described), Json, "openapi.json"));
  return found.map(({ code, path, message }) => `${code} ${path.join("/")}: ${message}`);
};

/** What Redocly's `recommended` rules have to say. */
const redocly = async (described: OpenApi): Promise<string[]> => {
  const config = await createConfig({ extends: ["recommended"] });
  const found = await lintFromString({ source: JSON.stringify(described), absoluteRef: "openapi.json", config });
  return found.map(({ ruleId, location, message }) => `${ruleId} ${location[0]?.pointer}: ${message}`);
};

describe("the document", () => {
  test("in docs/ is what the service serves: `bun run openapi` writes it", async () => {
    expect(await Bun.file(OPENAPI_FILE).json()).toEqual(document);
  });

  test("is served to anybody, and says so itself", async () => {
    const app = createApp({
      clock: () => new Date(),
      random: (count: number) => new Uint8Array(count),
      config: readConfig({}),
      db: {},
      isEnding: () => false,
      log: { info: () => {}, error: () => {} },
    } as unknown as Dependencies);
    const answer = await app.handle(new Request("http://localhost/openapi.json"));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await answer.json()).toEqual(document);
  });

  test("is clean by Spectral's rules, which find what is wrong", async () => {
    expect(await spectral(document)).toEqual([]);
    const broken = clone();
    const [first] = operationsOf(broken);
    if (first) first.operation.operationId = "getAvatar";
    expect((await spectral(broken)).join()).toContain("operation-operationId-unique");
  });

  test("is clean by Redocly's rules, which find what is wrong", async () => {
    expect(await redocly(document)).toEqual([]);
    const broken = clone();
    delete (broken as Partial<OpenApi> & { servers?: unknown }).servers;
    expect((await redocly(broken)).join()).toContain("no-empty-servers");
  });

  test("cannot be made while a route does not describe itself", () => {
    const { routes } = new Elysia().get("/api/v1/new", () => "undescribed");
    expect(() => openApiDocument(routes)).toThrow("GET /api/v1/new has no OpenAPI description");
  });

  test("has an operation for each route of the API, and each id once", () => {
    const { routes } = createApp({ config: readConfig({}) } as unknown as Dependencies);
    const known = routes.flatMap(({ method, path }) => (/^\/(api|problems)/.test(path) ? [`${method} ${path}`] : []));
    const operations = operationsOf(document);
    const found = operations.map(({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/, ":$1")}`);
    expect(found.sort()).toEqual(known.sort());
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  });

  test("says of each route what Elysia judges its answers by, but for those that judge them before they are written", () => {
    const { routes } = createApp({ config: readConfig({}) } as unknown as Dependencies);
    const unjudged = routes.flatMap(({ hooks, method, path }) =>
      path.startsWith("/api/v1") && Object.keys(hooks?.response ?? {}).length === 0 ? [`${method} ${path}`] : [],
    );
    // The database writes the pages of a list; a test holds them to the schema of a page.
    expect(unjudged.sort()).toEqual([
      "GET /api/v1/api-keys",
      "GET /api/v1/audit-events",
      "GET /api/v1/avatars",
      "POST /api/v1/api-keys",
      "POST /api/v1/api-keys/:id/rotate",
      "POST /api/v1/avatars",
    ]);
  });

  test("says the least and the greatest length, and the pattern, of every header and cursor that a request may have", () => {
    const parameters = operationsOf(document).flatMap(({ operation }) =>
      operation.parameters.map((given) => resolved<Parameter>(document, given)),
    );
    const texts = parameters.filter(({ in: where, name }) => where === "header" || name === "cursor");
    const names = ["Idempotency-Key", "If-Match", "If-None-Match", "X-Request-Id", "cursor", "traceparent"];
    expect([...new Set(texts.map(({ name }) => name))].sort()).toEqual(names);
    for (const { name, schema } of texts) {
      const { minLength, maxLength, pattern } = schema;
      expect([name, typeof pattern, Number(minLength) >= 1, Number(maxLength) <= 1024]).toEqual([
        name,
        "string",
        true,
        true,
      ]);
    }
    for (const name of ["X-Request-Id", "traceparent"]) {
      const { minLength, maxLength, pattern } = document.components.headers[name]?.schema ?? {};
      expect([typeof minLength, typeof maxLength, typeof pattern]).toEqual(["number", "number", "string"]);
    }
  });

  test("knows every problem but the one that no operation has", () => {
    const known = Object.keys(document.components.examples);
    expect(Object.keys(PROBLEMS).filter((code) => !known.includes(code))).toEqual(["method_not_allowed"]);
  });
});

describe("the examples", () => {
  const judge = documentJudge(document);

  test("of bodies meet their schemas", () => {
    let judged = 0;
    for (const { pointer, value, schema } of judge.examples()) {
      judged++;
      expect([pointer, judge.errors(schema, value)]).toEqual([pointer, []]);
    }
    expect(judged).toBeGreaterThan(40);
  });

  test("are there for every body and every answer", () => {
    const missing = operationsOf(document).flatMap(({ operation }) => {
      const bodies = [
        operation.requestBody,
        ...Object.values(operation.responses).map((one) => resolved(document, one)),
      ];
      const media = bodies.map((body) => body?.content?.["application/json"]).filter((one) => one !== undefined);
      return media.some(({ example }) => example === undefined) ? [operation.operationId] : [];
    });
    expect(missing).toEqual([]);
  });

  test("would be told to be wrong", () => {
    const errors = judge.errors(
      { $ref: "#/components/schemas/CreateAvatar" },
      { displayName: "", sourceKind: "audio" },
    );
    expect(errors.length).toBe(2);
  });
});
