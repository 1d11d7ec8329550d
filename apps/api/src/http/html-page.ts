/** HTML pages and their Content Security Policy. */
import type { ResponseHead } from "./response.ts";

/** The rules for all pages: no framing, and no form or base with another target. */
const ALWAYS = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sends `html`. `allowed` lists what the page may load; everything else is forbidden (Content Security Policy Level 3). */
export const asPage = (html: string, allowed: string, { headers }: Pick<ResponseHead, "headers">): string => {
  headers["content-type"] = "text/html; charset=utf-8";
  headers["content-security-policy"] = `default-src 'none'; ${allowed}; ${ALWAYS}`;
  headers["cross-origin-opener-policy"] = "same-origin";
  headers["referrer-policy"] = "no-referrer";
  return html;
};
