/* The trial of an operation: a form for its parameters and its body, and the response. */
import { element, pretty } from "./dom.js";
import { askForKey, currentKey } from "./key.js";

let loaded = null;
/** The OpenAPI document, loaded for the first trial. */
const apiDocument = async () => {
  loaded ??= await (await fetch("/openapi.json")).json();
  return loaded;
};

/** The operation with this id, with its parameters resolved. */
const operationOf = ({ paths, components }, id) => {
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (operation.operationId !== id) continue;
      const parameters = operation.parameters.map(({ $ref, ...parameter }) =>
        $ref ? components.parameters[$ref.split("/").pop()] : parameter,
      );
      return { ...operation, path, method: method.toUpperCase(), parameters };
    }
  }
};

const ID = /\b([a-z]{3})_[0-9a-z]{26}\b/g;
/** The newest id of each kind from a response. The next form begins with it. */
const ids = new Map();
const rememberIds = (text) => {
  const { id, sessionId } = JSON.parse(text);
  for (const [one, prefix] of String(id ?? sessionId ?? "").matchAll(ID)) ids.set(prefix, one);
};

/** Sends a request with the key of the page, without a cookie. */
export const send = (method, path, { headers = {}, body } = {}) =>
  fetch(path, {
    method,
    headers: { ...headers, authorization: `Bearer ${currentKey()}` },
    credentials: "omit",
    ...(body === undefined ? {} : { body }),
  });

/** The request of the form. */
const requestOf = ({ path, method }, fields, body) => {
  const query = new URLSearchParams();
  const headers = {};
  let address = path;
  for (const { name, place, input } of fields) {
    if (place === "path") address = address.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (input.value === "") continue;
    else if (place === "query") query.set(name, input.value);
    else headers[name] = input.value;
  }
  let sent;
  if (body?.type === "file") {
    sent = new FormData();
    if (body.files[0]) sent.set("file", body.files[0]);
  } else if (body?.value) {
    sent = body.value;
    headers["content-type"] = "application/json";
  }
  return [method, query.size > 0 ? `${address}?${query}` : address, { headers, body: sent }];
};

const fieldOf = ({ name, in: place, schema }) => {
  const isChoice = schema.enum !== undefined && place === "query";
  const options = isChoice ? ["", ...schema.enum].map((value) => element("option", { value }, value || "any")) : [];
  const input = element(isChoice ? "select" : "input", { required: place === "path" }, ...options);
  if (!isChoice) input.autocomplete = "off";
  const [, prefix] = /^\^([a-z]{3})_/.exec(schema.pattern ?? "") ?? [];
  if (place === "path") input.value = ids.get(prefix) ?? "";
  return { name, place, input };
};

/** The example of a body, adapted to a test key, with the ids of former responses. */
const bodyOf = ({ requestBody }) => {
  const content = requestBody?.content;
  if (!content) return null;
  const json = content["application/json"];
  if (!json) return element("input", { type: "file" });
  const example = json.example ?? {};
  const text = JSON.stringify("environment" in example ? { ...example, environment: "test" } : example, null, 2);
  return element("textarea", { value: text.replace(ID, (id, prefix) => ids.get(prefix) ?? id), spellcheck: false });
};

/** The browser cannot show a file of 64 MiB, so a part is shown. */
const MAX_SHOWN = 200_000;
const shortened = (text) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n…` : text);

const show = async (output, request) => {
  const start = performance.now();
  const response = await send(...request);
  const type = response.headers.get("content-type") ?? "";
  const text = type.startsWith("audio/") ? `${(await response.blob()).size} bytes of sound` : await response.text();
  if (response.ok && /json/.test(type)) rememberIds(text);
  const tone = response.ok ? "good" : "bad";
  output.replaceChildren(
    element(
      "p",
      {},
      element("span", { className: `badge ${tone}` }, String(response.status)),
      ` in ${Math.round(performance.now() - start)} ms, request `,
      element("code", {}, response.headers.get("x-request-id") ?? ""),
    ),
    element("pre", { tabIndex: 0 }, shortened(pretty(text))),
  );
};

const formOf = (operation) => {
  const fields = operation.parameters
    .filter(({ in: place, name }) => place !== "header" || /^(Idempotency-Key|If-)/.test(name))
    .map(fieldOf);
  const body = bodyOf(operation);
  const output = element("div", { className: "output" });
  output.setAttribute("role", "status");
  const form = element(
    "form",
    {},
    ...fields.map(({ name, place, input }) => element("label", {}, `${name} (${place})`, input)),
    ...(body ? [element("label", {}, body.type === "file" ? "File" : "Body", body)] : []),
    element("button", {}, "Send"),
    output,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (currentKey() === null) return askForKey(event.submitter);
    output.replaceChildren("Sending …");
    await show(output, requestOf(operation, fields, body)).catch((error) => output.replaceChildren(String(error)));
  });
  return form;
};

/** Replaces the button of an operation by its form. */
export const openTrial = async (button) => {
  const document = await apiDocument().catch(() => null);
  if (document === null) {
    button.textContent = "No response. Try again";
    return;
  }
  const form = formOf(operationOf(document, button.dataset.operation));
  button.replaceWith(form);
  form.querySelector("input, select, textarea, button").focus();
};
