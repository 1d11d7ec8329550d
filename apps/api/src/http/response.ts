/** Successful responses: a body that meets its schema, serialized once. */
import { validate } from "@realtime-avatar/domain/schema";
import type { TSchema } from "@sinclair/typebox";
import { entityTag } from "./conditional.ts";

/**
 * Elysia's `set`: the status and the headers of the response. Handlers return text and set them here, because Elysia
 * would copy a returned `Response` header by header to add these.
 */
export type ResponseHead = { status?: number | string; headers: Record<string, string | number> };

/**
 * The status and the headers of a response with one resource. `location`: the path of a new resource. `etag`: empty for
 * a response without a version.
 */
export type ResourceHead = { status: number; location: string | null; etag: string };

/** How a resource is represented: the schema of the representation, and its JSON. */
export type Representation<Body> = {
  schema: TSchema;
  toText: (body: Body) => string;
  /** Adds members that only the write knows to a stored response. `body`: the body of the request. */
  present?: (members: object, body: unknown) => object;
};

/**
 * Whether `body` matches `schema`. Values of enumerations may be unknown: a newer version, which runs beside this one
 * or ran before a rollback, may have written them.
 */
export const matchesSchema = (schema: TSchema, body: unknown): boolean =>
  validate(schema, body).every(({ code }) => code === "not_allowed");

/** The JSON of `body`. Throws when it does not match the schema, which is a defect of the service. */
export const responseText = <Body>({ schema, toText }: Representation<Body>, body: Body): string => {
  // The error omits the body, which can contain a secret.
  if (!matchesSchema(schema, body)) throw new Error("a response does not match its schema");
  return toText(body);
};

/** Adds members to the JSON text of an object without these members. */
export const withMembers = (text: string, members: object | null | undefined): string => {
  const more = members ? JSON.stringify(members).slice(1, -1) : "";
  if (more === "") return text;
  return text === "{}" ? `{${more}}` : `${text.slice(0, -1)},${more}}`;
};

/** Sets the head of the response with the body `text`, and returns `text`. */
export const sendText = (text: string, { status, location, etag }: ResourceHead, set: ResponseHead): string => {
  set.status = status;
  set.headers["content-type"] = "application/json";
  if (etag !== "") set.headers["etag"] = etag;
  if (location !== null) set.headers["location"] = location;
  return text;
};

/** Sends the current state of a resource. */
export const sendResource = <Body>(
  representation: Representation<Body>,
  body: Body,
  record: { version: number },
  set: ResponseHead,
): string =>
  sendText(responseText(representation, body), { status: 200, location: null, etag: entityTag(record) }, set);

/** Whether a client accepts a content coding, according to its `Accept-Encoding` (RFC 9110 §12.5.3). */
export const acceptsCoding = ({ headers }: Request, coding: string): boolean => {
  const accepted = new Map(
    (headers.get("accept-encoding") ?? "").split(",").map((part) => {
      const [name = "", ...parameters] = part
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/);
      return [name, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))] as const;
    }),
  );
  return accepted.get(coding) ?? accepted.get("*") ?? false;
};

/** Sends a response that is not a resource with a version. */
export const sendJson = <Body>(representation: Representation<Body>, body: Body, set: ResponseHead): string => {
  const text = responseText(representation, body);
  set.status = 200;
  set.headers["content-type"] = "application/json";
  return text;
};
