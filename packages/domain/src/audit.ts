/** The audit trail: the action, the actor, the target and the time of each change. */
import { type Static, Type } from "@sinclair/typebox";
import { KEY_ID_LENGTH } from "./api-keys/secret.ts";
import { normalizeWindow, refuseEmptyWindow } from "./credits/window.ts";
import { ENVIRONMENTS } from "./environment.ts";
import type { ApiKeyId, AuditEventId, TenantId, UserId } from "./id.ts";
import { ShownName } from "./lists/names.ts";
import { defineList, PAGE_LIMITS, Page, type PageRequest, readPage, TOTAL_FIELD } from "./page.ts";
import { ClosedObject, DateTime, Nullable, OneOf, Text } from "./schema.ts";

export const AUDIT_ACTIONS = [
  "api_key.created",
  "api_key.updated",
  "api_key.rotated",
  "api_key.revoked",
  "api_key.reported_leaked",
  "avatar.created",
  "avatar.updated",
  "avatar.deleted",
  "avatar.prepared",
  "avatar.preparation_failed",
  "asset.created",
  "asset.uploaded",
  "asset.ready",
  "asset.failed",
  "asset.deleted",
  "user.created",
  "user.updated",
  "user.deleted",
  "user_session.created",
  "user_session.verified",
  "user_session.ended",
  "invitation.created",
  "invitation.deleted",
  "passkey.created",
  "passkey.updated",
  "passkey.deleted",
  "identity.created",
  "identity.deleted",
  "credits.granted",
  "credits.voided",
  "credits.adjusted",
  "credits.limit_changed",
  "webhook_endpoint.created",
  "webhook_endpoint.updated",
  "webhook_endpoint.deleted",
  "webhook_endpoint.secret_rotated",
  "webhook_endpoint.disabled",
  "usage_session.ended",
  "settings.updated",
  "transcript.deleted",
  "recording.deleted",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

const ACTOR_TYPES = ["api_key", "user"] as const;

const Id = Text({ minLength: 1, maxLength: 64 });
const KeyId = Text({ minLength: KEY_ID_LENGTH, maxLength: KEY_ID_LENGTH });

export const AuditEvent = ClosedObject({
  id: Id,
  tenantId: Id,
  environment: OneOf(ENVIRONMENTS),
  action: OneOf(AUDIT_ACTIONS),
  targetId: Id,
  targetName: ShownName("the target"),
  changedFields: Type.Array(Text({ minLength: 1, maxLength: 64 }), {
    minItems: 0,
    maxItems: 16,
    description: "Names of the fields that an update changed; never their values.",
  }),
  actorType: Nullable(OneOf(ACTOR_TYPES), {
    description: "The actor: a key or a person; null: the operator, the service or the holder of a leaked secret.",
  }),
  actorId: Nullable(Id, { description: "Id of the key or the user that acted; null if `actorType` is." }),
  actorName: ShownName("the actor"),
  actorKeyId: Nullable(KeyId, {
    description: "`keyId` of the credential that the actor used; null if the actor was not a key.",
  }),
  requestId: Text({ minLength: 1, maxLength: 128, description: "The `X-Request-Id` of the response." }),
  createdAt: DateTime(),
});
export type AuditEvent = Static<typeof AuditEvent>;

/** `GET /api/v1/audit-events` */
const AUDIT_EVENT_FILTERS = {
  action: Type.Optional(OneOf(AUDIT_ACTIONS)),
  targetId: Type.Optional(Id),
  actorId: Type.Optional(Text({ ...Id, description: "Include only events of this key or person." })),
  actorKeyId: Type.Optional(KeyId),
  from: Type.Optional(DateTime({ description: "Include only events from this time on." })),
  to: Type.Optional(DateTime({ description: "Include only events before this time." })),
};
export const AUDIT_EVENT_LIST = defineList("aud", AUDIT_EVENT_FILTERS, PAGE_LIMITS, { hasTotal: true });
export type AuditPageRequest = PageRequest<typeof AUDIT_EVENT_LIST>;

/** Reads the query parameters of the list, which are valid for `AUDIT_EVENT_LIST.query`. Throws the problem `validation_failed`. */
export const readAuditPage = (parameters: object): AuditPageRequest => {
  const page = readPage(AUDIT_EVENT_LIST, normalizeWindow({ ...parameters }));
  const filters = normalizeWindow(page.filters);
  refuseEmptyWindow(filters);
  return { ...page, filters };
};

export const AuditEventPage = Page(AuditEvent, { head: TOTAL_FIELD });

/** An audit event as stored. Its `environment` is that of the target. */
export type AuditEventRecord = Omit<
  AuditEvent,
  "id" | "tenantId" | "changedFields" | "actorType" | "actorId" | "actorName" | "targetName" | "createdAt"
> & {
  id: AuditEventId;
  tenantId: TenantId;
  /** In no particular order. */
  changedFields: readonly string[];
  actorId: ApiKeyId | UserId | null;
  createdAt: Date;
};
