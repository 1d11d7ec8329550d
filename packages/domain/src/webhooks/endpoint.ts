/** A webhook endpoint as stored: its creation, and its API representation. */
import type { Environment } from "../environment.ts";
import type { TenantId, WebhookEndpointId } from "../id.ts";
import { Problem } from "../problem.ts";
import {
  type CreateWebhookEndpoint,
  ROTATION_OVERLAP_SECONDS,
  type WebhookEndpoint,
  type WebhookEndpointWithSecret,
  type WebhookEventSelection,
} from "./schemas.ts";

/** An endpoint as stored, with its secrets sealed (`secret.ts`). */
export type WebhookEndpointRecord = Omit<
  WebhookEndpoint,
  "id" | "tenantId" | "failingSince" | "previousSecretExpiresAt" | "createdAt" | "updatedAt"
> & {
  id: WebhookEndpointId;
  tenantId: TenantId;
  secret: Uint8Array;
  previousSecret: Uint8Array | null;
  failingSince: Date | null;
  previousSecretExpiresAt: Date | null;
  /** Incremented by every change of a caller; the value of the ETag. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** Each type and group once, in the order of the request; null means all. */
export const normalizeSelection = (events: WebhookEventSelection | null | undefined): WebhookEventSelection | null =>
  events ? [...new Set(events)] : null;

/** A new endpoint from `request`, a valid `CreateWebhookEndpoint`. `secret` is sealed. */
export const newWebhookEndpoint = (
  request: CreateWebhookEndpoint,
  context: { id: WebhookEndpointId; tenantId: TenantId; environment: Environment; secret: Uint8Array; now: Date },
): WebhookEndpointRecord => ({
  id: context.id,
  tenantId: context.tenantId,
  environment: context.environment,
  url: request.url,
  description: request.description ?? null,
  events: normalizeSelection(request.events),
  ordered: request.ordered ?? false,
  status: "enabled",
  disabledReason: null,
  secret: context.secret,
  previousSecret: null,
  failingSince: null,
  previousSecretExpiresAt: null,
  version: 1,
  createdAt: context.now,
  updatedAt: context.now,
});

/**
 * The endpoint with a new secret. The present secret also signs for 24 hours. Throws the problem `rotation_in_progress`
 * while an older secret still signs: it would end early, and a receiver that uses it could not verify deliveries.
 */
export const rotatedEndpoint = (
  endpoint: WebhookEndpointRecord,
  sealed: Uint8Array,
  { now, checkedAt }: { now: Date; checkedAt: Date },
): WebhookEndpointRecord => {
  const { previousSecretExpiresAt: end, secret, version } = endpoint;
  if (end !== null && end > checkedAt) {
    const retryAfterSeconds = Math.ceil((end.getTime() - checkedAt.getTime()) / 1000);
    const detail = "The secret was rotated, and the older one signs too until its time ends.";
    throw new Problem("rotation_in_progress", detail, { retryAfterSeconds });
  }
  const previousSecretExpiresAt = new Date(now.getTime() + ROTATION_OVERLAP_SECONDS * 1000);
  return {
    ...endpoint,
    secret: sealed,
    previousSecret: secret,
    previousSecretExpiresAt,
    version: version + 1,
    updatedAt: now,
  };
};

/** The API representation of an endpoint, without its secrets. */
export const presentWebhookEndpoint = (record: WebhookEndpointRecord): WebhookEndpoint => ({
  id: record.id,
  tenantId: record.tenantId,
  environment: record.environment,
  url: record.url,
  description: record.description,
  events: record.events,
  ordered: record.ordered,
  status: record.status,
  disabledReason: record.disabledReason,
  failingSince: record.failingSince?.toISOString() ?? null,
  previousSecretExpiresAt: record.previousSecretExpiresAt?.toISOString() ?? null,
  createdAt: record.createdAt.toISOString(),
  updatedAt: record.updatedAt.toISOString(),
});

/** The representation with the secret, as text. Only for the responses of a creation and of a rotation. */
export const presentWebhookEndpointWithSecret = (
  record: WebhookEndpointRecord,
  secret: string,
): WebhookEndpointWithSecret => ({ ...presentWebhookEndpoint(record), secret });
