/**
 * Requests that are made once: `Idempotency-Key`. A request that is sent again with the same key gets its first answer,
 * and does nothing. The claim is written by the very statement that does the work; here it is made up before, and an
 * answer that was stored is read again.
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
import type { Act } from "./authenticate.ts";
import type { Answering } from "./request-context.ts";

/** An answer that is known before the statement runs. */
export type Answer = { status: number; location: string | null; etag: string; body: object };

/** What the domain refuses, as opposed to what fails. */
const isRefusal = (error: unknown): error is Problem => error instanceof Problem && error.status < 500;

/**
 * Throws the problem `malformed_request` when there is an `Idempotency-Key` that is malformed, or that holds a secret: it
 * would be stored in clear.
 */
export const checkIdempotencyKey = ({ headers }: Request): void => {
  const key = headers.get("idempotency-key");
  if (key === null || (isIdempotencyKey(key) && maskApiKeys(key) === key)) return;
  throw new Problem("malformed_request", "An Idempotency-Key is 1 to 255 visible ASCII characters, and no API key.");
};

const respond = (
  text: string,
  { status, location, etag }: Pick<Answer, "status" | "location" | "etag">,
  set: Answering,
): string => {
  set.status = status;
  set.headers["content-type"] = "application/json";
  set.headers["etag"] = etag;
  if (location !== null) set.headers["location"] = location;
  return text;
};

type Asked = {
  idempotencyKey: string;
  request: string;
  bodyHash: Uint8Array;
  secret: ApiKeySecret;
  /** Whether the response shows a secret. One that is stored unsealed was not stored by this service. */
  isSealed: boolean;
};

/** The answer that an earlier attempt was given. */
const replay = (stored: StoredAnswer, asked: Asked, set: Answering): string => {
  const { idempotencyKey, request, bodyHash, secret, isSealed } = asked;
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

type Context = {
  act: Act;
  db: Db;
  path: string;
  request: Request;
  secret: ApiKeySecret;
  set: Answering;
};

/**
 * Does `attempt` once. `attempt` makes up the answer, and gives `claimOf` of it to the statement; its answers meet
 * `schema`, which is seen to before anything is written. When it refuses the request for something that depends on time,
 * on the caller or on what the path names, an earlier attempt may have been made before that was so.
 */
export const once = async (
  { random }: Dependencies,
  { act, db, path, request, secret, set }: Context,
  schema: TSchema,
  body: unknown,
  attempt: (
    caller: Caller,
    target: ApiKeyRecord | null,
    claimOf: (answer: Answer) => Claim | null,
  ) => Promise<[Answer, WriteOutcome]>,
): Promise<string> => {
  const idempotencyKey = request.headers.get("idempotency-key");
  const asked: Asked | null =
    idempotencyKey === null
      ? null
      : {
          idempotencyKey,
          request: `${request.method} ${path}`,
          bodyHash: hashBody(body),
          secret,
          isSealed: "apiKey" in (schema["properties"] ?? {}),
        };
  /** The body of the answer that the present attempt gives. */
  let text = "";
  const claimOf = (answer: Answer): Claim | null => {
    if (!isValid(schema, answer.body)) throw new Error("an answer breaks its schema");
    text = JSON.stringify(answer.body);
    if (asked === null) return null;
    const { secret: _, isSealed, ...claim } = asked;
    return {
      ...claim,
      status: answer.status,
      location: answer.location,
      etag: answer.etag,
      answer: isSealed ? sealResponse(text, { ...answer, bodyHash: asked.bodyHash }, asked, random) : Buffer.from(text),
      sealedFor: isSealed ? secret.keyId : null,
    };
  };
  return act(
    async (caller, target) => {
      let made: [Answer, WriteOutcome];
      try {
        made = await attempt(caller, target, claimOf);
      } catch (error) {
        const stored = asked !== null && isRefusal(error) ? await findAnswer(db, caller, asked) : null;
        if (asked === null || stored === null) throw error;
        return replay(stored, asked, set);
      }
      const [answer, outcome] = made;
      switch (outcome.kind) {
        case "stale":
          return false;
        case "written":
          return respond(text, answer, set);
        case "replayed":
          return replay(outcome.response, asked as Asked, set);
      }
    },
    { isRepeatable: asked !== null },
  );
};
