/** The audit trail: the action, the actor, the target and the time of each change. */
import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS, type Environment, KEY_ID_LENGTH } from "./api-key-secret.ts";
import type { ApiKeyId, AuditEventId, TenantId } from "./id.ts";
import { listOf, Page } from "./page.ts";
import { DateTime, Nullable, OneOf, Text } from "./schema.ts";

export const AUDIT_ACTIONS = [
  "api_key.created",
  "api_key.updated",
  "api_key.rotated",
  "api_key.revoked",
  "api_key.reported_leaked",
  "avatar.created",
  "avatar.updated",
  "avatar.deleted",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

const Id = Text({ minLength: 1, maxLength: 64 });
const KeyId = Text({ minLength: KEY_ID_LENGTH, maxLength: KEY_ID_LENGTH });

export const AuditEvent = Type.Object(
  {
    id: Id,
    tenantId: Id,
    environment: OneOf(ENVIRONMENTS),
    action: OneOf(AUDIT_ACTIONS),
    targetId: Id,
    changedFields: Type.Array(Text({ minLength: 1, maxLength: 64 }), {
      minItems: 0,
      maxItems: 16,
      description: "Names of the fields that an update changed; never their values.",
    }),
    actorId: Nullable(Id, { description: "Id of the key that acted; null if the actor was not a key." }),
    actorKeyId: Nullable(KeyId, {
      description: "`keyId` of the credential that the actor used; null if the actor was not a key.",
    }),
    requestId: Text({ minLength: 1, maxLength: 128, description: "The `X-Request-Id` of the response." }),
    createdAt: DateTime(),
  },
  { additionalProperties: false },
);
export type AuditEvent = Static<typeof AuditEvent>;

/** `GET /api/v1/audit-events` */
export const AUDIT_EVENT_LIST = listOf("aud", {
  action: Type.Optional(OneOf(AUDIT_ACTIONS)),
  targetId: Type.Optional(Id),
  actorKeyId: Type.Optional(KeyId),
});
export const AuditEventPage = Page(AuditEvent);

/** An audit event as stored. */
export type AuditEventRecord = {
  id: AuditEventId;
  tenantId: TenantId;
  /** The environment of the target. */
  environment: Environment;
  action: AuditAction;
  targetId: string;
  /** Names of the fields that an update changed, in no particular order; never their values. */
  changedFields: readonly string[];
  /** Record id and credential of the key that acted; null if the actor was not a key. */
  actorId: ApiKeyId | null;
  actorKeyId: string | null;
  requestId: string;
  createdAt: Date;
};

/** The API representation of an audit event. */
export const presentAuditEvent = (record: AuditEventRecord): AuditEvent => ({
  id: record.id,
  tenantId: record.tenantId,
  environment: record.environment,
  action: record.action,
  targetId: record.targetId,
  changedFields: [...record.changedFields],
  actorId: record.actorId,
  actorKeyId: record.actorKeyId,
  requestId: record.requestId,
  createdAt: record.createdAt.toISOString(),
});
