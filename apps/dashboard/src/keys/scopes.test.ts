import { expect, test } from "bun:test";
import { SCOPES } from "@realtime-avatar/domain/api-keys/scope";
import { parseFields } from "./fields.tsx";
import { PRESETS } from "./presets.ts";
import { isInAll, offeredScopes, type Scope } from "./scopes.ts";

test("the offered scopes: usage:write only for a key that has it; * is last", () => {
  const [all, offered] = [offeredScopes(["*", "usage:write"]), offeredScopes([])];
  expect([...all].sort()).toEqual([...SCOPES].sort());
  expect(offered).toEqual(all.filter((scope) => scope !== "usage:write"));
  expect([all.at(-1), offered.at(-1)]).toEqual(["*", "*"]);
});

test("every scope that a person may grant, except those for a whole account: in a preset", () => {
  const inPresets = new Set(Object.values(PRESETS).flatMap(({ values }) => values().scopes));
  expect(SCOPES.filter((scope) => !inPresets.has(scope))).toEqual(["*", "api_keys:write", "usage:write"]);
});

test("the form of a key, with *: keeps usage:write, and omits scopes that * includes", () => {
  const scopesOf = (scopes: readonly Scope[]) =>
    parseFields({ name: "n", scopes, cap: "", calls: "", expiry: { choice: "never", chosenAt: 0, date: "" } }, null)
      ?.scopes;
  expect(scopesOf(SCOPES)).toEqual(["*", "usage:write"]);
  expect(scopesOf(["*", "avatars:read"])).toEqual(["*"]);
  expect(scopesOf(["usage:write", "avatars:read"])).toEqual(["usage:write", "avatars:read"]);
  expect(SCOPES.filter((scope) => !isInAll(scope))).toEqual(["*", "usage:write"]);
});
