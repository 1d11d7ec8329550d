import { expect, test } from "bun:test";
import { Problem } from "./problem.ts";

test("a problem, created: its code's status, and only the code as message", () => {
  const problem = new Problem("not_found", "Not here.");
  expect(problem.status).toBe(404);
  expect(problem.message).toBe("not_found");
});
