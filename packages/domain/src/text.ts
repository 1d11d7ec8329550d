/** Rules for text. Lengths count Unicode code points, as in JSON Schema and PostgreSQL. */

/** The maximum length of the names of tenants, keys, people and passkeys. */
export const MAX_NAME_LENGTH = 120;
/** The maximum length of the name of an avatar. */
export const MAX_DISPLAY_NAME_LENGTH = 160;
/** The maximum length of a URL. */
export const MAX_URL_LENGTH = 2048;
/** The maximum length of the description of a webhook endpoint. */
export const MAX_DESCRIPTION_LENGTH = 200;

/** The number of code points in a well-formed string. */
export const codePointLength = (text: string): number => {
  let length = text.length;
  for (let index = 0; index < text.length; index++) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xd800) length--;
  }
  return length;
};

/** Whether PostgreSQL can store `text`: it accepts neither U+0000 nor an unpaired surrogate. */
export const isStorableText = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** Characters that move the cursor, change colours, hide text, or show it in another order. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Escapes control and formatting characters in untrusted text (`\u{1b}`), so that it cannot affect a terminal. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** `printable` for text of several lines. Line feeds are not escaped. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Escapes such characters in JSON, as far as `JSON.stringify` does not. The value and the space between tokens are
 * unchanged.
 */
export const printableJson = (json: string): string =>
  json.replace(UNPRINTABLE, (character) => (character < " " ? character : character.replace(/./gs, escapeUnit)));
