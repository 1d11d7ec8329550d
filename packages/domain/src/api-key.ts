/** API keys: what a request may ask for, what a key may grant, what is stored and what is shown. */
import { type Static, Type } from "@sinclair/typebox";
import {
  type ApiKeySecret,
  ENVIRONMENTS,
  type Environment,
  generateApiKey,
  KEY_ID_LENGTH,
  redactedKey,
} from "./api-key-secret.ts";
import { parseDateTime } from "./date-time.ts";
import { type ApiKeyId, newId, type RandomBytes, type TenantId } from "./id.ts";
import { type FieldError, Problem } from "./problem.ts";
import { Count, DateTime, Nullable, OneOf, Text } from "./schema.ts";
import { DEFAULT_SCOPES, permits, SCOPES, type Scope } from "./scope.ts";
import { API_KEY_STATUSES, type ApiKeyStatus } from "./state.ts";

/** A key has at most so many ancestors. */
export const MAX_LINEAGE = 8;

/** What a new key and a present one share. */
const fields = {
  name: Text({ minLength: 1, maxLength: 120 }),
  environment: OneOf(ENVIRONMENTS),
  scopes: Type.Array(OneOf(SCOPES), { minItems: 1, maxItems: 16 }),
  spendLimitCreditMicros: Nullable(Count()),
  expiresAt: Nullable(DateTime()),
};

export const CreateApiKey = Type.Object(
  {
    name: fields.name,
    environment: Type.Optional(fields.environment),
    scopes: Type.Optional(fields.scopes),
    spendLimitCreditMicros: Type.Optional(fields.spendLimitCreditMicros),
    expiresAt: Type.Optional(fields.expiresAt),
  },
  { additionalProperties: false },
);
export type CreateApiKey = Static<typeof CreateApiKey>;

export const ApiKey = Type.Object(
  {
    id: Text({ minLength: 1, maxLength: 64 }),
    keyId: Text({ minLength: KEY_ID_LENGTH, maxLength: KEY_ID_LENGTH }),
    tenantId: Text({ minLength: 1, maxLength: 64 }),
    name: fields.name,
    environment: fields.environment,
    redactedKey: Text({ minLength: 1, maxLength: 64 }),
    scopes: fields.scopes,
    status: OneOf(API_KEY_STATUSES),
    spendLimitCreditMicros: fields.spendLimitCreditMicros,
    expiresAt: fields.expiresAt,
    createdAt: DateTime(),
  },
  { additionalProperties: false },
);
export type ApiKey = Static<typeof ApiKey>;

/** The answer of a creation: the one place where the full secret is shown. */
export const ApiKeyWithSecret = Type.Object(
  { ...ApiKey.properties, apiKey: Text({ minLength: 1, maxLength: 128 }) },
  { additionalProperties: false },
);
export type ApiKeyWithSecret = Static<typeof ApiKeyWithSecret>;

/** What a key may do, and hence the most that it may grant. */
export type Grant = {
  environment: Environment;
  /** Without duplicates, 1 to 16. */
  scopes: readonly Scope[];
  /** Hard cap in credit micros; `null` is no cap. */
  spendLimitCreditMicros: number | null;
  /** `null` is never. */
  expiresAt: Date | null;
};

/** Who grants: what it may do, its own record, and the records from which it descends, eldest first. */
export type Grantor = Grant & { id: ApiKeyId | null; lineage: readonly ApiKeyId[] };

/** Whoever runs the service may grant anything, and is no key's ancestor. */
export const OPERATOR: Grantor = {
  id: null,
  environment: "live",
  scopes: ["*"],
  spendLimitCreditMicros: null,
  expiresAt: null,
  lineage: [],
};

const earlierOrSame = (time: Date | null, limit: Date | null): boolean =>
  limit === null || (time !== null && time.getTime() <= limit.getTime());

/**
 * What a key that `caller` creates with `request` may do, or every reason why it may not be created: a key never
 * creates a key that can do more than itself, on any of the axes scopes, environment, expiry and spend cap. What the
 * request leaves out becomes the default scopes, `test`, and the caller's own expiry and cap.
 *
 * `request` has met `CreateApiKey`. Whether its expiry lies in the future is not judged here: there is no clock.
 */
