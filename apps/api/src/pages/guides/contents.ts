/** The list of the guides, as HTML. */
import { escapeHtml } from "../html-page.ts";
import { GUIDES } from "./documents.ts";

/** The title of a document: its first line. */
export const readTitle = (text: string): string => /^# (.+)$/m.exec(text)?.[1] ?? "";

/** The list of the guides. `present`: the displayed guide. */
export const guideLinks = (present?: string): string =>
  Object.entries(GUIDES)
    .map(
      ([name, text]) =>
        `<li><a href="/docs/guides/${name}"${name === present ? ' aria-current="page"' : ""}>${escapeHtml(readTitle(text))}</a></li>`,
    )
    .join("");
