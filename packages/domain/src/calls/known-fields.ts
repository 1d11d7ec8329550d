/** Reading values from a sender of another release: see `withoutUnknownFields`. */
import { Kind, type TNull, type TObject, type TSchema, type TUnion } from "@sinclair/typebox";

/**
 * `value` without the fields that `schema` does not know, at any depth. Values that violate the schema are unchanged;
 * `validate` reports them. For a wire whose other side can be of another release.
 */
export const withoutUnknownFields = (schema: TSchema, value: unknown): unknown => {
  switch (schema[Kind]) {
    case "Object": {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
      const known = Object.entries((schema as TObject).properties).filter(([field]) => Object.hasOwn(value, field));
      return Object.fromEntries(
        known.map(([field, of]) => [field, withoutUnknownFields(of, (value as Record<string, unknown>)[field])]),
      );
    }
    case "Array":
      return Array.isArray(value) ? value.map((item) => withoutUnknownFields(schema["items"], item)) : value;
    case "Union":
      return value === null ? null : withoutUnknownFields((schema as TUnion<[TSchema, TNull]>).anyOf[0], value);
    default:
      return value;
  }
};