export const attenuate = (
  caller: Grantor,
  request: Pick<CreateApiKey, "environment" | "scopes" | "spendLimitCreditMicros" | "expiresAt">,
): { grant: Grant } | { refusals: FieldError[] } => {
  const grant: Grant = {
    environment: request.environment ?? "test",
    scopes: [...new Set(request.scopes ?? DEFAULT_SCOPES)],
    spendLimitCreditMicros:
      request.spendLimitCreditMicros === undefined ? caller.spendLimitCreditMicros : request.spendLimitCreditMicros,
    expiresAt:
      request.expiresAt === undefined
        ? caller.expiresAt
        : request.expiresAt === null
          ? null
          : parseDateTime(request.expiresAt),
  };
  const refusals: FieldError[] = [];
  const refuse = (field: string, detail: string, allowed: unknown): void => {
    refusals.push({ pointer: `#/${field}`, code: "exceeds_caller", detail, allowed });
  };

  if (!grant.scopes.every((scope) => permits(caller.scopes, scope))) {
    refuse(
      "scopes",
      "Each scope must be held by the calling key; omitted, the default scopes are asked for.",
      caller.scopes,
    );
  }
  if (grant.environment === "live" && caller.environment !== "live") {
    refuse("environment", "A test key creates only test keys.", ["test"]);
  }
  const cap = caller.spendLimitCreditMicros;
  if (cap !== null && (grant.spendLimitCreditMicros === null || grant.spendLimitCreditMicros > cap)) {
    refuse("spendLimitCreditMicros", "Must be at most the spend cap of the calling key.", { maximum: cap });
  }
  if (!earlierOrSame(grant.expiresAt, caller.expiresAt)) {
    refuse("expiresAt", "Must be no later than the expiry of the calling key.", {
      latest: caller.expiresAt?.toISOString(),
    });
  }
  if (caller.lineage.length >= MAX_LINEAGE) {
    const detail = `A key has at most ${MAX_LINEAGE} ancestors; the calling key cannot create keys.`;
    refusals.push({ pointer: "#", code: "lineage_too_deep", detail, allowed: null });
  }
  return refusals.length > 0 ? { refusals } : { grant };
};

/** A key as it is stored: the record, with the public handle of its newest credential. */
export type ApiKeyRecord = Grant & {
  id: ApiKeyId;
  tenantId: TenantId;
  keyId: string;
  name: string;
  status: ApiKeyStatus;
  /** Ids of its ancestors, eldest first. It is valid only while each of them is. */
  lineage: readonly ApiKeyId[];
  /** Raised by every change; the ETag. */
  version: number;
  createdAt: Date;
};

/**
 * Makes a key that `creator` grants by `request`, which has met `CreateApiKey`. `judgedAt` is the time by which its
 * expiry is judged, `now` the time of its creation. Throws the problem `validation_failed` when the expiry does not
 * lie in the future, and `grant_exceeds_caller` with every refusal when the grant is more than the creator has.
 */
export const issueApiKey = (
  request: CreateApiKey,
  creator: Grantor,
  of: { tenantId: TenantId; judgedAt: Date; now: Date; random: RandomBytes },
): { record: ApiKeyRecord; secret: ApiKeySecret } => {
  const expiry = typeof request.expiresAt === "string" ? parseDateTime(request.expiresAt) : null;
  if (expiry && expiry.getTime() <= of.judgedAt.getTime()) {
    const error = { pointer: "#/expiresAt", code: "not_in_future", detail: "Must lie in the future." };
    throw new Problem("validation_failed", "The request does not meet its constraints.", { errors: [error] });
  }
  const attenuated = attenuate(creator, request);
  if ("refusals" in attenuated) {
    const detail = "The new key would be able to do more than the calling key.";
    throw new Problem("grant_exceeds_caller", detail, { errors: attenuated.refusals });
  }
  const secret = generateApiKey(attenuated.grant.environment, of.random);
  const record: ApiKeyRecord = {
    ...attenuated.grant,
    id: newId("key", of.now, of.random),
    tenantId: of.tenantId,
    keyId: secret.keyId,
    name: request.name,
    status: "active",
    lineage: creator.id === null ? [] : [...creator.lineage, creator.id],
    version: 1,
    createdAt: of.now,
  };
  return { record, secret };
};

/** The API key as the API shows it. */
export const presentApiKey = (record: ApiKeyRecord): ApiKey => ({
  id: record.id,
  keyId: record.keyId,
  tenantId: record.tenantId,
  name: record.name,
  environment: record.environment,
  redactedKey: redactedKey(record.environment, record.keyId),
  scopes: [...record.scopes],
  status: record.status,
  spendLimitCreditMicros: record.spendLimitCreditMicros,
  expiresAt: record.expiresAt?.toISOString() ?? null,
  createdAt: record.createdAt.toISOString(),
});

/** The API key as the answer of its creation shows it, secret and all. */
export const presentApiKeyWithSecret = (record: ApiKeyRecord, secret: ApiKeySecret): ApiKeyWithSecret => ({
  ...presentApiKey(record),
  apiKey: secret.reveal(),
});
