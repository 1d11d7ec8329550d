/** Avatars: what a request may ask for, what is stored and what is shown. */
import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS, type Environment } from "./api-key-secret.ts";
import type { AvatarId, TenantId } from "./id.ts";
import { listOf, Page } from "./page.ts";
import { checkVersion, type MatchesVersion } from "./problem.ts";
import { Count, DateTime, JsonObject, Nullable, OneOf, Text } from "./schema.ts";
import { AVATAR_STATUSES, AVATAR_TRANSITIONS, type AvatarStatus, invalidTransition, statesBefore } from "./state.ts";

export const SOURCE_KINDS = ["image", "video"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** `settings` and `metadata` have at most so many bytes each, as compact JSON in UTF-8. */
const MAX_JSON_BYTES = 32 * 1024;

/** What a new avatar and a present one share. */
const fields = {
  displayName: Text({ minLength: 1, maxLength: 160, description: "What people call the avatar." }),
  sourceKind: OneOf(SOURCE_KINDS, { description: "What the avatar is built from." }),
  modelId: Text({ minLength: 1, maxLength: 160, description: "The model that renders the avatar." }),
  sourceAssetId: Text({ minLength: 1, maxLength: 160, description: "The image or video that it is built from." }),
  defaultVoiceId: Text({ minLength: 8, maxLength: 160, description: "The voice of a call that names none." }),
  settings: JsonObject({
    "x-maxBytes": MAX_JSON_BYTES,
    description: `For the platform: at most ${MAX_JSON_BYTES} bytes as compact JSON in UTF-8.`,
  }),
  metadata: JsonObject({
    "x-maxBytes": MAX_JSON_BYTES,
    description: `For you: at most ${MAX_JSON_BYTES} bytes as compact JSON in UTF-8.`,
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

/** Whoever may write an avatar switches it between these; the other moves are made by what prepares it. */
const SWITCHED = ["ready", "disabled"] as const satisfies readonly AvatarStatus[];

export const UpdateAvatar = Type.Object(
  {
    displayName: Type.Optional(fields.displayName),
    modelId: Type.Optional(fields.modelId),
    sourceAssetId: Type.Optional(Nullable(fields.sourceAssetId)),
    defaultVoiceId: Type.Optional(Nullable(fields.defaultVoiceId)),
    settings: Type.Optional(fields.settings),
    metadata: Type.Optional(fields.metadata),
    status: Type.Optional(OneOf(SWITCHED)),
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
    status: OneOf(AVATAR_STATUSES, { description: "A new avatar is a draft." }),
    sourceAssetId: Nullable(fields.sourceAssetId),
    defaultVoiceId: Nullable(fields.defaultVoiceId),
    cacheManifestId: Nullable(Text({ minLength: 1, maxLength: 160 }), { description: "What was prepared for calls." }),
    cacheVersion: Count({ description: "Raised each time that it is prepared; 0 before." }),
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

/** The states of the avatars that a list shows: deleted ones only when they are asked for. */
export const listedStatuses = (asked: AvatarStatus | undefined): AvatarStatus[] =>
  asked === undefined ? AVATAR_STATUSES.filter((status) => status !== "deleted") : [asked];

/**
 * The states in which an avatar can be changed as `update` asks: to switch it, it must stand at the other end of the
 * switch; to change anything else, it must not have come to its end.
 */
export const updatableStatuses = ({ status }: UpdateAvatar): AvatarStatus[] =>
  status === undefined
    ? AVATAR_STATUSES.filter((from) => AVATAR_TRANSITIONS[from].length > 0)
    : statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, status).filter((from) => SWITCHED.some((end) => end === from));

/** What whoever may write an avatar can make of one that is in state `from`. */
export const writableStatuses = (from: AvatarStatus): AvatarStatus[] =>
  AVATAR_TRANSITIONS[from].filter(
    (to) => to === "deleted" || SWITCHED.some((end) => end === to && updatableStatuses({ status: end }).includes(from)),
  );

/** The states in which an avatar can be deleted. */
export const DELETABLE_STATUSES: readonly AvatarStatus[] = statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, "deleted");

/**
 * The answer to a change that was not made, since the avatar is not in a version or a state that allows it: a deletion that
 * finds it deleted has nothing to do. Throws the problems `precondition_failed` and `invalid_transition`, judged in this
 * order.
 */
export const unchangedAvatar = (
  found: AvatarRecord,
  asked: { status?: AvatarStatus },
  matches: MatchesVersion,
): AvatarRecord => {
  checkVersion(found, matches);
  if (asked.status === "deleted" && found.status === "deleted") return found;
  throw invalidTransition(found.status, writableStatuses(found.status));
};

/** An avatar as it is stored. */
export type AvatarRecord = {
  id: AvatarId;
  tenantId: TenantId;
  /** That of the key that created it. */
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
  /** Raised by every change; the ETag. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** A new avatar: a draft, since nothing has prepared it yet. `request` has met `CreateAvatar`. */
export const newAvatar = (
  request: CreateAvatar,
  of: { id: AvatarId; tenantId: TenantId; environment: Environment; defaultModelId: string; now: Date },
): AvatarRecord => ({
  id: of.id,
  tenantId: of.tenantId,
  environment: of.environment,
  displayName: request.displayName,
  sourceKind: request.sourceKind,
  modelId: request.modelId ?? of.defaultModelId,
  status: "draft",
  sourceAssetId: request.sourceAssetId ?? null,
  defaultVoiceId: request.defaultVoiceId ?? null,
  cacheManifestId: null,
  cacheVersion: 0,
  settings: request.settings ?? {},
  metadata: request.metadata ?? {},
  version: 1,
  createdAt: of.now,
  updatedAt: of.now,
});

/** The avatar as the API shows it. */
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
