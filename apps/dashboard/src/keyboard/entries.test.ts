import { expect, test } from "bun:test";
import { findEntries, type Reader } from "./entries.ts";

const OWNER: Reader = { environment: "live", canCreate: true, canInvite: true };
const ID = "01h455vb4pex5vsknk084sn02q";
const names = (text: string, reader = OWNER) => findEntries(text, reader).map(({ name }) => name);

test("the palette, opened: every page first, then the actions", () => {
  expect(names("")).toEqual([
    "Home",
    "Keys",
    "Avatars",
    "Videos",
    "Usage",
    "Webhooks",
    "Audit",
    "People",
    "Create a live key",
    "Create an avatar",
    "Create a webhook endpoint",
    "Create an invitation",
    "Switch to the test environment",
    "API reference",
    "Keyboard shortcuts",
  ]);
});

test("the palette, a text typed: entries with each of its words, in any case and order", () => {
  expect(names("  WEBHOOK create ")).toEqual(["Create a webhook endpoint"]);
  expect(names("keys")).toEqual(["Keys"]);
  expect(names("key")).toEqual(["Keys", "Create a live key", "Keyboard shortcuts"]);
  expect(names("(a+)+$")).toEqual([]);
});

test("the palette, for a viewer: only allowed actions", () => {
  const viewer = { environment: "test", canCreate: false, canInvite: false } as const;
  expect(names("create", viewer)).toEqual([]);
  expect(names("switch", viewer)).toEqual(["Switch to the live environment"]);
});

test.each([
  ["key", { kind: "page", to: "/keys", search: { key: `key_${ID}`, all: true } }],
  ["ava", { kind: "page", to: "/avatars", search: { avatar: `ava_${ID}` } }],
  ["vid", { kind: "page", to: "/videos", search: { video: `vid_${ID}` } }],
  ["ses", { kind: "page", to: "/usage", search: { session: `ses_${ID}` } }],
  ["whe", { kind: "page", to: "/webhooks", search: { endpoint: `whe_${ID}` } }],
] as const)("an id of the kind %s, typed: links to the object and to its audit trail", (prefix, target) => {
  const [open, trail, ...rest] = findEntries(` ${prefix}_${ID} `, OWNER);
  expect(open?.target).toEqual(target);
  expect(trail?.target).toEqual({ kind: "page", to: "/audit", search: { target: `${prefix}_${ID}` } });
  expect(rest).toEqual([]);
});

test("an id without a page, typed: only a link to its audit trail", () => {
  expect(names(`ast_${ID}`)).toEqual([`Audit trail of ast_${ID}`]);
});
