import { describe, expect, test } from "bun:test";
import { DEFAULT_SCOPES, permits, SCOPES, type Scope } from "./scope.ts";

describe("permits", () => {
  test("one scope permits itself alone, and * permits all", () => {
    for (const held of SCOPES) {
      for (const needed of SCOPES) expect(permits([held], needed)).toBe(held === needed || held === "*");
    }
  });

  test("nothing permits nothing", () => {
    for (const needed of SCOPES) expect(permits([], needed)).toBe(false);
  });

  test("write does not imply read, nor do all the others imply *", () => {
    expect(permits(["avatars:write"], "avatars:read")).toBe(false);
    expect(
      permits(
        SCOPES.filter((scope) => scope !== "*"),
        "*",
      ),
    ).toBe(false);
  });

  test("what is no scope is held by nobody but *", () => {
    expect(permits(["avatars:read"], "avatars" as Scope)).toBe(false);
    expect(permits(["avatars:read"], "" as Scope)).toBe(false);
  });

  test("the default scopes change nothing in the account", () => {
    expect([...DEFAULT_SCOPES]).toEqual(["realtime:write", "credits:read", "avatars:read"]);
  });
});
