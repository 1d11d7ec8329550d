/** The examples of an operation: a program in each language that sends the same request. */
import { LISTED_VOICE_ID } from "@realtime-avatar/domain/voices/schemas";
import { DEFAULT_FLITE_VOICE_ID } from "@realtime-avatar/speech/voices";
import { type Operation, type Parameter, requiredCaller } from "./document.ts";

export const LANGUAGES = { curl: "curl", typescript: "TypeScript", python: "Python" } as const;
export type Language = keyof typeof LANGUAGES;
export type Examples = Record<Language, string>;

/**
 * How an example reads the key from the environment, and the text that replaces it when the page has a key. `KEY` is
 * the placeholder of the key.
 */
export const KEY_TEXTS: Record<Language, { variable: string; filled: string }> = {
  curl: { variable: "$API_KEY", filled: "KEY" },
  typescript: { variable: 'process.env.API_KEY ?? ""', filled: '"KEY"' },
  python: { variable: `f"Bearer {os.environ['API_KEY']}"`, filled: '"Bearer KEY"' },
};

/** The public URL of the service, and the name of the session cookie there. */
export type Site = { publicUrl: string; cookie: string };

/**
 * The notation of a language: names of members, some words, spaces within braces, and a comma after the last member.
 */
type Notation = {
  name(text: string): string;
  words: Record<string, string>;
  indent: string;
  space: string;
  end: string;
};
const quote = (text: string): string => JSON.stringify(text);
const JSON_NOTATION: Notation = { name: quote, words: {}, indent: "  ", space: "", end: "" };
const PYTHON_NOTATION: Notation = {
  name: quote,
  words: { true: "True", false: "False", null: "None" },
  indent: "    ",
  space: "",
  end: ",",
};
const TYPESCRIPT_NOTATION: Notation = {
  name: (text) => (/^[A-Za-z_]\w*$/.test(text) ? text : quote(text)),
  words: {},
  indent: "  ",
  space: " ",
  end: ",",
};

/** The maximum length of a value on one line. */
const MAX_INLINE = 56;

/** A JSON value as a literal. `indent`: the indentation of the line on which it begins. */
const literal = (value: unknown, notation: Notation, indent: string): string => {
  if (typeof value !== "object" || value === null) {
    const text = JSON.stringify(value);
    return notation.words[text] ?? text;
  }
  const inner = indent + notation.indent;
  const isArray = Array.isArray(value);
  const items = Object.entries(value).map(
    ([name, one]) => `${isArray ? "" : `${notation.name(name)}: `}${literal(one, notation, inner)}`,
  );
  const [open, space, close] = isArray ? ["[", "", "]"] : ["{", notation.space, "}"];
  if (items.length === 0) return open + close;
  const inline = `${open}${space}${items.join(", ")}${space}${close}`;
  if (inline.length <= MAX_INLINE && !inline.includes("\n")) return inline;
  return `${open}\n${inner}${items.join(`,\n${inner}`)}${notation.end}\n${indent}${close}`;
};

/** An id that matches the pattern of a parameter, or the first of its values. */
const exampleOf = ({ schema }: Parameter): string => {
  const [, prefix] = /^\^([a-z]+)_/.exec(schema.pattern ?? "") ?? [];
  if (schema.pattern === LISTED_VOICE_ID.source) return DEFAULT_FLITE_VOICE_ID;
  return prefix === undefined ? String(schema.enum?.[0] ?? "") : `${prefix}_01h455vb4pex5vsknk084sn02q`;
};

/** The request that the examples send. */
type Sent = {
  method: string;
  /** The path with placeholders, and the values of these. */
  path: string;
  values: Record<string, string>;
  query: Record<string, number>;
  /** Headers besides the credential. `body`: undefined without a body. */
  body: unknown;
  isForm: boolean;
  caller: ReturnType<typeof requiredCaller>;
  /** Whether the response is a list, a file in CSV, sound, or a redirect. */
  isList: boolean;
  isCsv: boolean;
  isSound: boolean;
  isRedirect: boolean;
};

/** The example of a body. A new key is of the test environment, like the key of the page. */
const bodyOf = ({ body }: Operation): unknown => {
  if (!body?.example || Object.keys(body.example).length === 0) return undefined;
  return "environment" in (body.example as object)
    ? { ...(body.example as object), environment: "test" }
    : body.example;
};

const sentOf = (operation: Operation): Sent => {
  const { method, path, parameters, responses, body } = operation;
  const success = JSON.stringify(responses["200"]?.content?.["application/json"]?.schema ?? "");
  const inPath = parameters.filter((one) => one.in === "path");
  return {
    method,
    path,
    values: Object.fromEntries(inPath.map((one) => [one.name, exampleOf(one)])),
    query: parameters.some(({ name }) => name === "limit") ? { limit: 10 } : {},
    body: bodyOf(operation),
    isForm: body?.isForm === true,
    caller: requiredCaller(operation),
    isList: /Page"}$/.test(success),
    isCsv: responses["200"]?.content?.["text/csv"] !== undefined,
    isSound: responses["200"]?.content?.["audio/wav"] !== undefined,
    isRedirect: "303" in responses,
  };
};

const addressOf = ({ path, values }: Sent, { publicUrl }: Site): string =>
  publicUrl + path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");

