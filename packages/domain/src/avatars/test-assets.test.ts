import { expect, test } from "bun:test";
import { isId } from "../id.ts";
import { CHECK_CODES } from "./checks.ts";
import { isUnknownTestAsset, TEST_ASSET_PREFIX, TEST_ASSETS, testOutcome } from "./test-assets.ts";

test("a test asset, compared with ids: not an id, and has a separate outcome", () => {
  const outcomes = Object.entries(TEST_ASSETS).map(([id, outcome]) => {
    expect(id.startsWith(TEST_ASSET_PREFIX)).toBe(true);
    expect(isId("ast", id)).toBe(false);
    expect(testOutcome(id)).toBe(outcome);
    const check = outcome.kind === "failed" ? outcome.check : outcome.kind === "ready" ? outcome.warning : null;
    if (check !== null) expect(CHECK_CODES).toContain(check);
    return JSON.stringify(outcome);
  });
  expect(new Set(outcomes).size).toBe(outcomes.length);
});

test.each(["ast_test_", "ast_test_unknown", "toString", "__proto__", "ast_test_READY"])(
  "an id, %s: not a test asset",
  (id) => {
    expect(testOutcome(id)).toBeNull();
  },
);

test("a test asset, named by a live key or misspelt: unknown", () => {
  expect(isUnknownTestAsset("ast_test_ready", "test")).toBe(false);
  expect(isUnknownTestAsset("ast_test_ready", "live")).toBe(true);
  expect(isUnknownTestAsset("ast_test_unknown", "test")).toBe(true);
  expect(isUnknownTestAsset("ast_01h455vb4pex5vsknk084sn02q", "live")).toBe(false);
});
