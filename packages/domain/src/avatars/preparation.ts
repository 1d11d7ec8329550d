/**
 * The effect of a change of an avatar on its preparation, in each status, and the keys of prepared files. Each preparation
 * has a generation, counted per avatar: a job of an older one changes nothing.
 */
import type { AvatarId, TenantId } from "../id.ts";
import type { UpdateAvatar } from "./schemas.ts";
import { type AvatarStatus, updatableStatuses } from "./status.ts";

export type Effect =
  /** The field is set; nothing is prepared. */
  | "set"
  /** Sets the field; the status becomes or stays `preprocessing`. */
  | "prepare"
  /** The avatar keeps its status and its prepared files until the new preparation is ready. */
  | "prepare_in_background"
  /** 409 `invalid_transition`. */
  | "refuse";

type Effects = Readonly<Record<AvatarStatus, Effect>>;

/**
 * The effect of a change. A preparation starts only when the value differs from the latest one and the avatar then has
 * a source. It replaces a running preparation. Setting null ends a preparation in the background.
 */
export const CHANGE_EFFECTS = {
  sourceAssetId: {
    draft: "prepare",
    preprocessing: "prepare",
    ready: "prepare_in_background",
    failed: "prepare",
    disabled: "prepare_in_background",
    deleted: "refuse",
  },
  /** `sourceAssetId: null` */
  noSource: {
    draft: "set",
    preprocessing: "refuse",
    ready: "set",
    failed: "set",
    disabled: "set",
    deleted: "refuse",
  },
  modelId: {
    draft: "set",
    preprocessing: "prepare",
    ready: "prepare_in_background",
    failed: "prepare",
    disabled: "prepare_in_background",
    deleted: "refuse",
  },
  /** `POST /avatars/{id}/prepare`. It starts a preparation even if no value differs. Without a source it is refused. */
  prepare: {
    draft: "prepare",
    preprocessing: "refuse",
    ready: "prepare_in_background",
    failed: "prepare",
    disabled: "prepare_in_background",
    deleted: "refuse",
  },
} as const satisfies Record<string, Effects>;
export type PreparationChange = keyof typeof CHANGE_EFFECTS;

/** The statuses in which `change` has `effect`. */
export const statusesWith = (change: PreparationChange, effect: Effect): AvatarStatus[] => {
  const effects: Effects = CHANGE_EFFECTS[change];
  return (Object.keys(effects) as AvatarStatus[]).filter((status) => effects[status] === effect);
};

/** The changes of `CHANGE_EFFECTS` that `update` makes. */
const preparationChanges = ({ sourceAssetId, modelId }: UpdateAvatar): PreparationChange[] => [
  ...(sourceAssetId === undefined ? [] : [sourceAssetId === null ? ("noSource" as const) : ("sourceAssetId" as const)]),
  ...(modelId === undefined ? [] : ["modelId" as const]),
];

/** The statuses in which an avatar accepts `update`, according to the new status and the effect on its preparation. */
export const acceptedStatuses = (update: UpdateAvatar): AvatarStatus[] =>
  preparationChanges(update).reduce(
    (statuses, change) => statuses.filter((status) => CHANGE_EFFECTS[change][status] !== "refuse"),
    updatableStatuses(update),
  );

type Owned = { tenantId: TenantId; id: AvatarId };

/** The folder of the prepared files of all avatars, in the store. */
export const PREPARED_FOLDER = "prepared";

/** The kinds of prepared files. The picture that is served as the preview is a `webp`, the manifest a `json`. */
export const PREPARED_TYPES = {
  webp: "image/webp",
  json: "application/json",
  loop: "application/octet-stream",
} as const;
export type PreparedType = keyof typeof PREPARED_TYPES;

/**
 * The name of a prepared file: its generation and a hash of its content, so that a preparation that runs twice writes
 * equal files. A key of the store has no dot.
 */
export const preparedFile = (generation: number, sha256: string, type: PreparedType): string =>
  `${generation}/${sha256}-${type}`;

const PREPARED_FILE = /^\d+\/([0-9a-f]{64})-(webp|json|loop)$/;

/** The hash and the type of a prepared file, from its name; null when `file` is not such a name. */
export const readPreparedFile = (file: string): { sha256: string; type: PreparedType } | null => {
  const [, sha256, type] = PREPARED_FILE.exec(file) ?? [];
  return sha256 === undefined ? null : { sha256, type: type as PreparedType };
};

/** The key of a prepared file in the store. `file` comes from `preparedFile`. */
export const preparedKey = ({ tenantId, id }: Owned, file: string): string =>
  `${PREPARED_FOLDER}/${tenantId}/${id}/${file}`;

/** The value of `cacheManifestId`. `sha256` is that of the manifest, in hexadecimal. */
export const manifestId = (generation: number, sha256: string): string => `man_${generation}_${sha256}`;

const MANIFEST_ID = /^man_(\d+)_([0-9a-f]{64})$/;

/** The file of the manifest with this id; null when `id` is not such an id. */
export const manifestFile = (id: string): string | null => {
  const [, generation, sha256] = MANIFEST_ID.exec(id) ?? [];
  return sha256 === undefined ? null : preparedFile(Number(generation), sha256, "json");
};

type Manifest = Readonly<Record<string, unknown>> | null;

const pictureFile = (manifest: Manifest, name: "normalized" | "animated"): string | null => {
  const pictures = (manifest?.["pictures"] ?? {}) as Record<string, { file?: unknown } | null | undefined>;
  const file = pictures[name]?.file;
  return typeof file === "string" ? file : null;
};

/**
 * The file of the picture that a manifest names, which calls show; null when no picture was derived from the source.
 */
export const wholePicture = (manifest: Manifest): string | null => pictureFile(manifest, "normalized");
/** The file of the moving preview that a manifest names; null for a manifest without a preview. */
export const animatedPicture = (manifest: Manifest): string | null => pictureFile(manifest, "animated");

/** Appended to the address of a preview: the picture that calls show, and the moving preview. */
export const WHOLE_PICTURE_PATH = "/picture";
export const ANIMATED_PATH = "/animated";

/** The path of previews. */
export const PREVIEW_PATH = "/public/avatars";
/** The public URL of a preview. `origin`: scheme, host and port of public URLs. */
export const previewUrl = (token: string, origin: string): string => `${origin}${PREVIEW_PATH}/${token}`;
/** The public URL of a moving preview. */
export const animatedPreviewUrl = (token: string, origin: string): string =>
  `${previewUrl(token, origin)}${ANIMATED_PATH}`;