/** The headers of a browser for a person. A program can send the same headers, but cannot read the cookie. */
const personHeaders = ({ publicUrl, cookie }: Site, session: string): [name: string, value: string][] => [
  ["Cookie", `${cookie}=${session}`],
  ["Origin", publicUrl],
  ["Sec-Fetch-Site", "same-origin"],
  ["Realtime-Avatar-Environment", "live"],
];

const curlOf = (sent: Sent, site: Site): string => {
  const query = new URLSearchParams(
    Object.entries(sent.query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const address = addressOf(sent, site);
  const flags = `-sS${sent.isRedirect ? "i" : ""}${sent.method === "GET" ? "" : ` -X ${sent.method}`}`;
  const headers = sent.caller === "person" ? personHeaders(site, "$SESSION") : [];
  if (sent.caller === "key") headers.push(["Authorization", `Bearer ${KEY_TEXTS.curl.variable}`]);
  if (sent.body !== undefined) headers.push(["Content-Type", "application/json"]);
  const body = literal(sent.body, JSON_NOTATION, "  ");
  return [
    `curl ${flags} ${query.size > 0 ? `"${address}?${query}"` : address}`,
    ...headers.map(([name, value]) => `-H "${name}: ${value}"`),
    ...(sent.isForm ? ["-F file=@ada.jpg"] : []),
    ...(sent.isSound ? ["-o sample.wav"] : []),
    ...(sent.body === undefined ? [] : [`-d '${body.replaceAll("'", "'\\''")}'`]),
  ].join(" \\\n  ");
};

const typescriptCall = ({ method, path, values, query, body, isForm, isList, isCsv }: Sent): string => {
  if (isForm) return 'const { data } = await client.uploadAsset(await openAsBlob("ada.jpg"), { filename: "ada.jpg" });';
  const own = Object.keys(query).length > 0 ? `, ${literal(query, TYPESCRIPT_NOTATION, "")}` : "";
  if (isCsv) return `const { data } = await client.csv("${path}"${own});`;
  if (isList) return `for await (const item of client.list("${path}"${own})) console.log(item);`;
  const init = [
    ...(Object.keys(values).length > 0 ? [`params: { path: ${literal(values, TYPESCRIPT_NOTATION, "  ")} }`] : []),
    ...(body === undefined ? [] : [`body: ${literal(body, TYPESCRIPT_NOTATION, "  ")}`]),
  ];
  const options = init.length > 0 ? `, {\n  ${init.join(",\n  ")},\n}` : "";
  return `const { data } = await client.${method}("${path}"${options});`;
};

const typescriptOf = (sent: Sent, site: Site): string => {
  if (sent.isRedirect) {
    return `const response = await fetch("${addressOf(sent, site)}", { redirect: "manual" });
console.log(response.status, response.headers.get("location"));`;
  }
  const options =
    sent.caller === "key" || sent.caller === "anyone"
      ? `{\n  baseUrl: "${site.publicUrl}",\n  apiKey: ${KEY_TEXTS.typescript.variable},\n}`
      : '{ baseUrl: location.origin, cookieEnvironment: "live" }';
  const shown = sent.isCsv ? "await data.text()" : sent.isSound ? "data.size" : "data";
  return `${sent.isForm ? 'import { openAsBlob } from "node:fs";\n' : ""}import { createClient } from "@realtime-avatar/client";

const client = createClient(${options});
${typescriptCall(sent)}${sent.isList ? "" : `\nconsole.log(${shown});`}`;
};

const pythonHeaders = ({ caller }: Sent, site: Site): string | null => {
  if (caller === "key") return `{"Authorization": ${KEY_TEXTS.python.variable}}`;
  if (caller !== "person") return null;
  const lines = personHeaders(site, "{os.environ['SESSION']}").map(
    ([name, value]) => `        ${quote(name)}: ${name === "Cookie" ? "f" : ""}${quote(value)},`,
  );
  return `{\n${lines.join("\n")}\n    }`;
};

const pythonOf = (sent: Sent, site: Site): string => {
  const headers = pythonHeaders(sent, site);
  const named = [
    ...(Object.keys(sent.query).length > 0 ? [`params=${literal(sent.query, PYTHON_NOTATION, "    ")}`] : []),
    ...(headers === null ? [] : [`headers=${headers}`]),
    ...(sent.isForm ? ['files={"file": open("ada.jpg", "rb")}'] : []),
    ...(sent.body === undefined ? [] : [`json=${literal(sent.body, PYTHON_NOTATION, "    ")}`]),
    ...(sent.isRedirect ? ["allow_redirects=False"] : []),
    "timeout=30",
  ];
  const body = sent.isCsv ? "response.text" : sent.isSound ? "len(response.content)" : "response.json()";
  const shown = sent.isRedirect ? 'response.headers["Location"]' : body;
  return `${headers === null ? "" : "import os\n\n"}import requests

response = requests.${sent.method.toLowerCase()}(
    ${[quote(addressOf(sent, site)), ...named].join(",\n    ")},
)
print(response.status_code, ${shown})`;
};

export const renderExamples = (operation: Operation, site: Site): Examples => {
  const sent = sentOf(operation);
  return { curl: curlOf(sent, site), typescript: typescriptOf(sent, site), python: pythonOf(sent, site) };
};
