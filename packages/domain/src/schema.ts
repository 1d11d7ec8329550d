/**
 * The building blocks of request and response schemas, and their one judge. A schema is TypeBox, hence JSON Schema,
 * and the only place where a bound is written: validation, documents and the database's CHECKs read it from there.
 *
 * The judge is our own because TypeBox counts UTF-16 units where JSON Schema counts code points, knows no calendar,
 * and stops short of saying everything that is wrong at once. The kinds that it adds are registered with TypeBox, so
 * that whoever checks a value with TypeBox gets the same verdict.
 */
import {
  Kind,
  OptionalKind,
  type Static,
  type TInteger,
  type TNull,
  type TObject,
  type TSchema,
  type TUnion,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { maskApiKeys } from "./api-key-secret.ts";
import { parseDateTime } from "./date-time.ts";
import type { FieldError } from "./problem.ts";
import { codePointLength, isStorableText, utf8Length } from "./text.ts";

/** At most so many errors are told of one request. */
export const MAX_ERRORS = 100;
/** A name that the caller chose is cut at so many characters where an error shows it. */
const MAX_NAME = 128;
/** A pointer of more characters is not made longer: errors must not be many times the size of the request. */
const MAX_POINTER = 512;

/** Where a value stands in the body: the names that lead to it, innermost first. Made text only for an error. */
type Path = { parent: Path; name: string | number } | null;

type Judge = (schema: TSchema, value: unknown, path: Path, errors: FieldError[]) => void;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A name that the caller chose, as an error may show it: cut between characters, well-formed, and without a key. */
export const shownName = (name: string): string =>
  [...maskApiKeys(name).slice(0, 2 * MAX_NAME)].slice(0, MAX_NAME).join("").toWellFormed();

/** A JSON Pointer in fragment form (RFC 6901 §6). One that grows too long ends early, at what holds the value. */
const pointerOf = (path: Path): string => {
  if (path === null) return "#";
  const parent = pointerOf(path.parent);
  if (parent.length > MAX_POINTER) return parent;
  const name = shownName(String(path.name)).replaceAll("~", "~0").replaceAll("/", "~1");
  return `${parent}/${encodeURIComponent(name)}`;
};

const add = (errors: FieldError[], path: Path, code: string, detail: string): void => {
  if (errors.length < MAX_ERRORS) errors.push({ pointer: pointerOf(path), code, detail });
};

const judgeText: Judge = (schema, value, path, errors) => {
  const { minLength, maxLength } = schema as unknown as { minLength: number; maxLength: number };
  if (typeof value !== "string") return add(errors, path, "wrong_type", "Must be a string.");
  if (!isStorableText(value)) {
    return add(errors, path, "invalid_text", "Must hold neither U+0000 nor an unpaired surrogate.");
  }
  const length = codePointLength(value);
  if (length < minLength || length > maxLength) {
    const code = length < minLength ? "too_short" : "too_long";
    add(errors, path, code, `Must have ${minLength} to ${maxLength} characters.`);
  }
};

const judgeOneOf: Judge = (schema, value, path, errors) => {
  const allowed = schema["enum"] as string[];
  if (typeof value !== "string") return add(errors, path, "wrong_type", "Must be a string.");
  if (!allowed.includes(value)) add(errors, path, "not_allowed", `Must be one of: ${allowed.join(", ")}.`);
};

const judgeDateTime: Judge = (_schema, value, path, errors) => {
  if (typeof value !== "string") return add(errors, path, "wrong_type", "Must be a string.");
  if (!parseDateTime(value)) {
    add(errors, path, "invalid_date_time", "Must be an RFC 3339 date-time with an offset, at most in the year 9999.");
  }
};

/** What JSON can say and the service cannot hold: U+0000, unpaired surrogates, numbers beyond a double. */
const judgeStorable = (value: unknown, path: Path, errors: FieldError[]): void => {
  if (typeof value === "string" && !isStorableText(value)) {
    add(errors, path, "invalid_text", "Must hold neither U+0000 nor an unpaired surrogate.");
  } else if (typeof value === "number" && !Number.isFinite(value)) {
    add(errors, path, "out_of_range", "Must be within the range of an IEEE 754 double.");
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) judgeStorable(item, { parent: path, name: index }, errors);
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      if (!isStorableText(name)) {
        add(
          errors,
          { parent: path, name },
          "invalid_text",
          "A member name must hold neither U+0000 nor an unpaired surrogate.",
        );
      }
      judgeStorable(value[name], { parent: path, name }, errors);
    }
  }
};

const judgeJsonObject: Judge = (schema, value, path, errors) => {
  if (!isObject(value)) return add(errors, path, "wrong_type", "Must be an object.");
  const before = errors.length;
  judgeStorable(value, path, errors);
  const maxBytes = schema["x-maxBytes"] as number | undefined;
  if (errors.length === before && maxBytes !== undefined && utf8Length(JSON.stringify(value)) > maxBytes) {
    add(errors, path, "too_large", `Must be at most ${maxBytes} bytes as compact JSON in UTF-8.`);
  }
};

