/** `/docs/guides/{name}`: the content of the pages, and the targets of their links. */
import { expect, test } from "bun:test";
import { startApi } from "../../../test/support/api.ts";
import { GUIDES } from "./documents.ts";
import { resolveLinks } from "./guides.ts";
import { renderMarkdown } from "./markdown.ts";

const api = await startApi();
const NAMES = Object.keys(GUIDES);
const open = async (name: string): Promise<string> => (await api.call("GET", `/docs/guides/${name}`)).text;
const idsOf = (html: string): Set<string> => new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id));

test("HTML in a document: shown as text", () => {
  const hostile = `# <b>A</b>\n\n<script>x</script>\n\n<!-- example -->\n\`\`\`html\n<!-- kept -->\n<script>y</script>\n\`\`\`\n\n[a](javascript:x) <img src=x onerror=y>\n\n![b](c.png)\n`;
  const { html, headings } = renderMarkdown(hostile, resolveLinks(new Map()));
  expect(html.replace(/<\/?(h1|p|pre|code)( id="[\w-]*"| class="[\w-]*")?>/g, "")).not.toMatch(/<[^!]/);
  expect(html).not.toMatch(/<[^>]*(href|src)=|example/);
  expect(html).toContain("&lt;!-- kept --&gt;");
  expect(headings).toMatchObject([{ level: 1 }]);
});

test("a link of a document: to its guide, its operation or another site; without a target, only its text", () => {
  const link = resolveLinks(new Map([["create-an-avatar", "createAvatar"]]));
  const expected: [href: string, address: string | null][] = [
    ["calls.md#the-end", "/docs/guides/calls#the-end"],
    ["api.md#create-an-avatar", "/docs#createAvatar"],
    ["api.md#totals", "/docs"],
    ["openapi.json", "/openapi.json"],
    ["#order", "#order"],
    ["https://docs.livekit.io", "https://docs.livekit.io"],
    ["operations.md", null],
    ["../README.md#start", null],
    ["constructor.md", null],
    ["javascript:alert(1)", null],
    [`https://a.example/"onclick="x`, null],
  ];
  expect(expected.map(([href]) => [href, link(href).address] as [string, string | null])).toEqual(expected);
  const { html } = renderMarkdown("[calls.md](calls.md), [operations.md](operations.md), [Read](api.md)", link);
  expect(html).toBe(
    '<p><a href="/docs/guides/calls">Calls</a>, <code>docs/operations.md</code>, <a href="/docs">Read</a></p>\n',
  );
});

test("each guide: no script, no marker of the tests; each internal link has a target", async () => {
  const reference = idsOf((await api.call("GET", "/docs")).text);
  const pages = new Map(await Promise.all(NAMES.map(async (name) => [name, await open(name)] as const)));
  const broken: string[] = [];
  for (const [name, html] of pages) {
    expect(html).toContain("<h1");
    expect(html.replaceAll(/<pre>[\s\S]*?<\/pre>/g, "")).not.toMatch(/<script|<img src="(?!data:)|&lt;!--/);
    const hrefs = [...html.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = ""]) => href);
    expect(hrefs.filter((href) => href.startsWith("/docs/guides/")).length).toBeGreaterThanOrEqual(NAMES.length);
    for (const href of hrefs.filter((one) => one.startsWith("#") || one.startsWith("/docs"))) {
      const [path = "", anchor] = href.split("#");
      const [, guide] = /^\/docs\/guides\/(.+)$/.exec(path) ?? [];
      const target = path === "" ? html : guide === undefined ? null : (pages.get(guide) ?? "");
      const ids = target === null ? reference : idsOf(target);
      if (ids.size === 0 || (anchor !== undefined && !ids.has(anchor))) broken.push(`${name}: ${href}`);
    }
  }
  expect(broken).toEqual([]);
});

test("the policy of a guide: no script, no other origin", async () => {
  const { status, headers } = await api.call("GET", "/docs/guides/calls");
  expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/script-src|connect-src|unsafe/);
});

test("a guide that does not exist: 404; the list of guides: on /docs", async () => {
  for (const name of ["none", "constructor", "__proto__", "calls.md", "..%2fapi"]) {
    expect((await api.call("GET", `/docs/guides/${name}`)).status).toBe(404);
  }
  for (const path of ["/docs/guides", "/docs/guides/"]) {
    const { status, headers } = await fetch(api.url + path, { redirect: "manual" });
    expect([status, headers.get("location")]).toEqual([308, "/docs#guides"]);
  }
  const reference = (await api.call("GET", "/docs")).text;
  for (const name of NAMES) expect(reference).toContain(`href="/docs/guides/${name}"`);
});
