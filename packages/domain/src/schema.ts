/**
 * The building blocks of request and response schemas, and their validator. A schema is a TypeBox schema, hence JSON Schema,
 * and the only place where a bound is written: validation, the OpenAPI document and the database's CHECKs read it from there.
 *
 * The validator is our own: docs/decisions/libraries.md compares it with TypeBox's compiler and Ajv. The custom kinds are
 * registered with TypeBox, so that TypeBox's own checks give the same result.
 */
import {
  Kind,
  type ObjectOptions,
  OptionalKind,
  type Static,
  type TInteger,
  type TNull,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnion,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { maskApiKeys } from "./api-keys/secret.ts";
import { parseDateTime } from "./date-time.ts";
import { jsonText } from "./json-text.ts";
import type { FieldError } from "./problem.ts";
import type { FieldErrorCode } from "./problems/field-error-codes.ts";
import { codePointLength, isStorableText } from "./text.ts";

/** Maximum number of errors reported for one request. */
export const MAX_ERRORS = 100;
/** Maximum length, in characters, of a caller's member name in an error. */
const MAX_NAME = 128;
/** A pointer longer than this is not extended, so that errors are not many times the size of the request. */
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

/** The error of a value: its code and its detail. */
type Failure = readonly [code: FieldErrorCode, detail: string];

const add = (errors: FieldError[], path: Path, [code, detail]: Failure): void => {
  if (errors.length < MAX_ERRORS) errors.push({ pointer: pointerOf(path), code, detail });
};

const NOT_A_STRING: Failure = ["wrong_type", "Must be a string."];
const NOT_AN_OBJECT: Failure = ["wrong_type", "Must be an object."];
const NOT_SUPPORTED: Failure = ["not_supported", "Is not supported. It can only be left out or turned off."];
const NOT_STORABLE: Failure = ["invalid_text", "Must not contain U+0000 or an unpaired surrogate."];
const NAME_NOT_STORABLE: Failure = ["invalid_text", "A member name must not contain U+0000 or an unpaired surrogate."];

/** The validator of a value without members, from a function that returns the failure of the value. */
const leaf =
  (failureOf: (schema: TSchema) => (value: unknown) => Failure | null): ValidatorFactory =>
  (schema) => {
    const check = failureOf(schema);
    return (value, parent, name, errors) => {
      const failure = check(value);
      if (failure) add(errors, pathOf(parent, name), failure);
    };
  };

const textFailure = (schema: TSchema) => {
  const { minLength, maxLength } = schema as TSchema & TextBounds;
  const detail = `Must have ${minLength} to ${maxLength} characters.`;
  return (value: unknown): Failure | null => {
    if (typeof value !== "string") return NOT_A_STRING;
    if (!isStorableText(value)) return NOT_STORABLE;
    const length = codePointLength(value);
    if (length >= minLength && length <= maxLength) return null;
    return [length < minLength ? "too_short" : "too_long", detail];
  };
};
const text = leaf(textFailure);

/**
 * Controls, line separators, and the characters that change the direction of text (UAX #9, table 2 and its marks): they
 * make a name look like another one, or move the neighbouring text. Joining characters are allowed, because they are
 * part of names.
 */
const NAME_PATTERN = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]+$";
const NAME = new RegExp(NAME_PATTERN, "u");
const INVALID_NAME: Failure = [
  "invalid_name",
  "Must not contain control characters, line breaks, or characters that change the direction of text.",
];

const name = leaf((schema) => {
  const failureOf = textFailure(schema);
  return (value) => failureOf(value) ?? (NAME.test(value as string) ? null : INVALID_NAME);
});

/**
 * Text before and after one `@`, without white space and invisible characters, because two addresses that look alike
 * would be two people. Invisible characters are controls, formats such as directions and zero widths, and other
 * default-ignorable characters. Four further characters are drawn blank, although Unicode does not call them ignorable:
 * U+2800, U+FFFC, U+16FE4 and U+1D159. The normal form must meet the same rules: U+FF20 becomes an `@`. The check does
 * not show whether the address exists.
 */
const UNSEEN = /[\p{Z}\p{Cc}\p{Cf}\p{Co}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{16fe4}\u{1d159}]/u;
/**
 * The pattern in the OpenAPI document, for regular expressions without properties: the characters of `UNSEEN` up to
 * U+FFFF (a test compares them), the `@`, and the characters whose normal form contains one of these.
 */
