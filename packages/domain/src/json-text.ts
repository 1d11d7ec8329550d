/**
 * JSON as text. The objects that callers send and the service stores, such as `metadata`, are needed as compact JSON
 * for the size check, the write and the response. The text is built at its first use and cached beside the object.
 */

/** The cached texts, for as long as their objects live. */
const texts = new WeakMap<object, string>();

/** The compact JSON of `value`, cached. `value` must not be changed after the first call. */
export const jsonText = (value: object): string => {
  const cached = texts.get(value);
  if (cached !== undefined) return cached;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
};

/** Whether the members of `value`, and of all values in it, are sorted by name: then its compact JSON is canonical. */
const isSorted = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return true;
  const names = Array.isArray(value) ? [] : Object.keys(value);
  return (
    names.every((name, index) => index === 0 || (names[index - 1] as string) < name) &&
    Object.values(value).every(isSorted)
  );
};

/** Canonical JSON: members sorted by name, no white space (as in RFC 8785). A cached text is used where it is canonical. */
export const canonicalJson = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const cached = texts.get(value);
  if (cached !== undefined && isSorted(value)) return cached;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = value as Record<string, unknown>;
  // Sorted by UTF-16 code units, as RFC 8785 §3.2.3 defines it.
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(members[name])}`).join(",")}}`;
};
