/** Tests that apply to each operation in the OpenAPI document, for keys and for people. */
import { expect, test as register } from "bun:test";
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import fc from "fast-check";
import {
  type Answer,
  arbitraryQueries,
  bodiesAround,
  decoded,
  document,
  isWindow,
  listParameters,
  meetsRules,
  type Sent,
  validator,
} from "./conformance.ts";
import { arbitraryValues, bodySchema, type Described, resolved } from "./openapi.ts";

/** The full number of runs with LONG=1. */
export const RUNS = process.env["LONG"] === "1" ? 24 : 4;
const REFUSALS = ["validation_failed", "malformed_json"];

/** Records the tests of a file, and for each operation the seen statuses and codes of problems. */
export const newRecord = () => {
  const tests = { registered: 0, run: 0 };
  const seen = new Map<string, Set<string>>();
  return {
    test: (name: string, body: () => Promise<void>): void => {
      tests.registered++;
      register(name, async () => {
        await body();
        tests.run++;
      });
    },
    note: ({ operation: { operationId } }: Described, answer: Answer): Answer => {
      seen.set(operationId, (seen.get(operationId) ?? new Set()).add(answer.code ?? String(answer.status)));
      return answer;
    },
    /**
     * Expects that each documented response was seen, except `unseenOf` an operation. Runs only if all tests have run.
     */
    testAllSeen: (operations: readonly Described[], unseenOf: (operationId: string) => readonly ProblemCode[]): void =>
      register("every documented response of every operation was seen", () => {
        for (const { operation } of tests.run < tests.registered ? [] : operations) {
          const { operationId } = operation;
          const documented = Object.entries(operation.responses).flatMap(([status, response]) => {
            const media = resolved(document, response).content?.["application/problem+json"];
            return media ? Object.keys(media.examples ?? {}) : [status];
          });
          const known: readonly string[] = [...unseenOf(operationId), ...(seen.get(operationId) ?? [])];
          expect([operationId, documented.filter((code) => !known.includes(code))]).toEqual([operationId, []]);
        }
      }),
  };
};

type Send = (described: Described, sent: Sent) => Promise<Answer>;
type Harness = {
  test: ReturnType<typeof newRecord>["test"];
  send: Send;
  /** The id of a new resource that the operation can use; empty for a path without an id. */
  freshId: (described: Described) => Promise<string>;
};

/**
 * Returns a function that sends the requests of a property, one after another. A write that succeeds may change its resource, so
 * the next request gets a new one. A refused request changes nothing, so the next one gets the same resource.
 */
export const sendToFresh = ({ send, freshId }: Omit<Harness, "test">, described: Described) => {
  let id: string | null = null;
  return async (sent: Sent): Promise<Answer> => {
    id ??= await freshId(described);
    const answer = await send(described, { id, ...sent });
    if (answer.code === null && described.method !== "GET") id = null;
    return answer;
  };
};

const describeBody = (described: Described, harness: Harness): void => {
  const { operation } = described;
  const { test, send, freshId } = harness;
  const schema = bodySchema(operation);
  if (schema === null) return;

  test("a body, valid by the document: accepted", async () => {
    const bodies = arbitraryValues(document, schema).filter((body) => meetsRules(described, body));
    const sendNext = sendToFresh(harness, described);
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const { code } = await sendNext({ body });
        expect(REFUSALS).not.toContain(code ?? "none");
      }),
      { seed: 6, numRuns: RUNS },
    );
  });

  test("a body, random: accepted exactly if valid by the document", async () => {
    const verdicts = { met: 0, missed: 0 };
    const sendNext = sendToFresh(harness, described);
    await fc.assert(
      fc.asyncProperty(bodiesAround(described, schema), async (body) => {
        const errors = validator.errors(schema, body);
        if (errors.length === 0 && !meetsRules(described, body)) errors.push("a rule between fields");
        verdicts[errors.length === 0 ? "met" : "missed"]++;
        const { code } = await sendNext({ body });
        expect([body, errors, code === "validation_failed"]).toEqual([body, errors, errors.length > 0]);
      }),
      { seed: 7, numRuns: 3 * RUNS },
    );
    expect(Math.min(verdicts.met, verdicts.missed)).toBeGreaterThan(0);
  });

  test("a body, not JSON, of another type or too large: 400, 415 or 413", async () => {
    const id = await freshId(described);
    const texts = ["{", "[".repeat(65), "nonsense", ...(operation.requestBody?.required === false ? [] : [""])];
    for (const text of texts) {
      expect((await send(described, { id, text })).code).toBe("malformed_json");
    }
    expect((await send(described, { id, text: "{}", headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect((await send(described, { id, text: `"${"x".repeat(128 * 1024)}"` })).status).toBe(413);
  });
};

/** Registers the tests of a body, of query parameters and of an unknown id. */
export const describeOperation = (described: Described, harness: Harness): void => {
  const { path, operation } = described;
  const { test, send } = harness;
  const body = operation.requestBody?.content["application/json"]?.example;
  describeBody(described, harness);

  if (path.startsWith("/api/v1")) {
    test("query parameters, random: accepted exactly if valid by the document", async () => {
      const known = new Map(listParameters(described, "query").map(({ name, schema }) => [name, schema]));
      const sendNext = sendToFresh(harness, described);
      const unknown = await sendNext({ query: "unknown=1", body });
      expect(unknown.code).toBe("validation_failed");
      if (known.size === 0) return;
      await fc.assert(
        fc.asyncProperty(arbitraryQueries(described), async (pairs) => {
          const names = pairs.map(([name]) => name);
          const isMet =
            new Set(names).size === names.length &&
            isWindow(described, pairs) &&
            pairs.every(([name, value]) => {
              const schema = known.get(name);
              return schema !== undefined && validator.errors(schema, decoded(schema, value)).length === 0;
            });
          const query = new URLSearchParams(pairs).toString();
          const { code } = await sendNext({ query, body });
          expect([query, code === "validation_failed"]).toEqual([query, !isMet]);
        }),
        { seed: 8, numRuns: 3 * RUNS },
      );
    });
  }

  if (path.includes("{")) {
    test("an unknown id, requested: the documented 404", async () => {
      for (const id of ["x", "ava_01h455vb4pex5vsknk084sn02q", "key_01h455vb4pex5vsknk084sn02q", "not_found%20"]) {
        expect((await send(described, { id, body })).code).toBe("not_found");
      }
    });
  }
};
