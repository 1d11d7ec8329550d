/**
 * Support for tests of the OpenAPI document: validation with a third-party validator (Ajv, with JSON Schema 2020-12 as
 * in OpenAPI 3.1), and generated requests.
 */
import { codePoint } from "@realtime-avatar/domain/testing";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";

export type Schema = { [keyword: string]: unknown };
type Ref = { $ref: string };
export type Parameter = {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  schema: Schema;
  example?: unknown;
};
type Media = { schema: Schema; example?: unknown; examples?: Record<string, Ref> };
type Header = { required?: boolean; schema: Schema; example?: unknown };
type Response = { headers: Record<string, Ref>; content?: Record<string, Media> };
export type Operation = {
  operationId: string;
  parameters: (Parameter | Ref)[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Response | Ref>;
  security: object[];
  "x-required-scope"?: string;
};
export type OpenApi = {
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    examples: Record<string, { value: unknown }>;
    headers: Record<string, Header>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Response>;
  };
};

export type Described = { method: string; path: string; operation: Operation };
export const describedOperations = ({ paths }: OpenApi): Described[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

/** The target of a `$ref`, or the value itself. */
export const resolved = <Thing extends object>(document: OpenApi, thing: Thing | Ref): Thing => {
  if (!("$ref" in thing)) return thing;
  const names = thing.$ref.slice("#/".length).split("/");
  const target = names.reduce<unknown>((found, name) => (found as Record<string, unknown>)[name], document);
  return resolved(document, target as Thing);
};

const JSON_TYPE = "application/json";
export const bodySchema = ({ requestBody }: Operation): Schema | null =>
  requestBody?.content[JSON_TYPE]?.schema ?? null;

/** Response headers that belong to HTTP, not to the API. */
const OF_HTTP = ["content-type", "content-length", "date", "connection"];

export const documentValidator = (document: OpenApi) => {
  // Most schemas are used only a few times, so optimizing their code would take longer than it saves.
  const code = { optimize: false };
  const ajv = addFormats(new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code }));
  ajv.addKeyword({
    keyword: "x-maxBytes",
    type: "object",
    validate: (most: number, value: object) => Buffer.byteLength(JSON.stringify(value)) <= most,
  });
  ajv.addSchema({ $id: "https://document/", ...document });
  const compiled = new Map<Schema, ValidateFunction>();
  const byText = new Map<string, ValidateFunction>();
  const compile = (schema: Schema): ValidateFunction => {
    const known = compiled.get(schema);
    if (known) return known;
    const text = JSON.stringify(schema);
    const validate = byText.get(text) ?? ajv.compile(JSON.parse(text.replaceAll('"#/', '"https://document/#/')));
    compiled.set(schema, validate);
    byText.set(text, validate);
    return validate;
  };
  /** The errors of a value; empty when it meets `schema`. */
  const errors = (schema: Schema, value: unknown): string[] => {
    const validate = compile(schema);
    return validate(value)
      ? []
      : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };

  /** The differences between a response and its description in the document. */
  const differences = (operation: Operation, answer: { status: number; headers: Headers; text: string }): string[] => {
    const described = operation.responses[answer.status];
    if (!described) return [`status ${answer.status} is not in the document`];
    const { headers, content } = resolved<Response>(document, described);
    const found: string[] = [];
    for (const [name, described] of Object.entries(headers)) {
      const { required, schema } = resolved<Header>(document, described);
      const value = answer.headers.get(name);
      if (value === null && required) found.push(`the header ${name} is missing`);
      if (value !== null) found.push(...errors(schema, value).map((error) => `the header ${name}${error}`));
    }
    const known = new Set([...Object.keys(headers).map((name) => name.toLowerCase()), ...OF_HTTP]);
    for (const name of answer.headers.keys())
      if (!known.has(name)) found.push(`the header ${name} is not in the document`);
    const [type = ""] = (answer.headers.get("content-type") ?? "").split(";");
    if (!content) return answer.text === "" ? found : [...found, "there is a body"];
    const media = content[type];
    if (!media) return [...found, `the type ${type} is not in the document`];
    const value = type.endsWith("json") ? JSON.parse(answer.text) : answer.text;
    return [...found, ...errors(media.schema, value)];
  };

  /** Every example of the document, with its pointer and its schema. */
  const examples = (): { pointer: string; value: unknown; schema: Schema }[] => {
    const found: { pointer: string; value: unknown; schema: Schema }[] = [];
    const visit = (node: unknown, pointer: string): void => {
      if (typeof node !== "object" || node === null) return;
      const { schema, example, examples: named } = node as { schema?: Schema } & Media;
      if (schema && example !== undefined) found.push({ pointer, value: example, schema });
      for (const [name, ref] of Object.entries(schema && named ? named : {})) {
        found.push({ pointer: `${pointer}/${name}`, value: resolved<{ value: unknown }>(document, ref).value, schema });
      }
      for (const [name, child] of Object.entries(node)) if (name !== "example") visit(child, `${pointer}/${name}`);
    };
    visit(document, "#");
    return found;
  };

  return { errors, differences, examples };
};

