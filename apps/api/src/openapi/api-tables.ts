/**
 * The generated parts of docs/api.md. `bun run openapi` writes them. A test fails while they are outdated.
 *
 *   <!-- operations -->, <!-- problems -->, <!-- codes -->    the operations, the problems, and the codes of `errors`
 *   <!-- operation: createApiKey -->                          in a section: address, scope, fields and errors of an operation
 *   (a route that the OpenAPI document leaves out is named by its address)
 *
 * Each ends with `<!-- end -->`. The meaning of a field follows its colon. The meaning of an existing field is kept; a new
 * field gets the description of its schema.
 */

import { PROBLEMS } from "@realtime-avatar/domain/problem";
import { FIELD_ERROR_CODES } from "@realtime-avatar/domain/problems/field-error-codes";
import { WEBHOOK_EVENT_TYPES } from "@realtime-avatar/domain/webhooks/events";
import type { RouteDetail } from "../http/operation.ts";
import { operationProblems } from "./document.ts";

type Schema = Record<string, unknown>;
type Route = { method: string; path: string; hooks?: { detail?: object } };
/** The parts of the OpenAPI document that are read here. */
export type Described = {
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, Schema> };
};
type Body = { content: Record<string, { schema: Schema }> };
type Parameter = { name?: string; in?: string; description?: string; schema?: Schema };
type Field = { name: string; schema: Schema; isRequired: boolean; description: string };

/** Parameters of every list, which the document explains once. */
const OF_LISTS = ["limit", "cursor", "total"];
/** A longer list of values is below the table. */
const MAX_VALUES_LENGTH = 100;
/** Operations for people, which docs/people.md describes. */
const OF_PEOPLE = /^\/api\/v1\/(users|user-sessions|invitations|passkeys|identities|oidc)(\/|$)/;

const CODES_OF = {
  value: "a value of the body or a parameter",
  file: "the file of an upload",
  source: "the source of an avatar",
  parameter: "a parameter alone",
  header: "a header",
  grant: "a refused grant",
} as const satisfies Record<keyof typeof FIELD_ERROR_CODES, string>;

const quote = (value: unknown): string => `\`${value}\``;
const listValues = (values: readonly unknown[], conjunction = "or"): string => {
  const quoted = values.map(quote);
  return quoted.length < 2 ? quoted.join("") : `${quoted.slice(0, -1).join(", ")} ${conjunction} ${quoted.at(-1)}`;
};

/** Breaks a text into lines of at most 120 characters. Code and links stay whole. */
const wrap = (text: string, indent = ""): string =>
  (text.match(/(?:\[[^\]]*\]\([^)]*\)|`[^`]*`|[^ `])+/g) ?? []).reduce((lines, word) => {
    const last = lines.slice(lines.lastIndexOf("\n") + 1);
    return last.length + word.length + 1 > 120 ? `${lines}\n${indent}${word}` : `${lines} ${word}`;
  });

const list = (items: readonly string[]): string => items.map((item) => wrap(`- ${item}`, "  ")).join("\n");

const resolve = (schema: Schema, { components }: Described): Schema => {
  const name = `${schema["$ref"] ?? ""}`.split("/").at(-1) ?? "";
  return name === "" ? schema : (components.schemas[name] ?? schema);
};

const range = (schema: Schema, [low, high]: readonly [string, string], unit: string): string[] => {
  if (schema[low] === undefined && schema[high] === undefined) return [];
  return [schema[low] === schema[high] ? `${schema[low]}${unit}` : `${schema[low] ?? 0} to ${schema[high]}${unit}`];
};

/** The values of an enumeration, of a field or of the elements of a list. */
const valuesOf = (schema: Schema): unknown[] => {
  const items = schema["items"] as Schema | undefined;
  const single = (schema["anyOf"] as Schema[] | undefined)?.find((one) => one["enum"] ?? one["items"]);
  return (schema["enum"] ?? items?.["enum"] ?? (single && valuesOf(single)) ?? []) as unknown[];
};

const typeOf = (schema: Schema): string => {
  if (schema["format"] === "binary") return "file";
  if (schema["const"] !== undefined) return quote(schema["const"]);
  if (schema["type"] === "array") return `array of ${typeOf((schema["items"] ?? {}) as Schema)}s`;
  return `${schema["type"] ?? "object"}`;
};

