/**
 * The building blocks of request and response schemas, and their validator. A schema is a TypeBox schema, hence JSON Schema,
 * and the only place where a bound is written: validation, the OpenAPI document and the database's CHECKs read it from there.
 *
 * The validator is our own because TypeBox counts UTF-16 units where JSON Schema counts code points, does not check dates
 * against the calendar, and does not report all errors at once. The custom kinds are registered with TypeBox, so that
 * TypeBox's own checks give the same result.
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

/** Maximum number of errors reported for one request. */
export const MAX_ERRORS = 100;
/** Maximum length, in characters, of a caller's member name in an error. */
const MAX_NAME = 128;
/** A pointer longer than this is not extended: errors must not be many times the size of the request. */
const MAX_POINTER = 512;

/** The location of a value in the body: the names that lead to it, innermost first. Converted to text only for an error. */
type Path = { parent: Path; name: string | number } | null;

/**
 * Validates the value of member `name` of the value at `parent`, and appends its errors to `errors`. `parent` and `name` are
 * separate arguments, so that a valid value costs no allocation.
 */
type Validator = (value: unknown, parent: Path, name: string | number | null, errors: FieldError[]) => void;
/** Compiles a schema into a validator, once; reads all bounds of the schema at that time. */
type ValidatorFactory = (schema: TSchema) => Validator;

const pathOf = (parent: Path, name: string | number | null): Path => (name === null ? null : { parent, name });

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A member name from the caller in a form that an error may show: truncated between characters, well-formed, API keys masked. */
export const shownName = (name: string): string =>
  [...maskApiKeys(name).slice(0, 2 * MAX_NAME)].slice(0, MAX_NAME).join("").toWellFormed();

/** A JSON Pointer in fragment form (RFC 6901 §6). A pointer that gets too long ends early, at a container of the value. */
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

const text: ValidatorFactory = (schema) => {
  const { minLength, maxLength } = schema as unknown as { minLength: number; maxLength: number };
  return (value, parent, name, errors) => {
    const refuse = (code: string, detail: string): void => add(errors, pathOf(parent, name), code, detail);
    if (typeof value !== "string") return refuse("wrong_type", "Must be a string.");
    if (!isStorableText(value)) return refuse("invalid_text", "Must not contain U+0000 or an unpaired surrogate.");
    const length = codePointLength(value);
    if (length < minLength || length > maxLength) {
      const code = length < minLength ? "too_short" : "too_long";
      refuse(code, `Must have ${minLength} to ${maxLength} characters.`);
    }
  };
};

const oneOf: ValidatorFactory = (schema) => {
  const allowed = schema["enum"] as string[];
  return (value, parent, name, errors) => {
    if (typeof value !== "string") add(errors, pathOf(parent, name), "wrong_type", "Must be a string.");
    else if (!allowed.includes(value)) {
      add(errors, pathOf(parent, name), "not_allowed", `Must be one of: ${allowed.join(", ")}.`);
    }
  };
};

const dateTime: ValidatorFactory = () => (value, parent, name, errors) => {
  if (typeof value !== "string") add(errors, pathOf(parent, name), "wrong_type", "Must be a string.");
  else if (!parseDateTime(value)) {
    const detail = "Must be an RFC 3339 date-time with an offset, not after the year 9999.";
    add(errors, pathOf(parent, name), "invalid_date_time", detail);
  }
};

/** Rejects JSON that the service cannot store: U+0000, unpaired surrogates, numbers out of the range of a double. */
const validateStorable: Validator = (value, parent, name, errors) => {
  if (typeof value === "string") {
    if (isStorableText(value)) return;
    add(errors, pathOf(parent, name), "invalid_text", "Must not contain U+0000 or an unpaired surrogate.");
  } else if (typeof value === "number") {
    if (Number.isFinite(value)) return;
    add(errors, pathOf(parent, name), "out_of_range", "Must be within the range of an IEEE 754 double.");
  } else if (typeof value === "object" && value !== null) {
    const path = pathOf(parent, name);
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) validateStorable(value[index], path, index, errors);
      return;
    }
    for (const member of Object.keys(value)) {
      if (!isStorableText(member)) {
        const detail = "A member name must not contain U+0000 or an unpaired surrogate.";
        add(errors, { parent: path, name: member }, "invalid_text", detail);
      }
      validateStorable((value as Record<string, unknown>)[member], path, member, errors);
    }
  }
};

