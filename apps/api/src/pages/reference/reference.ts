/**
 * `/docs`: the reference of the API, with trial requests. Its Content Security Policy allows requests only to this
 * service, so an entered API key cannot be sent elsewhere.
 */
/// <reference path="./static-files.d.ts" />
import { Elysia } from "elysia";
import type { Dependencies } from "../../dependencies.ts";
import { cookieName } from "../../http/cookie.ts";
import { asPage, redirect } from "../html-page.ts";
import { sendGzip } from "../send-gzip.ts";
import type { ApiDocument } from "./document.ts";
import dom from "./page/dom.js" with { type: "text" };
import key from "./page/key.js" with { type: "text" };
import main from "./page/main.js" with { type: "text" };
import outcomes from "./page/outcomes.js" with { type: "text" };
import trial from "./page/trial.js" with { type: "text" };
import { renderReference } from "./render.ts";

const SCRIPTS = { dom, key, main, outcomes, trial };
const ALLOWED = "script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'";

/** The routes. `describe` returns the OpenAPI document; the page is rendered from it on first use. */
export const referenceRoutes = (describe: () => object, { publicUrl }: Pick<Dependencies, "publicUrl">) => {
  let page: { bytes: Uint8Array<ArrayBuffer>; allowed: string } | null = null;
  const open = () => {
    if (page === null) {
      const site = { publicUrl: publicUrl(), cookie: cookieName(publicUrl()) };
      const { html, allowed } = renderReference(JSON.parse(JSON.stringify(describe())) as ApiDocument, site);
      page = { bytes: Bun.gzipSync(html), allowed: `${allowed}; ${ALLOWED}` };
    }
    return page;
  };
  const routes = new Elysia({ name: "reference" })
    .get("/docs/", ({ set }) => redirect("/docs", set))
    .get("/docs", ({ request, set }) => {
      const { bytes, allowed } = open();
      return sendGzip(asPage(bytes, allowed, set), request, set);
    });
  for (const [name, script] of Object.entries(SCRIPTS)) {
    routes.get(`/docs/${name}.js`, ({ request, set }) => {
      set.headers["content-type"] = "text/javascript; charset=utf-8";
      return sendGzip(Bun.gzipSync(script), request, set);
    });
  }
  return routes;
};
