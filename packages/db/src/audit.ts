/** The audit trail: each write puts its event into the same statement. */
import type { Environment } from "@realtime-avatar/domain/api-key-secret";
import { newId, type RandomBytes, type TenantId } from "@realtime-avatar/domain/id";
import type { SQL } from "drizzle-orm";
import type { Caller } from "./callers.ts";
import { insertFrom, placeholders, rowValues } from "./client.ts";
import { auditEvents } from "./schema.ts";

export type AuditAction = "api_key.created" | "avatar.created";

/** Where a write comes from: who acts (null for whoever runs the service), by which request, and when. */
export type Origin = { actor: Pick<Caller, "id" | "keyId"> | null; requestId: string; now: Date; random: RandomBytes };

/** `insert` of the event that `auditValues` describes, for each row of `from`. */
export const insertAuditEvent = (from: SQL): SQL => insertFrom(auditEvents, placeholders(auditEvents, "audit"), from);

/** The values for `insertAuditEvent`. */
export const auditValues = (
  action: AuditAction,
  target: { tenantId: TenantId; environment: Environment; id: string },
  origin: Origin,
): Record<string, unknown> =>
  rowValues("audit", {
    tenantId: target.tenantId,
    id: newId("aud", origin.now, origin.random),
    environment: target.environment,
    actorId: origin.actor?.id ?? null,
    actorKeyId: origin.actor?.keyId ?? null,
    action,
    targetId: target.id,
    requestId: origin.requestId,
    createdAt: origin.now,
  } satisfies Record<keyof typeof auditEvents._.columns, unknown>);
