/** `/docs/guides/{name}`: the guides, rendered from the documents of the repository. They have no scripts. */
import { notFound } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import { asPage, escapeHtml, htmlPage, ICON, redirect } from "../html-page.ts";
import { type ApiDocument, documentOperations } from "../reference/document.ts";
import controls from "../reference/page/controls.css" with { type: "text" };
import layout from "../reference/page/layout.css" with { type: "text" };
import { sendGzip } from "../send-gzip.ts";
import { guideLinks, readTitle } from "./contents.ts";
import { GUIDES } from "./documents.ts";
import look from "./guides.css" with { type: "text" };
import { type Heading, renderMarkdown, type Target } from "./markdown.ts";

const STYLE = layout + controls + look;

/** The anchor of a heading, in the form that links in the documents use. */
const slug = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replace(/\s/g, "-");

type Targets = (href: string) => Target;

/** The targets of links in documents. `operations`: operation ids by the anchors of their titles. */
export const resolveLinks =
  (operations: ReadonlyMap<string, string>): Targets =>
  (href) => {
    if (/^https:\/\/[^\s"'<>]+$/.test(href) || /^#[\w-]+$/.test(href)) return { address: href, title: href };
    const [, name = "", anchor = ""] = /^([\w-]+)\.(?:md|json)(?:#([\w-]+))?$/.exec(href) ?? [];
    if (name === "openapi") return { address: "/openapi.json", title: "OpenAPI document" };
    if (name === "api") {
      const operation = operations.get(anchor);
      return { address: operation ? `/docs#${operation}` : "/docs", title: "API reference" };
    }
    const text = Object.hasOwn(GUIDES, name) ? GUIDES[name] : undefined;
    if (text === undefined) return { address: null, title: `<code>docs/${name}.md</code>` };
    return { address: `/docs/guides/${name}${anchor && `#${anchor}`}`, title: escapeHtml(readTitle(text)) };
  };

const bar = `<a class="skip" href="#guide">Skip to the guide</a>
<header class="bar"><a class="brand" href="/dashboard"><img src="${ICON}" alt="Dashboard" width="24" height="24"></a>
<button type="button" class="contents" popovertarget="contents">Contents</button><span class="title">Guides</span>
<a href="/docs">API reference</a></header>`;

const sections = (headings: readonly Heading[]): string =>
  headings
    .filter(({ level }) => level === 2)
    .map(({ id, html }) => `<li><a href="#${id}">${html}</a></li>`)
    .join("");

const renderGuide = (name: string, text: string, targetOf: Targets) => {
  const { html, headings } = renderMarkdown(text, targetOf);
  return htmlPage({
    title: `${readTitle(text)} · Guides`,
    style: STYLE,
    body: `${bar}
<nav id="contents" popover aria-label="Contents"><ul><li><a href="#guide">On this page</a><ul>${sections(headings)}</ul></li>
<li><a href="/docs#guides">Guides</a><ul>${guideLinks(name)}</ul></li></ul></nav>
<main id="guide" tabindex="-1">
${html}</main>`,
  });
};

/** The routes. `describe` returns the OpenAPI document. Links to the reference are resolved by its titles. */
export const guideRoutes = (describe: () => object) => {
  const pages = new Map<string, { bytes: Uint8Array<ArrayBuffer>; allowed: string }>();
  let targetOf: Targets | null = null;
  const open = (name: string) => {
    const text = Object.hasOwn(GUIDES, name) ? GUIDES[name] : undefined;
    if (text === undefined) throw notFound();
    const rendered = pages.get(name);
    if (rendered) return rendered;
    targetOf ??= resolveLinks(
      new Map(
        documentOperations(JSON.parse(JSON.stringify(describe())) as ApiDocument).map(({ summary, operationId }) => [
          slug(summary),
          operationId,
        ]),
      ),
    );
    const { html, allowed } = renderGuide(name, text, targetOf);
    const page = { bytes: Bun.gzipSync(html), allowed };
    pages.set(name, page);
    return page;
  };
  return new Elysia({ name: "guides" })
    .get("/docs/guides", ({ set }) => redirect("/docs#guides", set))
    .get("/docs/guides/", ({ set }) => redirect("/docs#guides", set))
    .get("/docs/guides/:name", ({ params, request, set }) => {
      const { bytes, allowed } = open(params.name);
      return sendGzip(asPage(bytes, allowed, set), request, set);
    });
};
