/** The reference of the API as HTML, from the OpenAPI document. */
import { escapeHtml, htmlPage, textHtml } from "../../http/html-page.ts";
import style from "./reference.css" with { type: "text" };

type Schema = {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
} & Record<string, unknown>;
type Parameter = { $ref?: string; name: string; in: string; required?: boolean; description?: string; schema: Schema };
type Media = Record<string, { schema: Schema; example?: unknown; examples?: Record<string, unknown> }>;
type Response = { $ref?: string; description: string; headers?: Record<string, unknown>; content?: Media };
type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, unknown>[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Media };
  responses: Record<string, Response>;
};
/** The parts of the document that the page shows. */
export type ApiDocument = {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Response>;
  };
};
type Described = Operation & { method: string; path: string };

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1);
const code = (value: unknown): string =>
  `<code>${escapeHtml(typeof value === "string" ? value : JSON.stringify(value))}</code>`;

/** Paragraphs and lists of Markdown. The descriptions of the document have nothing else. */
const markdown = (text: string): string =>
  text
    .split("\n\n")
    .map((block) =>
      block.startsWith("- ")
        ? `<ul>${block
            .split("\n")
            .map((line) => `<li>${textHtml(line.slice(2))}</li>`)
            .join("")}</ul>`
        : `<p>${textHtml(block)}</p>`,
    )
    .join("");

/** The bounds of a schema, by the names of their keywords. */
const BOUNDS: [low: string, high: string, unit: string][] = [
  ["minLength", "maxLength", " characters"],
  ["minimum", "maximum", ""],
  ["minItems", "maxItems", " elements"],
];
const boundsOf = (schema: Schema): string[] =>
  BOUNDS.flatMap(([low, high, unit]) => {
    const { [low]: least, [high]: most } = schema;
    if (most === undefined) return least === undefined ? [] : [`from ${least}${unit}`];
    return [`${least === most ? most : `${least ?? 0} to ${most}`}${unit}`];
  });

/** What a value is: its type and its bounds. */
const typeOf = (schema: Schema): string => {
  const { $ref, anyOf, oneOf, items, type, format } = schema;
  if ($ref) return `<a href="#schema-${nameOf($ref)}">${nameOf($ref)}</a>`;
  const variants = anyOf ?? oneOf;
  if (variants) return variants.map(typeOf).join(" or ");
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum) return schema.enum.map(code).join(", ");
  const what = type === "array" && items ? `array of ${typeOf(items)}` : format === "binary" ? "file" : (type ?? "any");
  return [format && format !== "binary" ? `${what} (${format})` : what, ...boundsOf(schema)].join(", ");
};

/** The members of a schema, with those of its nested objects. */
const rowsOf = (schema: Schema, prefix = ""): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const isRequired = schema.required?.includes(name) ? " <em>required</em>" : "";
    const nested = [member, member.items, ...(member.anyOf ?? [])].find((inner) => inner?.properties);
    return [
      `<tr><td><code>${escapeHtml(prefix + name)}</code>${isRequired}</td><td>${typeOf(member)}</td><td>${textHtml(member.description ?? "")}</td></tr>`,
      ...(nested ? rowsOf(nested, `${prefix}${name}.`) : []),
    ];
  });

const table = (label: string, heads: readonly string[], rows: readonly string[]): string =>
  rows.length === 0
    ? ""
    : `<h4>${label}</h4><table><thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`;

