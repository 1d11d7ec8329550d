/** The parts of the OpenAPI document that the reference shows. */

export type Schema = {
  $ref?: string;
  type?: string;
  format?: string;
  pattern?: string;
  description?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
} & Record<string, unknown>;
export type Parameter = {
  $ref?: string;
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: string;
};
type Media = { schema: Schema; example?: unknown; examples?: Record<string, unknown> };
export type Response = {
  $ref?: string;
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, Media>;
};
type Described = {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, unknown>[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Response>;
  "x-required-scope"?: string;
};
export type ApiDocument = {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Described>>;
  webhooks: Record<string, { post: Described }>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Response>;
  };
};

/** An operation, or an event of webhooks. References to parameters, responses and bodies are resolved. */
export type Operation = Omit<Described, "requestBody"> & {
  method: string;
  path: string;
  /** `example` is absent for a form. */
  body: { name: string; schema: Schema; example?: unknown; isForm: boolean; isRequired: boolean } | null;
};

/** The last part of a reference: `Avatar` of `#/components/schemas/Avatar`. */
export const refName = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1);

const resolve = <Thing extends { $ref?: string }>(thing: Thing, things: Record<string, Thing>): Thing =>
  thing.$ref === undefined ? thing : (things[refName(thing.$ref)] as Thing);

const operationOf = (
  method: string,
  path: string,
  { requestBody, ...described }: Described,
  { schemas, parameters, responses }: ApiDocument["components"],
): Operation => {
  const [[type, media] = []] = Object.entries(requestBody?.content ?? {});
  return {
    ...described,
    method: method.toUpperCase(),
    path,
    parameters: described.parameters.map((one) => resolve(one, parameters)),
    responses: Object.fromEntries(
      Object.entries(described.responses).map(([status, one]) => [status, resolve(one, responses)]),
    ),
    body: media
      ? {
          name: refName(media.schema.$ref ?? ""),
          schema: resolve(media.schema, schemas),
          example: media.example,
          isForm: type === "multipart/form-data",
          isRequired: requestBody?.required === true,
        }
      : null,
  };
};

/** All operations, in the order of the document. */
export const documentOperations = ({ paths, components }: ApiDocument): Operation[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => operationOf(method, path, described, components)),
  );

/** The events of webhooks. `path`: the type of the event. */
export const documentEvents = ({ webhooks, components }: ApiDocument): Operation[] =>
  Object.entries(webhooks).map(([type, { post }]) => operationOf("post", type, post, components));

/**
 * The caller of an operation. `anyone`: a program without credentials. `browser`: a sign-in page without credentials.
 */
export const requiredCaller = ({ security, tags }: Operation): "key" | "person" | "browser" | "anyone" => {
  if (security.some((scheme) => "apiKey" in scheme)) return "key";
  if (security.length > 0) return "person";
  return tags.includes("People") ? "browser" : "anyone";
};
