/** Credits and sessions for tests, written like the operator and the API. */

import { auditEvent } from "@realtime-avatar/db/audit/audit-events";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type CreditMovement, type MoveOutcome, moveCredits } from "@realtime-avatar/db/credits/credits";
import { openUsageSession, type SessionRequest } from "@realtime-avatar/db/credits/usage-sessions";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { OPERATOR_ACTIONS } from "@realtime-avatar/domain/credits/entry";
import { newId, type SessionId, type TenantId } from "@realtime-avatar/domain/id";
import { random } from "./random-bytes.ts";
import { asOwner, findTestCaller, operatorOrigin, seedKey } from "./seeds.ts";

/** Credit micros of a second in tests. */
export const PRICE = 1_000_000;

/** Creates a key with every scope, and returns it as a caller with its record. */
export const seedCaller = async (
  db: Db,
  tenantId: TenantId,
  request: Partial<CreateApiKey> = {},
  parent?: ApiKeyRecord,
): Promise<{ caller: Caller; record: ApiKeyRecord; apiKey: string }> => {
  const all: Partial<CreateApiKey> = { environment: "live", scopes: ["*", "usage:write"] };
  const { record, secret } = await seedKey(db, tenantId, { ...all, ...request }, parent);
  return { caller: await findTestCaller(db, secret.keyId), record, apiKey: secret.reveal() };
};

/** Writes a movement of the operator: by default a live grant for 100 seconds without a reference. */
export const seedMovement = (
  db: Db,
  tenantId: TenantId,
  changes: Partial<CreditMovement> = {},
): Promise<MoveOutcome> => {
  const origin = operatorOrigin();
  const entry: CreditMovement = {
    tenantId,
    id: newId("ent", origin.now, random),
    environment: "live",
    kind: "grant",
    amount: 100 * PRICE,
    sessionId: null,
    reference: null,
    requestId: origin.requestId,
    createdAt: origin.now,
    ...changes,
  };
  return moveCredits(asOwner(db), entry, auditEvent(OPERATOR_ACTIONS[entry.kind], entry, origin));
};

/** A request for a session: by default of ten seconds, without an avatar. */
export const sessionRequest = (
  { environment }: Pick<Caller, "environment">,
  changes: Partial<SessionRequest> = {},
): SessionRequest => {
  const { now, requestId } = operatorOrigin();
  return {
    id: newId("ses", now, random),
    environment,
    avatarId: null,
    maxSeconds: 10,
    minSeconds: 10,
    price: PRICE,
    startSeconds: 120,
    metadata: {},
    entryId: newId("ent", now, random),
    requestId,
    createdAt: now,
    ...changes,
  };
};

/** Opens a session, and returns its id. Throws when it is refused. */
export const seedSession = async (
  db: Db,
  caller: Caller,
  changes: Partial<SessionRequest> = {},
): Promise<SessionId> => {
  const request = sessionRequest(caller, changes);
  const outcome = await openUsageSession(db, request, caller);
  if (outcome.kind !== "written") throw new Error(`the session was not opened: ${outcome.kind}`);
  return request.id;
};
