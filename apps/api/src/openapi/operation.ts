/**
 * What a route says of itself beside its method, its path and its scope. The document of the API is made of it
 * (`openapi.ts`), so that a route cannot be there without being described.
 */
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import type { Scope } from "@realtime-avatar/domain/scope";
import type { TObject, TSchema } from "@sinclair/typebox";

export type Operation = {
  operationId: string;
  summary: string;
  description: string;
  /** What its body meets; none when it takes no body. */
  body?: TSchema;
  /** The query parameters that it takes; none when it takes none. */
  query?: TObject;
  /** Whether `If-None-Match` can spare the answer its body. */
  isConditional?: true;
  success: { status: 200 | 201 | 202; description: string; schema: TSchema };
  /** Whether a browser, which asks for it, is answered by a page instead. */
  isPage?: true;
  /** The problems of this operation alone: those of its kind follow from its method, its scope and what it takes. */
  problems?: readonly ProblemCode[];
};

/** What Elysia keeps with a route; `scope` is put there by the macro that demands it. */
export type RouteDetail = Partial<Operation> & { scope?: Scope | "any" };

/** Describes a route, as the `detail` of its options. Elysia types it as its own description. */
export const operation = (described: Operation): object => described;
