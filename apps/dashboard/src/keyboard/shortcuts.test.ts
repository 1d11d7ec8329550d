import { expect, test } from "bun:test";
import { findShortcut, type KeyContext } from "./shortcuts.ts";

const PRESSED = {
  key: "c",
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  repeat: false,
  isComposing: false,
  defaultPrevented: false,
};
const PAGE: KeyContext = { isTyping: false, isCovered: false, hasSingleKeys: true, isMac: false };

const press = (pressed: Partial<typeof PRESSED>, context: Partial<KeyContext> = {}) =>
  findShortcut({ ...PRESSED, ...pressed }, { ...PAGE, ...context });

test.each([
  ["/", "search"],
  ["c", "create"],
  ["?", "help"],
  ["C", null],
  ["x", null],
] as const)("the key %s, pressed on a page: %s", (key, shortcut) => expect(press({ key })).toBe(shortcut));

test.each([
  ["in a field", {}, { isTyping: true }],
  ["under a dialog", {}, { isCovered: true }],
  ["turned off", {}, { hasSingleKeys: false }],
  ["with Ctrl", { ctrlKey: true }, {}],
  ["with Cmd", { metaKey: true }, {}],
  ["with Alt", { altKey: true }, {}],
  ["held down", { repeat: true }, {}],
  ["of an input method", { isComposing: true }, {}],
  ["that the page has used", { defaultPrevented: true }, {}],
] as const)("a single key, %s: no effect", (_, pressed, context) => {
  for (const key of ["/", "c", "?"]) expect(press({ key, ...pressed }, context)).toBeNull();
});

test("Ctrl-K, pressed: the palette, also in a field and with single keys turned off", () => {
  const pressed = { key: "k", ctrlKey: true };
  expect(press(pressed)).toBe("palette");
  expect(press(pressed, { isTyping: true, hasSingleKeys: false })).toBe("palette");
  expect(press(pressed, { isCovered: true })).toBeNull();
  expect(press({ key: "k", metaKey: true })).toBeNull();
});

test("Cmd-K, pressed on a Mac: the palette; Ctrl-K there: the Mac's own action", () => {
  expect(press({ key: "k", metaKey: true }, { isMac: true })).toBe("palette");
  expect(press({ key: "k", ctrlKey: true }, { isMac: true, isTyping: true })).toBeNull();
});
