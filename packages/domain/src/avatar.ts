/** Avatars: request and response schemas, the stored record, and the allowed changes of status. */
import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS, type Environment } from "./api-key-secret.ts";
import type { AvatarId, TenantId } from "./id.ts";
import { listOf, Page } from "./page.ts";
import { checkVersion, type MatchesVersion } from "./problem.ts";
import { Count, DateTime, JsonObject, Nullable, OneOf, Text } from "./schema.ts";
import { AVATAR_STATUSES, AVATAR_TRANSITIONS, type AvatarStatus, invalidTransition, statesBefore } from "./state.ts";

export const SOURCE_KINDS = ["image", "video"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Maximum size of `settings` and of `metadata`, as compact JSON in UTF-8. */
const MAX_JSON_BYTES = 32 * 1024;

/** Fields that requests and responses share. */
const fields = {
  displayName: Text({ minLength: 1, maxLength: 160, description: "Human-readable name." }),
  sourceKind: OneOf(SOURCE_KINDS, { description: "Kind of the source from which the avatar is built." }),
  modelId: Text({ minLength: 1, maxLength: 160, description: "Id of the model that renders the avatar." }),
  sourceAssetId: Text({ minLength: 1, maxLength: 160, description: "Id of the source image or video." }),
  defaultVoiceId: Text({ minLength: 8, maxLength: 160, description: "Id of the voice for calls that specify none." }),
  settings: JsonObject({
    "x-maxBytes": MAX_JSON_BYTES,
    description: `Settings for the platform, at most ${MAX_JSON_BYTES} bytes as compact JSON in UTF-8.`,
  }),
  metadata: JsonObject({
    "x-maxBytes": MAX_JSON_BYTES,
    description: `Your own data, at most ${MAX_JSON_BYTES} bytes as compact JSON in UTF-8.`,
  }),
};

export const CreateAvatar = Type.Object(
  {
    displayName: fields.displayName,
    sourceKind: fields.sourceKind,
    modelId: Type.Optional(fields.modelId),
    sourceAssetId: Type.Optional(fields.sourceAssetId),
    defaultVoiceId: Type.Optional(fields.defaultVoiceId),
    settings: Type.Optional(fields.settings),
    metadata: Type.Optional(fields.metadata),
  },
  { additionalProperties: false },
);
export type CreateAvatar = Static<typeof CreateAvatar>;

/** The statuses that a caller can set. The worker that prepares the avatar makes the other transitions. */
const SETTABLE_STATUSES = ["ready", "disabled"] as const satisfies readonly AvatarStatus[];

const isSettable = (status: AvatarStatus): status is (typeof SETTABLE_STATUSES)[number] =>
  SETTABLE_STATUSES.some((settable) => settable === status);

export const UpdateAvatar = Type.Object(
  {
    displayName: Type.Optional(fields.displayName),
    modelId: Type.Optional(fields.modelId),
    sourceAssetId: Type.Optional(Nullable(fields.sourceAssetId)),
    defaultVoiceId: Type.Optional(Nullable(fields.defaultVoiceId)),
    settings: Type.Optional(fields.settings),
    metadata: Type.Optional(fields.metadata),
    status: Type.Optional(OneOf(SETTABLE_STATUSES)),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type UpdateAvatar = Static<typeof UpdateAvatar>;

export const Avatar = Type.Object(
  {
    id: Text({ minLength: 1, maxLength: 64 }),
    tenantId: Text({ minLength: 1, maxLength: 64 }),
    environment: OneOf(ENVIRONMENTS),
    displayName: fields.displayName,
    sourceKind: fields.sourceKind,
    modelId: fields.modelId,
    status: OneOf(AVATAR_STATUSES, { description: "A new avatar is a `draft`." }),
    sourceAssetId: Nullable(fields.sourceAssetId),
    defaultVoiceId: Nullable(fields.defaultVoiceId),
    cacheManifestId: Nullable(Text({ minLength: 1, maxLength: 160 }), {
      description: "Id of the data that was prepared for calls; null before the first preparation.",
    }),
    cacheVersion: Count({ description: "Incremented by each preparation; 0 before the first." }),
    settings: fields.settings,
    metadata: fields.metadata,
    createdAt: DateTime(),
    updatedAt: DateTime(),
  },
  { additionalProperties: false },
);
export type Avatar = Static<typeof Avatar>;

/** `GET /api/v1/avatars` */
export const AVATAR_LIST = listOf("ava", {
  status: Type.Optional(OneOf(AVATAR_STATUSES)),
  sourceKind: Type.Optional(fields.sourceKind),
});
export const AvatarPage = Page(Avatar);

/** The statuses that a list includes: `filter` alone, or every status except `deleted` when there is no filter. */
export const listedStatuses = (filter: AvatarStatus | undefined): AvatarStatus[] =>
  filter === undefined ? AVATAR_STATUSES.filter((status) => status !== "deleted") : [filter];

/**
 * The statuses in which an avatar accepts `update`. To set `status`, the avatar must have the other settable status; other
 * fields can be changed in every status that is not terminal.
 */
export const updatableStatuses = ({ status }: UpdateAvatar): AvatarStatus[] =>
  status === undefined
    ? AVATAR_STATUSES.filter((from) => AVATAR_TRANSITIONS[from].length > 0)
    : statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, status).filter((from) => isSettable(from));

/** The statuses to which a caller can change an avatar in status `from`: `deleted` and the settable ones. */
export const writableStatuses = (from: AvatarStatus): AvatarStatus[] =>
  AVATAR_TRANSITIONS[from].filter(
    (to) => to === "deleted" || (isSettable(to) && updatableStatuses({ status: to }).includes(from)),
  );

/** The statuses in which an avatar can be deleted. */
export const DELETABLE_STATUSES: readonly AvatarStatus[] = statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, "deleted");

/**
 * The outcome of a change that was not executed, because the version or the status of `avatar` does not allow it. Returns
 * the avatar when it was to be deleted and is deleted already. Otherwise throws the problem `precondition_failed` or
 * `invalid_transition`, checked in this order.
 */
export const unchangedAvatar = (
  avatar: AvatarRecord,
  change: { status?: AvatarStatus },
  matches: MatchesVersion,
): AvatarRecord => {
  checkVersion(avatar, matches);
  if (change.status === "deleted" && avatar.status === "deleted") return avatar;
  throw invalidTransition(avatar.status, writableStatuses(avatar.status));
};

/** An avatar as stored. */
export type AvatarRecord = {
  id: AvatarId;
  tenantId: TenantId;
  /** The environment of the key that created it. */
  environment: Environment;
  displayName: string;
  sourceKind: SourceKind;
  modelId: string;
  status: AvatarStatus;
  sourceAssetId: string | null;
  defaultVoiceId: string | null;
  cacheManifestId: string | null;
  cacheVersion: number;
  settings: JsonObject;
  metadata: JsonObject;
  /** Incremented by every change; the value of the ETag. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** A new avatar from `request`, a valid `CreateAvatar`. It is a draft until it has been prepared. */
export const newAvatar = (
  request: CreateAvatar,
  context: { id: AvatarId; tenantId: TenantId; environment: Environment; defaultModelId: string; now: Date },
): AvatarRecord => ({
  id: context.id,
  tenantId: context.tenantId,
  environment: context.environment,
  displayName: request.displayName,
  sourceKind: request.sourceKind,
  modelId: request.modelId ?? context.defaultModelId,
  status: "draft",
  sourceAssetId: request.sourceAssetId ?? null,
  defaultVoiceId: request.defaultVoiceId ?? null,
  cacheManifestId: null,
  cacheVersion: 0,
  settings: request.settings ?? {},
  metadata: request.metadata ?? {},
  version: 1,
  createdAt: context.now,
  updatedAt: context.now,
});

/** The API representation of an avatar. */
export const presentAvatar = (record: AvatarRecord): Avatar => ({
  id: record.id,
  tenantId: record.tenantId,
  environment: record.environment,
  displayName: record.displayName,
  sourceKind: record.sourceKind,
  modelId: record.modelId,
  status: record.status,
  sourceAssetId: record.sourceAssetId,
  defaultVoiceId: record.defaultVoiceId,
  cacheManifestId: record.cacheManifestId,
  cacheVersion: record.cacheVersion,
  settings: record.settings,
  metadata: record.metadata,
  createdAt: record.createdAt.toISOString(),
  updatedAt: record.updatedAt.toISOString(),
});
