/** Batches of creates. Concurrent creates go to the database in one call, and each has its own outcome. */
import type { AuditEventRecord } from "@realtime-avatar/domain/audit";
import type { AnyCaller } from "../callers/callers.ts";
import type { BatchKind, Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { type Claim, outcomeAmong, type WriteOutcome, type WriteOutcomeRow } from "./idempotency-keys.ts";

/** The fields of every batched write. */
export type Write = { caller: AnyCaller; claim: Claim | null };

/** The fields of every create, in addition to the new row. */
export type Create = Write & { audit: AuditEventRecord };

/** The outcome of a create. A refused create writes nothing and stores no claim. */
export type CreateOutcome<Refusal extends string> = WriteOutcome | { kind: Refusal };

/** The parameters of every database function for a batch of writes. */
type Parameters = {
  callers: readonly AnyCaller[];
  callerAt: readonly number[];
  claims: readonly (Claim | null)[] | null;
  wait: boolean;
};

/** The parameters of `writes`. A caller of several writes is sent and locked once. */
const parametersOf = (writes: readonly Write[], wait: boolean): Parameters => {
  const callers: AnyCaller[] = [];
  const positions = new Map<string, number>();
  const callerAt = writes.map(({ caller }) => {
    const identity = `${caller.credentialKeyId ?? caller.sessionId} ${caller.version} ${caller.needsPasskey}`;
    // `push` returns the new length: positions count from 1, as in SQL.
    const position = positions.get(identity) ?? callers.push(caller);
    positions.set(identity, position);
    return position;
  });
  const claims = writes.some(({ claim }) => claim !== null) ? writes.map(({ claim }) => claim) : null;
  return { callers, callerAt, claims, wait };
};

/** Writes with the same claim are not sent in one batch. */
const claimKey = ({ claim, caller }: Write): string | null =>
  claim && `${caller.id} ${claim.request} ${claim.idempotencyKey}`;

/**
 * Returns a function that adds a write to the next batch of its kind. `call` calls the database function. A batch has
 * no two writes with the same claim or the same `keyOf`.
 *
 * In a batch, a write is stale when its caller has changed, is no longer valid, or is locked by a change, or when its
 * session is locked. A stale write has written nothing. It is sent once more, alone, and then waits for such a change.
 * If it is stale again, its outcome is `stale`.
 */
export const batchedWrite = <One extends Write, Outcome extends { kind: string }>(
  name: string,
  call: (db: Runner, writes: readonly One[], parameters: Parameters) => Promise<readonly Outcome[]>,
  keyOf: (write: One) => string | null = () => null,
): ((db: Db, write: One) => Promise<Outcome>) => {
  const kind: BatchKind<One, Outcome> = {
    name,
    inFlight: 2,
    keyOf: (write) => keyOf(write) ?? claimKey(write),
    run: (db, writes) => call(db, writes, parametersOf(writes, false)),
  };
  return async (db, write) => {
    const outcome = await db.batch(kind, write, write.caller.tenantId);
    if (outcome.kind !== "stale") return outcome;
    const [waited] = await call(db, [write], parametersOf([write], true));
    return waited as Outcome;
  };
};

/**
 * Like `batchedWrite`, for creates. `refusals` are the additional outcomes of this kind of create that write nothing.
 * `call` also gets the audit events, and returns the rows of the function.
 */
export const batchedCreate = <One extends Create, Refusal extends string>(
  name: string,
  refusals: readonly Refusal[],
  call: (
    db: Runner,
    creates: readonly One[],
    parameters: Parameters & { auditEvents: readonly AuditEventRecord[] },
  ) => Promise<readonly WriteOutcomeRow[]>,
): ((db: Db, create: One) => Promise<CreateOutcome<Refusal>>) =>
  batchedWrite<One, CreateOutcome<Refusal>>(name, async (db, creates, parameters) => {
    const rows = await call(db, creates, { ...parameters, auditEvents: creates.map(({ audit }) => audit) });
    return rows.map((row) => outcomeAmong(row, refusals));
  });
