/**
 * Cross-origin rules of the signed PUT, the only path that pages of other origins may send to: a file goes from the browser of a
 * customer's user to the store, and the URL is the only credential. Cookies and keys are not sent with it.
 */

/** The origins whose pages may upload; null: those of all. */
export type UploadOrigins = readonly string[] | null;

/** The headers that a URL was signed for, as far as a page sets them: a browser sets the length. */
const ALLOWED_HEADERS = "content-type, content-md5";
/** How long a browser keeps the answer to a preflight. As long as a URL lives. */
const MAX_AGE_SECONDS = 900;

/** The headers by which a page of `origin` may read the response; none for other origins. */
export const corsHeaders = (allowed: UploadOrigins, origin: string | null): Record<string, string> => {
  if (allowed === null) return { "access-control-allow-origin": "*", "access-control-expose-headers": "x-request-id" };
  const isAllowed = origin !== null && allowed.includes(origin);
  return {
    vary: "Origin",
    ...(isAllowed ? { "access-control-allow-origin": origin, "access-control-expose-headers": "x-request-id" } : {}),
  };
};

/** The headers of the answer to a preflight. */
export const preflightHeaders = (allowed: UploadOrigins, origin: string | null): Record<string, string> => ({
  ...corsHeaders(allowed, origin),
  "access-control-allow-methods": "PUT",
  "access-control-allow-headers": ALLOWED_HEADERS,
  "access-control-max-age": String(MAX_AGE_SECONDS),
});

const isOrigin = (text: string): boolean =>
  URL.canParse(text) &&
  /^https?:$/.test(new URL(text).protocol) &&
  new URL(text).origin === text &&
  !text.includes("*");

/** Reads `*`, or origins with commas between them; undefined for anything else. */
export const readUploadOrigins = (text: string): UploadOrigins | undefined => {
  if (text === "*") return null;
  const origins = text.split(",").map((part) => part.trim());
  return origins.every(isOrigin) ? origins : undefined;
};
