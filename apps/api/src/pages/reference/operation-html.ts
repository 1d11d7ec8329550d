/** Operations and events of webhooks as HTML. */
import { escapeHtml, textHtml } from "../html-page.ts";
import { examplesHtml, jsonHtml } from "./code-html.ts";
import { type ApiDocument, type Operation, type Parameter, type Response, requiredCaller } from "./document.ts";
import { type Examples, renderExamples, type Site } from "./examples.ts";
import { codeHtml, FIELD_HEADS, fieldRow, markdown, renderRows, renderType, table } from "./schema-html.ts";
import { TEST_KEY } from "./test-key.ts";

/** The problems of a response, each with a link to its explanation; or the description of a success. */
const responseRow = ([status, { description, content = {}, headers = {} }]: [string, Response]): string => {
  const codes = Object.keys(content["application/problem+json"]?.examples ?? {});
  const problems = codes.map((name) => `<a href="/problems/${name}"><code>${name}</code></a>`).join(", ");
  const schema = content["application/json"]?.schema;
  const names = Object.keys(headers).map(codeHtml).join(", ");
  const success = `${textHtml(description)}${schema ? ` ${renderType(schema)}` : ""}${names && ` Headers: ${names}.`}`;
  return `<tr><td>${status}</td><td>${problems || success}</td></tr>`;
};

/** Headers that any request can have. The page shows them once. */
const SHARED_HEADERS = ["X-Request-Id", "traceparent", "Realtime-Avatar-Environment"];
const isShared = ({ name }: Parameter): boolean => SHARED_HEADERS.includes(name);

const parameterTable = (label: string, parameters: readonly Parameter[], level?: string): string =>
  table(
    label,
    ["Name", "Type", "Description"],
    parameters.map(({ name, in: where, required, description, schema }) =>
      fieldRow(`<code>${name}</code> ${where}`, required === true, { description, schema }),
    ),
    level,
  );

/** The common part of all operations. */
export const sharedHtml = ({ components }: ApiDocument): string =>
  `<section class="card" aria-labelledby="every-request"><h2 id="every-request">Every request</h2>${parameterTable("Headers", Object.values(components.parameters).filter(isShared), "h3")}</section>`;

/** The callers of an operation that keys cannot call. */
const CALLER_NOTES = {
  key: "",
  anyone: "",
  person:
    '<p class="note">Pages of the service call this with the cookie of a person’s session. Keys cannot. The examples in curl and Python send the headers of a browser, but no script can read the cookie.</p>',
  browser: '<p class="note">The pages with which people sign in call this.</p>',
};

/** The button of a trial, or a note that the test key of the page lacks the scope. */
const trialHtml = ({ operationId, summary, "x-required-scope": scope }: Operation): string => {
  const isBeyond = scope !== undefined && !TEST_KEY.scopes.some((one) => one === scope);
  const note = `<p>The test key of this page lacks the scope <code>${scope}</code>. Enter a key that has.</p>`;
  return `<button type="button" data-operation="${operationId}" aria-label="Try it: ${escapeHtml(summary)}">Try it</button>${isBeyond ? note : ""}`;
};

export const operationHtml = (operation: Operation, site: Site): string => {
  const { operationId, method, path, summary, description, body, responses } = operation;
  const caller = requiredCaller(operation);
  const success = Object.entries(responses).find(([, one]) => one.content?.["application/json"]?.example !== undefined);
  return `<details id="${operationId}"><summary><h3><span class="${method}">${method}</span> <code>${path}</code></h3> <span>${escapeHtml(summary)}</span></summary>
<div class="columns"><div>${markdown(description)}${CALLER_NOTES[caller]}
${parameterTable(
  "Parameters",
  operation.parameters.filter((one) => !isShared(one)),
)}
${body ? table("Body", FIELD_HEADS, renderRows(body.schema)) : ""}
${table("Responses", ["Status", "Response"], Object.entries(responses).map(responseRow))}</div>
<div>${examplesHtml(renderExamples(operation, site))}
${caller === "key" ? trialHtml(operation) : ""}
${success ? jsonHtml(`Response ${success[0]}`, success[1].content?.["application/json"]?.example) : ""}</div></div></details>`;
};

/** How a receiver verifies an event with the libraries of Standard Webhooks, and the request in curl. */
const receiverExamples = ({ parameters, body }: Operation): Examples => ({
  curl: [
    "curl -sS -X POST http://localhost:4000/hooks",
    ...parameters.map(({ name, example }) => `-H "${name}: ${example}"`),
    '-H "Content-Type: application/json"',
    `-d '${JSON.stringify(body?.example).replaceAll("'", "'\\''")}'`,
  ].join(" \\\n  "),
  typescript: `import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? "");

/** \`body\`: the bytes of the request. Throws when the signature is wrong. */
export const receive = (body: string, headers: Record<string, string>) => {
  const event = webhook.verify(body, headers) as { type: string; data: { id: string } };
  console.log(event.type, event.data.id);
};`,
  python: `import os

from standardwebhooks import Webhook

webhook = Webhook(os.environ["WEBHOOK_SECRET"])

def receive(body: bytes, headers: dict[str, str]) -> None:
    """Raises WebhookVerificationError when the signature is wrong."""
    event = webhook.verify(body, headers)
    print(event["type"], event["data"]["id"])`,
});

const eventHtml = ({ operationId, path, description, body }: Operation): string => {
  const resource = body?.schema.properties?.["data"]?.properties?.["resource"];
  return `<details id="${operationId}"><summary><h3><span>EVENT</span> <code>${path}</code></h3> <span>${textHtml(description)}</span></summary>
<div class="columns"><div>${markdown(description)}<p>The <code>data.resource</code> of the body is ${resource ? renderType(resource) : ""}, as the API shows it.</p></div>
<div>${jsonHtml(path, body?.example)}</div></div></details>`;
};

/** The events of webhooks, below their common part. */
export const eventsHtml = (events: readonly Operation[]): string => {
  const [first] = events;
  if (!first) return "";
  return `<section aria-labelledby="webhook-events"><h2 id="webhook-events">Webhook events</h2>
<p>The service sends these to <a href="#createWebhookEndpoint">your endpoints</a>, signed by the rules of Standard Webhooks. <a href="#testWebhookEndpoint">Send a test</a> to see one arrive.</p>
<div class="card columns"><div>${parameterTable("Headers of each event", first.parameters, "h3")}
${table("Meanings of your response", ["Status", "Meaning"], Object.entries(first.responses).map(responseRow), "h3")}</div>
<div>${examplesHtml(receiverExamples(first))}</div></div>
${events.map(eventHtml).join("\n")}</section>`;
};
