/** Pages for people: text that a browser renders, under a policy of its own. */
import type { ResponseHead } from "./request-context.ts";

/** Whatever a page asks for, nobody frames it, and no form or base leads elsewhere. */
const ALWAYS = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Makes `html` the answer. `allowed` is what the page may load; all else it may not (Content Security Policy, level 3). */
export const asPage = (html: string, allowed: string, { headers }: Pick<ResponseHead, "headers">): string => {
  headers["content-type"] = "text/html; charset=utf-8";
  headers["content-security-policy"] = `default-src 'none'; ${allowed}; ${ALWAYS}`;
  headers["cross-origin-opener-policy"] = "same-origin";
  headers["referrer-policy"] = "no-referrer";
  return html;
};