const boundsOf = (schema: Schema): string[] => {
  const values = valuesOf(schema);
  const isLong = listValues(values).length > MAX_VALUES_LENGTH;
  const maxBytes = schema["x-maxBytes"];
  return [
    ...range(schema, ["minLength", "maxLength"], " characters"),
    ...range(schema, ["minItems", "maxItems"], " elements"),
    ...range(schema, ["minimum", "maximum"], ""),
    ...(schema["format"] === "date-time" ? ["RFC 3339"] : []),
    ...(values.length === 0 || schema["anyOf"] ? [] : [isLong ? "values below" : listValues(values)]),
    ...(maxBytes === undefined ? [] : [`${maxBytes} bytes at most`]),
  ];
};

/** The type of a field with its bounds, such as `string or null, 1 to 160 characters`. */
const describe = (field: Schema, document: Described): string => {
  const alternatives = ((field["anyOf"] as Schema[] | undefined) ?? [field]).map((one) => resolve(one, document));
  const types = alternatives.map(typeOf);
  return [types.join(" or "), ...alternatives.flatMap(boundsOf)].join(", ");
};

const descriptionOf = (schema: Schema): string => {
  const inner = (schema["anyOf"] as Schema[] | undefined)?.[0];
  return `${schema["description"] ?? inner?.["description"] ?? ""}`.split("\n")[0] ?? "";
};

const fieldsOf = (operation: Record<string, unknown>, document: Described): Field[] => {
  const content = Object.values((operation["requestBody"] as Body | undefined)?.content ?? {})[0];
  const body = content ? resolve(content.schema, document) : {};
  const required = (body["required"] ?? []) as string[];
  const parameters = ((operation["parameters"] ?? []) as Parameter[]).filter(
    ({ in: place, name = "" }) => place === "query" && !OF_LISTS.includes(name),
  );
  return [
    ...Object.entries((body["properties"] ?? {}) as Record<string, Schema>).map(([name, schema]) => ({
      name,
      schema,
      isRequired: required.includes(name),
      description: descriptionOf(schema),
    })),
    ...parameters.map(({ name = "", schema = {}, description = "" }) => ({
      name,
      schema,
      isRequired: false,
      description,
    })),
  ];
};

const meaningsIn = (block: string): Map<string, string> =>
  new Map(
    [...block.replaceAll("\n  ", " ").matchAll(/^- `(\w+)` \([^)]+\): (.+)$/gm)].map(([, name = "", meaning = ""]) => [
      name,
      meaning,
    ]),
  );

const scopeWords = (scope: string): string => {
  if (scope === "none") return "no key";
  if (scope === "any") return "any valid key";
  return `scope ${listValues(scope.split(" "))}`;
};
const addressOf = ({ method, path }: Route): string => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`;

/** Names of earlier sections, by the lists of values that they contain. */
type Listed = Map<string, string>;

const listBelow = ({ name, schema }: Field, title: string, listed: Listed): string[] => {
  const values = valuesOf(schema);
  if (listValues(values).length <= MAX_VALUES_LENGTH) return [];
  const single = values.filter((value) => !`${value}`.endsWith(".*"));
  if (single.join() === WEBHOOK_EVENT_TYPES.join()) {
    const groups = single.length < values.length ? ", and their groups, such as `avatar.*`" : "";
    return [`The values of ${quote(name)} are the [types](webhooks.md#types) of events${groups}.`];
  }
  const key = values.join();
  const before = listed.get(key);
  if (before !== undefined) {
    return [`The values of ${quote(name)} are those of [${before}](#${before.toLowerCase().replaceAll(" ", "-")}).`];
  }
  listed.set(key, title);
  return [wrap(`The values of ${quote(name)} are ${listValues(values, "and")}.`)];
};

/** Errors that follow from the method or the path, and are listed with those of the operation. */
const SHOWN = ["not_found", "precondition_failed", "replay_unavailable", "passkey_required"];

