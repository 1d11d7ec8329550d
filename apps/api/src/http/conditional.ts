/** Conditional requests (RFC 9110 §13). The entity tag of a resource is its version. */
import type { FieldError } from "@realtime-avatar/domain/problem";
import type { MatchesVersion } from "@realtime-avatar/domain/transitions";

export const entityTag = ({ version }: { version: number }): string => `"${version}"`;

const TAG = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/.source;
/** `*`, or a list of tags. Empty elements of a list are ignored (§5.6.1). */
export const CONDITION_PATTERN = `^(?:\\*|(?:,[ \\t]*)*${TAG}(?:[ \\t]*,(?:[ \\t]*${TAG})?)*)$`;
/** A longer condition is malformed. */
export const MAX_CONDITION_LENGTH = 1024;
const CONDITION = new RegExp(CONDITION_PATTERN);
/** A version as the service writes it; no other tag matches. */
const VERSION = /^[1-9]\d{0,9}$/;

/** The tags of a list; `*` for any tag; `null` when the header is malformed. */
const tagsOf = (header: string): { tag: string; isWeak: boolean }[] | "*" | null => {
  if (header.length > MAX_CONDITION_LENGTH || !CONDITION.test(header)) return null;
  if (header === "*") return "*";
  return [...header.matchAll(new RegExp(TAG, "g"))].map(([, weak, tag = ""]) => ({ tag, isWeak: weak !== undefined }));
};

export type Expectation = {
  /** The versions in `If-Match`, as text; null when every version matches. */
  versions: readonly string[] | null;
  matches: MatchesVersion;
  errors: readonly FieldError[];
};

/** The condition of a request without `If-Match`, or with `*`. */
export const ANY_VERSION: Expectation = { versions: null, matches: () => true, errors: [] };

/** The condition of `If-Match`. Tags are compared strongly (§13.1.1): a weak tag never matches. */
export const readIfMatch = ({ headers }: Request): Expectation => {
  const header = headers.get("if-match");
  if (header === null) return ANY_VERSION;
  const tags = tagsOf(header);
  if (tags === "*") return ANY_VERSION;
  const versions = (tags ?? []).filter(({ tag, isWeak }) => !isWeak && VERSION.test(tag)).map(({ tag }) => tag);
  const malformed: FieldError = {
    header: "If-Match",
    code: "malformed",
    detail: 'Must be `*`, or entity tags such as `"1"`.',
  };
  return {
    versions,
    matches: (version) => versions.includes(String(version)),
    errors: tags === null ? [malformed] : [],
  };
};

/**
 * Whether `If-None-Match` names `entityTag` (in quotes), so that the caller already has it. Tags are compared weakly
 * (§13.1.2).
 */
export const hasTag = ({ headers }: Request, entityTag: string): boolean => {
  const header = headers.get("if-none-match");
  const tags = header === null ? null : tagsOf(header);
  return tags === "*" || (tags ?? []).some(({ tag }) => `"${tag}"` === entityTag);
};

/** Whether `If-None-Match` names the version. */
export const isKnown = (request: Request, resource: { version: number }): boolean =>
  hasTag(request, entityTag(resource));
