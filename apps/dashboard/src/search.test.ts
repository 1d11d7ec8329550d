import { expect, test } from "bun:test";
import { type Search, validateSearch } from "./search.ts";
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

test("the sign-in from a page: returns to it, and to no other address", () => {
  expect(keepPlace("/usage", { days: 7, ended: true }, false)).toEqual({ days: 7, to: "/usage" });
  const filters = { actor: "usr_1", since: "2026-01-01", until: "2026-01-31" };
  expect(keepPlace("/audit", filters, false)).toEqual({ ...filters, to: "/audit" });
  expect(keepPlace("/usage", { tab: "calls" }, false)).toEqual({ tab: "calls", to: "/usage" });
  expect(keepPlace("/dashboard/audit", {}, false)).toEqual({ to: "/audit" });
  expect(keepPlace("/dashboard", { environment: "test" }, true)).toEqual({ environment: "test", to: "/", ended: true });
  expect(keepPlace("/keys", { key: ID }, true)).toEqual({ key: ID, to: "/keys", ended: true });
  expect(keepPlace("/sign-in", { key: ID }, true)).toEqual({ ended: true });
  expect(placeToKeep({ to: "/audit", target: ID, ended: true })).toEqual({ to: "/audit", search: { target: ID } });
  expect(placeToKeep({ ended: true })).toEqual({ to: "/", search: {} });
});

/** A value of each parameter. The compiler requires one for a new parameter. */
const EACH: Required<Search> = {
  ...{
    environment: "test",
    key: ID,
    avatar: ID,
    video: ID,
    session: ID,
    call: ID,
    endpoint: ID,
    delivery: ID,
    tab: "calls",
    days: 7,
    all: true,
  },
  ...{ filter: "a", create: true, since: "2026-11-20", until: "2026-11-21", ended: true, to: "/usage", action: "a.b" },
  ...{ target: ID, actor: ID, status: "failed", event: "avatar.prepared", tenant: ID, problem: "denied" },
};

test("each parameter, read from an address: valid", () => expect(validateSearch(EACH)).toEqual(EACH));

test("each parameter of a page: unchanged after a sign-in; parameters of the sign-in and of dialogs are dropped", () => {
  const { create: _, ended: _ended, to: _to, tenant: _tenant, problem: _problem, ...ofPage } = EACH;
  const kept = keepPlace("/usage", EACH, false);
  expect(kept).toEqual({ ...ofPage, to: "/usage" });
  expect(placeToKeep(validateSearch(kept))).toEqual({ to: "/usage", search: ofPage });
});
