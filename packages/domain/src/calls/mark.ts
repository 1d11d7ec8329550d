/** The text in each picture of an avatar that tells people that the person is artificial (EU AI Act, article 50). */

export const DEFAULT_MARK = "AI";
/** The value of the setting for an operator who informs people in another way. */
export const NO_MARK = "none";
export const MAX_MARK_LENGTH = 16;
/** The characters that can be drawn without a font. */
export const MARK_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .-";

export const MARK_FORM = `1 to ${MAX_MARK_LENGTH} capital letters, digits, spaces, dots or hyphens, or \`${NO_MARK}\``;

/** The text to draw for a value of the setting, empty for `NO_MARK`; undefined when it is not valid. */
export const readMark = (value: string): string | undefined => {
  if (value === NO_MARK) return "";
  const isValid =
    value.length <= MAX_MARK_LENGTH && value.trim() !== "" && [...value].every((one) => MARK_CHARACTERS.includes(one));
  return isValid ? value : undefined;
};
