/** The test assets of the reference. Each forces an outcome of a preparation. The page can try them. */
import { TEST_ASSETS, type TestOutcome } from "@realtime-avatar/domain/avatars/test-assets";
import { textHtml } from "../html-page.ts";
import { examplesHtml } from "./code-html.ts";
import type { Operation } from "./document.ts";
import { renderExamples, type Site } from "./examples.ts";

/** The outcome in Markdown, as in docs/preparation.md. */
export const outcomeText = (outcome: TestOutcome): string => {
  switch (outcome.kind) {
    case "ready":
      return outcome.warning === null ? "`ready`" : `\`ready\`, with a warning of \`${outcome.warning}\``;
    case "failed":
      return `\`failed\`, by \`${outcome.check}\``;
    case "internal":
      return "`failed`, for a reason outside of the source";
  }
};

const row = ([id, outcome]: [string, TestOutcome]): string =>
  `<li><div><code>${id}</code> <span>${textHtml(outcomeText(outcome))}</span></div><button type="button" class="plain" data-outcome="${id}" aria-label="Try it: ${id}">Try it</button></li>`;

/** `createAvatar`: the operation that names the test asset. */
export const outcomesHtml = (createAvatar: Operation, site: Site): string => {
  const example = { displayName: "Trial", sourceKind: "image", sourceAssetId: "ast_test_no_face" };
  const operation = { ...createAvatar, body: createAvatar.body && { ...createAvatar.body, example } };
  return `<section aria-labelledby="test-outcomes"><h2 id="test-outcomes">Test outcomes</h2>
<p>A key of the test environment can use these ids as <code>sourceAssetId</code>. Each forces an outcome of the preparation without a file, so that you can test how your program handles it. <b>Try it</b> creates an avatar with a test key, and reads it until it is prepared.</p>
<div class="card columns"><ul class="outcomes">${Object.entries(TEST_ASSETS).map(row).join("")}</ul>
<div>${examplesHtml(renderExamples(operation, site))}<p>Then <a href="#getAvatar">read the avatar</a> until its <code>status</code> is no longer <code>preprocessing</code>.</p></div></div></section>`;
};
