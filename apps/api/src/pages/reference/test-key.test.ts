import { expect, test } from "bun:test";
import { SCOPES } from "@realtime-avatar/domain/api-keys/scope";
import { TEST_KEY } from "./test-key.ts";

test("the scopes of the test key: every scope but * and usage:write, as the page says", () => {
  expect(TEST_KEY.scopes.toSorted()).toEqual(
    SCOPES.filter((scope) => scope !== "*" && scope !== "usage:write").toSorted(),
  );
});
