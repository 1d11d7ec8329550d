import { expect, test } from "bun:test";
import { managedEnvironments } from "./environment.ts";

test("a live key, managing environments: both; a test key: test", () => {
  expect(managedEnvironments("live")).toEqual(["live", "test"]);
  expect(managedEnvironments("test")).toEqual(["test"]);
});
