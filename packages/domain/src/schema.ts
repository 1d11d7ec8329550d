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
const MAX_ERRORS = 100;
/** A member name is cut at so many characters where it stands in a pointer. */
const MAX_MEMBER_NAME = 128;

type Judge = (schema: TSchema, value: unknown, pointer: string, errors: FieldError[]) => void;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const add = (errors: FieldError[], pointer: string, code: string, detail: string): void => {
  if (errors.length < MAX_ERRORS) errors.push({ pointer, code, detail });
};

const child = (pointer: string, name: string | number): string => {
  // The name is the caller's: cut between characters, made well-formed, and stripped of anything like a key.
  const cut = [...String(name).slice(0, 2 * MAX_MEMBER_NAME)].slice(0, MAX_MEMBER_NAME).join("");
  const escaped = maskApiKeys(cut).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1");
  return `${pointer}/${encodeURIComponent(escaped)}`;
};

const judgeText: Judge = (schema, value, pointer, errors) => {
  const { minLength, maxLength } = schema as unknown as { minLength: number; maxLength: number };
  if (typeof value !== "string") return add(errors, pointer, "wrong_type", "Must be a string.");
  if (!isStorableText(value)) {
    return add(errors, pointer, "invalid_text", "Must hold neither U+0000 nor an unpaired surrogate.");
  }
  const length = codePointLength(value);
  if (length < minLength || length > maxLength) {
    const code = length < minLength ? "too_short" : "too_long";
    add(errors, pointer, code, `Must have ${minLength} to ${maxLength} characters.`);
  }
};

const judgeOneOf: Judge = (schema, value, pointer, errors) => {
  const allowed = schema["enum"] as string[];
  if (typeof value !== "string") return add(errors, pointer, "wrong_type", "Must be a string.");
  if (!allowed.includes(value)) add(errors, pointer, "not_allowed", `Must be one of: ${allowed.join(", ")}.`);
};

const judgeDateTime: Judge = (_schema, value, pointer, errors) => {
  if (typeof value !== "string") return add(errors, pointer, "wrong_type", "Must be a string.");
  if (!parseDateTime(value)) {
    add(
      errors,
      pointer,
      "invalid_date_time",
      "Must be an RFC 3339 date-time with an offset, at most in the year 9999.",
    );
  }
};

/** What JSON can say and the service cannot hold: U+0000, unpaired surrogates, numbers beyond a double. */
const judgeStorable = (value: unknown, pointer: string, errors: FieldError[]): void => {
  if (typeof value === "string" && !isStorableText(value)) {
    add(errors, pointer, "invalid_text", "Must hold neither U+0000 nor an unpaired surrogate.");
  } else if (typeof value === "number" && !Number.isFinite(value)) {
    add(errors, pointer, "out_of_range", "Must be within the range of an IEEE 754 double.");
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) judgeStorable(item, child(pointer, index), errors);
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      if (!isStorableText(name)) {
        add(
          errors,
          child(pointer, name),
          "invalid_text",
          "A member name must hold neither U+0000 nor an unpaired surrogate.",
        );
      }
      judgeStorable(value[name], child(pointer, name), errors);
    }
  }
};

const judgeJsonObject: Judge = (schema, value, pointer, errors) => {
  if (!isObject(value)) return add(errors, pointer, "wrong_type", "Must be an object.");
  const before = errors.length;
  judgeStorable(value, pointer, errors);
  const maxBytes = schema["x-maxBytes"] as number | undefined;
  if (errors.length === before && maxBytes !== undefined && utf8Length(JSON.stringify(value)) > maxBytes) {
    add(errors, pointer, "too_large", `Must be at most ${maxBytes} bytes as compact JSON in UTF-8.`);
  }
};

const judgeInteger: Judge = (schema, value, pointer, errors) => {
  const { minimum, maximum } = schema as unknown as { minimum: number; maximum: number };
  if (typeof value !== "number") return add(errors, pointer, "wrong_type", "Must be an integer.");
  if (!Number.isInteger(value) && Number.isFinite(value)) {
    return add(errors, pointer, "wrong_type", "Must be an integer.");
  }
  if (value < minimum || value > maximum) {
    add(errors, pointer, "out_of_range", `Must be from ${minimum} to ${maximum}.`);
  }
};

const judgeArray: Judge = (schema, value, pointer, errors) => {
  const { items, minItems, maxItems } = schema as unknown as { items: TSchema; minItems: number; maxItems: number };
  if (!Array.isArray(value)) return add(errors, pointer, "wrong_type", "Must be an array.");
  if (value.length < minItems || value.length > maxItems) {
    const code = value.length < minItems ? "too_few" : "too_many";
    add(errors, pointer, code, `Must have ${minItems} to ${maxItems} elements.`);
  }
  for (const [index, item] of value.entries()) judge(items, item, child(pointer, index), errors);
};

const judgeObject: Judge = (schema, value, pointer, errors) => {
  const { properties } = schema as TObject;
  if (!isObject(value)) return add(errors, pointer, "wrong_type", "Must be an object.");
  for (const [name, property] of Object.entries(properties)) {
    if (Object.hasOwn(value, name)) judge(property, value[name], child(pointer, name), errors);
    else if (!(OptionalKind in property)) add(errors, child(pointer, name), "required", "Is required.");
  }
  for (const name of Object.keys(value)) {
    if (errors.length >= MAX_ERRORS) return;
    if (!Object.hasOwn(properties, name)) add(errors, child(pointer, name), "unknown_field", "Is not a known field.");
  }
};

/** The one union there is: a schema or null. */
const judgeNullable: Judge = (schema, value, pointer, errors) => {
  if (value !== null) judge((schema as TUnion<[TSchema, TNull]>).anyOf[0], value, pointer, errors);
};

const OWN_KINDS = { Text: judgeText, OneOf: judgeOneOf, DateTime: judgeDateTime, JsonObject: judgeJsonObject };
const JUDGES: Record<string, Judge> = {
  ...OWN_KINDS,
  Integer: judgeInteger,
  Array: judgeArray,
  Object: judgeObject,
  Union: judgeNullable,
};

const judge: Judge = (schema, value, pointer, errors) => {
  const judgeKind = JUDGES[schema[Kind]];
  // Fail closed: a kind without a judge is a mistake of ours, and must not pass as valid.
  if (!judgeKind) throw new TypeError(`No judge for schemas of kind ${schema[Kind]}`);
  judgeKind(schema, value, pointer, errors);
};

for (const [kind, judgeKind] of Object.entries(OWN_KINDS)) {
  TypeRegistry.Set<TSchema>(kind, (schema, value) => {
    const errors: FieldError[] = [];
    judgeKind(schema, value, "#", errors);
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

/** An integer that a double holds exactly. */
export const Count = (): TInteger & { minimum: number; maximum: number } =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) as TInteger & { minimum: number; maximum: number };

export const Nullable = <Schema extends TSchema>(schema: Schema): TUnion<[Schema, TNull]> =>
  Type.Union([schema, Type.Null()]);

/** Everything that is wrong with `value`, at most a hundred errors; an empty list when it meets `schema`. */
export const validate = (schema: TSchema, value: unknown): FieldError[] => {
  const errors: FieldError[] = [];
  judge(schema, value, "#", errors);
  return errors;
};

/** Whether `value` meets `schema`. Nothing is coerced, defaulted or removed. */
export const isValid = <Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> =>
  validate(schema, value).length === 0;
