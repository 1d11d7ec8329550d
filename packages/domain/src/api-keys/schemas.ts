/** The request and response schemas of API keys. */

import { type Static, Type } from "@sinclair/typebox";
import { SessionLimit } from "../credits/session-limit.ts";
import { ENVIRONMENTS } from "../environment.ts";
import { ShownName } from "../lists/names.ts";
import { searchFilters } from "../lists/search.ts";
import { defineList, PAGE_LIMITS, Page, TOTAL_FIELD } from "../page.ts";
import { ClosedObject, Count, DateTime, Nullable, OneOf, Text } from "../schema.ts";
import { MAX_NAME_LENGTH } from "../text.ts";
import { SCOPES } from "./scope.ts";
import { KEY_ID_LENGTH } from "./secret.ts";
import { API_KEY_STATUSES } from "./status.ts";

/** Fields that requests and responses share. */
const fields = {
  name: Text({ minLength: 1, maxLength: MAX_NAME_LENGTH, description: "Human-readable name." }),
  environment: OneOf(ENVIRONMENTS, {
    description: "Live and test resources are separate: a test key cannot see live resources.",
  }),
  scopes: Type.Array(OneOf(SCOPES), {
    minItems: 1,
    maxItems: 16,
    description:
      "The operations that the key may perform. `*` includes every scope except `usage:write`; no other scope implies another. Duplicates are stored once.",
  }),
  spendLimitCreditMicros: Nullable(Count(), {
    description: "Hard spend cap of the key and its descendants, in credit micros; null means no cap.",
  }),
  maxConcurrentSessions: Nullable(SessionLimit, {
    description:
      "Maximum number of open sessions of the key and its descendants in the same environment; null means that only the limit of the tenant applies.",
  }),
  expiresAt: Nullable(DateTime(), { description: "Time at which the key expires; null means never." }),
};

export const CreateApiKey = ClosedObject({
  name: fields.name,
  environment: Type.Optional(fields.environment),
  scopes: Type.Optional(fields.scopes),
  spendLimitCreditMicros: Type.Optional(fields.spendLimitCreditMicros),
  maxConcurrentSessions: Type.Optional(fields.maxConcurrentSessions),
  expiresAt: Type.Optional(fields.expiresAt),
});
export type CreateApiKey = Static<typeof CreateApiKey>;

export const UpdateApiKey = ClosedObject(
  {
    name: Type.Optional(fields.name),
    scopes: Type.Optional(fields.scopes),
    spendLimitCreditMicros: Type.Optional(fields.spendLimitCreditMicros),
    maxConcurrentSessions: Type.Optional(fields.maxConcurrentSessions),
    expiresAt: Type.Optional(fields.expiresAt),
  },
  { minProperties: 1 },
);
export type UpdateApiKey = Static<typeof UpdateApiKey>;

/** The old secret remains valid for at most one week. */
export const RotateApiKey = ClosedObject({
  overlapSeconds: Type.Optional(
    Count({
      minimum: 0,
      maximum: 604_800,
      description: "How many seconds the old secret remains valid. At least 60 when a key rotates itself.",
    }),
  ),
});
export type RotateApiKey = Static<typeof RotateApiKey>;

/** A report that a secret has leaked. */
export const ReportLeakedKey = ClosedObject({
  apiKey: Text({ minLength: 1, maxLength: 512, description: "The full secret that was found." }),
});
export type ReportLeakedKey = Static<typeof ReportLeakedKey>;

export const ApiKey = ClosedObject({
  id: Text({ minLength: 1, maxLength: 64, description: "Id of the key. A rotation does not change it." }),
  keyId: Text({
    minLength: KEY_ID_LENGTH,
    maxLength: KEY_ID_LENGTH,
    description: "Public identifier of the newest credential; safe to log.",
  }),
  tenantId: Text({ minLength: 1, maxLength: 64 }),
  parentId: Nullable(Text({ minLength: 1, maxLength: 64 }), {
    description: "Id of the key that created this key; null for a root key, which a person or the operator created.",
  }),
  name: fields.name,
  environment: fields.environment,
  redactedKey: Text({ minLength: 1, maxLength: 64, description: "The key without its secret; safe to show." }),
  scopes: fields.scopes,
  status: OneOf(API_KEY_STATUSES, {
    description: "A key is also `revoked` or `expired` when one of its ancestors is.",
  }),
  spendLimitCreditMicros: fields.spendLimitCreditMicros,
  effectiveSpendLimitCreditMicros: Nullable(Count(), {
    description:
      "The lowest spend cap of the key and its ancestors in the same environment, in credit micros; null means no cap.",
  }),
  spentCreditMicros: Count({
    description: "Credits spent by sessions of the key and its descendants in the same environment, in credit micros.",
  }),
  reservedCreditMicros: Count({
    description:
      "Credits held by open sessions of the key and its descendants in the same environment, in credit micros.",
  }),
  maxConcurrentSessions: fields.maxConcurrentSessions,
  effectiveMaxConcurrentSessions: Nullable(SessionLimit, {
    description:
      "The lowest `maxConcurrentSessions` of the key and its ancestors in the same environment; null means that only the limit of the tenant applies.",
  }),
  expiresAt: fields.expiresAt,
  effectiveExpiresAt: Nullable(DateTime(), {
    description: "The earliest expiry of the key and its ancestors; null means never.",
  }),
  lastUsedAt: Nullable(DateTime(), {
    description: "Time of the last use, to the minute; null before the first use.",
  }),
  createdAt: DateTime(),
});
export type ApiKey = Static<typeof ApiKey>;

/** The response of a creation or a rotation, the only responses that contain the full secret. */
export const ApiKeyWithSecret = ClosedObject({
  ...ApiKey.properties,
  apiKey: Text({
    minLength: 1,
    maxLength: 128,
    description: "The full secret. Only this response contains it: store it now.",
  }),
});
export type ApiKeyWithSecret = Static<typeof ApiKeyWithSecret>;

/** A key in lists and reads. */
export const ApiKeyWithCreator = ClosedObject({
  ...ApiKey.properties,
  createdBy: Nullable(Text({ minLength: 1, maxLength: 64 }), {
    description: "Id of the key or the user that created the key; null: the operator of the service.",
  }),
  createdByName: ShownName("the key or the user of `createdBy`"),
});
export type ApiKeyWithCreator = Static<typeof ApiKeyWithCreator>;

/** `GET /api/v1/api-keys` */
const API_KEY_FILTERS = {
  status: Type.Optional(OneOf(API_KEY_STATUSES)),
  environment: Type.Optional(fields.environment),
  ...searchFilters(MAX_NAME_LENGTH),
  ancestorId: Type.Optional(
    Text({ minLength: 1, maxLength: 64, description: "Include only the descendants of the key with this id." }),
  ),
};
export const API_KEY_LIST = defineList("key", API_KEY_FILTERS, PAGE_LIMITS, { hasTotal: true });
export const ApiKeyPage = Page(ApiKeyWithCreator, { head: TOTAL_FIELD });
