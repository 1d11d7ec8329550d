/** Query parameters, validated as strictly as bodies: unknown and repeated parameters are rejected. */

import { type FieldError, validationFailed } from "@realtime-avatar/domain/problem";
import type { FieldErrorCode } from "@realtime-avatar/domain/problems/field-error-codes";
import { MAX_ERRORS, shownName, validate } from "@realtime-avatar/domain/schema";
import { Kind, type Static, type TObject, Type } from "@sinclair/typebox";

/** The schema of routes without query parameters. */
export const NO_PARAMETERS = Type.Object({}, { additionalProperties: false });

const INTEGER = /^(0|[1-9]\d{0,15})$/;

/** The query parameters with the types of `schema`, and their errors, at most `MAX_ERRORS`. */
export const parseQuery = (
  { url }: { url: string },
  schema: TObject,
): { value: Record<string, unknown>; errors: FieldError[] } => {
  const value: Record<string, unknown> = Object.create(null);
  const errors = new Map<string, FieldError>();
  const start = url.indexOf("?");
  // The common case: a request without query parameters.
  if (start === -1) return { value, errors: [] };
  const parameters = new URLSearchParams(url.slice(start));
  const unknown = `Is not a known query parameter. Known: ${Object.keys(schema.properties).join(", ") || "none"}.`;
  for (const [name, text] of parameters) {
    if (errors.size >= MAX_ERRORS) break;
    const refuse = (code: FieldErrorCode, detail: string): void => {
      if (!errors.has(name)) errors.set(name, { parameter: shownName(name), code, detail });
    };
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (!property) refuse("unknown_parameter", unknown);
    else if (name in value) refuse("repeated_parameter", "Must not be repeated.");
    else {
      value[name] = property[Kind] === "Integer" && INTEGER.test(text) ? Number(text) : text;
      const [error] = validate(property, value[name]);
      if (error) refuse(error.code, error.detail);
    }
  }
  return { value, errors: [...errors.values()] };
};

/** Throws the problem `validation_failed` if there are errors. */
export const refuseIfAny = (errors: readonly FieldError[]): void => {
  if (errors.length > 0) throw validationFailed(errors);
};

/**
 * The query parameters of `request`. Throws the problem `validation_failed` with the errors of the parameters and with
 * `errors`, which are of other parts of the request.
 */
export const readQuery = <Schema extends TObject>(
  request: Request,
  schema: Schema,
  errors: readonly FieldError[] = [],
): Static<Schema> => {
  const query = parseQuery(request, schema);
  refuseIfAny([...query.errors, ...errors]);
  return query.value as Static<Schema>;
};
