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
import { listOf, Page } from "./page.ts";
import { checkVersion, type FieldError, type MatchesVersion, notFound, Problem, validationFailed } from "./problem.ts";
import { Count, DateTime, Nullable, OneOf, Text } from "./schema.ts";
import { DEFAULT_SCOPES, permits, SCOPES, type Scope } from "./scope.ts";
import { API_KEY_STATUSES, API_KEY_TRANSITIONS, type ApiKeyStatus, invalidTransition } from "./state.ts";

/** A key has at most so many ancestors. */
export const MAX_LINEAGE = 8;

/** What a new key and a present one share. */
const fields = {
  name: Text({ minLength: 1, maxLength: 120, description: "What people call the key." }),
  environment: OneOf(ENVIRONMENTS, { description: "Live and test are two worlds that do not see each other." }),
  scopes: Type.Array(OneOf(SCOPES), {
    minItems: 1,
    maxItems: 16,
    description: "What the key may do. `*` is every scope; no other implies another. Duplicates are stored once.",
  }),
  spendLimitCreditMicros: Nullable(Count(), {
    description: "A hard cap on what the key and its descendants spend, in credit micros; null is no cap.",
  }),
  expiresAt: Nullable(DateTime(), { description: "From then on the key is refused; null is never." }),
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

/** A rotation leaves the old secret valid for at most a week. */
export const RotateApiKey = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Count({
        minimum: 0,
        maximum: 604_800,
        description: "How long the old secret still works. A key that rotates itself needs at least 60.",
      }),
    ),
  },
  { additionalProperties: false },
);
export type RotateApiKey = Static<typeof RotateApiKey>;

/** A key that rotates itself keeps its old secret for at least so long: a lost answer would lock it out. */
export const MIN_OWN_OVERLAP_SECONDS = 60;

/** A secret that somebody has found where it should not be. */
export const ReportLeakedKey = Type.Object(
  { apiKey: Text({ minLength: 1, maxLength: 512, description: "The full secret that was found." }) },
  { additionalProperties: false },
);
export type ReportLeakedKey = Static<typeof ReportLeakedKey>;

export const ApiKey = Type.Object(
  {
    id: Text({ minLength: 1, maxLength: 64, description: "The record, which a rotation leaves as it is." }),
    keyId: Text({
      minLength: KEY_ID_LENGTH,
      maxLength: KEY_ID_LENGTH,
      description: "The newest credential's public handle, which may stand in logs.",
    }),
    tenantId: Text({ minLength: 1, maxLength: 64 }),
    name: fields.name,
    environment: fields.environment,
    redactedKey: Text({ minLength: 1, maxLength: 64, description: "What may be shown of the secret." }),
    scopes: fields.scopes,
    status: OneOf(API_KEY_STATUSES, { description: "By the key itself, or by one that it descends from." }),
    spendLimitCreditMicros: fields.spendLimitCreditMicros,
    effectiveSpendLimitCreditMicros: Nullable(Count(), {
      description:
        "The tightest spend cap of the key and of its ancestors in the same environment, in credit micros; null is no cap.",
    }),
    expiresAt: fields.expiresAt,
    effectiveExpiresAt: Nullable(DateTime(), {
      description: "The earliest expiry of the key and of its ancestors; null is never.",
    }),
    lastUsedAt: Nullable(DateTime(), { description: "The minute of its last use; null before the first." }),
    createdAt: DateTime(),
  },
  { additionalProperties: false },
);
export type ApiKey = Static<typeof ApiKey>;

