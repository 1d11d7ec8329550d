/** The members of problems, compared with the description of the API. */
import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ApiProblem, type Problem } from "./index.ts";

type Described = { properties?: Record<string, unknown> };

test("a problem of each kind, thrown: with all documented members", async () => {
  const text = await readFile(join(import.meta.dir, "../../../docs/openapi.json"), "utf8");
  const schemas = Object.entries<Described>(JSON.parse(text).components.schemas);
  const problems = schemas.flatMap(([name, { properties = {} }]) =>
    "requestId" in properties && "retryable" in properties ? [{ name, members: Object.keys(properties) }] : [],
  );
  expect(problems.length).toBeGreaterThan(20);
  for (const { name, members } of problems) {
    const problem = Object.fromEntries(members.map((member) => [member, `of ${member}`])) as unknown as Problem;
    expect([name, { ...new ApiProblem(problem) }]).toEqual([name, expect.objectContaining(problem)]);
  }
});