const EMAIL_CHARACTER =
  "[^\\u0000-\\u0020@\\u007f-\\u00a0\\u00a8\\u00ad\\u00af\\u00b4\\u00b8\\u02d8-\\u02dd\\u034f\\u037a\\u0384-\\u0385\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890-\\u0891\\u08e2\\u115f-\\u1160\\u1680\\u17b4-\\u17b5\\u180b-\\u180f\\u1fbd\\u1fbf-\\u1fc1\\u1fcd-\\u1fcf\\u1fdd-\\u1fdf\\u1fed-\\u1fee\\u1ffd-\\u1ffe\\u2000-\\u200f\\u2017\\u2028-\\u202f\\u203e\\u205f-\\u206f\\u2800\\u3000\\u309b-\\u309c\\u3164\\ue000-\\uf8ff\\ufc5e-\\ufc63\\ufdfa-\\ufdfb\\ufe00-\\ufe0f\\ufe49-\\ufe4c\\ufe6b\\ufe70\\ufe72\\ufe74\\ufe76\\ufe78\\ufe7a\\ufe7c\\ufe7e\\ufeff\\uff20\\uffa0\\uffe3\\ufff0-\\ufffc]";
const EMAIL_PATTERN = `^${EMAIL_CHARACTER}+@${EMAIL_CHARACTER}+$`;
const EMAIL = new RegExp(EMAIL_PATTERN, "u");

/**
 * The form in which addresses are stored and compared: in lower case, composed, and without look-alikes such as
 * fullwidth letters (Unicode NFKC), so that an address means one person, independent of the keyboard. The function is
 * idempotent.
 */
export const normalEmail = (email: string): string => email.normalize("NFKC").toLowerCase().normalize("NFKC");

const EMAIL_BOUNDS: TextBounds = { minLength: 3, maxLength: 254 };

const email = leaf(() => {
  const { minLength, maxLength } = EMAIL_BOUNDS;
  const failure: Failure = ["invalid_email", `Must be an email address of at most ${maxLength} characters.`];
  return (value) => {
    if (typeof value !== "string") return NOT_A_STRING;
    if (!isStorableText(value)) return NOT_STORABLE;
    if (codePointLength(value) < minLength || codePointLength(value) > maxLength) return failure;
    // The address is stored in its normal form, which can be longer: one character can become 18.
    const normal = normalEmail(value);
    const isEmail = [value, normal].every((form) => EMAIL.test(form) && !UNSEEN.test(form));
    return isEmail && codePointLength(normal) <= maxLength ? null : failure;
  };
});

const oneOf = leaf((schema) => {
  const allowed = schema["enum"] as string[];
  const failure: Failure = ["not_allowed", `Must be one of: ${allowed.join(", ")}.`];
  return (value) => {
    if (typeof value !== "string") return NOT_A_STRING;
    return allowed.includes(value) ? null : failure;
  };
});

const dateTime = leaf(() => {
  const detail = "Must be an RFC 3339 date-time with an offset, not after the year 9999.";
  return (value) => {
    if (typeof value !== "string") return NOT_A_STRING;
    return parseDateTime(value) ? null : ["invalid_date_time", detail];
  };
});

const number = leaf(() => {
  const failure: Failure = ["wrong_type", "Must be a number."];
  return (value) => (Number.isFinite(value) ? null : failure);
});

const integer = leaf((schema) => {
  const { minimum, maximum } = schema as TSchema & CountBounds;
  return (value) => {
    if (typeof value !== "number" || (!Number.isInteger(value) && Number.isFinite(value))) {
      return ["wrong_type", "Must be an integer."];
    }
    return value >= minimum && value <= maximum ? null : ["out_of_range", `Must be from ${minimum} to ${maximum}.`];
  };
});

const boolean = leaf(() => (value) => (typeof value === "boolean" ? null : ["wrong_type", "Must be true or false."]));

/** Rejects JSON that the service cannot store: U+0000, unpaired surrogates, numbers out of the range of a double. */
const validateStorable: Validator = (value, parent, name, errors) => {
  if (typeof value === "string") {
    if (!isStorableText(value)) add(errors, pathOf(parent, name), NOT_STORABLE);
  } else if (typeof value === "number") {
    if (Number.isFinite(value)) return;
    add(errors, pathOf(parent, name), ["out_of_range", "Must be within the range of an IEEE 754 double."]);
  } else if (Array.isArray(value)) {
    const path = pathOf(parent, name);
    for (let index = 0; index < value.length; index++) validateStorable(value[index], path, index, errors);
  } else if (isObject(value)) {
    const path = pathOf(parent, name);
    for (const member of Object.keys(value)) {
      if (!isStorableText(member)) add(errors, { parent: path, name: member }, NAME_NOT_STORABLE);
      validateStorable(value[member], path, member, errors);
    }
  }
};

