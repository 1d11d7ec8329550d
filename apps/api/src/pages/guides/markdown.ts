/**
 * The Markdown of docs as HTML. Bun renders it, with HTML in it escaped: no text of a document becomes an element that
 * Markdown does not have.
 */

export type Heading = { id: string; level: number; html: string };
export type Rendered = { html: string; headings: Heading[] };

const FENCED = /^(```[\s\S]*?^```)$/m;
/** The marks by which the tests find examples. */
const MARK = /^<!--.*-->\n/gm;

const withoutMarks = (text: string): string =>
  text
    .split(FENCED)
    .map((part) => (part.startsWith("```") ? part : part.replace(MARK, "")))
    .join("");

const OPTIONS = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true } as const;

/** Where a link of a document leads in the product: `address` is null for what the product does not contain. */
export type Target = { address: string | null; title: string };

const linkHtml = ({ address, title }: Target, words: string): string => {
  const shown = /^[\w-]+\.md$/.test(words) ? title : words;
  return address === null ? shown : `<a href="${address}">${shown}</a>`;
};

/**
 * Words that are the name of a file become the title of its target. A link without an address becomes its words. Pictures are left
 * out: they are in the repository.
 */
export const renderMarkdown = (text: string, targetOf: (href: string) => Target): Rendered => {
  const html = Bun.markdown
    .html(withoutMarks(text), OPTIONS)
    .replace(/<p><img [^>]*><\/p>\n?/g, "")
    .replace(/<a href="([^"]*)"[^>]*>([\s\S]*?)<\/a>/g, (_, href: string, words: string) =>
      linkHtml(targetOf(href), words),
    )
    // Wide tables and long lines of code are scrolled, also by the keyboard.
    .replace(/<table>[\s\S]*?<\/table>/g, (table) => `<div class="table" tabindex="0">${table}</div>`)
    .replaceAll("<th>", '<th scope="col">');
  const headings = [...html.matchAll(/<h([1-6]) id="([^"]*)">(.*?)<\/h\1>/g)].map(([, level, id = "", title = ""]) => ({
    id,
    level: Number(level),
    html: title.replace(/<\/?a[^>]*>/g, ""),
  }));
  return { html, headings };
};
