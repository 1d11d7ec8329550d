/**
 * `/docs`: the reference of the API, with trial requests. The page loads and calls nothing but this service, enforced by its
 * Content Security Policy: an API key that is entered there cannot be sent anywhere else.
 */
/// <reference path="./static-files.d.ts" />
import { Elysia } from "elysia";
import { asPage, redirect } from "../../http/html-page.ts";
import type { ResponseHead } from "../../http/response.ts";
import { type ApiDocument, renderReference } from "./render.ts";
import script from "./try-it.js" with { type: "text" };

const ALLOWED = "script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'";

/** Marks a response as compressed. Every browser that can run the page supports it. */
const compressed = (bytes: Uint8Array<ArrayBuffer>, set: Pick<ResponseHead, "headers">): Uint8Array<ArrayBuffer> => {
  (set.headers as Record<string, string>)["content-encoding"] = "gzip";
  return bytes;
};

/** The routes. `describe` returns the OpenAPI document; the page is rendered from it on first use. */
export const referenceRoutes = (describe: () => object) => {
  let page: { bytes: Uint8Array<ArrayBuffer>; allowed: string } | null = null;
  const open = () => {
    if (page === null) {
      const { html, allowed } = renderReference(JSON.parse(JSON.stringify(describe())) as ApiDocument);
      page = { bytes: Bun.gzipSync(html), allowed: `${allowed}; ${ALLOWED}` };
    }
    return page;
  };
  return new Elysia({ name: "reference" })
    .get("/docs/", ({ set }) => redirect("/docs", set))
    .get("/docs", ({ set }) => {
      const { bytes, allowed } = open();
      return compressed(asPage(bytes, allowed, set), set);
    })
    .get("/docs/try-it.js", ({ set }) => {
      set.headers["content-type"] = "text/javascript; charset=utf-8";
      return compressed(Bun.gzipSync(script), set);
    });
};