const judgeInteger: Judge = (schema, value, path, errors) => {
  const { minimum, maximum } = schema as unknown as { minimum: number; maximum: number };
  if (typeof value !== "number") return add(errors, path, "wrong_type", "Must be an integer.");
  if (!Number.isInteger(value) && Number.isFinite(value)) {
    return add(errors, path, "wrong_type", "Must be an integer.");
  }
  if (value < minimum || value > maximum) {
    add(errors, path, "out_of_range", `Must be from ${minimum} to ${maximum}.`);
  }
};

const judgeArray: Judge = (schema, value, path, errors) => {
  const { items, minItems, maxItems } = schema as unknown as { items: TSchema; minItems: number; maxItems: number };
  if (!Array.isArray(value)) return add(errors, path, "wrong_type", "Must be an array.");
  if (value.length < minItems || value.length > maxItems) {
    const code = value.length < minItems ? "too_few" : "too_many";
    add(errors, path, code, `Must have ${minItems} to ${maxItems} elements.`);
  }
  for (const [index, item] of value.entries()) judge(items, item, { parent: path, name: index }, errors);
};

const judgeObject: Judge = (schema, value, path, errors) => {
  const { properties, minProperties = 0 } = schema as TObject;
  if (!isObject(value)) return add(errors, path, "wrong_type", "Must be an object.");
  if (Object.keys(value).length < minProperties) {
    return add(errors, path, "too_few", `Must have at least ${minProperties} field${minProperties === 1 ? "" : "s"}.`);
  }
  for (const [name, property] of Object.entries(properties)) {
    if (Object.hasOwn(value, name)) judge(property, value[name], { parent: path, name }, errors);
    else if (!(OptionalKind in property)) add(errors, { parent: path, name }, "required", "Is required.");
  }
  for (const name of Object.keys(value)) {
    if (errors.length >= MAX_ERRORS) return;
    if (!Object.hasOwn(properties, name)) add(errors, { parent: path, name }, "unknown_field", "Is not a known field.");
  }
};

/** The one union there is: a schema or null. */
const judgeNullable: Judge = (schema, value, path, errors) => {
  if (value !== null) judge((schema as TUnion<[TSchema, TNull]>).anyOf[0], value, path, errors);
};

const OWN_KINDS = { Text: judgeText, OneOf: judgeOneOf, DateTime: judgeDateTime, JsonObject: judgeJsonObject };
const JUDGES: Record<string, Judge> = {
  ...OWN_KINDS,
  Integer: judgeInteger,
  Array: judgeArray,
  Object: judgeObject,
  Union: judgeNullable,
};

const judge: Judge = (schema, value, path, errors) => {
  const judgeKind = JUDGES[schema[Kind]];
  // Fail closed: a kind without a judge is a mistake of ours, and must not pass as valid.
  if (!judgeKind) throw new TypeError(`No judge for schemas of kind ${schema[Kind]}`);
  judgeKind(schema, value, path, errors);
};

for (const [kind, judgeKind] of Object.entries(OWN_KINDS)) {
  TypeRegistry.Set<TSchema>(kind, (schema, value) => {
    const errors: FieldError[] = [];
    judgeKind(schema, value, null, errors);
    return errors.length === 0;
  });
}

type TextBounds = { minLength: number; maxLength: number };

/** Text of so many code points, which PostgreSQL can hold. */
export const Text = (bounds: TextBounds): TUnsafe<string> & TextBounds =>
  Type.Unsafe<string>({ [Kind]: "Text", type: "string", ...bounds }) as TUnsafe<string> & TextBounds;

/** One of a list of strings. */
export const OneOf = <const Values extends readonly string[]>(values: Values): TUnsafe<Values[number]> =>
  Type.Unsafe({ [Kind]: "OneOf", type: "string", enum: [...values] });

/** An RFC 3339 date-time. */
export const DateTime = (): TUnsafe<string> => Type.Unsafe({ [Kind]: "DateTime", type: "string", format: "date-time" });

export type JsonObject = { [name: string]: unknown };

/** Any JSON object, of at most so many bytes as compact JSON in UTF-8. */
export const JsonObject = <Bounds extends { "x-maxBytes"?: number }>(bounds: Bounds): TUnsafe<JsonObject> & Bounds =>
  Type.Unsafe<JsonObject>({ [Kind]: "JsonObject", type: "object", ...bounds }) as TUnsafe<JsonObject> & Bounds;

type CountBounds = { minimum: number; maximum: number };

/** An integer; without bounds of its own, any from 0 that a double holds exactly. */
export const Count = (bounds: CountBounds = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }): TInteger & CountBounds =>
  Type.Integer(bounds) as TInteger & CountBounds;

export const Nullable = <Schema extends TSchema>(schema: Schema): TUnion<[Schema, TNull]> =>
  Type.Union([schema, Type.Null()]);

/** Everything that is wrong with `value`, at most a hundred errors; an empty list when it meets `schema`. */
export const validate = (schema: TSchema, value: unknown): FieldError[] => {
  const errors: FieldError[] = [];
  judge(schema, value, null, errors);
  return errors;
};

/** Whether `value` meets `schema`. Nothing is coerced, defaulted or removed. */
export const isValid = <Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> =>
  validate(schema, value).length === 0;
