import { expect, test } from "bun:test";
import { managedEnvironments } from "./environment.ts";

test("live keys manage both environments, test keys only test", () => {
  expect(managedEnvironments("live")).toEqual(["live", "test"]);
  expect(managedEnvironments("test")).toEqual(["test"]);
});
