/**
 * Cross-origin rules of the signed PUT. Only this path accepts requests from pages of other origins: the browser of a
 * customer's user sends a file to the store. The URL is the only credential. Cookies and keys are not sent with it.
 */

/** The origins whose pages may upload; null: all origins. */
export type UploadOrigins = readonly string[] | null;

/** The signed headers that a page sets itself. The browser sets the length. */
const ALLOWED_HEADERS = "content-type, content-md5";
/** How long a browser caches the response to a preflight: the lifetime of a URL. */
const MAX_AGE_SECONDS = 900;

/** The headers that allow a page of `origin` to read the response; empty for other origins. */
export const corsHeaders = (allowed: UploadOrigins, origin: string | null): Record<string, string> => {
  if (allowed === null) return { "access-control-allow-origin": "*", "access-control-expose-headers": "x-request-id" };
  const isAllowed = origin !== null && allowed.includes(origin);
  return {
    vary: "Origin",
    ...(isAllowed ? { "access-control-allow-origin": origin, "access-control-expose-headers": "x-request-id" } : {}),
  };
};

/** The headers of the response to a preflight. */
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

/** Reads `*`, or origins separated by commas; undefined for any other text. */
export const readUploadOrigins = (text: string): UploadOrigins | undefined => {
  if (text === "*") return null;
  const origins = text.split(",").map((part) => part.trim());
  return origins.every(isOrigin) ? origins : undefined;
};
