/**
 * The OpenAPI description of a route, apart from its method, path and scope. `document.ts` generates the document from
 * it, and fails for a route without one.
 */

import type { ProblemCode } from "@realtime-avatar/domain/problem";
import type { TObject, TSchema } from "@sinclair/typebox";

export type Operation = {
  operationId: string;
  summary: string;
  description: string;
  /** The schema of the body; absent when the operation takes no body. */
  body?: TSchema;
  /** Whether the body may be omitted, and then counts as `{}`. */
  isBodyOptional?: true;
  /** Whether the body is a form (`multipart/form-data`), not JSON. */
  isForm?: true;
  /** The schema of the query parameters; absent when the operation has no parameters. */
  query?: TObject;
  /** Whether the response has an `ETag`, although it has no id. */
  isVersioned?: true;
  /** Whether the response has no `ETag`, although it has an id. */
  isUnversioned?: true;
  /** Whether the operation supports `If-None-Match`. */
  isConditional?: true;
  /** A redirect (303) has no body. `file`: the body is a CSV file, which is downloaded, or a WAV file. */
  success:
    | { status: 200 | 201 | 202; description: string; file?: never; schema: TSchema }
    | { status: 200; description: string; file: "csv" | "wav"; schema?: never }
    | { status: 303; description: string; file?: never; schema?: never };
  /**
   * The 429 response to a caller that waits for its turn. It is not a problem. The operation also has problems with
   * this status.
   */
  queued?: { description: string; schema: TSchema };
  /** Whether a POST creates nothing, so that an `Idempotency-Key` has no effect. */
  createsNothing?: true;
  /** Whether a successful response sets the cookie of a session, or deletes it. */
  setsCookie?: true;
  /** Whether a browser gets an HTML page, according to its `Accept` header. */
  isPage?: true;
  /** The problems specific to this operation. The others follow from its method, scope, body and parameters. */
  problems?: readonly ProblemCode[];
};

/**
 * The `detail` that Elysia keeps with a route. The macro for scopes adds `scope`: the accepted scopes, `any` or
 * `person`.
 */
export type RouteDetail = Partial<Operation> & {
  scope?: string;
  /** Whether the document omits the route. */
  isHidden?: true;
};

/** The `detail` options of routes, by operation id. They are of type `object` because Elysia has its own type for them. */
export const operations = <Id extends string>(
  descriptions: Record<Id, Omit<Operation, "operationId">>,
): Record<Id, object> => {
  const entries = Object.entries<object>(descriptions).map(([operationId, rest]) => [
    operationId,
    { operationId, ...rest },
  ]);
  return Object.fromEntries(entries);
};

/** The operation id of each route that has one, by method and path. */
export const listOperations = (
  routes: readonly { method: string; path: string; hooks?: { detail?: object } }[],
): Map<string, string> =>
  new Map(
    routes.flatMap(({ method, path, hooks }) => {
      const { operationId }: RouteDetail = hooks?.detail ?? {};
      return operationId === undefined ? [] : [[`${method} ${path}`, operationId] as const];
    }),
  );
