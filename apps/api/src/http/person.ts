/** Authentication of people, by the cookie of their session. */

import type { AnyCaller, Caller, PersonCaller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { findUserSession, inEnvironment } from "@realtime-avatar/db/people/user-sessions";
import { type Grantor, personGrantor } from "@realtime-avatar/domain/api-keys/grant";
import type { Environment } from "@realtime-avatar/domain/environment";
import { checkVerified } from "@realtime-avatar/domain/people/people";
import { type SessionToken, verifyToken } from "@realtime-avatar/domain/people/tokens";
import { Problem } from "@realtime-avatar/domain/problem";
import type { RequestContext } from "./request-context.ts";

/** The same text for an ended session and for one that never existed. */
const INVALID = new Problem("invalid_session", "The session has ended. Sign in again.");

/** The person of a session. Throws the problem `invalid_session` unless the session is live. */
export const authenticatePerson = async (
  db: Db,
  { token, environment }: { token: SessionToken; environment: Environment },
  context: RequestContext,
): Promise<PersonCaller> => {
  const stored = await findUserSession(db, token);
  if (!stored || !verifyToken(token, stored.digest) || !stored.isLive) throw INVALID;
  context.tenantId = stored.person.tenantId;
  context.userId = stored.person.id;
  return inEnvironment(stored.person, environment);
};

export const isPerson = (caller: AnyCaller): caller is PersonCaller => caller.sessionId !== null;

/** Returns the caller of an operation that only people may call. */
export const requirePerson = (caller: AnyCaller): PersonCaller => {
  if (!isPerson(caller)) throw new Error("a key has called an operation of people");
  return caller;
};

/** Returns the caller of an operation that only keys may call. */
export const requireKey = (caller: AnyCaller): Caller => {
  if (isPerson(caller)) throw new Error("a person has called an operation of keys");
  return caller;
};

/** The grantor that represents the caller when it creates or changes keys. */
export const toGrantor = (caller: AnyCaller): Grantor =>
  isPerson(caller) ? personGrantor(caller.environment) : caller;

/**
 * The caller of a write that needs the passkey. Throws the problem `passkey_required` for a person whose passkey was
 * not used within five minutes. The write checks it again.
 */
export const requirePasskey = <Some extends AnyCaller>(caller: Some): Some => {
  if (!isPerson(caller)) return caller;
  checkVerified({ ...caller.session, checkedAt: caller.checkedAt });
  return { ...caller, needsPasskey: true };
};
