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

/**
 * Judges the value that stands at `name` in what stands at `parent`, and adds what is wrong with it. Both are told apart,
 * so that nothing is allocated for a value that is right.
 */
type Judge = (value: unknown, parent: Path, name: string | number | null, errors: FieldError[]) => void;
/** Makes the judge of a schema, once: what it needs of the schema is read then. */
type Maker = (schema: TSchema) => Judge;

const pathOf = (parent: Path, name: string | number | null): Path => (name === null ? null : { parent, name });

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

const text: Maker = (schema) => {
  const { minLength, maxLength } = schema as unknown as { minLength: number; maxLength: number };
  return (value, parent, name, errors) => {
    const refuse = (code: string, detail: string): void => add(errors, pathOf(parent, name), code, detail);
    if (typeof value !== "string") return refuse("wrong_type", "Must be a string.");
    if (!isStorableText(value)) return refuse("invalid_text", "Must hold neither U+0000 nor an unpaired surrogate.");
    const length = codePointLength(value);
    if (length < minLength || length > maxLength) {
      const code = length < minLength ? "too_short" : "too_long";
      refuse(code, `Must have ${minLength} to ${maxLength} characters.`);
    }
  };
};

const oneOf: Maker = (schema) => {
  const allowed = schema["enum"] as string[];
  return (value, parent, name, errors) => {
    if (typeof value !== "string") add(errors, pathOf(parent, name), "wrong_type", "Must be a string.");
    else if (!allowed.includes(value)) {
      add(errors, pathOf(parent, name), "not_allowed", `Must be one of: ${allowed.join(", ")}.`);
    }
  };
};

const dateTime: Maker = () => (value, parent, name, errors) => {
  if (typeof value !== "string") add(errors, pathOf(parent, name), "wrong_type", "Must be a string.");
  else if (!parseDateTime(value)) {
    const detail = "Must be an RFC 3339 date-time with an offset, at most in the year 9999.";
    add(errors, pathOf(parent, name), "invalid_date_time", detail);
  }
};

/** What JSON can say and the service cannot hold: U+0000, unpaired surrogates, numbers beyond a double. */
const judgeStorable: Judge = (value, parent, name, errors) => {
  if (typeof value === "string") {
    if (isStorableText(value)) return;
    add(errors, pathOf(parent, name), "invalid_text", "Must hold neither U+0000 nor an unpaired surrogate.");
  } else if (typeof value === "number") {
    if (Number.isFinite(value)) return;
    add(errors, pathOf(parent, name), "out_of_range", "Must be within the range of an IEEE 754 double.");
  } else if (typeof value === "object" && value !== null) {
    const path = pathOf(parent, name);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) judgeStorable(value[index], path, index, errors);
      return;
    }
    for (const member of Object.keys(value)) {
      if (!isStorableText(member)) {
        const detail = "A member name must hold neither U+0000 nor an unpaired surrogate.";
        add(errors, { parent: path, name: member }, "invalid_text", detail);
      }
      judgeStorable((value as Record<string, unknown>)[member], path, member, errors);
    }
  }
};

const jsonObject: Maker = (schema) => {
  const maxBytes = schema["x-maxBytes"] as number | undefined;
  return (value, parent, name, errors) => {
    if (!isObject(value)) return add(errors, pathOf(parent, name), "wrong_type", "Must be an object.");
    const before = errors.length;
    judgeStorable(value, parent, name, errors);
    if (errors.length === before && maxBytes !== undefined && utf8Length(JSON.stringify(value)) > maxBytes) {
      const detail = `Must be at most ${maxBytes} bytes as compact JSON in UTF-8.`;
      add(errors, pathOf(parent, name), "too_large", detail);
    }
  };
};

const integer: Maker = (schema) => {
  const { minimum, maximum } = schema as unknown as { minimum: number; maximum: number };
  return (value, parent, name, errors) => {
    if (typeof value !== "number" || (!Number.isInteger(value) && Number.isFinite(value))) {
      add(errors, pathOf(parent, name), "wrong_type", "Must be an integer.");
    } else if (!(value >= minimum && value <= maximum)) {
      add(errors, pathOf(parent, name), "out_of_range", `Must be from ${minimum} to ${maximum}.`);
    }
  };
};

const array: Maker = (schema) => {
  const { items, minItems, maxItems } = schema as unknown as { items: TSchema; minItems: number; maxItems: number };
  const judgeItem = judgeOf(items);
  return (value, parent, name, errors) => {
    const path = pathOf(parent, name);
    if (!Array.isArray(value)) return add(errors, path, "wrong_type", "Must be an array.");
    if (value.length < minItems || value.length > maxItems) {
      const code = value.length < minItems ? "too_few" : "too_many";
      add(errors, path, code, `Must have ${minItems} to ${maxItems} elements.`);
    }
    for (let index = 0; index < value.length; index++) judgeItem(value[index], path, index, errors);
  };
};

