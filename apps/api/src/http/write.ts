/**
 * A write of a caller, from top to bottom: read the body, look up, plan, claim, write, settle, and send the response.
 * `authenticate.ts` has authenticated the caller before. A route defines its write as a `WriteOperation`: data, with
 * one function for each of these steps. While the outcome is stale, the caller is authenticated again and another
 * attempt is made. A refused request may be a repetition: an earlier request with the same `Idempotency-Key` may have
 * succeeded before the caller or the target changed. Then the response to the earlier request is replayed.
 */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import { randomFor } from "@realtime-avatar/db/connection/which-database";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { pauseBeforeRetry } from "@realtime-avatar/db/query/retry-while-stale";
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import type { Static, TSchema } from "@sinclair/typebox";
import type { WriteRequest } from "./authenticate.ts";
import { readBody, readOptionalBody } from "./body.ts";
import { ANY_VERSION, type Expectation, entityTag, readIfMatch } from "./conditional.ts";
import { createClaim, findReplay, openReplay, type StoredReplay, sendReplay } from "./idempotency.ts";
import { throwWriteError } from "./problem.ts";
import { NO_PARAMETERS, readQuery, refuseIfAny } from "./query.ts";
import { requestOrigin } from "./request-context.ts";
import { type Representation, type ResourceHead, responseText, sendText, withMembers } from "./response.ts";

/** One attempt at a write, with the caller of the latest look-up. */
export type Attempt<Body, Basis = unknown, Outcome = unknown> = WriteRequest & {
  body: Body;
  /** The condition of `If-Match`. */
  expectation: Expectation;
  origin: Origin;
  /** The previous attempt, which was stale; null for the first. */
  previous: { basis: Basis; outcome: Outcome } | null;
};

/**
 * A resource in a response. `location`: set for a new resource (201). Status 202: the work continues after the
 * response. `version`: null for a resource without versions.
 */
export type ResourceResponse<Resource> = { status?: 202; location?: string; version: number | null; body: Resource };

export type Plan<Outcome, Resource> = {
  /**
   * null when only the write knows the response. A claim then stores an empty object, to which the write adds all
   * members.
   */
  response: ResourceResponse<Resource> | null;
  /** Writes, and stores the response if a claim is given. */
  write(claim: Claim | null): Promise<Outcome>;
};

/**
 * The outcome of a write that was not refused. `resource`: the response if the plan has no response, or the response of
 * an earlier request.
 */
export type Settled<Resource> =
  | { kind: "written"; responseFields?: object | null; resource?: ResourceResponse<Resource> }
  | { kind: "stale" }
  /** The caller waits for its turn, and must repeat the request: 429 with this body, which is not a problem. */
  | { kind: "queued"; body: object; retryAfterSeconds: number }
  | StoredReplay;

/** The outcome of the function of a write. */
export type OutcomeOf<Write extends (...input: never[]) => unknown> = Awaited<ReturnType<Write>>;

/** The steps of a kind of write, in order. */
export type WriteOperation<Body, Basis, Outcome, Resource> = {
  representation: Representation<Resource>;
  /**
   * Finds the basis: the input of the plan beside the caller, such as rows, the signed data of a passkey, or a file in
   * the store.
   */
  lookUp?(attempt: Attempt<Body, Basis, Outcome>): Promise<Basis>;
  /** Plans the write. Pure and synchronous. Throws a problem to refuse the request. */
  plan(attempt: Attempt<Body, Basis, Outcome>, basis: Basis): Plan<Outcome, Resource>;
  /** Throws the problem of a refused write. Otherwise does the follow-up work: files, metrics. */
  settle(
    outcome: Outcome,
    attempt: Attempt<Body, Basis, Outcome>,
    basis: Basis,
  ): Settled<Resource> | Promise<Settled<Resource>>;
  /**
   * Restores the state that a stored response describes, before it is replayed. Returns a response to send instead, or
   * null for the stored one. Throws a problem if this fails.
   */
  restore?(response: string, attempt: Attempt<Body, Basis, Outcome>): Promise<string | null>;
};

/** How an operation reads its body. */
type BodyOf<Schema extends TSchema> = {
  /** null: the request has no body. */
  body: Schema | null;
  /** Whether the body may be omitted, and then counts as `{}`. */
  isBodyOptional?: boolean;
  /** Further errors of a body that meets its schema. */
  errorsOf?(body: Static<Schema>): readonly FieldError[];
};

