/** HTML pages and their Content Security Policy. */
import { createHash } from "node:crypto";
import type { ResponseHead } from "../http/response.ts";

/** The rules for all pages: no framing, and no form or base with another target. */
const ALWAYS = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Sends `html`. `allowed`: the resources that the page may load. All others are forbidden (Content Security Policy
 * Level 3).
 */
export const asPage = <Html extends string | Uint8Array>(
  html: Html,
  allowed: string,
  { headers }: Pick<ResponseHead, "headers">,
): Html => {
  headers["content-type"] = "text/html; charset=utf-8";
  headers["content-security-policy"] = `default-src 'none'; ${allowed}; ${ALWAYS}`;
  headers["cross-origin-opener-policy"] = "same-origin";
  headers["referrer-policy"] = "no-referrer";
  return html;
};

/** Whether the client is a browser, which accepts HTML explicitly. Programs accept JSON or anything. */
export const wantsHtml = (request: Request): boolean => {
  const accept = request.headers.get("accept") ?? "";
  return /text\/html/i.test(accept) && !/json/i.test(accept);
};

/** Redirects to the page at `location`: permanently (308) or temporarily (307). */
export const redirect = (location: string, set: ResponseHead, status: 307 | 308 = 308): string => {
  set.status = status;
  (set.headers as Record<string, string>)["location"] = location;
  return "";
};

/** The style of pages without further files: the colours of the dashboard, light and dark. */
const STYLE = `:root{color-scheme:light dark;--page:light-dark(#f5f6f8,#0d0f13);--surface:light-dark(#fff,#161920);--raised:light-dark(#eef0f4,#22262f);--field:light-dark(#858d9b,#6b7484);--line:light-dark(#d9dde4,#2e343f);--text:light-dark(#14171c,#eceef2);--muted:light-dark(#525a68,#a6aebb);--accent:light-dark(#4338ca,#b3bcff);--fill:light-dark(#4338ca,#4f46e5)}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:.9375rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:44rem;margin:3rem auto;padding:0 1rem}
a{color:var(--accent)}
code,pre,textarea{font:.8125rem/1.5 ui-monospace,monospace}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`;

/** The logo of the product, the same as `apps/dashboard/src/icon.svg`. */
export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%234f46e5'/%3E%3Ccircle cx='16' cy='10.5' r='5' fill='%23fff'/%3E%3Cpath d='M6.5 23.8v1.2M11.25 21v4M16 20v5M20.75 21v4M25.5 23.8v1.2' fill='none' stroke='%23fff' stroke-width='3.4' stroke-linecap='round'/%3E%3C/svg%3E";

/** A whole page, and the directives that its policy must allow. `style`: added to the common style. `body`: HTML. */
export const htmlPage = ({ title, style = "", head = "", body }: Record<"title" | "body", string> & HtmlParts) => {
  const css = STYLE + style;
  const hash = createHash("sha256").update(css).digest("base64");
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${ICON}">
<style>${css}</style>
${head}</head>
<body>
${body}
</body>
</html>
`;
  return { html, allowed: `style-src 'sha256-${hash}'; img-src data:` };
};
type HtmlParts = { style?: string; head?: string };

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Text of the service as HTML: escaped, with text between backquotes as code. */
export const textHtml = (text: string): string =>
  escapeHtml(text).replace(/`([^`]+)`/g, (_, code: string) => `<code>${code}</code>`);
