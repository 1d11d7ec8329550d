/**
 * A write of a caller, from top to bottom: read the body, look up, plan, claim, write, settle, and send the response.
 * `authenticate.ts` has authenticated the caller before. What a route writes is a `WriteOperation`: data, and functions
 * without side effects but for its `write`.
 *
 * While the outcome is stale, the caller is authenticated again, and the rest is repeated from the plan on. When a request is
 * refused, an earlier one with the same `Idempotency-Key` may have succeeded, with another caller or target or at another
 * time: its response is replayed then.
 */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { pauseBeforeRetry } from "@realtime-avatar/db/query/retry-while-stale";
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import type { Static, TSchema } from "@sinclair/typebox";
import type { WriteRequest } from "./authenticate.ts";
import { readBody, readOptionalBody } from "./body.ts";
import { ANY_VERSION, type Expectation, entityTag, readIfMatch } from "./conditional.ts";
import { claimOf, findReplay, type StoredReplay, sendReplay } from "./idempotency.ts";
import { NO_PARAMETERS, readQuery, refuseIfAny } from "./query.ts";
import { originOf } from "./request-context.ts";
import { type Representation, type ResourceHead, responseText, sendText, withMembers } from "./response.ts";
import { throwWriteError } from "./run-write.ts";

/** One attempt at a write. Each has the caller as the look-up before it found it. */
export type Attempt<Body, Found = unknown, Outcome = unknown> = WriteRequest & {
  body: Body;
  /** The condition of `If-Match`. */
  expectation: Expectation;
  origin: Origin;
  /** The attempt before this one, which was stale; null for the first. */
  previous: { found: Found; outcome: Outcome } | null;
};

/** A resource as a response shows it: with a `location`, as a new one (201). `version` is null when it has none. */
export type ResourceResponse<Shown> = { location?: string; version: number | null; body: Shown };

/**
 * What a request will do: the arguments of its write, and its response. The response is null when only the write knows it;
 * a claim then stores an empty object, to which the write adds all members.
 */
export type Plan<Input extends readonly unknown[], Shown> = {
  input: Input;
  response: ResourceResponse<Shown> | null;
};

/** The outcome of a write that was not refused. `resource` is the response where the plan has none. */
export type Settled<Shown> =
  | { kind: "written"; figures?: object | null; resource?: ResourceResponse<Shown> }
  | { kind: "stale" }
  | StoredReplay;

/** The outcome of the function of a write. */
export type OutcomeOf<Write extends (...input: never[]) => unknown> = Awaited<ReturnType<Write>>;

/** A kind of write. `Body` is that of the request, `Found` the result of the look-up, `Shown` the body of the response. */
export type WriteOperation<Body, Found, Input extends readonly unknown[], Outcome, Shown> = {
  representation: Representation<Shown>;
  /** What two requests with the same `Idempotency-Key` must have in common; by default the body. */
  identity?(body: Body): unknown;
  /** Finds what the plan follows from, beside the caller: rows, what a passkey has signed, a file in the store. */
  lookUp?(attempt: Attempt<Body, Found, Outcome>): Promise<Found>;
  /** Plans the write, without side effects. Throws the problem of a request that is refused. */
  plan(attempt: Attempt<Body, Found, Outcome>, found: Found): Plan<Input, Shown>;
  /** Writes, and stores the response when there is a claim. */
  write(db: Db, ...input: [...Input, Claim | null]): Promise<Outcome>;
  /** Does what follows the write. Throws the problem of an outcome that refuses it. */
  settle(
    outcome: Outcome,
    attempt: Attempt<Body, Found, Outcome>,
    found: Found,
  ): Settled<Shown> | Promise<Settled<Shown>>;
};

/** The outcome of a write, and the resource as it left it. */
export const shown = <Shown>({ version }: { version: number }, body: Shown): Settled<Shown> => ({
  kind: "written",
  resource: { version, body },
});

/** The body that an operation reads. */
type BodyOf<Schema extends TSchema> = {
  /** Null: the request has none. */
  body: Schema | null;
  /** Whether it may be omitted: then it counts as `{}`. */
  isBodyOptional?: boolean;
  /** The errors of a body that meets its schema. */
  errorsOf?(body: Static<Schema>): readonly FieldError[];
};

/** The head of a response that only the write knows, as a claim stores it. */
const UNKNOWN_HEAD: ResourceHead = { status: 200, location: null, etag: '"0"' };

