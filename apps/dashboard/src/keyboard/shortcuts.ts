/** The shortcuts of every page, and the conditions under which a pressed key is one of them. */

export type Shortcut = "search" | "create" | "help" | "palette";

/**
 * The keys without a modifier. A person can turn them off, because speech input enters words as such keys (WCAG 2.2,
 * 2.1.4).
 */
const SINGLE_KEYS = new Map<string, Shortcut>([
  ["/", "search"],
  ["c", "create"],
  ["?", "help"],
]);

type KeyPress = Pick<
  KeyboardEvent,
  "key" | "ctrlKey" | "metaKey" | "altKey" | "repeat" | "isComposing" | "defaultPrevented"
>;

export type KeyContext = {
  /** Whether the focus is in a field. */
  isTyping: boolean;
  /** Whether a dialog or a menu covers the page. */
  isCovered: boolean;
  /** Whether the person has turned on the keys without a modifier. */
  hasSingleKeys: boolean;
  isMac: boolean;
};

/** The action of a pressed key; null for other keys. On a Mac, Ctrl-K deletes to the end of a line. */
export const findShortcut = (pressed: KeyPress, context: KeyContext): Shortcut | null => {
  const { key, ctrlKey, metaKey, altKey, repeat, isComposing, defaultPrevented } = pressed;
  if (defaultPrevented || repeat || isComposing || altKey || context.isCovered) return null;
  if (ctrlKey || metaKey) return key === "k" && (context.isMac ? metaKey && !ctrlKey : !metaKey) ? "palette" : null;
  return context.isTyping || !context.hasSingleKeys ? null : (SINGLE_KEYS.get(key) ?? null);
};

export const IS_MAC = /mac|iphone|ipad/i.test(globalThis.navigator?.platform ?? "");
export const PALETTE_KEYS = IS_MAC ? "⌘K" : "Ctrl K";

/** Fields into which a person types. Includes a select, which jumps to the entry that begins with a letter. */
const TYPED_INTO =
  "textarea, select, [contenteditable]:not([contenteditable=false]), " +
  "input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=file])";

/** The context of the currently pressed key. */
export const keyContext = ({ target }: KeyboardEvent, hasSingleKeys: boolean): KeyContext => ({
  isTyping: target instanceof Element && target.closest(TYPED_INTO) !== null,
  isCovered: document.querySelector("dialog[open], :popover-open") !== null,
  hasSingleKeys,
  isMac: IS_MAC,
});
