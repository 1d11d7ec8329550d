/** API keys: request and response schemas, the stored record, and the rules for granting and managing keys. */
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
import { listOf, Page } from "./page.ts";
import { checkVersion, type FieldError, type MatchesVersion, notFound, Problem, validationFailed } from "./problem.ts";
import { Count, DateTime, Nullable, OneOf, Text } from "./schema.ts";
import { DEFAULT_SCOPES, permits, SCOPES, type Scope } from "./scope.ts";
import { API_KEY_STATUSES, API_KEY_TRANSITIONS, type ApiKeyStatus, invalidTransition } from "./state.ts";

/** Maximum number of ancestors of a key. */
export const MAX_LINEAGE = 8;

/** Fields that requests and responses share. */
const fields = {
  name: Text({ minLength: 1, maxLength: 120, description: "Human-readable name." }),
  environment: OneOf(ENVIRONMENTS, {
    description: "Live and test resources are separate: a test key cannot see live resources.",
  }),
  scopes: Type.Array(OneOf(SCOPES), {
    minItems: 1,
    maxItems: 16,
    description:
      "The operations that the key may perform. `*` includes every scope; no other scope implies another. Duplicates are stored once.",
  }),
  spendLimitCreditMicros: Nullable(Count(), {
    description: "Hard spend cap of the key and its descendants, in credit micros; null means no cap.",
  }),
  expiresAt: Nullable(DateTime(), { description: "Time at which the key expires; null means never." }),
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

export const UpdateApiKey = Type.Object(
  {
    name: Type.Optional(fields.name),
    scopes: Type.Optional(fields.scopes),
    spendLimitCreditMicros: Type.Optional(fields.spendLimitCreditMicros),
    expiresAt: Type.Optional(fields.expiresAt),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type UpdateApiKey = Static<typeof UpdateApiKey>;

/** The old secret remains valid for at most one week. */
export const RotateApiKey = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Count({
        minimum: 0,
        maximum: 604_800,
        description: "How many seconds the old secret remains valid. At least 60 when a key rotates itself.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type RotateApiKey = Static<typeof RotateApiKey>;

/** Minimum overlap when a key rotates itself: without it, a lost response would lock the caller out. */
export const MIN_OWN_OVERLAP_SECONDS = 60;

/** A report that a secret has leaked. */
export const ReportLeakedKey = Type.Object(
  { apiKey: Text({ minLength: 1, maxLength: 512, description: "The full secret that was found." }) },
  { additionalProperties: false },
);
export type ReportLeakedKey = Static<typeof ReportLeakedKey>;

export const ApiKey = Type.Object(
  {
    id: Text({ minLength: 1, maxLength: 64, description: "Id of the key. A rotation does not change it." }),
    keyId: Text({
      minLength: KEY_ID_LENGTH,
      maxLength: KEY_ID_LENGTH,
      description: "Public identifier of the newest credential; safe to log.",
    }),
    tenantId: Text({ minLength: 1, maxLength: 64 }),
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
    expiresAt: fields.expiresAt,
    effectiveExpiresAt: Nullable(DateTime(), {
      description: "The earliest expiry of the key and its ancestors; null means never.",
    }),
    lastUsedAt: Nullable(DateTime(), {
      description: "Time of the last use, to the minute; null before the first use.",
    }),
    createdAt: DateTime(),
  },
  { additionalProperties: false },
);
export type ApiKey = Static<typeof ApiKey>;

/** The response of a creation or a rotation, the only responses that contain the full secret. */
export const ApiKeyWithSecret = Type.Object(
  {
    ...ApiKey.properties,
    apiKey: Text({
      minLength: 1,
      maxLength: 128,
      description: "The full secret. Only this response contains it: store it now.",
    }),
  },
  { additionalProperties: false },
);
export type ApiKeyWithSecret = Static<typeof ApiKeyWithSecret>;

/** `GET /api/v1/api-keys` */
export const API_KEY_LIST = listOf("key", {
  status: Type.Optional(OneOf(API_KEY_STATUSES)),
  environment: Type.Optional(fields.environment),
});
export const ApiKeyPage = Page(ApiKey);

/** The limits of a key that also apply to its descendants. */
export type Limits = {
  /** Hard cap in credit micros; `null` means no cap. */
  spendLimitCreditMicros: number | null;
  /** `null` means never. */
  expiresAt: Date | null;
};

/** What a key may do, which is also the most that it may grant. */
export type Grant = Limits & {
  environment: Environment;
  /** 1 to 16 scopes without duplicates. */
  scopes: readonly Scope[];
};

/** A key that creates or manages other keys: its grant, its id and its ancestors. */
export type Grantor = Grant & {
  /** `null` for the operator. */
  id: ApiKeyId | null;
  /** Ids of its ancestors, the root first. */
  lineage: readonly ApiKeyId[];
  /** The tightest limits of its ancestors. For the spend cap, only ancestors in the same environment count. */
  inheritedLimits: Limits;
};

const NO_LIMITS: Limits = { spendLimitCreditMicros: null, expiresAt: null };

/** For each limit, the tighter of the two values. */
const tighter = (a: Limits, b: Limits): Limits => ({
  spendLimitCreditMicros:
    a.spendLimitCreditMicros === null || b.spendLimitCreditMicros === null
      ? (a.spendLimitCreditMicros ?? b.spendLimitCreditMicros)
      : Math.min(a.spendLimitCreditMicros, b.spendLimitCreditMicros),
  expiresAt:
    a.expiresAt === null || b.expiresAt === null
      ? (a.expiresAt ?? b.expiresAt)
      : new Date(Math.min(a.expiresAt.getTime(), b.expiresAt.getTime())),
});

/** The limits that apply to a key: for each, the tighter of its own and those of its ancestors. */
export const effectiveLimits = (key: Limits & Pick<Grantor, "inheritedLimits">): Limits =>
  tighter({ spendLimitCreditMicros: key.spendLimitCreditMicros, expiresAt: key.expiresAt }, key.inheritedLimits);

/** `inheritedLimits` of a key that `creator` creates in `environment`. */
const limitsInherited = (creator: Grantor, environment: Environment): Limits => {
  const { spendLimitCreditMicros, expiresAt } = effectiveLimits(creator);
  return { expiresAt, spendLimitCreditMicros: environment === creator.environment ? spendLimitCreditMicros : null };
};

/** The operator of the service: may grant anything, and is not an ancestor of any key. */
export const OPERATOR: Grantor = {
  id: null,
  environment: "live",
  scopes: ["*"],
  ...NO_LIMITS,
  lineage: [],
  inheritedLimits: NO_LIMITS,
};

/** The environments whose keys a key may see and manage: live keys manage both, test keys only test. */
export const managedEnvironments = (environment: Environment): Environment[] =>
  environment === "live" ? ["live", "test"] : ["test"];

const earlierOrSame = (time: Date | null, limit: Date | null): boolean =>
  limit === null || (time !== null && time.getTime() <= limit.getTime());

/** Parses the `expiresAt` of a validated request. */
const expiryOf = (text: string | null): Date | null => (text === null ? null : parseDateTime(text));

/**
 * Compares `grant` with what `caller` may grant: scopes, environment, spend cap and expiry. Returns one error for each field
 * that exceeds the caller, with the values that are allowed; an empty list when none does.
 */
const excesses = (caller: Grant, grant: Grant): FieldError[] => {
  const refusals: FieldError[] = [];
  const refuse = (field: string, detail: string, allowed: unknown): void => {
    refusals.push({ pointer: `#/${field}`, code: "exceeds_caller", detail, allowed });
  };
  if (!grant.scopes.every((scope) => permits(caller.scopes, scope))) {
    const detail = "The calling key must hold each scope. If omitted, the default scopes are requested.";
    refuse("scopes", detail, caller.scopes);
  }
  if (grant.environment === "live" && caller.environment !== "live") {
    refuse("environment", "A test key can create only test keys.", ["test"]);
  }
  const cap = caller.spendLimitCreditMicros;
  if (cap !== null && (grant.spendLimitCreditMicros === null || grant.spendLimitCreditMicros > cap)) {
    refuse("spendLimitCreditMicros", "Must be at most the spend cap of the calling key.", { maximum: cap });
  }
  if (!earlierOrSame(grant.expiresAt, caller.expiresAt)) {
    const latest = caller.expiresAt?.toISOString();
    refuse("expiresAt", "Must be no later than the expiry of the calling key.", { latest });
  }
  return refusals;
};

/**
 * The grant of a key that `caller` creates with `request`, or every reason to refuse it. A key never creates a key that can
 * do more than itself: scopes, environment, expiry and spend cap are compared. Defaults for omitted fields: the default
 * scopes, `test`, and the expiry and cap of the caller.
 *
 * `request` must be a valid `CreateApiKey`. There is no clock here, so the caller of this function checks that the expiry is
 * in the future.
 */
export const attenuate = (
  caller: Grant & Pick<Grantor, "lineage">,
  request: Pick<CreateApiKey, "environment" | "scopes" | "spendLimitCreditMicros" | "expiresAt">,
): { grant: Grant } | { refusals: FieldError[] } => {
  const { environment = "test", scopes = DEFAULT_SCOPES, spendLimitCreditMicros, expiresAt } = request;
  const grant: Grant = {
    environment,
    scopes: [...new Set(scopes)],
    spendLimitCreditMicros:
      spendLimitCreditMicros === undefined ? caller.spendLimitCreditMicros : spendLimitCreditMicros,
    expiresAt: expiresAt === undefined ? caller.expiresAt : expiryOf(expiresAt),
  };
  const refusals = excesses(caller, grant);
  if (caller.lineage.length >= MAX_LINEAGE) {
    const detail = `A key can have at most ${MAX_LINEAGE} ancestors, so the calling key cannot create keys.`;
    refusals.push({ pointer: "#", code: "lineage_too_deep", detail, allowed: null });
  }
  return refusals.length > 0 ? { refusals } : { grant };
};

/** A key as stored: the record, with the `keyId` of its newest credential. It is valid only while all its ancestors are. */
export type ApiKeyRecord = Grantor & {
  id: ApiKeyId;
  tenantId: TenantId;
  keyId: string;
  name: string;
  status: ApiKeyStatus;
  /** Incremented by every change; the value of the ETag. */
  version: number;
  /** To the minute; null before the first use. */
  lastUsedAt: Date | null;
  createdAt: Date;
};

/** Throws the problem `validation_failed` when `expiresAt` is not after `judgedAt`. */
const checkFuture = (expiresAt: string | null | undefined, judgedAt: Date): void => {
  const expiry = expiryOf(expiresAt ?? null);
  if (expiry && expiry.getTime() <= judgedAt.getTime()) {
    throw validationFailed([{ pointer: "#/expiresAt", code: "not_in_future", detail: "Must be in the future." }]);
  }
};

/**
 * Creates a key with the grant that `creator` gives by `request`, a valid `CreateApiKey`. `judgedAt` is the time with which
 * the expiry is compared, `now` the creation time. Throws the problem `validation_failed` when the expiry is not in the
 * future, and `grant_exceeds_caller` with every refusal when the grant exceeds the creator's.
 */
export const issueApiKey = (
  request: CreateApiKey,
  creator: Grantor,
  { tenantId, judgedAt, now, random }: { tenantId: TenantId; judgedAt: Date; now: Date; random: RandomBytes },
): { record: ApiKeyRecord; secret: ApiKeySecret } => {
  checkFuture(request.expiresAt, judgedAt);
  const attenuated = attenuate(creator, request);
  if ("refusals" in attenuated) {
    const detail = "The new key would be able to do more than the calling key.";
    throw new Problem("grant_exceeds_caller", detail, { errors: attenuated.refusals });
  }
  const secret = generateApiKey(attenuated.grant.environment, random);
  const record: ApiKeyRecord = {
    ...attenuated.grant,
    id: newId("key", now, random),
    tenantId,
    keyId: secret.keyId,
    name: request.name,
    status: "active",
    lineage: creator.id === null ? [] : [...creator.lineage, creator.id],
    inheritedLimits: limitsInherited(creator, attenuated.grant.environment),
    version: 1,
    lastUsedAt: null,
    createdAt: now,
  };
  return { record, secret };
};

/**
 * Returns `target`, which was looked up in the tenant of `caller`, if the caller may see it. Throws the problem `not_found`,
 * with the same text whether the key does not exist or is a live key and the caller a test key.
 */
export const visibleApiKey = (caller: Grantor, target: ApiKeyRecord | null): ApiKeyRecord => {
  if (target && managedEnvironments(caller.environment).includes(target.environment)) return target;
  throw notFound();
};

const MANAGEMENT_REFUSED = "The calling key is not allowed to manage this key.";

const refuseGrant = (detail: string, errors: readonly FieldError[]): void => {
  if (errors.length > 0) throw new Problem("grant_exceeds_caller", detail, { errors });
};

/** A refusal because of the lineage of the key rather than one of its fields. */
const lineageRefusal = (code: string, detail: string): FieldError => ({ pointer: "#", code, detail, allowed: null });
const IS_ANCESTOR = lineageRefusal("is_ancestor", "This key is an ancestor of the calling key.");
const NOT_DESCENDANT = lineageRefusal("not_descendant", "Must be a descendant of the calling key.");

const isSelf = (caller: Grantor, target: ApiKeyRecord): boolean => caller.id === target.id;

const isDescendant = (caller: Grantor, target: ApiKeyRecord): boolean =>
  caller.id === null || target.lineage.includes(caller.id);

/** The refusal of a `target` that is not a descendant of `caller`; an empty list when it is one. */
const foreignRefusals = (caller: Grantor, target: ApiKeyRecord): FieldError[] => {
  if (isDescendant(caller, target)) return [];
  return [caller.lineage.includes(target.id) ? IS_ANCESTOR : NOT_DESCENDANT];
};

/** The key with its effective limits in place of its own. */
const effectiveGrant = <Key extends Grantor>(key: Key): Key => ({ ...key, ...effectiveLimits(key) });

/**
 * Throws when `caller` may not narrow or revoke `target`. It may do so for its descendants, even if it has itself been
 * narrowed since it created them, and for every key that it could create itself, except its ancestors: otherwise a key could
 * revoke the keys of its own owner.
 */
const checkNarrowing = (caller: Grantor, target: ApiKeyRecord): void => {
  if (isDescendant(caller, target)) return;
  const refusals = excesses(caller, target);
  if (caller.lineage.includes(target.id)) refusals.push(IS_ANCESTOR);
  refuseGrant(MANAGEMENT_REFUSED, refusals);
};

/**
 * Throws when `caller` may not rotate `target`. It may rotate itself and its descendants, except a descendant that can do
 * more than itself: a stolen key that could rotate a sibling would get a secret that outlives its own revocation. Compares
 * effective limits, because they decide what a key can do.
 */
const checkRotation = (caller: Grantor, target: ApiKeyRecord): void => {
  const lineage = isSelf(caller, target) ? [] : foreignRefusals(caller, target);
  refuseGrant(MANAGEMENT_REFUSED, [...excesses(effectiveGrant(caller), effectiveGrant(target)), ...lineage]);
};

/** Whether `after` exceeds `before` in any field. */
const isWider = (before: Grant, after: Grant): boolean => excesses(before, after).length > 0;

/**
 * Throws when `caller` may not widen `target`. It may widen only its descendants, and only up to what it can do itself. For a
 * limit that the request does not change, the effective limit is compared.
 */
const checkWidening = (caller: Grantor, target: ApiKeyRecord, after: ApiKeyRecord, request: UpdateApiKey): void => {
  const effective = effectiveLimits(target);
  const requested = {
    ...after,
    spendLimitCreditMicros:
      request.spendLimitCreditMicros === undefined ? effective.spendLimitCreditMicros : after.spendLimitCreditMicros,
    expiresAt: request.expiresAt === undefined ? effective.expiresAt : after.expiresAt,
  };
  const refusals = excesses(effectiveGrant(caller), requested);
  // A key that widens itself exceeds itself: the errors of the fields are enough.
  if (!isSelf(caller, target) || refusals.length === 0) refusals.push(...foreignRefusals(caller, target));
  refuseGrant("The key would be able to do more than the calling key.", refusals);
};

/** Throws the problem `invalid_transition` when the key is revoked or expired: such a key cannot be changed. */
const checkActive = ({ status }: ApiKeyRecord): void => {
  if (status !== "active") throw invalidTransition(status, API_KEY_TRANSITIONS[status]);
};

/**
 * Applies `request`, a valid `UpdateApiKey`, to the key `stored`. Returns the key before and after, and the names of the
 * changed fields. See `checkWidening` and `checkNarrowing` for what `caller` may change. Throws the problems
 * `validation_failed`, `not_found`, `grant_exceeds_caller`, `precondition_failed` and `invalid_transition`, checked in this
 * order.
 */
export const updatedApiKey = (
  stored: ApiKeyRecord | null,
  request: UpdateApiKey,
  caller: Grantor,
  { judgedAt, matches }: { judgedAt: Date; matches: MatchesVersion },
): { target: ApiKeyRecord; record: ApiKeyRecord; changedFields: string[] } => {
  checkFuture(request.expiresAt, judgedAt);
  const target = visibleApiKey(caller, stored);
  const { name = target.name, scopes = target.scopes } = request;
  const { spendLimitCreditMicros: cap = target.spendLimitCreditMicros } = request;
  const record: ApiKeyRecord = {
    ...target,
    name,
    scopes: [...new Set(scopes)],
    spendLimitCreditMicros: cap,
    expiresAt: request.expiresAt === undefined ? target.expiresAt : expiryOf(request.expiresAt),
    version: target.version + 1,
  };
  if (isWider(target, record)) checkWidening(caller, target, record, request);
  else checkNarrowing(caller, target);
  checkVersion(target, matches);
  checkActive(target);
  const before = presentApiKey(target);
  const after = presentApiKey(record);
  const changedFields = (Object.keys(UpdateApiKey.properties) as (keyof UpdateApiKey)[]).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );
  return { target, record, changedFields };
};

/**
 * Gives the key `stored` a new credential. Returns the key before and after, the new secret, and how long the old one stays
 * valid. The request is a valid `RotateApiKey`. Throws the problems `not_found`, `validation_failed`, `grant_exceeds_caller`
 * and `invalid_transition`, checked in this order. The SQL statement that rotates checks under its locks whether an earlier
 * overlap has ended.
 */
export const rotatedApiKey = (
  stored: ApiKeyRecord | null,
  { overlapSeconds = 0 }: RotateApiKey,
  caller: Grantor & { credentialKeyId?: string },
  random: RandomBytes,
): { target: ApiKeyRecord; record: ApiKeyRecord; secret: ApiKeySecret; overlapSeconds: number } => {
  const target = visibleApiKey(caller, stored);
  // With the older secret of an overlap, that overlap keeps its end, and `overlapSeconds` is ignored.
  const usesOlderSecret = caller.credentialKeyId !== undefined && caller.credentialKeyId !== target.keyId;
  if (isSelf(caller, target) && !usesOlderSecret && overlapSeconds < MIN_OWN_OVERLAP_SECONDS) {
    const error = {
      pointer: "#/overlapSeconds",
      code: "too_short_for_own_key",
      detail: `Must be at least ${MIN_OWN_OVERLAP_SECONDS} when a key rotates itself; otherwise a lost response would lock the caller out.`,
    };
    throw validationFailed([error]);
  }
  checkRotation(caller, target);
  checkActive(target);
  const secret = generateApiKey(target.environment, random);
  const record = { ...target, keyId: secret.keyId, version: target.version + 1 };
  return { target, record, secret, overlapSeconds };
};

/**
 * Returns the key `stored` if `caller` may revoke it, whatever its status: to revoke a key that is not active has no effect.
 * Throws the problems `not_found`, `grant_exceeds_caller` and `precondition_failed`, checked in this order.
 */
export const revocableApiKey = (
  stored: ApiKeyRecord | null,
  caller: Grantor,
  matches: MatchesVersion,
): ApiKeyRecord => {
  const target = visibleApiKey(caller, stored);
  checkNarrowing(caller, target);
  checkVersion(target, matches);
  return target;
};

/** The API representation of a key. */
export const presentApiKey = (record: ApiKeyRecord): ApiKey => {
  const effective = effectiveLimits(record);
  return {
    id: record.id,
    keyId: record.keyId,
    tenantId: record.tenantId,
    name: record.name,
    environment: record.environment,
    redactedKey: redactedKey(record.environment, record.keyId),
    scopes: [...record.scopes],
    status: record.status,
    spendLimitCreditMicros: record.spendLimitCreditMicros,
    effectiveSpendLimitCreditMicros: effective.spendLimitCreditMicros,
    expiresAt: record.expiresAt?.toISOString() ?? null,
    effectiveExpiresAt: effective.expiresAt?.toISOString() ?? null,
    lastUsedAt: record.lastUsedAt?.toISOString() ?? null,
    createdAt: record.createdAt.toISOString(),
  };
};

/** The API representation of a key with its secret, for the response of a creation or a rotation. */
export const presentApiKeyWithSecret = (record: ApiKeyRecord, secret: ApiKeySecret): ApiKeyWithSecret => ({
  ...presentApiKey(record),
  apiKey: secret.reveal(),
});
