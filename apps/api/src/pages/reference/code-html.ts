/** Code as HTML, with a button that copies it. */
import { escapeHtml } from "../html-page.ts";
import { type Examples, KEY_TEXTS, LANGUAGES, type Language } from "./examples.ts";

/** Strings, and words of the languages. */
const TOKENS =
  /("(?:[^"\\\n]|\\.)*")|\b(import|from|const|await|for|of|new|print|curl|true|false|null|True|False|None)\b/g;

const highlight = (code: string): string => {
  let html = "";
  let end = 0;
  for (const { 0: token, 1: string, index } of code.matchAll(TOKENS)) {
    const tag = string === undefined ? "b" : "i";
    html += `${escapeHtml(code.slice(end, index))}<${tag}>${escapeHtml(token)}</${tag}>`;
    end = index + token.length;
  }
  return html + escapeHtml(code.slice(end));
};

const figure = (label: string, html: string, language = ""): string =>
  `<figure${language && ` data-in="${language}"`}><figcaption>${label}<button type="button" class="copy" aria-label="Copy: ${label}">Copy</button></figcaption><pre>${html}</pre></figure>`;

/** A value as JSON. */
export const jsonHtml = (label: string, value: unknown): string =>
  value === undefined ? "" : figure(label, escapeHtml(JSON.stringify(value, null, 2)));

/** The examples in all languages. The page shows one of them, and puts a key in place of each `var`. */
export const examplesHtml = (examples: Examples): string =>
  Object.entries(examples)
    .map(([name, code]) => {
      const language = name as Language;
      const { variable, filled } = KEY_TEXTS[language];
      const key = `<var data-filled="${escapeHtml(filled)}">${escapeHtml(variable)}</var>`;
      return figure(LANGUAGES[language], code.split(variable).map(highlight).join(key), language);
    })
    .join("");
