/**
 * POST requests that are executed at most once. A request that is sent again with the same `Idempotency-Key` gets the
 * stored response and does nothing. The claim is written by the statement that does the work; here it is prepared, and a
 * stored response is read again.
 */
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Caller } from "@realtime-avatar/db/statements/callers";
import {
  type Claim,
  findAnswer,
  type StoredAnswer,
  type WriteOutcome,
} from "@realtime-avatar/db/statements/idempotency-keys";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import { type ApiKeySecret, maskApiKeys } from "@realtime-avatar/domain/api-key-secret";
import { hashBody, isIdempotencyKey, openResponse, sealResponse } from "@realtime-avatar/domain/idempotency";
import { Problem } from "@realtime-avatar/domain/problem";
import { isValid } from "@realtime-avatar/domain/schema";
import type { TSchema } from "@sinclair/typebox";
import type { Dependencies } from "../dependencies.ts";
import type { WriteAsCaller } from "./authenticate.ts";
import type { ResponseHead } from "./request-context.ts";

/** A response that is known before the statement runs. */
type PlannedResponse = { status: number; location: string | null; etag: string; body: object };

/** What a request will do: its response, and the write that makes it true. */
export type Plan = {
  response: PlannedResponse;
  /** Runs the write, and stores the response with it when there is a claim. */
  write(claim: Claim | null): Promise<WriteOutcome | { kind: "refused"; problem: Problem }>;
};

/** Throws the problem `malformed_request` when there is an invalid `Idempotency-Key`. */
export const checkIdempotencyKey = ({ headers }: Request): void => {
  const key = headers.get("idempotency-key");
  if (key === null) return;
  if (!isIdempotencyKey(key)) {
    throw new Problem("malformed_request", "An Idempotency-Key is 1 to 255 visible ASCII characters.");
  }
  if (maskApiKeys(key) !== key) {
    throw new Problem("malformed_request", "An Idempotency-Key is not a secret: it must not hold an API key.");
  }
};

const respond = (
  text: string,
  { status, location, etag }: Pick<PlannedResponse, "status" | "location" | "etag">,
  set: ResponseHead,
): string => {
  set.status = status;
  set.headers["content-type"] = "application/json";
  set.headers["etag"] = etag;
  if (location !== null) set.headers["location"] = location;
  return text;
};

/** A request with an `Idempotency-Key`, as it is compared with an earlier one and as its response is sealed. */
type IdempotentRequest = {
  idempotencyKey: string;
  /** Method and path. */
  request: string;
  bodyHash: Uint8Array;
  secret: ApiKeySecret;
  /** Whether the response shows a secret. One that is stored unsealed was not stored by this service. */
  isSealed: boolean;
};

/** The stored response of an earlier attempt. */
const replay = (stored: StoredAnswer, idempotent: IdempotentRequest, set: ResponseHead): string => {
  const { idempotencyKey, request, bodyHash, secret, isSealed } = idempotent;
  if (!Buffer.from(bodyHash).equals(stored.bodyHash)) {
    throw new Problem("idempotency_key_reused", "The Idempotency-Key belongs to a request with another body.");
  }
  const text =
    !isSealed && stored.sealedFor === null
      ? Buffer.from(stored.answer).toString()
      : openResponse(stored.answer, stored, { secret, idempotencyKey, request });
  if (text !== null) {
    set.headers["idempotent-replayed"] = "true";
    return respond(text, stored, set);
  }
  const detail = "The request was made before, with another secret of the calling key, which alone opens its answer.";
  // A rotation has no address of its own: its key has.
  const location = stored.location ?? request.slice(request.indexOf(" ") + 1, request.lastIndexOf("/"));
  throw new Problem("replay_unavailable", detail, { location });
};

/** Whether the domain refuses the request, as opposed to a failure of the service. */
const isRefusal = (error: unknown): error is Problem => error instanceof Problem && error.status < 500;

type Context = {
  writeAsCaller: WriteAsCaller;
  db: Db;
  path: string;
  request: Request;
  secret: ApiKeySecret;
  set: ResponseHead;
};

const idempotentRequestOf = ({ path, request, secret }: Context, schema: TSchema, body: unknown) => {
  const idempotencyKey = request.headers.get("idempotency-key");
  if (idempotencyKey === null) return null;
  const isSealed = "apiKey" in (schema["properties"] ?? {});
  return { idempotencyKey, request: `${request.method} ${path}`, bodyHash: hashBody(body), secret, isSealed };
};

/** The claim of `response`, whose body is `text`. */
const claimOf = (
  { secret, isSealed, ...request }: IdempotentRequest,
  { status, location, etag }: PlannedResponse,
  text: string,
  { random }: Dependencies,
): Claim => {
  const head = { status, location, etag, bodyHash: request.bodyHash };
  if (!isSealed) return { ...request, ...head, answer: Buffer.from(text), sealedFor: null };
  return {
    ...request,
    ...head,
    answer: sealResponse(text, head, { ...request, secret }, random),
    sealedFor: secret.keyId,
  };
};

/**
 * Executes a request at most once for its `Idempotency-Key`, if it has one. The order is: plan, validate the response
 * against `schema`, serialize it once, seal the claim, write, and then by the outcome respond, replay, or plan again with
 * the caller as it is now. `plan` is pure and synchronous. When it refuses the request for something that depends on time,
 * on the caller or on what the path names, an earlier attempt may have succeeded before that was so: its response is
 * replayed then.
 */
export const executeIdempotently = async (
  dependencies: Dependencies,
  context: Context,
  schema: TSchema,
  body: unknown,
  plan: (caller: Caller, target: ApiKeyRecord | null) => Plan,
): Promise<string> => {
  const { writeAsCaller, db, set } = context;
  const idempotent = idempotentRequestOf(context, schema, body);

  const planAndWrite = async (caller: Caller, target: ApiKeyRecord | null) => {
    const { response, write } = plan(caller, target);
    if (!isValid(schema, response.body)) throw new Error("an answer breaks its schema");
    const text = JSON.stringify(response.body);
    const outcome = await write(idempotent && claimOf(idempotent, response, text, dependencies));
    if (outcome.kind === "refused") throw outcome.problem;
    return outcome.kind === "written" ? { kind: "written" as const, response, text } : outcome;
  };

  const outcome = await writeAsCaller(
    async (caller, target) => {
      try {
        return await planAndWrite(caller, target);
      } catch (error) {
        const stored = idempotent && isRefusal(error) ? await findAnswer(db, caller, idempotent) : null;
        if (stored === null) throw error;
        return { kind: "replayed" as const, response: stored };
      }
    },
    { isRepeatable: idempotent !== null },
  );
  switch (outcome.kind) {
    case "written":
      return respond(outcome.text, outcome.response, set);
    case "replayed":
      return replay(outcome.response, idempotent as IdempotentRequest, set);
  }
};
