/**
 * Idempotency of POST requests. A repeated request with the same `Idempotency-Key` is not executed again but gets the stored
 * response. The claim of the `Idempotency-Key` is written by the statement that executes the request.
 */

import type { AnyCaller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type Claim, findStoredResponse, type WriteOutcome } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { ApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/schemas";
import { type ApiKeySecret, maskApiKeys } from "@realtime-avatar/domain/api-keys/secret";
import { CallGrant, PlannedGrant } from "@realtime-avatar/domain/calls/schemas";
import type { RandomBytes } from "@realtime-avatar/domain/id";
import { hashBody, isIdempotencyKey, openResponse, sealResponse } from "@realtime-avatar/domain/idempotency";
import { InvitationWithUrl, PasskeyInvitation } from "@realtime-avatar/domain/people/schemas";
import type { SessionToken } from "@realtime-avatar/domain/people/tokens";
import { Problem } from "@realtime-avatar/domain/problem";
import { WebhookEndpointWithSecret } from "@realtime-avatar/domain/webhooks/schemas";
import type { TSchema } from "@sinclair/typebox";
import { ENVIRONMENT_HEADER } from "./cookie.ts";
import { isPerson, requirePasskey } from "./person.ts";
import { type Representation, type ResourceHead, type ResponseHead, sendText, withMembers } from "./response.ts";

/** The secret that authenticates a caller and seals its stored responses. */
export type CallerSecret = ApiKeySecret | SessionToken;

/** The parts of a request that identify its claim, and its caller. */
export type ClaimingRequest = {
  request: Request;
  path: string;
  caller: AnyCaller;
  secret: CallerSecret;
  /** Null without an `Idempotency-Key`. */
  idempotencyKey: string | null;
};

/** A response that an earlier request has stored. */
export type StoredReplay = Extract<WriteOutcome, { kind: "replayed" }>;

/** The schemas of responses with a secret: that of a key or of a webhook endpoint, the token of a call, or the link of an invitation. */
const SECRET_RESPONSES: ReadonlySet<TSchema> = new Set([
  ApiKeyWithSecret,
  CallGrant,
  InvitationWithUrl,
  PasskeyInvitation,
  PlannedGrant,
  WebhookEndpointWithSecret,
]);

/**
 * Whether responses of this schema contain a secret. The service stores such responses sealed. It refuses to send an
 * unsealed one, because it never stores one.
 */
export const containsSecret = (schema: TSchema): boolean => SECRET_RESPONSES.has(schema);

/** The `Idempotency-Key` of a POST; null without one. Throws the problem `malformed_request` when it is invalid. */
export const readIdempotencyKey = ({ method, headers }: Request): string | null => {
  const key = method === "POST" ? headers.get("idempotency-key") : null;
  if (key === null) return null;
  if (!isIdempotencyKey(key)) {
    throw new Problem("malformed_request", "An Idempotency-Key is 1 to 255 visible ASCII characters.");
  }
  if (maskApiKeys(key) !== key) {
    throw new Problem("malformed_request", "An Idempotency-Key must not contain an API key.");
  }
  return key;
};

/**
 * The operation of a claim: method and path, and for a person the environment of the request. The credential of a key
 * implies its environment.
 */
const claimedOperation = ({ request: { method, headers }, path, caller }: ClaimingRequest): string =>
  isPerson(caller) ? `${method} ${path} ${headers.get(ENVIRONMENT_HEADER)}` : `${method} ${path}`;

/** The claim of a request with `body`, with its response; null without an `Idempotency-Key`. */
export const createClaim = (
  claiming: ClaimingRequest,
  body: unknown,
  { schema }: Pick<Representation<never>, "schema">,
  { status, location, etag }: ResourceHead,
  text: string,
  random: RandomBytes,
): Claim | null => {
  const { idempotencyKey, secret } = claiming;
  if (idempotencyKey === null) return null;
  const request = claimedOperation(claiming);
  const head = { status, location, etag, bodyHash: hashBody(body) };
  const claim = { request, idempotencyKey, ...head };
  if (!containsSecret(schema)) return { ...claim, responseBody: Buffer.from(text), sealedFor: null };
  const sealed = sealResponse(text, head, { secret, idempotencyKey, request }, random);
  return { ...claim, responseBody: sealed, sealedFor: "keyId" in secret ? secret.keyId : secret.id };
};

/** The response that an earlier request with this `Idempotency-Key` has stored; null without one. */
export const findReplay = async (db: Db, claiming: ClaimingRequest): Promise<StoredReplay | null> => {
  const { idempotencyKey, caller } = claiming;
  if (idempotencyKey === null) return null;
  return findStoredResponse(db, caller, { request: claimedOperation(claiming), idempotencyKey });
};

/**
 * Whether a person needs the passkey to see a stored response with a secret. Without this, a session left unattended
 * could show stored secrets for a day, although it could no longer create any. Exception: a new key or webhook endpoint
 * of the test environment, whose creation needs no passkey.
 */
const needsPasskey = (text: string, status: number): boolean =>
  status !== 201 || (JSON.parse(text) as { environment?: unknown }).environment !== "test";

/** The body of the stored response, for the caller of a repeated request with `body`. */
export const openReplay = (
  { response: stored, responseFields }: StoredReplay,
  claiming: ClaimingRequest,
  body: unknown,
  { schema, present }: Pick<Representation<never>, "schema" | "present">,
): string => {
  const { path, caller, secret, idempotencyKey } = claiming;
  if (!Buffer.from(hashBody(body)).equals(stored.bodyHash)) {
    throw new Problem("idempotency_key_reused", "The Idempotency-Key belongs to a request with another body.");
  }
  const isSecret = containsSecret(schema);
  const context = { secret, idempotencyKey: idempotencyKey ?? "", request: claimedOperation(claiming) };
  const text =
    !isSecret && stored.sealedFor === null
      ? Buffer.from(stored.responseBody).toString()
      : openResponse(stored.responseBody, stored, context);
  if (text !== null) {
    if (isSecret && needsPasskey(text, stored.status)) requirePasskey(caller);
    return withMembers(text, responseFields && present ? present(responseFields, body) : responseFields);
  }
  const detail =
    "The request was executed before, with another secret of the calling key or in another session. Only that secret or session can decrypt the response.";
  // The response to a rotation has no `Location`, so the path of its key or endpoint is used.
  const rotated = /\/rotate(-secret)?$/.test(path) ? path.slice(0, path.lastIndexOf("/")) : undefined;
  const location = stored.location ?? rotated;
  throw new Problem("replay_unavailable", detail, location === undefined ? {} : { location });
};

/** Sends a stored response whose body is `text`. */
export const sendReplay = (text: string, { response }: StoredReplay, set: ResponseHead): string => {
  set.headers["idempotent-replayed"] = "true";
  return sendText(text, response, set);
};