const example = (label: string, value: unknown): string =>
  value === undefined ? "" : `<h4>${label}</h4><pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;

/** Whether a page can send the operation with a key: those of people need a cookie, and those of browsers a ceremony. */
const isForKeys = ({ security }: Operation): boolean => security.some((scheme) => "apiKey" in scheme);

const curl = ({ method, path, requestBody }: Described): string => {
  const lines = [`curl -X ${method} "$URL${path}"`, '-H "Authorization: Bearer $API_KEY"'];
  const { "application/json": json, "multipart/form-data": form } = requestBody?.content ?? {};
  if (json)
    lines.push(
      '-H "Content-Type: application/json"',
      `-d '${JSON.stringify(json.example ?? {}).replaceAll("'", "'\\''")}'`,
    );
  if (form) lines.push("-F file=@ada.jpg");
  return `<h4>curl</h4><pre>${escapeHtml(lines.join(" \\\n  "))}</pre>`;
};

/** The problems that a response can have, each with a link to its explanation; or what a success returns. */
const responseRow = (status: string, { description, content = {}, headers = {} }: Response): string => {
  const codes = Object.keys(content["application/problem+json"]?.examples ?? {});
  const problems = codes.map((name) => `<a href="/problems/${name}"><code>${name}</code></a>`).join(", ");
  const schema = content["application/json"]?.schema;
  const names = Object.keys(headers).map(code).join(", ");
  const success = `${textHtml(description)}${schema ? ` ${typeOf(schema)}` : ""}${names && ` Headers: ${names}.`}`;
  return `<tr><td>${status}</td><td>${problems || success}</td></tr>`;
};

const operationHtml = (operation: Described, { components }: ApiDocument): string => {
  const { operationId, method, path, summary, description, parameters, requestBody, responses } = operation;
  const rows = parameters
    .map((one) => (one.$ref ? (components.parameters[nameOf(one.$ref)] as Parameter) : one))
    .map(({ name, in: where, required, description: text = "", schema }) => {
      return `<tr><td><code>${name}</code> ${where}${required ? " <em>required</em>" : ""}</td><td>${typeOf(schema)}</td><td>${textHtml(text)}</td></tr>`;
    });
  const [media] = Object.values(requestBody?.content ?? {});
  const body = media && table("Body", ["Field", "Type", "Description"], rowsOf(schemaOf(media.schema, components)));
  const answers = Object.entries(responses).map(([status, response]) =>
    responseRow(status, response.$ref ? (components.responses[nameOf(response.$ref)] as Response) : response),
  );
  const success = Object.values(responses).find(({ content }) => content?.["application/json"]?.example !== undefined);
  return `<details id="${operationId}"><summary><h3><span class="${method}">${method}</span> <code>${path}</code></h3> ${escapeHtml(summary)}</summary>
${markdown(description)}
${table("Parameters", ["Name", "Type", "Description"], rows)}
${body ?? ""}${example("Example", media?.example)}
${table("Responses", ["Status", "Response"], answers)}
${example("Example of a response", success?.content?.["application/json"]?.example)}
${isForKeys(operation) ? `${curl(operation)}<button type="button" data-operation="${operationId}">Try it</button>` : ""}
</details>`;
};

const schemaOf = (schema: Schema, { schemas }: ApiDocument["components"]): Schema =>
  schema.$ref ? (schemas[nameOf(schema.$ref)] as Schema) : schema;

const schemaHtml = ([name, schema]: [string, Schema]): string =>
  `<details id="schema-${name}"><summary><h3><code>${name}</code></h3></summary>
${markdown(schema.description ?? "")}${schema.properties ? "" : `<p>${typeOf(schema)}</p>`}
${table("Fields", ["Field", "Type", "Description"], rowsOf(schema))}</details>`;

const anchorOf = (tag: string): string => tag.toLowerCase().replaceAll(" ", "-");

/** The page, and what its policy has to allow. */
export const renderReference = (document: ApiDocument) => {
  const operations: Described[] = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
  const groups = document.tags.map((tag) => ({ ...tag, operations: operations.filter((o) => o.tags[0] === tag.name) }));
  const links = groups.map(({ name, operations: ones }) => {
    const items = ones.map(({ operationId, summary }) => `<li><a href="#${operationId}">${summary}</a></li>`);
    return `<li><a href="#${anchorOf(name)}">${name}</a><ul>${items.join("")}</ul></li>`;
  });
  const sections = groups.map(
    ({ name, description, operations: ones }) =>
      `<section aria-labelledby="${anchorOf(name)}"><h2 id="${anchorOf(name)}">${name}</h2>${markdown(description)}
${ones.map((operation) => operationHtml(operation, document)).join("\n")}</section>`,
  );
  const { info, components } = document;
  return htmlPage({
    title: info.title,
    style,
    head: '<script defer src="/docs/try-it.js"></script>\n',
    body: `<nav aria-label="Operations"><ul>${links.join("")}<li><a href="#schemas">Schemas</a></li></ul></nav>
<main><header><h1>${info.title}</h1>${markdown(info.description)}
<p>Version ${info.version}. <a href="/openapi.json">OpenAPI document</a></p>
<p><label>API key <input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="rta_test_…"></label>
Use a test key. It stays on this page, and is gone with it.</p></header>
${sections.join("\n")}
<section aria-labelledby="schemas"><h2 id="schemas">Schemas</h2>
${Object.entries(components.schemas).map(schemaHtml).join("\n")}</section></main>`,
  });
};
