/**
 * The OpenAPI document: current, clean, and with valid examples. `conformance.test.ts` checks the service against it.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PROBLEMS } from "@realtime-avatar/domain/problem";
import { cacheFolder } from "@realtime-avatar/testing/bundles";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Document, type RulesetDefinition, Spectral } from "@stoplight/spectral-core";
import { Json } from "@stoplight/spectral-parsers";
import { oas } from "@stoplight/spectral-rulesets";
import { Elysia } from "elysia";
import {
  describedOperations,
  documentValidator,
  type OpenApi,
  type Parameter,
  resolved,
} from "../../test/support/openapi/openapi.ts";
import { createApp } from "../app.ts";
import { readConfig } from "../config.ts";
import type { Dependencies } from "../dependencies.ts";
import { openApiDocument } from "./document.ts";
import { describeApi, OPENAPI_FILE } from "./write-file.ts";

// Tests do not assert times, so that a slow disk does not fail one.
setDefaultTimeout(600_000);

/** Bun refuses a larger head with a 431. */
const MAX_HEAD_BYTES = 16 * 1024;

const document = JSON.parse(JSON.stringify(describeApi())) as OpenApi;
const clone = (): OpenApi => structuredClone(document);
/** The document with only its first two paths, because linting the whole takes seconds. */
const excerpt = (): OpenApi => {
  const copy = clone();
  return { ...copy, paths: Object.fromEntries(Object.entries(copy.paths).slice(0, 2)) };
};

/**
 * Findings of Spectral's `oas` rules, including all recommended ones. On the whole document, the rule for examples
 * takes nine tenths of the time, so only `LONG=1` runs it there. The first test of "the examples" below and Redocly
 * check all examples.
 */
const spectral = async (described: OpenApi): Promise<string[]> => {
  const linter = new Spectral();
  const rules =
    described === document && process.env["LONG"] !== "1" ? { "oas3-valid-media-example": "off" as const } : {};
  linter.setRuleset({ extends: [[oas as unknown as RulesetDefinition, "recommended"]], rules });
  const found = await linter.run(new Document(JSON.stringify(described), Json, "openapi.json"));
  return found.map(({ code, path, message }) => `${code} ${path.join("/")}: ${message}`);
};

/** Findings of Redocly's strict rules. */
const redocly = async (described: OpenApi): Promise<string[]> => {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const found = await lintFromString({ source: JSON.stringify(described), absoluteRef: "openapi.json", config });
  return found.map(({ ruleId, location, message }) => `${ruleId} ${location[0]?.pointer}: ${message}`);
};

const source = await Bun.file(import.meta.path).text();
/** Lints the whole document, unless the same document was clean before: it takes seconds. */
const lintOnce = async (lint: typeof spectral): Promise<void> => {
  const hash = Bun.hash(JSON.stringify(document) + source + process.env["LONG"]);
  const clean = join(cacheFolder("linted", ["bun.lock"]), `${lint.name}-${hash}`);
  if (existsSync(clean)) return;
  expect(await lint(document)).toEqual([]);
  await Bun.write(clean, "");
};

