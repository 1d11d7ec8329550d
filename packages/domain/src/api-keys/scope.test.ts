import { describe, expect, test } from "bun:test";
import { DEFAULT_SCOPES, permits, SCOPES, type Scope } from "./scope.ts";

describe("permits", () => {
  test("a scope permits only itself, and * every scope except usage:write", () => {
    for (const held of SCOPES) {
      for (const needed of SCOPES) {
        const isImplied = held === "*" && needed !== "usage:write";
        expect(permits([held], needed)).toBe(held === needed || isImplied);
      }
    }
    expect(permits(["*", "usage:write"], "usage:write")).toBe(true);
  });

  test("an empty list of scopes permits nothing", () => {
    for (const needed of SCOPES) expect(permits([], needed)).toBe(false);
  });

  test("write does not imply read, and all other scopes together do not imply *", () => {
    expect(permits(["avatars:write"], "avatars:read")).toBe(false);
    expect(
      permits(
        SCOPES.filter((scope) => scope !== "*"),
        "*",
      ),
    ).toBe(false);
  });

  test("only * permits an unknown scope", () => {
    expect(permits(["avatars:read"], "avatars" as Scope)).toBe(false);
    expect(permits(["avatars:read"], "" as Scope)).toBe(false);
  });

  test("the default scopes change nothing in the account", () => {
    expect([...DEFAULT_SCOPES]).toEqual(["realtime:write", "credits:read", "avatars:read"]);
  });
});
