/** An avatar as stored: its creation, its API representation, and the outcome of a change that was not executed. */
import type { Environment } from "../environment.ts";
import type { AvatarId, TenantId } from "../id.ts";
import { jsonText } from "../json-text.ts";
import { Problem } from "../problem.ts";
import { checkVersion, invalidTransition, type MatchesVersion } from "../transitions.ts";
import { animatedPreviewUrl, CHANGE_EFFECTS, previewUrl } from "./preparation.ts";
import type { Avatar, CreateAvatar } from "./schemas.ts";
import { type AvatarStatus, writableStatuses } from "./status.ts";

/** An avatar as stored. Its `environment` is that of the key that created it. */
export type AvatarRecord = Omit<
  Avatar,
  "id" | "tenantId" | "previewUrl" | "animatedPreviewUrl" | "createdAt" | "updatedAt"
> & {
  id: AvatarId;
  tenantId: TenantId;
  /** The number of the latest preparation, from 1; 0 before the first. */
  generation: number;
  /** The part of `previewUrl` that cannot be guessed: 256 bits, in base64url; null before the first preparation. */
  previewToken: string | null;
  /** The file of the preview: see `preparedFile`. */
  previewFile: string | null;
  /** Incremented by every change; the value of the ETag. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/**
 * A new avatar from `request`, a valid `CreateAvatar`. With a source, its preparation has begun, and its job has
 * generation 1.
 */
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
  status: request.sourceAssetId === undefined ? "draft" : "preprocessing",
  sourceAssetId: request.sourceAssetId ?? null,
  pendingSourceAssetId: null,
  defaultVoiceId: request.defaultVoiceId ?? null,
  generation: request.sourceAssetId === undefined ? 0 : 1,
  error: null,
  checks: [],
  previewToken: null,
  previewFile: null,
  cacheManifestId: null,
  cacheVersion: 0,
  settings: request.settings ?? {},
  metadata: request.metadata ?? {},
  version: 1,
  createdAt: context.now,
  updatedAt: context.now,
});

/** The API representation of an avatar. `origin`: scheme, host and port of public URLs. */
export const presentAvatar = (record: AvatarRecord, origin: string): Avatar => ({
  id: record.id,
  tenantId: record.tenantId,
  environment: record.environment,
  displayName: record.displayName,
  sourceKind: record.sourceKind,
  modelId: record.modelId,
  status: record.status,
  sourceAssetId: record.sourceAssetId,
  pendingSourceAssetId: record.pendingSourceAssetId,
  defaultVoiceId: record.defaultVoiceId,
  error: record.error,
  checks: record.checks,
  previewUrl: record.previewToken === null ? null : previewUrl(record.previewToken, origin),
  animatedPreviewUrl: record.previewToken === null ? null : animatedPreviewUrl(record.previewToken, origin),
  cacheManifestId: record.cacheManifestId,
  cacheVersion: record.cacheVersion,
  settings: record.settings,
  metadata: record.metadata,
  createdAt: record.createdAt.toISOString(),
  updatedAt: record.updatedAt.toISOString(),
});

/** The problem `invalid_transition`, with a detail that says why. */
const refusedIn = (status: AvatarStatus, detail: string): Problem =>
  new Problem("invalid_transition", detail, { currentStatus: status, allowedStatuses: writableStatuses(status) });

/**
 * The outcome of a change that was not executed, because the version or the status of `avatar` does not allow it.
 * Returns the avatar when the change is a deletion and the avatar is already deleted. Otherwise throws the problem
 * `precondition_failed` or `invalid_transition`, checked in this order.
 */
export const unchangedAvatar = (
  avatar: AvatarRecord,
  change: { status?: AvatarStatus; sourceAssetId?: string | null },
  matches: MatchesVersion,
): AvatarRecord => {
  checkVersion(avatar, matches);
  const { status } = avatar;
  if (change.status === "deleted" && status === "deleted") return avatar;
  if (status === "preprocessing" && change.status === undefined && change.sourceAssetId === null) {
    throw refusedIn(
      status,
      "An avatar that is being prepared needs its source. Set another one, or delete the avatar.",
    );
  }
  throw invalidTransition(status, writableStatuses(status));
};

/** The problem of a preparation without a source. */
export const noSource = ({ status }: Pick<AvatarRecord, "status">): Problem =>
  refusedIn(status, "The avatar has no source. Set `sourceAssetId`.");

/**
 * The avatar after a request to prepare it. Throws the problem `invalid_transition` when its status does not allow it, or when
 * it has no source.
 */
export const preparedAgain = (avatar: AvatarRecord, now: Date): AvatarRecord => {
  const { status } = avatar;
  const started = { ...avatar, generation: avatar.generation + 1, version: avatar.version + 1, updatedAt: now };
  const effect = Object.hasOwn(CHANGE_EFFECTS.prepare, status) ? CHANGE_EFFECTS.prepare[status] : "refuse";
  if (effect !== "refuse" && avatar.sourceAssetId === null && avatar.pendingSourceAssetId === null) {
    throw noSource(avatar);
  }
  switch (effect) {
    case "prepare":
      return { ...started, status: "preprocessing", error: null, checks: [] };
    case "prepare_in_background":
      return started;
    case "refuse":
      throw status === "preprocessing"
        ? refusedIn(status, "The avatar is being prepared already. Its status becomes `ready` or `failed`.")
        : invalidTransition(status, writableStatuses(status));
  }
};

/** The compact JSON of `avatar`. `settings` and `metadata` may be large, so their cached texts are used. */
export const avatarText = ({ settings, metadata, createdAt, updatedAt, ...others }: Avatar): string => {
  const dates = `"createdAt":"${createdAt}","updatedAt":"${updatedAt}"`;
  return `${JSON.stringify(others).slice(0, -1)},"settings":${jsonText(settings)},"metadata":${jsonText(metadata)},${dates}}`;
};