const jsonObject: ValidatorFactory = (schema) => {
  const maxBytes = schema["x-maxBytes"] as number | undefined;
  return (value, parent, name, errors) => {
    if (!isObject(value)) return add(errors, pathOf(parent, name), NOT_AN_OBJECT);
    const before = errors.length;
    validateStorable(value, parent, name, errors);
    if (errors.length === before && maxBytes !== undefined && Buffer.byteLength(jsonText(value)) > maxBytes) {
      add(errors, pathOf(parent, name), ["too_large", `Must be at most ${maxBytes} bytes as compact JSON in UTF-8.`]);
    }
  };
};

const metadata: ValidatorFactory = (schema) => {
  const { maxProperties, propertyNames, additionalProperties } = schema as TSchema & MetadataBounds;
  const validateValue = validatorOf(additionalProperties);
  const nameDetail = `A name must have ${propertyNames.minLength} to ${propertyNames.maxLength} characters.`;
  return (value, parent, name, errors) => {
    const path = pathOf(parent, name);
    if (!isObject(value)) return add(errors, path, NOT_AN_OBJECT);
    const members = Object.keys(value);
    if (members.length > maxProperties) {
      return add(errors, path, ["too_many", `Must have at most ${maxProperties} members.`]);
    }
    for (const member of members) {
      const length = codePointLength(member);
      if (!isStorableText(member)) add(errors, { parent: path, name: member }, NAME_NOT_STORABLE);
      else if (length < propertyNames.minLength || length > propertyNames.maxLength) {
        add(errors, { parent: path, name: member }, ["invalid_name", nameDetail]);
      }
      validateValue(value[member], path, member, errors);
    }
  };
};

