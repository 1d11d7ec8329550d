import { describe, expect, test } from "bun:test";
import { DEFAULT_SCOPES, permits, SCOPES, type Scope } from "./scope.ts";

describe("permits", () => {
  test("a scope, compared with each scope: permits only itself; *: permits every scope except usage:write", () => {
    for (const held of SCOPES) {
      for (const needed of SCOPES) {
        const isImplied = held === "*" && needed !== "usage:write";
        expect(permits([held], needed)).toBe(held === needed || isImplied);
      }
    }
    expect(permits(["*", "usage:write"], "usage:write")).toBe(true);
  });

  test("a key without scopes, for any scope: refused", () => {
    for (const needed of SCOPES) expect(permits([], needed)).toBe(false);
  });

  test("a write scope, for the read scope: refused; a list of all scopes, for *: refused", () => {
    expect(permits(["avatars:write"], "avatars:read")).toBe(false);
    expect(
      permits(
        SCOPES.filter((scope) => scope !== "*"),
        "*",
      ),
    ).toBe(false);
  });

  test("an unknown scope, without *: refused", () => {
    expect(permits(["avatars:read"], "avatars" as Scope)).toBe(false);
    expect(permits(["avatars:read"], "" as Scope)).toBe(false);
  });

  test("the default scopes, of a new key: permit no change of the account", () => {
    expect([...DEFAULT_SCOPES]).toEqual(["realtime:write", "credits:read", "avatars:read"]);
  });
});
