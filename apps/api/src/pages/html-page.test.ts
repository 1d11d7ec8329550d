/** Text in pages of the service: it reads back unchanged, and cannot end an element or an attribute. */
import { expect, test } from "bun:test";
import { escapeHtml, htmlPage, textHtml } from "./html-page.ts";
import { codeHtml, fieldRow, markdown } from "./reference/schema-html.ts";

const HOSTILE = `</title></code></p>"><script>x</script>&amp;&#34;"'`;

test("a hostile text, escaped: no character that ends an element or a quoted attribute; reads back unchanged", () => {
  const html = escapeHtml(HOSTILE);
  expect(html).not.toMatch(/[<>"]/);
  expect(html.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))).toBe(HOSTILE);
});

test("a hostile text in each part of a page: escaped", () => {
  const described = { description: HOSTILE, schema: { type: "string" } };
  const parts = [
    ...[textHtml(HOSTILE), codeHtml(HOSTILE), markdown(HOSTILE), markdown(`- ${HOSTILE}`)],
    ...[fieldRow(codeHtml("x"), true, described), htmlPage({ title: HOSTILE, body: "" }).html],
  ];
  for (const html of parts) {
    expect(html).toContain(escapeHtml(HOSTILE));
    expect(html).not.toContain("<script");
  }
});