const array: ValidatorFactory = (schema) => {
  const { items, minItems, maxItems } = schema as unknown as { items: TSchema; minItems: number; maxItems: number };
  const validateItem = validatorOf(items);
  return (value, parent, name, errors) => {
    const path = pathOf(parent, name);
    if (!Array.isArray(value)) return add(errors, path, ["wrong_type", "Must be an array."]);
    if (value.length < minItems || value.length > maxItems) {
      const code = value.length < minItems ? "too_few" : "too_many";
      add(errors, path, [code, `Must have ${minItems} to ${maxItems} elements.`]);
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
  const isUnknown = `Is not a known field. Known: ${Object.keys(properties).join(", ") || "none"}.`;
  return (value, parent, name, errors) => {
    const path = pathOf(parent, name);
    if (!isObject(value)) return add(errors, path, NOT_AN_OBJECT);
    const names = Object.keys(value);
    if (names.length < minProperties) {
      const detail = `Must have at least ${minProperties} field${minProperties === 1 ? "" : "s"}.`;
      return add(errors, path, ["too_few", detail]);
    }
    for (const { field, validateField, isRequired } of known) {
      if (Object.hasOwn(value, field)) validateField(value[field], path, field, errors);
      else if (isRequired) add(errors, { parent: path, name: field }, ["required", "Is required."]);
    }
    for (const field of names) {
      if (errors.length >= MAX_ERRORS) return;
      if (Object.hasOwn(properties, field)) continue;
      add(errors, { parent: path, name: field }, ["unknown_field", isUnknown]);
    }
  };
};

/** Unions are used only for values that can be absent: a schema, null, or constants that turn a feature off. */
const union: ValidatorFactory = (schema) => {
  const validateValue = validatorOf((schema as TUnion).anyOf[0] as TSchema);
  const absent = new Set<unknown>((schema as TUnion).anyOf.slice(1).map((one) => one["const"] ?? null));
  return (value, parent, name, errors) => {
    if (!absent.has(value)) validateValue(value, parent, name, errors);
  };
};

const CUSTOM_KINDS: Record<string, ValidatorFactory> = {
  Text: text,
  OneOf: oneOf,
  Off: leaf(() => (value) => (value === "off" || value === false ? null : NOT_SUPPORTED)),
  DateTime: dateTime,
  Email: email,
  Name: name,
  JsonObject: jsonObject,
  Metadata: metadata,
};
const FACTORIES: Record<string, ValidatorFactory> = {
  ...CUSTOM_KINDS,
  Number: number,
  Integer: integer,
  Boolean: boolean,
  Array: array,
  Object: object,
  Union: union,
};

const validators = new WeakMap<TSchema, Validator>();
/** The validator of a schema, compiled on first use. */
const validatorOf = (schema: TSchema): Validator => {
  const known = validators.get(schema);
  if (known) return known;
  const factory = FACTORIES[schema[Kind]];
  // Fail closed: a kind without a validator is a programming error, and its values are invalid.
  if (!factory) throw new TypeError(`No validator for schemas of kind ${schema[Kind]}`);
  const validator = factory(schema);
  validators.set(schema, validator);
  return validator;
};

for (const kind of Object.keys(CUSTOM_KINDS)) {
  TypeRegistry.Set<TSchema>(kind, (schema, value) => validate(schema, value).length === 0);
}

type Described = { description?: string };

type TextBounds = { minLength: number; maxLength: number };

/** Text that PostgreSQL can store. Lengths are in code points. */
export const Text = (bounds: TextBounds & Described): TUnsafe<string> & TextBounds =>
  Type.Unsafe<string>({ [Kind]: "Text", type: "string", ...bounds }) as TUnsafe<string> & TextBounds;

/** A name that people read: text without control characters, and without characters that change its direction. */
export const Name = (bounds: TextBounds & Described): TUnsafe<string> & TextBounds =>
  Type.Unsafe<string>({ [Kind]: "Name", type: "string", pattern: NAME_PATTERN, ...bounds }) as TUnsafe<string> &
    TextBounds;

/** One of a list of strings. */
export const OneOf = <const Values extends readonly string[]>(
  values: Values,
  described: Described = {},
): TUnsafe<Values[number]> => Type.Unsafe({ [Kind]: "OneOf", type: "string", enum: [...values], ...described });

/** A field of an unsupported feature: every value that turns it on is refused with `not_supported`. */
export const Off = (described: Described = {}): TUnsafe<"off" | false> =>
  Type.Unsafe({ [Kind]: "Off", anyOf: [Type.Literal("off"), Type.Literal(false)], ...described });

/** An email address. */
export const Email = (described: Described = {}): TUnsafe<string> & TextBounds =>
  Type.Unsafe<string>({
    [Kind]: "Email",
    type: "string",
    pattern: EMAIL_PATTERN,
    ...EMAIL_BOUNDS,
    ...described,
  }) as TUnsafe<string> & TextBounds;

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

type MetadataBounds = { maxProperties: number; propertyNames: TextBounds; additionalProperties: TUnsafe<string> };

/** An object of at most `maxProperties` strings. The lengths of names and values are in code points. */
export const Metadata = (
  { maxProperties, names, values }: { maxProperties: number; names: TextBounds; values: TextBounds },
  described: Described = {},
): TUnsafe<Record<string, string>> =>
  Type.Unsafe<Record<string, string>>({
    [Kind]: "Metadata",
    type: "object",
    maxProperties,
    propertyNames: names,
    additionalProperties: Text(values),
    ...described,
  });

type CountBounds = { minimum: number; maximum: number };
const SAFE: CountBounds = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** An integer; by default from 0 to the largest integer that a double represents exactly. */
export const Count = (options: Partial<CountBounds> & Described = {}): TInteger & CountBounds =>
  Type.Integer({ ...SAFE, ...options }) as TInteger & CountBounds;

export const Nullable = <Schema extends TSchema>(schema: Schema, described: Described = {}): TUnion<[Schema, TNull]> =>
  Type.Union([schema, Type.Null()], described);

/** An object with these fields; any other field is refused. */
export const ClosedObject = <Fields extends TProperties>(
  fields: Fields,
  options: ObjectOptions = {},
): TObject<Fields> => Type.Object(fields, { additionalProperties: false, ...options });

/** All errors of `value`, at most `MAX_ERRORS`; an empty list when it is valid. */
export const validate = (schema: TSchema, value: unknown): FieldError[] => {
  const errors: FieldError[] = [];
  validatorOf(schema)(value, null, null, errors);
  return errors;
};

/** Whether `value` is valid. The value is not coerced, and no member is added or removed. */
export const isValid = <Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> =>
  validate(schema, value).length === 0;