const headOf = ({ location, version }: ResourceResponse<unknown>): ResourceHead => ({
  status: location === undefined ? 200 : 201,
  location: location ?? null,
  etag: version === null ? "" : entityTag({ version }),
});

const readValidBody = async <Schema extends TSchema>(
  { request, requestContext }: WriteRequest,
  { body: schema, isBodyOptional, errorsOf }: BodyOf<Schema>,
  { errors }: Expectation,
): Promise<Static<Schema>> => {
  if (schema === null) return readQuery(request, NO_PARAMETERS, errors);
  if (isBodyOptional) return readOptionalBody(request, requestContext, schema);
  const body = await readBody(request, requestContext, schema, errors);
  if (errorsOf) refuseIfAny(errorsOf(body));
  return body;
};

/** Whether the request is refused, as opposed to a failure of the service. */
const isRefusal = (error: unknown): boolean => error instanceof Problem && error.status < 500;

/** Makes one attempt: look up, plan, claim, write, settle. */
const makeAttempt = async <Body, Found, Input extends readonly unknown[], Outcome, Shown>(
  operation: WriteOperation<Body, Found, Input, Outcome, Shown>,
  attempt: Attempt<Body, Found, Outcome>,
) => {
  const { representation, identity } = operation;
  const { db, body, idempotencyKey, origin } = attempt;
  const found = (operation.lookUp && (await operation.lookUp(attempt))) as Found;

  const { input, response } = operation.plan(attempt, found);
  const head = response === null ? UNKNOWN_HEAD : headOf(response);
  const text = response === null ? "{}" : responseText(representation, response.body);

  const claimed = identity ? identity(body) : body;
  const claim = claimOf(attempt, claimed, representation.schema, head, text, origin.random);

  let outcome: Outcome;
  try {
    outcome = await operation.write(db, ...input, claim);
  } catch (error) {
    return throwWriteError(error, idempotencyKey !== null);
  }

  const settled = await operation.settle(outcome, attempt, found);
  return { settled, head, text, previous: { found, outcome } };
};

/** Executes a write with a body that has been read, at most once if it has an `Idempotency-Key`. Returns the response. */
export const executeWithBody = async <Body, Found, Input extends readonly unknown[], Outcome, Shown>(
  write: WriteRequest,
  operation: WriteOperation<Body, Found, Input, Outcome, Shown>,
  body: Body,
  expectation: Expectation = ANY_VERSION,
): Promise<string> => {
  const { dependencies, db, requestContext, set } = write;
  const { representation, identity } = operation;
  let authenticated = write;
  let previous: Attempt<Body, Found, Outcome>["previous"] = null;
  for (let attempts = 1; ; attempts++) {
    const origin = originOf(dependencies, authenticated.caller, requestContext);
    const attempt: Attempt<Body, Found, Outcome> = { ...authenticated, body, expectation, origin, previous };
    const result = await makeAttempt(operation, attempt).catch(async (error: unknown) => {
      const stored = isRefusal(error) ? await findReplay(db, attempt) : null;
      if (stored === null) throw error;
      return { settled: stored, head: UNKNOWN_HEAD, text: "", previous: null };
    });
    const { settled, head, text } = result;
    switch (settled.kind) {
      case "written": {
        const { resource, figures } = settled;
        if (head !== UNKNOWN_HEAD || !resource) return sendText(withMembers(text, figures), head, set);
        return sendText(responseText(representation, resource.body), headOf(resource), set);
      }
      case "replayed":
        return sendReplay(settled, attempt, identity ? identity(body) : body, representation.schema, set);
    }

    await pauseBeforeRetry(attempts);
    previous = result.previous;
    authenticated = { ...write, ...(await write.authenticateAgain()) };
  }
};

/** Executes a write: reads the body, then as `executeWithBody`. */
export const execute = async <Schema extends TSchema, Found, Input extends readonly unknown[], Outcome, Shown>(
  write: WriteRequest,
  operation: BodyOf<Schema> & WriteOperation<Static<Schema>, Found, Input, Outcome, Shown>,
): Promise<string> => {
  // A POST has no condition: an `If-Match` of it is ignored.
  const expectation = write.request.method === "POST" ? ANY_VERSION : readIfMatch(write.request);
  const body = await readValidBody(write, operation, expectation);
  return executeWithBody(write, operation, body, expectation);
};