/** The errors of an operation that not every operation has. A path with a parameter has `not_found`, which is explained once. */
const errorsOf = ({ method, path }: Route, detail: RouteDetail): string[] => {
  const codes = [...operationProblems(method, path, detail).values()].flat();
  const own = codes.filter(
    (code) =>
      (SHOWN.includes(code) || detail.problems?.includes(code)) && !(code === "not_found" && path.includes(":")),
  );
  const byStatus = [...Map.groupBy(own, (code) => PROBLEMS[code].status)].sort(([a], [b]) => a - b);
  const texts = byStatus.map(([status, group]) => `${status} ${group.map(quote).join(", ")}`);
  return texts.length === 0 ? [] : [wrap(`Errors: ${texts.join("; ")}.`)];
};

type Section = { title: string; route: Route; detail: RouteDetail; block: string };

const operationBlock = ({ title, route, detail, block }: Section, document: Described, listed: Listed): string => {
  const path = addressOf(route).split(" ")[1] ?? "";
  const operation = document.paths[path]?.[route.method.toLowerCase()] as Record<string, unknown> | undefined;
  // An export has the filters of its list.
  const fields = operation && !path.endsWith(".csv") ? fieldsOf(operation, document) : [];
  const meanings = meaningsIn(block);
  const items = fields.map((field) => {
    const meaning = meanings.get(field.name) ?? field.description;
    const type = `${describe(field.schema, document)}${field.isRequired ? ", required" : ""}`;
    return `${quote(field.name)} (${type})${meaning === "" ? "" : `: ${meaning}`}`;
  });
  return [
    `${quote(addressOf(route))}, ${scopeWords(detail.scope ?? "none")}.`,
    ...(items.length === 0 ? [] : [list(items)]),
    ...fields.flatMap((field) => listBelow(field, title, listed)),
    ...errorsOf(route, detail),
  ].join("\n\n");
};

const problemList = (): string =>
  list(
    Object.entries(PROBLEMS)
      .sort(([, a], [, b]) => a.status - b.status)
      .map(([code, { status, meaning }]) => `${status} ${quote(code)}: ${meaning}`),
  );

const codeList = (): string =>
  list(
    Object.entries(FIELD_ERROR_CODES).map(
      ([where, codes]) => `${CODES_OF[where as keyof typeof CODES_OF]}: ${codes.map(quote).join(", ")}`,
    ),
  );

const BLOCK = /<!-- (operations|problems|codes|operation: ([^\n]+?)) -->\n(.*?)<!-- end -->/gs;

/** The text of docs/api.md with new generated parts. Throws when an operation has no section, or two. */
export const writeTables = (text: string, document: Described, routes: readonly Route[]): string => {
  const known = new Map<string, { route: Route; detail: RouteDetail }>();
  for (const route of routes) {
    const detail: RouteDetail = route.hooks?.detail ?? {};
    if (!route.path.startsWith("/api/v1") || route.method === "OPTIONS" || OF_PEOPLE.test(route.path)) continue;
    known.set(detail.operationId ?? addressOf(route), { route, detail });
  }
  const titles = new Map<string, string>();
  for (const section of text.split(/^## /m)) {
    const id = /<!-- operation: (.+?) -->/.exec(section)?.[1];
    if (id !== undefined) titles.set(id, section.split("\n")[0] ?? "");
  }
  const missing = [...known.keys()].filter((id) => !titles.has(id));
  const unknown = [...titles.keys()].filter((id) => !known.has(id));
  if (missing.length + unknown.length > 0) throw new Error(`docs/api.md lacks ${missing}, and has ${unknown}`);
  const operationList = (): string =>
    [...titles]
      .map(([id, title]) => {
        const { route } = known.get(id) as { route: Route };
        return `- [${title}](#${title.toLowerCase().replaceAll(" ", "-")}): ${quote(addressOf(route))}`;
      })
      .join("\n");
  const listed: Listed = new Map();
  const parts: Record<string, () => string> = { operations: operationList, problems: problemList, codes: codeList };
  return text.replace(BLOCK, (_, mark: string, id: string | undefined, block: string) => {
    const operation = id === undefined ? undefined : known.get(id);
    const content = operation
      ? operationBlock({ ...operation, title: titles.get(id ?? "") ?? "", block }, document, listed)
      : parts[mark]?.();
    return `<!-- ${mark} -->\n\n${content}\n\n<!-- end -->`;
  });
};
