/** The reference of the API as HTML, from the OpenAPI document. */
import { guideLinks } from "../guides/contents.ts";
import { escapeHtml, htmlPage, ICON } from "../html-page.ts";
import { type ApiDocument, documentEvents, documentOperations, type Operation, type Schema } from "./document.ts";
import { LANGUAGES, type Site } from "./examples.ts";
import { eventsHtml, operationHtml, sharedHtml } from "./operation-html.ts";
import { outcomesHtml } from "./outcomes.ts";
import controls from "./page/controls.css" with { type: "text" };
import layout from "./page/layout.css" with { type: "text" };
import { FIELD_HEADS, markdown, renderRows, renderType, table } from "./schema-html.ts";
import { TEST_KEY, TEST_KEY_MINUTES } from "./test-key.ts";

const schemaHtml = ([name, schema]: [string, Schema]): string =>
  `<details id="schema-${name}"><summary><h3><code>${name}</code></h3></summary>
${markdown(schema.description ?? "")}${schema.properties ? "" : `<p>${renderType(schema)}</p>`}
${table("Fields", FIELD_HEADS, renderRows(schema))}</details>`;

const anchorOf = (tag: string): string => tag.toLowerCase().replaceAll(" ", "-");

const link = (anchor: string, text: string): string => `<a href="#${anchor}">${escapeHtml(text)}</a>`;

const group = (anchor: string, title: string, items: readonly Operation[]): string =>
  `<li>${link(anchor, title)}<ul>${items.map(({ operationId, summary }) => `<li>${link(operationId, summary)}</li>`).join("")}</ul></li>`;

/** The choice of the language. The style sheet shows the examples of the checked language, so this needs no script. */
const languages = Object.entries(LANGUAGES)
  .map(
    ([name, label], index) =>
      `<label><input class="quiet" type="radio" name="language" id="in-${name}"${index === 0 ? " checked" : ""}>${label}</label>`,
  )
  .join("");

const bar = `<a class="skip" href="#reference">Skip to the reference</a>
<header class="bar"><a class="brand" href="/dashboard"><img src="${ICON}" alt="Dashboard" width="24" height="24"></a>
<button type="button" class="contents" popovertarget="contents">Contents</button><span class="title">API reference</span>
<fieldset><legend class="quiet">Language of the examples</legend>${languages}</fieldset><a id="key-link" href="#your-key">No test key</a></header>`;

const keyCard = ({ publicUrl }: Site): string =>
  `<section id="your-key" class="card" aria-labelledby="your-key-title" data-origin="${escapeHtml(publicUrl)}" data-minutes="${TEST_KEY_MINUTES}" data-request="${escapeHtml(JSON.stringify(TEST_KEY))}">
<h2 id="your-key-title">Your test key</h2>
<div id="key-absent"><p><button type="button" id="key-create">Use a test key</button></p>
<p>Creates a key of the test environment in your name, and puts it into the examples and trials of this page. It lasts ${TEST_KEY_MINUTES} minutes, spends at most ${TEST_KEY.spendLimitCreditMicros / 1_000_000} credits, and has every scope but <code>*</code> and <code>usage:write</code>. It is kept in the memory of this page alone, and revoked when you close it.</p>
<label>Or enter one of your own <input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="rta_test_…"></label></div>
<div id="key-present" hidden><p><code id="key-name"></code> <span id="key-end"></span></p><p><button type="button" id="key-copy">Copy the key</button> <button type="button" id="key-forget" class="plain">Forget it</button></p></div>
<p id="key-status" role="status"></p></section>`;

/** The page, and the directives that its policy must allow. */
export const renderReference = (document: ApiDocument, site: Site) => {
  const operations = documentOperations(document);
  const events = documentEvents(document);
  // The tag of the events has no operations. The events have a separate section.
  const groups = document.tags
    .map((tag) => ({ ...tag, items: operations.filter(({ tags }) => tags[0] === tag.name) }))
    .filter(({ items }) => items.length > 0);
  const links = groups.map(({ name, items }) => group(anchorOf(name), name, items));
  const sections = groups.map(
    ({ name, description, items }) =>
      `<section aria-labelledby="${anchorOf(name)}"><h2 id="${anchorOf(name)}">${name}</h2>${markdown(description)}
${items.map((operation) => operationHtml(operation, site)).join("\n")}</section>`,
  );
  const { info, components } = document;
  const createAvatar = operations.find(({ operationId }) => operationId === "createAvatar") as Operation;
  return htmlPage({
    title: `API reference · ${info.title}`,
    style: layout + controls,
    head: '<script type="module" src="/docs/main.js"></script>\n',
    body: `${bar}
<nav id="contents" popover aria-label="Contents"><label><span class="quiet">Find</span><input id="find" type="search" placeholder="Press / to find"></label>
<ul><li>${link("guides", "Guides")}<ul>${guideLinks()}</ul></li><li>${link("your-key", "Your test key")}</li><li>${link("test-outcomes", "Test outcomes")}</li><li>${link("every-request", "Every request")}</li>${links.join("")}
${group("webhook-events", "Webhook events", events)}<li>${link("schemas", "Schemas")}</li></ul></nav>
<main id="reference" tabindex="-1"><h1>API reference</h1>${markdown(info.description)}
<p>${info.title}, version ${info.version}. <a href="/openapi.json">OpenAPI document</a></p>
<p>The examples in TypeScript use the typed client, which is in the repository of the service (<code>packages/client</code>), not on npm. Those in Python use <code>requests</code>.</p>
<section aria-labelledby="guides"><h2 id="guides">Guides</h2><ul>${guideLinks()}</ul></section>
${keyCard(site)}
${outcomesHtml(createAvatar, site)}
${sharedHtml(document)}
${sections.join("\n")}
${eventsHtml(events)}
<section aria-labelledby="schemas"><h2 id="schemas">Schemas</h2>
${Object.entries(components.schemas).map(schemaHtml).join("\n")}</section>
<p id="none-found" role="status"></p></main>`,
  });
};