/** The answer of a creation or a rotation: the one place where the full secret is shown. */
export const ApiKeyWithSecret = Type.Object(
  {
    ...ApiKey.properties,
    apiKey: Text({
      minLength: 1,
      maxLength: 128,
      description: "The full secret. It is in this answer and nowhere else: store it at once.",
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

/** The limits of a key that its ancestors share. */
export type Limits = {
  /** Hard cap in credit micros; `null` is no cap. */
  spendLimitCreditMicros: number | null;
  /** `null` is never. */
  expiresAt: Date | null;
};

/** What a key may do, and hence the most that it may grant. */
export type Grant = Limits & {
  environment: Environment;
  /** Without duplicates, 1 to 16. */
  scopes: readonly Scope[];
};

/** The key that grants: what it may do, its own record, and its ancestors. */
export type Grantor = Grant & {
  /** `null` for the operator. */
  id: ApiKeyId | null;
  /** Ids of its ancestors, eldest first. */
  lineage: readonly ApiKeyId[];
  /** The tightest limits of its ancestors. The spend cap counts only ancestors in the key's own environment. */
  inheritedLimits: Limits;
};

const NO_LIMITS: Limits = { spendLimitCreditMicros: null, expiresAt: null };

/** The tighter of two limits on each axis. */
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

/** The limits that hold for a key: its own and those of its ancestors, whichever is tighter. */
export const effectiveLimits = (key: Limits & Pick<Grantor, "inheritedLimits">): Limits =>
  tighter({ spendLimitCreditMicros: key.spendLimitCreditMicros, expiresAt: key.expiresAt }, key.inheritedLimits);

/** `inheritedLimits` of a key that `creator` creates in `environment`. */
const limitsInherited = (creator: Grantor, environment: Environment): Limits => {
  const { spendLimitCreditMicros, expiresAt } = effectiveLimits(creator);
  return { expiresAt, spendLimitCreditMicros: environment === creator.environment ? spendLimitCreditMicros : null };
};

/** Whoever runs the service may grant anything, and is no key's ancestor. */
export const OPERATOR: Grantor = {
  id: null,
  environment: "live",
  scopes: ["*"],
  ...NO_LIMITS,
  lineage: [],
  inheritedLimits: NO_LIMITS,
};

/** The environments whose keys a key may see and manage. Live and test are two worlds, but that live keys manage both. */
export const managedEnvironments = (environment: Environment): Environment[] =>
  environment === "live" ? ["live", "test"] : ["test"];

const earlierOrSame = (time: Date | null, limit: Date | null): boolean =>
  limit === null || (time !== null && time.getTime() <= limit.getTime());

/** The expiry that a request asks for, which has met its schema. */
const expiryOf = (text: string | null): Date | null => (text === null ? null : parseDateTime(text));

/**
 * Every reason why `caller` may not give `grant` to a key, on any of the axes scopes, environment, spend cap and expiry;
 * each names its field and what the caller may give. An empty list when it may.
 */
const excesses = (caller: Grant, grant: Grant): FieldError[] => {
  const refusals: FieldError[] = [];
  const refuse = (field: string, detail: string, allowed: unknown): void => {
    refusals.push({ pointer: `#/${field}`, code: "exceeds_caller", detail, allowed });
  };
  if (!grant.scopes.every((scope) => permits(caller.scopes, scope))) {
    const detail = "Each scope must be held by the calling key; omitted, the default scopes are asked for.";
    refuse("scopes", detail, caller.scopes);
  }
  if (grant.environment === "live" && caller.environment !== "live") {
    refuse("environment", "A test key creates only test keys.", ["test"]);
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
 * What a key that `caller` creates with `request` may do, or every reason why it may not be created: a key never
 * creates a key that can do more than itself, on any of the axes scopes, environment, expiry and spend cap. What the
 * request leaves out becomes the default scopes, `test`, and the caller's own expiry and cap.
 *
 * `request` has met `CreateApiKey`. Whether its expiry lies in the future is not judged here: there is no clock.
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
    const detail = `A key has at most ${MAX_LINEAGE} ancestors; the calling key cannot create keys.`;
    refusals.push({ pointer: "#", code: "lineage_too_deep", detail, allowed: null });
  }
  return refusals.length > 0 ? { refusals } : { grant };
};

/** A key as it is stored: the record, with the public handle of its newest credential. It is valid only while each of its ancestors is. */
export type ApiKeyRecord = Grantor & {
  id: ApiKeyId;
  tenantId: TenantId;
  keyId: string;
  name: string;
  status: ApiKeyStatus;
  /** Raised by every change; the ETag. */
  version: number;
  /** To the minute; null when it has not been used yet. */
  lastUsedAt: Date | null;
  createdAt: Date;
};

/** Throws when the expiry that a request asks for does not lie in the future. */
const checkFuture = (expiresAt: string | null | undefined, judgedAt: Date): void => {
  const expiry = expiryOf(expiresAt ?? null);
  if (expiry && expiry.getTime() <= judgedAt.getTime()) {
    throw validationFailed([{ pointer: "#/expiresAt", code: "not_in_future", detail: "Must lie in the future." }]);
  }
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
  checkFuture(request.expiresAt, of.judgedAt);
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
    inheritedLimits: limitsInherited(creator, attenuated.grant.environment),
    version: 1,
    lastUsedAt: null,
    createdAt: of.now,
  };
  return { record, secret };
};

/**
 * The key that the path names, if `caller` may know of it: `target` was looked up in the caller's own tenant. Throws the
 * problem `not_found`, in the same words whether the key does not exist, or is live and the caller is not.
 */
export const visibleApiKey = (caller: Grantor, target: ApiKeyRecord | null): ApiKeyRecord => {
  if (target && managedEnvironments(caller.environment).includes(target.environment)) return target;
  throw notFound();
};

const OUT_OF_REACH = "The key is out of the reach of the calling key.";

const refuseGrant = (detail: string, errors: readonly FieldError[]): void => {
  if (errors.length > 0) throw new Problem("grant_exceeds_caller", detail, { errors });
};

/** A refusal that concerns the place of the key in the lineage rather than one of its fields. */
const lineageRefusal = (code: string, detail: string): FieldError => ({ pointer: "#", code, detail, allowed: null });
const IS_ANCESTOR = lineageRefusal("is_ancestor", "The calling key descends from this key.");
const NOT_DESCENDANT = lineageRefusal("not_descendant", "Must be a key that descends from the calling key.");

const isSelf = (caller: Grantor, target: ApiKeyRecord): boolean => caller.id === target.id;

const isDescendant = (caller: Grantor, target: ApiKeyRecord): boolean =>
  caller.id === null || target.lineage.includes(caller.id);

/** The reasons why `target` is neither `caller` nor one of its descendants. */
const foreignRefusals = (caller: Grantor, target: ApiKeyRecord): FieldError[] => {
  if (isDescendant(caller, target)) return [];
  return [caller.lineage.includes(target.id) ? IS_ANCESTOR : NOT_DESCENDANT];
};

/** What a key may do under the limits of its whole lineage. */
const effectiveGrant = <Key extends Grantor>(key: Key): Key => ({ ...key, ...effectiveLimits(key) });

/**
 * Refuses to narrow or revoke a key out of the reach of `caller`. In reach are its descendants, whatever became of the
 * caller since it created them, and every key that the caller could itself create, except its ancestors: a key that
 * revokes its ancestors could end its own owner.
 */
const checkNarrowing = (caller: Grantor, target: ApiKeyRecord): void => {
  if (isDescendant(caller, target)) return;
  const refusals = excesses(caller, target);
  if (caller.lineage.includes(target.id)) refusals.push(IS_ANCESTOR);
  refuseGrant(OUT_OF_REACH, refusals);
};

/**
 * Refuses a new secret for any key but `caller` itself and its descendants, and for a descendant that can do more than
 * the caller: a stolen key that could give a sibling a new secret would outlive its own revocation. Effective limits
 * are compared, since those are what a key can use.
 */
const checkRotation = (caller: Grantor, target: ApiKeyRecord): void => {
  const lineage = isSelf(caller, target) ? [] : foreignRefusals(caller, target);
  refuseGrant(OUT_OF_REACH, [...excesses(effectiveGrant(caller), effectiveGrant(target)), ...lineage]);
};

/** Whether `after` can do more than `before`, on any axis. */
const isWider = (before: Grant, after: Grant): boolean => excesses(before, after).length > 0;

/**
 * Refuses to widen any key but a descendant of `caller`, and beyond what the caller can do. A limit that the request
 * leaves as it is counts as the effective one.
 */
const checkWidening = (caller: Grantor, target: ApiKeyRecord, after: ApiKeyRecord, request: UpdateApiKey): void => {
  const effective = effectiveLimits(target);
  const wanted = {
    ...after,
    spendLimitCreditMicros:
      request.spendLimitCreditMicros === undefined ? effective.spendLimitCreditMicros : after.spendLimitCreditMicros,
    expiresAt: request.expiresAt === undefined ? effective.expiresAt : after.expiresAt,
  };
  const refusals = excesses(effectiveGrant(caller), wanted);
  // A key that widens itself exceeds itself: the fields say enough.
  if (!isSelf(caller, target) || refusals.length === 0) refusals.push(...foreignRefusals(caller, target));
  refuseGrant("The key would be able to do more than the calling key.", refusals);
};

/** Throws the problem `invalid_transition` when `target` is revoked or expired: then nothing about it changes. */
const checkActive = ({ status }: ApiKeyRecord): void => {
  if (status !== "active") throw invalidTransition(status, API_KEY_TRANSITIONS[status]);
};

/**
 * The key `found` as `request`, which has met `UpdateApiKey`, changes it, and the names of the fields that differ then.
 * A key widens only its descendants, and narrows what is in its reach. Throws the problems `validation_failed`,
 * `not_found`, `grant_exceeds_caller`, `precondition_failed` and `invalid_transition`, checked in this order.
 */
export const updatedApiKey = (
  found: ApiKeyRecord | null,
  request: UpdateApiKey,
  caller: Grantor,
  of: { judgedAt: Date; matches: MatchesVersion },
): { target: ApiKeyRecord; record: ApiKeyRecord; changedFields: string[] } => {
  checkFuture(request.expiresAt, of.judgedAt);
  const target = visibleApiKey(caller, found);
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
  checkVersion(target, of.matches);
  checkActive(target);
  const before = presentApiKey(target);
  const after = presentApiKey(record);
  const changedFields = (Object.keys(UpdateApiKey.properties) as (keyof UpdateApiKey)[]).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );
  return { target, record, changedFields };
};

/**
 * The key `found` with a new credential, and how long the old one stays valid. `request` has met `RotateApiKey`. Throws
 * the problems `not_found`, `validation_failed`, `grant_exceeds_caller` and `invalid_transition`, checked in this order.
 * Whether an overlap is under way is found by the statement that rotates, under its locks.
 */
export const rotatedApiKey = (
  found: ApiKeyRecord | null,
  { overlapSeconds = 0 }: RotateApiKey,
  caller: Grantor & { credentialKeyId?: string },
  random: RandomBytes,
): { target: ApiKeyRecord; record: ApiKeyRecord; secret: ApiKeySecret; overlapSeconds: number } => {
  const target = visibleApiKey(caller, found);
  // With the older secret of an overlap, the end of that overlap stands, and `overlapSeconds` is ignored.
  const isWithOlder = caller.credentialKeyId !== undefined && caller.credentialKeyId !== target.keyId;
  if (isSelf(caller, target) && !isWithOlder && overlapSeconds < MIN_OWN_OVERLAP_SECONDS) {
    const error = {
      pointer: "#/overlapSeconds",
      code: "too_short_for_own_key",
      detail: `A key that rotates itself needs at least ${MIN_OWN_OVERLAP_SECONDS}: if the response were lost, it would be locked out.`,
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
 * The key `found`, if `caller` may revoke it; one that is not active any more stays as it is. Throws the problems
 * `not_found`, `grant_exceeds_caller` and `precondition_failed`, judged in this order.
 */
export const revocableApiKey = (found: ApiKeyRecord | null, caller: Grantor, matches: MatchesVersion): ApiKeyRecord => {
  const target = visibleApiKey(caller, found);
  checkNarrowing(caller, target);
  checkVersion(target, matches);
  return target;
};

/** The API key as the API shows it. */
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

/** The API key as the answer of its creation or rotation shows it, secret and all. */
export const presentApiKeyWithSecret = (record: ApiKeyRecord, secret: ApiKeySecret): ApiKeyWithSecret => ({
  ...presentApiKey(record),
  apiKey: secret.reveal(),
});
