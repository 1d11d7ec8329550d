/** Avatars that workers load before a call: see preload_avatar.sql. */
import type { AvatarStatus } from "@realtime-avatar/domain/avatars/status";
import { PREPARED_SECONDS } from "@realtime-avatar/domain/calls/schemas";
import { PRELOAD } from "@realtime-avatar/domain/calls/worker-sync";
import { type AvatarId, newId, type TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import { preloadAvatar as callPreload, type PreloadAvatarRow } from "../../generated/functions.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Caller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import { type Claim, requireKind, type StoredResponse } from "../idempotency/idempotency-keys.ts";
import { statement } from "../query/statement.ts";
import { avatarPreloads } from "../schema/calls.ts";

/** Only `written` can have written a row: a request to the worker, if a worker can load the avatar. */
export type PreloadOutcome =
  | { kind: "written" | "not_found" | "stale" }
  | { kind: "not_ready"; avatarStatus: AvatarStatus }
  | { kind: "replayed"; response: StoredResponse };

/** Requests the worker that gets the next call to load an avatar. One statement. */
export const preloadAvatar = async (
  db: Runner,
  avatarId: AvatarId,
  caller: Caller,
  { now, random }: Pick<Origin, "now" | "random">,
  claim: Claim | null,
): Promise<PreloadOutcome> => {
  const [row] = await callPreload(db, {
    caller,
    environment: caller.environment,
    avatarId,
    // The attempt of a claim has the form of an audit event's id.
    preloadId: newId("aud", now, random),
    feature: PRELOAD,
    seconds: PREPARED_SECONDS,
    claim,
  });
  const { outcome, avatarStatus, bodyHash, responseStatus, location, etag, responseBody, sealedFor } =
    row as PreloadAvatarRow;
  const kind = requireKind(outcome, ["written", "not_found", "not_ready", "stale", "replayed"]);
  if (kind === "replayed") {
    const response = { bodyHash, status: responseStatus, location, etag, responseBody, sealedFor };
    return { kind, response: response as StoredResponse };
  }
  return kind === "not_ready" ? { kind, avatarStatus: avatarStatus as AvatarStatus } : { kind };
};

const selectPreloadOwner = statement<{ tenantId: TenantId }>(
  "find_preload_owner",
  sql`
    select ${avatarPreloads.tenantId} as "tenantId" from ${avatarPreloads}
    where ${avatarPreloads.workerId} = ${sql.placeholder("workerId")} and ${avatarPreloads.endsAt} > now()
      and ${avatarPreloads.avatarId} = ${sql.placeholder("avatarId")}`,
);

/** The tenant of an avatar that the worker must load now; null when the worker need not load it. One statement. */
export const findPreloadOwner = async (db: Runner, workerId: string, avatarId: AvatarId): Promise<TenantId | null> =>
  (await selectPreloadOwner(db, { workerId, avatarId }))[0]?.tenantId ?? null;