/** Text that the service can store. The document describes the restriction in words. */
const text = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: codePoint, minLength, maxLength }).filter((value) => !value.includes("\0"));

/** A time in the future, in any spelling. */
const dateTime: fc.Arbitrary<string> = fc
  .tuple(
    fc.date({ min: new Date("2100-01-01"), max: new Date("2900-01-01"), noInvalidDate: true }),
    fc.constantFrom("Z", "+05:30", "-00:00", "z"),
  )
  .map(([date, offset]) => date.toISOString().replace("Z", offset));

const anyJson = fc.jsonValue({ maxDepth: 2, stringUnit: "grapheme" });

/** Values that meet a schema, generated from it. */
export const arbitraryValues = (document: OpenApi, given: Schema): fc.Arbitrary<unknown> => {
  const schema = resolved<Schema>(document, given);
  const {
    anyOf,
    enum: values,
    pattern,
    format,
    minLength = 0,
    maxLength = 32,
    type,
  } = schema as Schema & {
    anyOf?: Schema[];
    enum?: string[];
    minLength?: number;
    maxLength?: number;
  };
  if ("const" in schema) return fc.constant(schema["const"]);
  if (anyOf) return fc.oneof(...anyOf.map((one) => arbitraryValues(document, one)));
  if (values) return fc.constantFrom(...values);
  if (type === "null") return fc.constant(null);
  if (type === "boolean") return fc.boolean();
  if (type === "string" && format === "date-time") return dateTime;
  if (type === "string" && pattern) {
    const fits = (value: string) => [...value].length >= minLength && value.length <= maxLength && value.isWellFormed();
    return fc.stringMatching(new RegExp(String(pattern))).filter(fits);
  }
  if (type === "string")
    return fc.oneof(text(minLength, maxLength), text(minLength, Math.min(maxLength, minLength + 8)));
  if (type === "integer") return fc.integer({ min: Number(schema["minimum"]), max: Number(schema["maximum"]) });
  if (type === "array") {
    const { items, minItems, maxItems } = schema as { items: Schema; minItems: number; maxItems: number };
    return fc.array(arbitraryValues(document, items), { minLength: minItems, maxLength: maxItems });
  }
  if (type !== "object") throw new TypeError(`no values for ${JSON.stringify(schema)}`);
  const {
    properties,
    required = [],
    minProperties = 0,
  } = schema as {
    properties?: Record<string, Schema>;
    required?: string[];
    minProperties?: number;
  };
  const { additionalProperties, propertyNames, maxProperties } = schema as {
    additionalProperties?: boolean | Schema;
    propertyNames?: { minLength: number; maxLength: number };
    maxProperties?: number;
  };
  if (typeof additionalProperties === "object" && propertyNames) {
    const names = text(propertyNames.minLength, propertyNames.maxLength);
    return fc.dictionary(names, arbitraryValues(document, additionalProperties), { maxKeys: maxProperties ?? 4 });
  }
  if (!properties) return fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), anyJson, { maxKeys: 4 });
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, arbitraryValues(document, one)]),
  );
  return fc
    .record(fields, { requiredKeys: required })
    .filter((value) => Object.keys(value as object).length >= minProperties);
};

/** Values at the edge of schemas, and beyond. */
const EDGES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e3,
  59,
  604_800,
  604_801,
  9_007_199_254_740_991,
  9_007_199_254_740_992,
  "",
  "x",
  "1",
  "x".repeat(7),
  "x".repeat(8),
  "é".repeat(120),
  "é".repeat(121),
  "😀".repeat(160),
  "😀".repeat(161),
  "x".repeat(512),
  "x".repeat(513),
  "live",
  "Live",
  "ready",
  "image",
  "not a time",
  "2027-02-30T00:00:00Z",
  [],
  ["*"],
  ["*", "nothing"],
  Array(16).fill("*"),
  Array(17).fill("*"),
  {},
  { a: "x".repeat(32 * 1024 - 8) },
  { a: "x".repeat(32 * 1024 - 7) },
];
const edge = fc.constantFrom(...EDGES);

/** Values for the schema of an object: some meet it, and most almost do. */
export const valuesAround = (document: OpenApi, schema: Schema): fc.Arbitrary<unknown> => {
  const { properties = {} } = resolved<Schema>(document, schema) as { properties?: object };
  const change = fc.tuple(
    fc.constantFrom("set", "remove"),
    fc.constantFrom(...Object.keys(properties), "unknown"),
    edge,
  );
  const changed = fc
    .tuple(arbitraryValues(document, schema), fc.array(change, { minLength: 1, maxLength: 2 }))
    .map(([value, changes]) => {
      const result: Record<string, unknown> = { ...(value as object) };
      for (const [how, name, to] of changes) {
        if (how === "set") result[name] = to;
        else delete result[name];
      }
      return result;
    });
  return fc.oneof({ weight: 9, arbitrary: changed }, { weight: 1, arbitrary: edge });
};