const object: Maker = (schema) => {
  const { properties, minProperties = 0 } = schema as TObject;
  const known = Object.entries(properties).map(([field, property]) => ({
    field,
    judge: judgeOf(property),
    isRequired: !(OptionalKind in property),
  }));
  return (value, parent, name, errors) => {
    const path = pathOf(parent, name);
    if (!isObject(value)) return add(errors, path, "wrong_type", "Must be an object.");
    const names = Object.keys(value);
    if (names.length < minProperties) {
      const detail = `Must have at least ${minProperties} field${minProperties === 1 ? "" : "s"}.`;
      return add(errors, path, "too_few", detail);
    }
    for (const { field, judge, isRequired } of known) {
      if (Object.hasOwn(value, field)) judge(value[field], path, field, errors);
      else if (isRequired) add(errors, { parent: path, name: field }, "required", "Is required.");
    }
    for (const field of names) {
      if (errors.length >= MAX_ERRORS) return;
      if (!Object.hasOwn(properties, field)) {
        add(errors, { parent: path, name: field }, "unknown_field", "Is not a known field.");
      }
    }
  };
};

/** The one union there is: a schema or null. */
const nullable: Maker = (schema) => {
  const judge = judgeOf((schema as TUnion<[TSchema, TNull]>).anyOf[0]);
  return (value, parent, name, errors) => {
    if (value !== null) judge(value, parent, name, errors);
  };
};

const OWN_KINDS: Record<string, Maker> = { Text: text, OneOf: oneOf, DateTime: dateTime, JsonObject: jsonObject };
const MAKERS: Record<string, Maker> = {
  ...OWN_KINDS,
  Integer: integer,
  Array: array,
  Object: object,
  Union: nullable,
};

const judges = new WeakMap<TSchema, Judge>();
/** The judge of a schema, made when it is first asked for. */
const judgeOf = (schema: TSchema): Judge => {
  const known = judges.get(schema);
  if (known) return known;
  const make = MAKERS[schema[Kind]];
  // Fail closed: a kind without a judge is a mistake of ours, and must not pass as valid.
  if (!make) throw new TypeError(`No judge for schemas of kind ${schema[Kind]}`);
  const judge = make(schema);
  judges.set(schema, judge);
  return judge;
};

for (const kind of Object.keys(OWN_KINDS)) {
  TypeRegistry.Set<TSchema>(kind, (schema, value) => validate(schema, value).length === 0);
}

/** What a document says of a value. */
type Described = { description?: string };

type TextBounds = { minLength: number; maxLength: number };

/** Text of so many code points, which PostgreSQL can hold. */
export const Text = (bounds: TextBounds & Described): TUnsafe<string> & TextBounds =>
  Type.Unsafe<string>({ [Kind]: "Text", type: "string", ...bounds }) as TUnsafe<string> & TextBounds;

/** One of a list of strings. */
export const OneOf = <const Values extends readonly string[]>(
  values: Values,
  described: Described = {},
): TUnsafe<Values[number]> => Type.Unsafe({ [Kind]: "OneOf", type: "string", enum: [...values], ...described });

/** An RFC 3339 date-time. */
export const DateTime = (described: Described = {}): TUnsafe<string> =>
  Type.Unsafe({ [Kind]: "DateTime", type: "string", format: "date-time", ...described });

export type JsonObject = { [name: string]: unknown };

/** Any JSON object, of at most so many bytes as compact JSON in UTF-8. */
export const JsonObject = <Bounds extends { "x-maxBytes"?: number }>(
  bounds: Bounds & Described,
): TUnsafe<JsonObject> & Bounds =>
  Type.Unsafe<JsonObject>({
    [Kind]: "JsonObject",
    type: "object",
    additionalProperties: true,
    ...bounds,
  }) as TUnsafe<JsonObject> & Bounds;

type CountBounds = { minimum: number; maximum: number };
const SAFE: CountBounds = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** An integer; without bounds of its own, any from 0 that a double holds exactly. */
export const Count = (options: Partial<CountBounds> & Described = {}): TInteger & CountBounds =>
  Type.Integer({ ...SAFE, ...options }) as TInteger & CountBounds;

export const Nullable = <Schema extends TSchema>(schema: Schema, described: Described = {}): TUnion<[Schema, TNull]> =>
  Type.Union([schema, Type.Null()], described);

/** Everything that is wrong with `value`, at most a hundred errors; an empty list when it meets `schema`. */
export const validate = (schema: TSchema, value: unknown): FieldError[] => {
  const errors: FieldError[] = [];
  judgeOf(schema)(value, null, null, errors);
  return errors;
};

/** Whether `value` meets `schema`. Nothing is coerced, defaulted or removed. */
export const isValid = <Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> =>
  validate(schema, value).length === 0;
