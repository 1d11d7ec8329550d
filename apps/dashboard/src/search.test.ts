import { expect, test } from "bun:test";
import { validateSearch } from "./search.ts";
import { keepPlace, placeToKeep } from "./sign-in/place.ts";

const ID = "key_01h455vb4pex5vsknk084sn02q";

test.each([
  [{ to: "/usage" }, { to: "/usage" }],
  [{ create: true }, { create: true }],
  [{ create: "yes" }, {}],
  [{ to: "https://example.com" }, {}],
  [{ to: "//example.com/keys" }, {}],
  [{ to: "/keys/../sign-in" }, {}],
  [{ to: ["/usage"] }, {}],
  [
    { status: "failed", event: "avatar.prepared", endpoint: "whe_1" },
    { status: "failed", event: "avatar.prepared" },
  ],
  [
    { since: "2026-02-28", until: "2026-13-01", filter: 7 },
    { since: "2026-02-28", filter: "7" },
  ],
  [{ ended: "true", key: "key_1", days: "7", all: 1 }, {}],
  [
    { ended: true, key: ID, days: 7, environment: "test" },
    { ended: true, key: ID, days: 7, environment: "test" },
  ],
  [
    { actor: ID, since: "2026-11-20", until: "2026-11-20" },
    { actor: ID, since: "2026-11-20", until: "2026-11-20" },
  ],
  [{ actor: "Ada", since: "yesterday", until: "2026-13-45" }, {}],
] as const)("the search, %j: valid part %j", (search, valid) => expect(validateSearch(search)).toEqual(valid));

test("the sign-in, leaving a page: leads back to it, and to no other address", () => {
  expect(keepPlace("/usage", { days: 7, ended: true }, false)).toEqual({ days: 7, to: "/usage" });
  expect(keepPlace("/dashboard/audit", {}, false)).toEqual({ to: "/audit" });
  expect(keepPlace("/dashboard", { environment: "test" }, true)).toEqual({ environment: "test", to: "/", ended: true });
  expect(keepPlace("/keys", { key: ID }, true)).toEqual({ key: ID, to: "/keys", ended: true });
  expect(keepPlace("/sign-in", { key: ID }, true)).toEqual({ ended: true });
  expect(placeToKeep({ to: "/audit", target: ID, ended: true })).toEqual({ to: "/audit", search: { target: ID } });
  expect(placeToKeep({ ended: true })).toEqual({ to: "/", search: {} });
});
