/**
 * Idempotency of POST requests. A repeated request with the same `Idempotency-Key` is not executed again but gets the stored
 * response. The claim of the `Idempotency-Key` is written by the statement that executes the request.
 */

import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type Claim, findStoredResponse, type WriteOutcome } from "@realtime-avatar/db/idempotency/idempotency-keys";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { ApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/schemas";
import { maskApiKeys } from "@realtime-avatar/domain/api-keys/secret";
import { hashBody, isIdempotencyKey, openResponse, sealResponse } from "@realtime-avatar/domain/idempotency";
import { InvitationWithUrl, PasskeyInvitation } from "@realtime-avatar/domain/people/schemas";
import { Problem } from "@realtime-avatar/domain/problem";
import type { TSchema } from "@sinclair/typebox";
import type { Dependencies } from "../dependencies.ts";
import type { CallerSecret, WriteAsCaller } from "./authenticate.ts";
import { ENVIRONMENT_HEADER } from "./people/cookie.ts";
import { requirePasskey } from "./people/person.ts";
import {
  type Representation,
  type ResourceHead,
  type ResponseHead,
  responseText,
  sendText,
  withMembers,
} from "./response.ts";

/** The outcome of a write. `etag`: the version of the resource, when only the write knows it. */
type PlannedOutcome = WriteOutcome & { etag?: string };

/**
 * What a request will do: its response, which is known before the write, and the write. Members of the response that only
 * the write knows are `figures` of its outcome: they are stored beside the response, and complete it when it is sent.
 */
type Plan<Body> = {
  response: ResourceHead & { body: Body };
  /** Runs the write, and stores the response with it when there is a claim. Throws a `Problem` when it is refused. */
  write(claim: Claim | null): Promise<PlannedOutcome>;
};

/**
 * Makes the plan of a request. Writes nothing. Asynchronous only where the response of a passkey is verified. Throws a
 * `Problem` when the request is refused.
 */
export type MakePlan<Body> = (
  caller: AnyCaller,
  origin: Origin,
  target: ApiKeyRecord | null,
) => Plan<Body> | Promise<Plan<Body>>;

/** The schemas of responses with a secret: that of a key, or the link of an invitation. */
const SECRET_RESPONSES: ReadonlySet<TSchema> = new Set([ApiKeyWithSecret, InvitationWithUrl, PasskeyInvitation]);

/** Whether responses of this schema contain a secret. */
export const containsSecret = (schema: TSchema): boolean => SECRET_RESPONSES.has(schema);

/** Throws the problem `malformed_request` when the request has an invalid `Idempotency-Key`. */
export const checkIdempotencyKey = ({ headers }: Request): void => {
  const key = headers.get("idempotency-key");
  if (key === null) return;
  if (!isIdempotencyKey(key)) {
    throw new Problem("malformed_request", "An Idempotency-Key is 1 to 255 visible ASCII characters.");
  }
  if (maskApiKeys(key) !== key) {
    throw new Problem("malformed_request", "An Idempotency-Key must not contain an API key.");
  }
};

/** A request with an `Idempotency-Key`. */
type IdempotentRequest = {
  idempotencyKey: string;
  /** See `claimedRequest`. */
  operation: string;
  path: string;
  bodyHash: Uint8Array;
  secret: CallerSecret;
  /**
   * Whether the response contains a secret. Such a response is stored sealed. One that is stored unsealed was not stored by
   * this service, and is not sent.
   */
  containsSecret: boolean;
};

type Replayed = Extract<WriteOutcome, { kind: "replayed" }>;

/**
 * Whether a person needs the passkey to see a response with a secret: always, except for a new test key, which needs none
 * when it is created. Otherwise an unattended session would show for a day what it no longer creates.
 */
const needsPasskey = (text: string, status: number): boolean =>
  status !== 201 || (JSON.parse(text) as { environment?: unknown }).environment !== "test";

/** Sends the stored response of an earlier request to `caller`. */
const replay = (
  { response: stored, figures, caller }: Replayed & { caller: AnyCaller },
  idempotent: IdempotentRequest,
  set: ResponseHead,
  present: Representation<never>["present"],
): string => {
  const { idempotencyKey, operation, path, bodyHash, secret, containsSecret } = idempotent;
  if (!Buffer.from(bodyHash).equals(stored.bodyHash)) {
    throw new Problem("idempotency_key_reused", "The Idempotency-Key belongs to a request with another body.");
  }
  const text =
    !containsSecret && stored.sealedFor === null
      ? Buffer.from(stored.answer).toString()
      : openResponse(stored.answer, stored, { secret, idempotencyKey, request: operation });
  if (text !== null) {
    if (containsSecret && needsPasskey(text, stored.status)) requirePasskey(caller);
    set.headers["idempotent-replayed"] = "true";
    return sendText(withMembers(text, figures && present ? present(figures) : figures), stored, set);
  }
  const detail =
    "The request was executed before, with another secret of the calling key or in another session. Only that one can decrypt the response.";
  // A rotation has no `Location`: the path of its key is used.
  const location = stored.location ?? path.slice(0, path.lastIndexOf("/"));
  throw new Problem("replay_unavailable", detail, { location });
};

/** Whether the domain refuses the request, as opposed to a failure of the service. */
const isRefusal = (error: unknown): error is Problem => error instanceof Problem && error.status < 500;

/** What executing a write needs of its request. */
type WriteContext = {
  writeAsCaller: WriteAsCaller;
  db: Db;
  path: string;
  request: Request;
  secret: CallerSecret;
  set: ResponseHead;
};

/**
 * What an `Idempotency-Key` is claimed for: method and path, and for a person the environment of the request, which the credential
 * of a key implies.
 */
export const claimedRequest = ({ method, headers }: Request, path: string, isPerson: boolean): string =>
  isPerson ? `${method} ${path} ${headers.get(ENVIRONMENT_HEADER)}` : `${method} ${path}`;

const idempotentRequestOf = (
  { path, request, secret }: WriteContext,
  schema: TSchema,
  body: unknown,
): IdempotentRequest | null => {
  const idempotencyKey = request.headers.get("idempotency-key");
  if (idempotencyKey === null) return null;
  const operation = claimedRequest(request, path, !("keyId" in secret));
  const isSecret = containsSecret(schema);
  return { idempotencyKey, operation, path, bodyHash: hashBody(body), secret, containsSecret: isSecret };
};

/** The claim of a request, with its response. */
const claimOf = (
  { operation, idempotencyKey, bodyHash, secret, containsSecret }: IdempotentRequest,
  { status, location, etag }: ResourceHead,
  text: string,
  { random }: Dependencies,
): Claim => {
  const head = { status, location, etag, bodyHash };
  const claim = { request: operation, idempotencyKey, ...head };
  if (!containsSecret) return { ...claim, answer: Buffer.from(text), sealedFor: null };
  const sealed = sealResponse(text, head, { secret, idempotencyKey, request: operation }, random);
  return { ...claim, answer: sealed, sealedFor: "keyId" in secret ? secret.keyId : secret.id };
};

/**
 * Executes a request, at most once if it has an `Idempotency-Key`, and sends the response. The order is: plan, validate the
 * response, serialize it once, seal the claim, write. Depending on the outcome, the response is sent, an earlier one is
 * replayed, or the request is planned again with the caller as it is now. When a request is refused, an earlier one with
 * the same `Idempotency-Key` may have succeeded, with another caller or target or at another time: its response is replayed then.
 */
export const executeIdempotently = async <Body>(
  dependencies: Dependencies,
  context: WriteContext,
  representation: Representation<Body>,
  body: unknown,
  makePlan: MakePlan<Body>,
): Promise<string> => {
  const { writeAsCaller, db, set } = context;
  const idempotent = idempotentRequestOf(context, representation.schema, body);

  const findStored = async (caller: AnyCaller): Promise<Replayed | null> => {
    if (idempotent === null) return null;
    const { operation, idempotencyKey } = idempotent;
    return findStoredResponse(db, caller, { request: operation, idempotencyKey });
  };
  const attempt = async (...[caller, origin, target]: Parameters<MakePlan<Body>>) => {
    try {
      const { response, write } = await makePlan(caller, origin, target);
      const text = responseText(representation, response.body);
      const outcome = await write(idempotent && claimOf(idempotent, response, text, dependencies));
      if (outcome.kind === "written") return { ...outcome, response, text };
      return outcome.kind === "replayed" ? { ...outcome, caller } : outcome;
    } catch (error) {
      const stored = isRefusal(error) ? await findStored(caller) : null;
      if (stored === null) throw error;
      return { ...stored, caller };
    }
  };
  const outcome = await writeAsCaller(attempt, { isRepeatable: idempotent !== null });
  switch (outcome.kind) {
    case "written": {
      const { response, text, figures, etag = response.etag } = outcome;
      return sendText(withMembers(text, figures), { ...response, etag }, set);
    }
    case "replayed":
      return replay(outcome, idempotent as IdempotentRequest, set, representation.present);
  }
};