describe("the OpenAPI document", () => {
  test("docs/openapi.json, compared with the served document: equal (else run bun run openapi)", async () => {
    expect(await Bun.file(OPENAPI_FILE).json()).toEqual(document);
  });

  test("the document, requested without credentials: 200 with the whole document", async () => {
    const app = createApp({
      clock: () => new Date(),
      random: (count: number) => new Uint8Array(count),
      config: readConfig({}),
      databases: {},
      isEnding: () => false,
      log: { info: () => {}, error: () => {} },
    } as unknown as Dependencies);
    const response = await app.handle(new Request("http://localhost/openapi.json"));
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await response.json()).toEqual(document);
  });

  test("the document, checked by Spectral: clean; a broken one: errors", async () => {
    await lintOnce(spectral);
    const broken = excerpt();
    const [first, second] = describedOperations(broken);
    if (first && second) first.operation.operationId = second.operation.operationId;
    for (const { operation } of describedOperations(broken)) {
      for (const media of Object.values(operation.requestBody?.content ?? {})) media.example = { name: 5 };
    }
    const found = (await spectral(broken)).join();
    expect(found).toContain("operation-operationId-unique");
    expect(found).toContain("oas3-valid-media-example");
  });

  test("the document, checked by Redocly: clean; a broken one: errors", async () => {
    await lintOnce(redocly);
    const broken = excerpt();
    delete (broken as Partial<OpenApi> & { servers?: unknown }).servers;
    expect((await redocly(broken)).join()).toContain("no-empty-servers");
  });

  test("the document, a route without a description: not generated", () => {
    const { routes } = new Elysia().get("/api/v1/new", () => "undescribed");
    expect(() => openApiDocument(routes)).toThrow("GET /api/v1/new has no OpenAPI description");
  });

  test("the document, compared with the routes: one operation for each, every id unique", () => {
    const { routes } = createApp({ config: readConfig({}) } as unknown as Dependencies);
    const isHidden = ({ path }: { path: string }) => path.startsWith("/api/v1/assets/uploads/");
    const known = routes.flatMap((route) =>
      /^\/(api|problems)/.test(route.path) && !isHidden(route) ? [`${route.method} ${route.path}`] : [],
    );
    const operations = describedOperations(document);
    const found = operations.map(({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/, ":$1")}`);
    expect(found.sort()).toEqual(known.sort());
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  });

  test("the routes, their responses: validated by the routes themselves, with one exception", () => {
    const { routes } = createApp({ config: readConfig({}) } as unknown as Dependencies);
    const declaring = routes.filter(
      ({ hooks, path }) => path.startsWith("/api/v1") && Object.keys(hooks?.response ?? {}).length > 0,
    );
    // The pages of lists are JSON from the database, compared with their schema by a test. The others use
    // `responseText`.
    expect(declaring.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /api/v1/leaked-keys"]);
  });

  test("the document, each header and cursor of a request: has lengths and a pattern", () => {
    const parameters = describedOperations(document).flatMap(({ operation }) =>
      operation.parameters.map((parameter) => resolved<Parameter>(document, parameter)),
    );
    const texts = parameters.filter(({ in: where, name }) => where === "header" || name === "cursor");
    const names = [
      "Idempotency-Key",
      "If-Match",
      "If-None-Match",
      "Realtime-Avatar-Environment",
      "X-Request-Id",
      "cursor",
      "traceparent",
    ];
    expect([...new Set(texts.map(({ name }) => name))].sort()).toEqual(names);
    for (const { name, schema } of texts) {
      const { minLength, maxLength, pattern } = schema;
      expect([
        name,
        typeof pattern,
        Number(minLength) >= 1,
        Number(maxLength) <= (name === "cursor" ? 6000 : 1024),
      ]).toEqual([name, "string", true, true]);
    }
    for (const name of ["X-Request-Id", "traceparent"]) {
      const { minLength, maxLength, pattern } = document.components.headers[name]?.schema ?? {};
      expect([typeof minLength, typeof maxLength, typeof pattern]).toEqual(["number", "number", "string"]);
    }
  });

  test("a request with every parameter at its maximum length: a head that the server accepts", () => {
    for (const { method, path, operation } of describedOperations(document)) {
      const bytes = operation.parameters
        .map((parameter) => resolved<Parameter>(document, parameter))
        .map(({ in: where, name, schema }) => {
          // An integer, a list of values and a date-time are shorter than 64 bytes.
          const { maxLength = 64, pattern } = schema as { maxLength?: number; pattern?: string };
          // In a URL, a character takes up to twelve bytes: a character in ASCII up to three, a character of an id or a
          // cursor one.
          const isText = schema["maxLength"] !== undefined && where === "query" && name !== "cursor";
          const bytesOfCharacter = !isText ? 1 : pattern === "^[ -~]*$" ? 3 : 12;
          return name.length + 4 + maxLength * bytesOfCharacter;
        })
        .reduce((sum, length) => sum + length, path.length);
      // The rest is for credentials, cookies and headers of browsers.
      expect([`${method} ${path}`, bytes <= MAX_HEAD_BYTES - 1536]).toEqual([`${method} ${path}`, true]);
    }
  });

  test("the document, its problems: all except those of HTTP itself and of omitted routes", () => {
    const known = Object.keys(document.components.examples);
    const unknown = Object.keys(PROBLEMS).filter((code) => !known.includes(code));
    expect(unknown).toEqual(["invalid_credentials", "method_not_allowed", "expectation_failed"]);
  });
});

/** Every object in a value, with the path to it. */
const objectsIn = (value: unknown, path = "#"): [path: string, object: Record<string, unknown>][] =>
  typeof value !== "object" || value === null
    ? []
    : [
        ...(Array.isArray(value)
          ? []
          : [[path, value as Record<string, unknown>] as [string, Record<string, unknown>]]),
        ...Object.entries(value).flatMap(([name, member]) => objectsIn(member, `${path}/${name}`)),
      ];

// Each of these cases is valid, passes the linters, and broke a generated client.
describe("the document, for generators of clients", () => {
  const schemas = objectsIn(document).filter(([path]) => !/\/(examples?|properties|mapping)$|\/examples?\//.test(path));
  const paths = (isWrong: (schema: Record<string, unknown>) => boolean): string[] =>
    schemas.filter(([, schema]) => isWrong(schema)).map(([path]) => path);

  test("each schema with a format, a pattern, values or a constant: has one type", () => {
    const named = ["format", "pattern", "enum", "const"];
    expect(paths((schema) => named.some((name) => name in schema) && typeof schema["type"] !== "string")).toEqual([]);
  });

  test("each constant and value that is a whole number: an integer", () => {
    expect(paths(({ type, const: value }) => type === "number" && Number.isInteger(value))).toEqual([]);
  });

  test("the webhooks: a separate tag, and no reference to parameters or events of components", () => {
    const { webhooks: described } = document as OpenApi & { webhooks: unknown };
    const webhooks = objectsIn(described);
    const alone = /^#\/components\/(parameters\/|schemas\/\w+Event$)/;
    expect(webhooks.filter(([, { $ref }]) => alone.test(String($ref)))).toEqual([]);
    const tags = new Set(webhooks.flatMap(([, { tags = [] }]) => tags as string[]));
    const used = new Set(objectsIn(document.paths).flatMap(([, { tags = [] }]) => tags as string[]));
    expect([tags.size, [...tags].filter((tag) => used.has(tag))]).toEqual([1, []]);
  });
});

describe("the examples of the document", () => {
  const validator = documentValidator(document);

  test("the examples, of all bodies: valid by their schemas", () => {
    let count = 0;
    for (const { pointer, value, schema } of validator.examples()) {
      count++;
      expect([pointer, validator.errors(schema, value)]).toEqual([pointer, []]);
    }
    expect(count).toBeGreaterThan(40);
    const invalid = { displayName: "", sourceKind: "audio" };
    expect(validator.errors({ $ref: "#/components/schemas/CreateAvatar" }, invalid)).toHaveLength(2);
  });

  test("the examples, for each request and response body: present", () => {
    const missing = describedOperations(document).flatMap(({ operation }) => {
      const bodies = [
        operation.requestBody,
        ...Object.values(operation.responses).map((one) => resolved(document, one)),
      ];
      const media = bodies.map((body) => body?.content?.["application/json"]).filter((one) => one !== undefined);
      return media.some(({ example }) => example === undefined) ? [operation.operationId] : [];
    });
    expect(missing).toEqual([]);
  });
});
