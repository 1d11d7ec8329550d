/** Renders the Markdown of docs as HTML. Bun renders it and escapes HTML in it, so only Markdown creates elements. */

export type Heading = { id: string; level: number; html: string };
export type Rendered = { html: string; headings: Heading[] };

const FENCED = /^(```[\s\S]*?^```)$/m;
/** The markers by which the tests find examples. */
const MARK = /^<!--.*-->\n/gm;

const withoutMarks = (text: string): string =>
  text
    .split(FENCED)
    .map((part) => (part.startsWith("```") ? part : part.replace(MARK, "")))
    .join("");

const OPTIONS = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true } as const;

/** The target of a link in the product. `address`: null if the product does not contain the target. */
export type Target = { address: string | null; title: string };

const linkHtml = ({ address, title }: Target, words: string): string => {
  const shown = /^[\w-]+\.md$/.test(words) ? title : words;
  return address === null ? shown : `<a href="${address}">${shown}</a>`;
};

/**
 * Renders a document. A link text that is a file name becomes the title of its target. A link without an address
 * becomes plain text. Pictures are omitted, because they are only in the repository.
 */
export const renderMarkdown = (text: string, targetOf: (href: string) => Target): Rendered => {
  const html = Bun.markdown
    .html(withoutMarks(text), OPTIONS)
    .replace(/<p><img [^>]*><\/p>\n?/g, "")
    .replace(/<a href="([^"]*)"[^>]*>([\s\S]*?)<\/a>/g, (_, href: string, words: string) =>
      linkHtml(targetOf(href), words),
    )
    // Wide tables and long lines of code can be scrolled, also with the keyboard.
    .replace(/<table>[\s\S]*?<\/table>/g, (table) => `<div class="table" tabindex="0">${table}</div>`)
    .replaceAll("<th>", '<th scope="col">');
  const headings = [...html.matchAll(/<h([1-6]) id="([^"]*)">(.*?)<\/h\1>/g)].map(([, level, id = "", title = ""]) => ({
    id,
    level: Number(level),
    html: title.replace(/<\/?a[^>]*>/g, ""),
  }));
  return { html, headings };
};
