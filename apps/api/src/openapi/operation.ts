/**
 * The OpenAPI description of a route, apart from its method, path and scope. `document.ts` generates the document from it and
 * fails when a route has none.
 */
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import type { Scope } from "@realtime-avatar/domain/scope";
import type { TObject, TSchema } from "@sinclair/typebox";

export type Operation = {
  operationId: string;
  summary: string;
  description: string;
  /** The schema of the body; absent when the operation takes none. */
  body?: TSchema;
  /** The schema of the query parameters; absent when the operation takes none. */
  query?: TObject;
  /** Whether the operation supports `If-None-Match`. */
  isConditional?: true;
  success: { status: 200 | 201 | 202; description: string; schema: TSchema };
  /** Whether a browser gets an HTML page, by its `Accept` header. */
  isPage?: true;
  /** The problems specific to this operation. The others follow from its method, scope, body and parameters. */
  problems?: readonly ProblemCode[];
};

/** The `detail` that Elysia keeps with a route. The macro that checks the scope adds `scope`. */
export type RouteDetail = Partial<Operation> & { scope?: Scope | "any" };

/** The `detail` option of a route. Returns `object` because Elysia has its own type for descriptions. */
export const operation = (description: Operation): object => description;