/** The outcome of a completed write, with the current resource. */
export const writtenResource = <Resource>({ version }: { version: number }, body: Resource): Settled<Resource> => ({
  kind: "written",
  resource: { version, body },
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

/** The head that a claim stores for a response that only the write knows. */
const UNKNOWN_HEAD: ResourceHead = { status: 200, location: null, etag: '"0"' };

const QUEUED_HEAD: ResourceHead = { status: 429, location: null, etag: "" };

const headOf = ({ status, location, version }: ResourceResponse<unknown>): ResourceHead => ({
  status: status ?? (location === undefined ? 200 : 201),
  location: location ?? null,
  etag: version === null ? "" : entityTag({ version }),
});

/** Makes one attempt. `claimedBody`: the body that a repeated request with the same `Idempotency-Key` must have. */
const makeAttempt = async <Body, Basis, Outcome, Resource>(
  operation: WriteOperation<Body, Basis, Outcome, Resource>,
  attempt: Attempt<Body, Basis, Outcome>,
  claimedBody: unknown,
) => {
  const { representation } = operation;
  const { idempotencyKey, origin } = attempt;
  const basis = (operation.lookUp && (await operation.lookUp(attempt))) as Basis;

  const { write, response } = operation.plan(attempt, basis);
  const head = response === null ? UNKNOWN_HEAD : headOf(response);
  const text = response === null ? "{}" : responseText(representation, response.body);
  const claim = createClaim(attempt, claimedBody, representation, head, text, origin.random);

  let outcome: Outcome;
  try {
    outcome = await write(claim);
  } catch (error) {
    return throwWriteError(error, idempotencyKey !== null);
  }

  const settled = await operation.settle(outcome, attempt, basis);
  if (settled.kind === "stale") return { kind: "stale" as const, previous: { basis, outcome } };
  if (settled.kind === "replayed" || settled.kind === "queued") return settled;
  const { resource, responseFields } = settled;
  return resource
    ? { kind: "written" as const, head: headOf(resource), text: responseText(representation, resource.body) }
    : { kind: "written" as const, head, text: withMembers(text, responseFields) };
};

/** The response of an earlier request, if this one was refused with `error`. Otherwise rethrows the error. */
const replayAfter = async (error: unknown, attempt: WriteRequest): Promise<StoredReplay> => {
  const isRefused = error instanceof Problem && error.status < 500;
  const replay = isRefused ? await findReplay(attempt.db, attempt) : null;
  if (replay === null) throw error;
  return replay;
};

/** Executes a write whose body has been read, at most once if it has an `Idempotency-Key`, and sends the response. */
export const executeWithBody = async <Body, Basis, Outcome, Resource>(
  write: WriteRequest,
  operation: WriteOperation<Body, Basis, Outcome, Resource>,
  body: Body,
  claimedBody: unknown = body,
  expectation: Expectation = ANY_VERSION,
): Promise<string> => {
  const { dependencies, requestContext, set } = write;
  let request = write;
  let previous: Attempt<Body, Basis, Outcome>["previous"] = null;
  for (let attempts = 1; ; attempts++) {
    const random = randomFor(request.db, dependencies.random);
    const origin = requestOrigin({ clock: dependencies.clock, random }, request.caller, requestContext);
    const attempt: Attempt<Body, Basis, Outcome> = { ...request, body, expectation, origin, previous };
    const result = await makeAttempt(operation, attempt, claimedBody).catch((error) => replayAfter(error, attempt));
    switch (result.kind) {
      case "written":
        return sendText(result.text, result.head, set);
      case "replayed": {
        const text = openReplay(result, attempt, claimedBody, operation.representation);
        return sendReplay((await operation.restore?.(text, attempt)) ?? text, result, set);
      }
      case "queued":
        set.headers["retry-after"] = String(result.retryAfterSeconds);
        return sendText(JSON.stringify(result.body), QUEUED_HEAD, set);
      case "stale":
        previous = result.previous;
    }
    await pauseBeforeRetry(attempts);
    request = { ...write, ...(await write.authenticateAgain()) };
  }
};

/** Reads the body of a write, executes it, and sends the response. */
export const execute = async <Schema extends TSchema, Basis, Outcome, Resource>(
  write: WriteRequest,
  operation: BodyOf<Schema> & WriteOperation<Static<Schema>, Basis, Outcome, Resource>,
): Promise<string> => {
  // A POST has no condition, so its `If-Match` is ignored.
  const expectation = write.request.method === "POST" ? ANY_VERSION : readIfMatch(write.request);
  const body = await readValidBody(write, operation, expectation);
  return executeWithBody(write, operation, body, body, expectation);
};
