/** The manifest of a preparation: its source, its results, and its files. */
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import { manifestFace } from "@realtime-avatar/domain/avatars/face-mesh";
import { manifestLoop } from "@realtime-avatar/domain/avatars/idle-loop";

/** A prepared picture or loop. `file` is its place among the files of the avatar: see `preparedFile`. `sha256` is in hexadecimal. */
export type PreparedPicture = { file: string; contentType: string; sizeBytes: number; sha256: string };

export type ManifestContent = {
  avatar: AvatarRecord;
  /** `sha256`: null for a test asset, which has no file. */
  source: { assetId: string; sha256: string | null };
  checks: readonly Check[];
  /** null when no picture was derived from the source. */
  pictures: Record<"normalized" | "thumb" | "animated", PreparedPicture> | null;
  /** The mesh of the face in the normalized image: see `encodeMesh`. null when no face was measured. */
  mesh: string | null;
  /** The idle loop of a video; null without one. */
  loop: PreparedPicture | null;
};

const FORMAT = 1;

/**
 * The manifest as JSON. The order of its members is fixed, so that a preparation that runs twice writes equal bytes.
 * The name of the file is their digest.
 */
export const manifestText = ({ avatar, source, checks, pictures, mesh, loop }: ManifestContent): string =>
  JSON.stringify({
    format: FORMAT,
    tenantId: avatar.tenantId,
    avatarId: avatar.id,
    generation: avatar.generation,
    modelId: avatar.modelId,
    sourceKind: avatar.sourceKind,
    source: { assetId: source.assetId, sha256: source.sha256 },
    checks: checks.map(({ code, verdict, measured, limit, detail }) => ({ code, verdict, measured, limit, detail })),
    pictures,
    ...(mesh === null ? {} : { face: manifestFace(mesh) }),
    ...(loop === null ? {} : { loop: manifestLoop(loop) }),
  });
