/* Runs in the browser, on the page of reference.ts: opens what a link leads to, and sends trial requests. */
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.tagName !== "DETAILS") return;
  target.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", openTarget);
openTarget();

let loading = null;
/** The OpenAPI document, loaded for the first trial. */
const apiDocument = () => {
  loading ??= fetch("/openapi.json").then((response) => response.json());
  return loading;
};

const element = (name, properties = {}, ...children) => {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
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

/** The request that the form describes. Only the key that was entered goes along, never a cookie. */
const requestOf = ({ path, method }, fields, body) => {
  const query = new URLSearchParams();
  const headers = { authorization: `Bearer ${document.getElementById("key").value.trim()}` };
  let address = path;
  for (const { name, place, input } of fields) {
    if (place === "path") address = address.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (input.value === "") continue;
    else if (place === "query") query.set(name, input.value);
    else headers[name] = input.value;
  }
  const init = { method, headers, credentials: "omit" };
  if (body?.type === "file") {
    init.body = new FormData();
    if (body.files[0]) init.body.set("file", body.files[0]);
  } else if (body?.value) {
    init.body = body.value;
    headers["content-type"] = "application/json";
  }
  return [query.size > 0 ? `${address}?${query}` : address, init];
};

const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const formOf = (operation) => {
  const fields = operation.parameters
    .filter(({ in: place, name }) => place !== "header" || /^(Idempotency-Key|If-)/.test(name))
    .map(({ name, in: place }) => ({
      name,
      place,
      input: element("input", { autocomplete: "off", required: place === "path" }),
    }));
  const content = operation.requestBody?.content;
  const json = content?.["application/json"];
  const body = !content
    ? null
    : json
      ? element("textarea", { value: JSON.stringify(json.example ?? {}, null, 2), spellcheck: false })
      : element("input", { type: "file" });
  const output = element("pre", { hidden: true });
  output.setAttribute("role", "status");
  const form = element(
    "form",
    {},
    ...fields.map(({ name, place, input }) => element("label", {}, `${name} (${place})`, input)),
    ...(body ? [element("label", {}, json ? "Body" : "File", body)] : []),
    element("button", {}, "Send"),
    output,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = "Sending …";
    try {
      const response = await fetch(...requestOf(operation, fields, body));
      output.textContent = `${response.status}\n\n${pretty(await response.text())}`;
    } catch (error) {
      output.textContent = String(error);
    }
  });
  return form;
};

document.addEventListener("click", async ({ target }) => {
  const id = target.dataset?.operation;
  if (!id) return;
  const form = formOf(operationOf(await apiDocument(), id));
  target.replaceWith(form);
  form.querySelector("input, textarea, button").focus();
});
