/** Reading a request's query parameters: as strict as its body. Each is known, given once, and meets its schema. */
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import { shownName, validate } from "@realtime-avatar/domain/schema";
import { Kind, type Static, type TObject, Type } from "@sinclair/typebox";

/** What most routes take. */
export const NO_PARAMETERS = Type.Object({}, { additionalProperties: false });

const INTEGER = /^(0|[1-9]\d{0,15})$/;

/** The parameters of `request` as `schema` types them, and everything that is wrong with them. */
export const queryOf = (
  { url }: { url: string },
  schema: TObject,
): { value: Record<string, unknown>; errors: FieldError[] } => {
  const start = url.indexOf("?");
  if (start === -1) return { value: {}, errors: [] };
  const value: Record<string, unknown> = Object.create(null);
  const errors: FieldError[] = [];
  const parameters = new URLSearchParams(url.slice(start));
  for (const name of new Set(parameters.keys())) {
    const [text = "", ...others] = parameters.getAll(name);
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    const refuse = (code: string, detail: string): void => {
      errors.push({ parameter: shownName(name), code, detail });
    };
    if (!property) {
      refuse("unknown_parameter", "Is not a known query parameter.");
      continue;
    }
    if (others.length > 0) refuse("repeated_parameter", "Must be given once.");
    value[name] = property[Kind] === "Integer" && INTEGER.test(text) ? Number(text) : text;
    for (const { code, detail } of validate(property, value[name])) refuse(code, detail);
  }
  return { value, errors };
};

/** Throws the problem `validation_failed` if there are errors. */
export const refuseIfAny = (errors: readonly FieldError[]): void => {
  if (errors.length > 0) {
    throw new Problem("validation_failed", "The request does not meet its constraints.", { errors });
  }
};

/**
 * The query parameters of `request`, which meet `schema`. Throws the problem `validation_failed` with what is wrong with
 * them, and with the `errors` that were found elsewhere.
 */
export const readQuery = <Schema extends TObject>(
  request: Request,
  schema: Schema,
  errors: readonly FieldError[] = [],
): Static<Schema> => {
  const query = queryOf(request, schema);
  refuseIfAny([...query.errors, ...errors]);
  return query.value as Static<Schema>;
};