const jsonObject: ValidatorFactory = (schema) => {
  const maxBytes = schema["x-maxBytes"] as number | undefined;
  return (value, parent, name, errors) => {
    if (!isObject(value)) return add(errors, pathOf(parent, name), "wrong_type", "Must be an object.");
    const before = errors.length;
    validateStorable(value, parent, name, errors);
    if (errors.length === before && maxBytes !== undefined && utf8Length(JSON.stringify(value)) > maxBytes) {
      const detail = `Must be at most ${maxBytes} bytes as compact JSON in UTF-8.`;
      add(errors, pathOf(parent, name), "too_large", detail);
    }
  };
};

const integer: ValidatorFactory = (schema) => {
  const { minimum, maximum } = schema as unknown as { minimum: number; maximum: number };
  return (value, parent, name, errors) => {
    if (typeof value !== "number" || (!Number.isInteger(value) && Number.isFinite(value))) {
      add(errors, pathOf(parent, name), "wrong_type", "Must be an integer.");
    } else if (!(value >= minimum && value <= maximum)) {
      add(errors, pathOf(parent, name), "out_of_range", `Must be from ${minimum} to ${maximum}.`);
    }
  };
};

const array: ValidatorFactory = (schema) => {
  const { items, minItems, maxItems } = schema as unknown as { items: TSchema; minItems: number; maxItems: number };
  const validateItem = validatorOf(items);
  return (value, parent, name, errors) => {
    const path = pathOf(parent, name);
    if (!Array.isArray(value)) return add(errors, path, "wrong_type", "Must be an array.");
    if (value.length < minItems || value.length > maxItems) {
      const code = value.length < minItems ? "too_few" : "too_many";
      add(errors, path, code, `Must have ${minItems} to ${maxItems} elements.`);
    }
    for (let index = 0; index < value.length; index++) validateItem(value[index], path, index, errors);
  };
};

const object: ValidatorFactory = (schema) => {
  const { properties, minProperties = 0 } = schema as TObject;
  const known = Object.entries(properties).map(([field, property]) => ({
    field,
    validateField: validatorOf(property),
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
    for (const { field, validateField, isRequired } of known) {
      if (Object.hasOwn(value, field)) validateField(value[field], path, field, errors);
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

/** The only kind of union in use: a schema or null. */
const nullable: ValidatorFactory = (schema) => {
  const validateValue = validatorOf((schema as TUnion<[TSchema, TNull]>).anyOf[0]);
  return (value, parent, name, errors) => {
    if (value !== null) validateValue(value, parent, name, errors);
  };
};

const CUSTOM_KINDS: Record<string, ValidatorFactory> = {
  Text: text,
  OneOf: oneOf,
  DateTime: dateTime,
  JsonObject: jsonObject,
};
const FACTORIES: Record<string, ValidatorFactory> = {
  ...CUSTOM_KINDS,
  Integer: integer,
  Array: array,
  Object: object,
  Union: nullable,
};

const validators = new WeakMap<TSchema, Validator>();
/** The validator of a schema, compiled on first use. */
const validatorOf = (schema: TSchema): Validator => {
  const known = validators.get(schema);
  if (known) return known;
  const factory = FACTORIES[schema[Kind]];
  // Fail closed: a kind without a validator is a programming error, and its values must not count as valid.
  if (!factory) throw new TypeError(`No validator for schemas of kind ${schema[Kind]}`);
  const validator = factory(schema);
  validators.set(schema, validator);
  return validator;
};

for (const kind of Object.keys(CUSTOM_KINDS)) {
  TypeRegistry.Set<TSchema>(kind, (schema, value) => validate(schema, value).length === 0);
}

/** The description in the OpenAPI document. */
type Described = { description?: string };

type TextBounds = { minLength: number; maxLength: number };

/** Text that PostgreSQL can store; lengths in code points. */
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

/** Any JSON object; `x-maxBytes` is its maximum size as compact JSON in UTF-8. */
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

/** An integer; by default from 0 to the largest that a double represents exactly. */
export const Count = (options: Partial<CountBounds> & Described = {}): TInteger & CountBounds =>
  Type.Integer({ ...SAFE, ...options }) as TInteger & CountBounds;

export const Nullable = <Schema extends TSchema>(schema: Schema, described: Described = {}): TUnion<[Schema, TNull]> =>
  Type.Union([schema, Type.Null()], described);

/** All errors of `value`, at most `MAX_ERRORS`; an empty list when it is valid. */
export const validate = (schema: TSchema, value: unknown): FieldError[] => {
  const errors: FieldError[] = [];
  validatorOf(schema)(value, null, null, errors);
  return errors;
};

/** Whether `value` is valid. Nothing is coerced, defaulted or removed. */
export const isValid = <Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> =>
  validate(schema, value).length === 0;
