/** The request and response schemas of avatars. */
import { type Static, Type } from "@sinclair/typebox";
import { ENVIRONMENTS } from "../environment.ts";
import { searchFilters } from "../lists/search.ts";
import { defineList, PAGE_LIMITS, Page, TOTAL_FIELD } from "../page.ts";
import { ClosedObject, Count, DateTime, JsonObject, Nullable, OneOf, Text } from "../schema.ts";
import { MAX_DISPLAY_NAME_LENGTH, MAX_URL_LENGTH } from "../text.ts";
import { VoiceId } from "../voices/schemas.ts";
import { Check, MAX_CHECKS } from "./checks.ts";
import { SOURCE_KINDS } from "./source-kind.ts";
import { AVATAR_STATUSES, SETTABLE_STATUSES } from "./status.ts";

/** The maximum length of `error`, in code points. */
export const MAX_ERROR_LENGTH = 500;

/** Maximum size of `settings` and of `metadata`, as compact JSON in UTF-8. */
const MAX_JSON_BYTES = 32 * 1024;

/** Fields that requests and responses share. */
const fields = {
  displayName: Text({ minLength: 1, maxLength: MAX_DISPLAY_NAME_LENGTH, description: "Human-readable name." }),
  sourceKind: OneOf(SOURCE_KINDS, { description: "Kind of the source from which the avatar is built." }),
  modelId: Text({ minLength: 1, maxLength: 160, description: "Id of the model that renders the avatar." }),
  sourceAssetId: Text({ minLength: 1, maxLength: 160, description: "Id of the source image or video." }),
  defaultVoiceId: VoiceId("Id of the voice for calls that specify none. `GET /voices` lists them."),
  settings: JsonObject({
    "x-maxBytes": MAX_JSON_BYTES,
    description: `Settings for the platform, at most ${MAX_JSON_BYTES} bytes as compact JSON in UTF-8.`,
  }),
  metadata: JsonObject({
    "x-maxBytes": MAX_JSON_BYTES,
    description: `Your own data, at most ${MAX_JSON_BYTES} bytes as compact JSON in UTF-8.`,
  }),
};

export const CreateAvatar = ClosedObject({
  displayName: fields.displayName,
  sourceKind: fields.sourceKind,
  modelId: Type.Optional(fields.modelId),
  sourceAssetId: Type.Optional(fields.sourceAssetId),
  defaultVoiceId: Type.Optional(fields.defaultVoiceId),
  settings: Type.Optional(fields.settings),
  metadata: Type.Optional(fields.metadata),
});
export type CreateAvatar = Static<typeof CreateAvatar>;

export const UpdateAvatar = ClosedObject(
  {
    displayName: Type.Optional(fields.displayName),
    modelId: Type.Optional(fields.modelId),
    sourceAssetId: Type.Optional(Nullable(fields.sourceAssetId)),
    defaultVoiceId: Type.Optional(Nullable(fields.defaultVoiceId)),
    settings: Type.Optional(fields.settings),
    metadata: Type.Optional(fields.metadata),
    status: Type.Optional(OneOf(SETTABLE_STATUSES)),
  },
  { minProperties: 1 },
);
export type UpdateAvatar = Static<typeof UpdateAvatar>;

/** The body of a request to prepare an avatar: it has no fields. */
export const PrepareAvatar = ClosedObject({});

export const Avatar = ClosedObject({
  id: Text({ minLength: 1, maxLength: 64 }),
  tenantId: Text({ minLength: 1, maxLength: 64 }),
  environment: OneOf(ENVIRONMENTS),
  displayName: fields.displayName,
  sourceKind: fields.sourceKind,
  modelId: fields.modelId,
  status: OneOf(AVATAR_STATUSES, {
    description: "A new avatar with a source is `preprocessing`; one without is a `draft`.",
  }),
  sourceAssetId: Nullable(fields.sourceAssetId, { description: "The source that is served, or is being prepared." }),
  pendingSourceAssetId: Nullable(fields.sourceAssetId, {
    description: "The new source of an avatar that goes on serving the present one until the new one is ready.",
  }),
  defaultVoiceId: Nullable(fields.defaultVoiceId),
  error: Nullable(Text({ minLength: 1, maxLength: MAX_ERROR_LENGTH }), {
    description: "Why the latest preparation failed, and how to solve it; otherwise null.",
  }),
  checks: Type.Array(Check, {
    minItems: 0,
    maxItems: MAX_CHECKS,
    description: "The checks of the latest preparation.",
  }),
  previewUrl: Nullable(Text({ minLength: 1, maxLength: MAX_URL_LENGTH }), {
    description:
      "Public address of a picture of the avatar; null before the first preparation. With `/picture` at its end: the whole picture, as a call shows it.",
  }),
  animatedPreviewUrl: Nullable(Text({ minLength: 1, maxLength: MAX_URL_LENGTH }), {
    description:
      "Address of a moving picture of the avatar, without sound: an animated WebP of two seconds, or a still picture of an avatar without a face. null before the first preparation.",
  }),
  cacheManifestId: Nullable(Text({ minLength: 1, maxLength: 160 }), {
    description: "Id of the data that was prepared for calls; null before the first preparation.",
  }),
  cacheVersion: Count({ description: "Incremented by each preparation; 0 before the first." }),
  settings: fields.settings,
  metadata: fields.metadata,
  createdAt: DateTime(),
  updatedAt: DateTime(),
});
export type Avatar = Static<typeof Avatar>;

/** `GET /api/v1/avatars` */
const AVATAR_FILTERS = {
  status: Type.Optional(OneOf(AVATAR_STATUSES)),
  sourceKind: Type.Optional(fields.sourceKind),
  ...searchFilters(MAX_DISPLAY_NAME_LENGTH),
};
export const AVATAR_LIST = defineList("ava", AVATAR_FILTERS, PAGE_LIMITS, { hasTotal: true });
/**
 * The maximum number of avatars in the response to `GET /api/v1/avatars` without parameters. The published SDK sends
 * this request and ignores `nextCursor`. 1 MiB is about 1,600 avatars with empty settings and metadata.
 */
export const MAX_UNPAGED_AVATARS = 2000;
export const AvatarPage = Page(Avatar, { maximum: MAX_UNPAGED_AVATARS, head: TOTAL_FIELD });
