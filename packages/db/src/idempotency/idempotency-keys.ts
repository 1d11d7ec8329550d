/**
 * Requests with an `Idempotency-Key`. The database function that does the work of such a request claims its
 * `Idempotency-Key`, by inserting it with the response: before the work (`claim_idempotency_keys.sql`) or, for
 * sessions, under the locks of the work. A later or concurrent request with the same `Idempotency-Key` finds the claim,
 * writes nothing and gets the stored response. A claim lasts 24 hours by the database's clock.
 */
import type { ApiKeyId, TenantId, UserId } from "@realtime-avatar/domain/id";
import { CLAIM_HOURS } from "@realtime-avatar/domain/idempotency";
import { type Column, sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { createSweep, selectColumns, statement } from "../query/statement.ts";
import { idempotencyClaims } from "../schema/idempotency.ts";

/** A stored response. */
export type StoredResponse = {
  /** SHA-256 of the request's body as a JSON value. */
  bodyHash: Uint8Array;
  status: number;
  location: string | null;
  etag: string;
  /** The body, as text in UTF-8 or sealed. */
  responseBody: Uint8Array;
  /** The credential whose secret seals the body; null for an unsealed body. */
  sealedFor: string | null;
};

/** The claim of a request, with the response to store if it is the first one. */
export type Claim = StoredResponse & { request: string; idempotencyKey: string };

/** The members of a response that only the write knows. The stored response lacks them; they are stored beside it. */
export type ResponseFields = object;

/** The outcome of a write that can be replayed. */
export type WriteOutcome =
  | { kind: "written"; responseFields?: ResponseFields | null }
  /** Nothing was written: the caller, or the target of the write, has changed since its look-up. */
  | { kind: "stale" }
  /** Nothing was written: an earlier attempt with the same claim had this response. */
  | { kind: "replayed"; response: StoredResponse; responseFields?: ResponseFields | null };

/** The outcome of a write, as a function returns it: `kind`, and the stored response of a replayed one. */
export type WriteOutcomeRow = { kind: string | null } & { [Key in keyof StoredResponse]: StoredResponse[Key] | null };

/** One of `kinds`, from the name that a function returns. Throws a `TypeError` for any other name. */
export const requireKind = <Kind extends string>(name: string | null, kinds: readonly Kind[]): Kind => {
  const kind = kinds.find((one) => one === name);
  if (kind === undefined) throw new TypeError(`unknown outcome of a write: ${name}`);
  return kind;
};

/** The outcome of a row. */
export const writeOutcome = ({ kind: name, ...response }: WriteOutcomeRow): WriteOutcome => {
  const kind = requireKind(name, ["written", "stale", "replayed"]);
  return kind === "replayed" ? { kind, response: response as StoredResponse } : { kind };
};

/** The outcome of a write that may be refused: one of `refusals`, or an outcome of every write. */
export const outcomeAmong = <Refusal extends string>(
  row: WriteOutcomeRow | undefined,
  refusals: readonly Refusal[],
): WriteOutcome | { kind: Refusal } => {
  if (row === undefined) throw new TypeError("a write has no outcome");
  const refusal = refusals.find((one) => one === row.kind);
  return refusal === undefined ? writeOutcome(row) : { kind: refusal };
};

const { bodyHash, status, location, etag, responseBody, sealedFor, responseFields } = idempotencyClaims;
const response = { bodyHash, status, location, etag, responseBody, sealedFor } satisfies Record<
  keyof StoredResponse,
  Column
>;

const LIFETIME = sql.raw(`interval '${CLAIM_HOURS} hours'`);
const IS_OVER = sql`${idempotencyClaims.createdAt} <= now() - ${LIFETIME}`;
/**
 * Not written as `not IS_OVER`, because the server might then use the index of the times and read all claims: see
 * requests_to_admit.sql.
 */
const IS_KEPT = sql`now() - ${idempotencyClaims.createdAt} < ${LIFETIME}`;
const select = statement<StoredResponse & { responseFields: ResponseFields | null }>(
  "find_stored_response",
  sql`
  select ${selectColumns({ ...response, responseFields })} from ${idempotencyClaims}
  where ${IS_KEPT}
    and ${idempotencyClaims.tenantId} = ${sql.placeholder("tenantId")}
    and ${idempotencyClaims.callerId} = ${sql.placeholder("callerId")}
    and ${idempotencyClaims.request} = ${sql.placeholder("request")}
    and ${idempotencyClaims.idempotencyKey} = ${sql.placeholder("idempotencyKey")}`,
);

/**
 * The stored response to an earlier attempt, with its response fields; `null` when no such attempt was made in the last
 * 24 hours. One statement.
 */
export const findStoredResponse = async (
  db: Db,
  caller: { tenantId: TenantId; id: ApiKeyId | UserId },
  claim: Pick<Claim, "request" | "idempotencyKey">,
): Promise<Extract<WriteOutcome, { kind: "replayed" }> | null> => {
  const { request, idempotencyKey } = claim;
  const [row] = await select(db, { tenantId: caller.tenantId, callerId: caller.id, request, idempotencyKey });
  if (!row) return null;
  const { responseFields, ...response } = row;
  return { kind: "replayed", response, responseFields };
};

/** Deletes expired claims, and skips locked ones. Returns the number of deleted claims. */
export const sweepIdempotencyKeys = createSweep(
  "sweep_idempotency_keys",
  idempotencyClaims,
  IS_OVER,
  idempotencyClaims.createdAt,
);
