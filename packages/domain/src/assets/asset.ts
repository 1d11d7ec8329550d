/** An asset as stored: its creation, its API representation, and the locations of its files. */
import type { Environment } from "../environment.ts";
import type { AssetId, RandomBytes, TenantId } from "../id.ts";
import { jsonText } from "../json-text.ts";
import { presentAs } from "../present.ts";
import { markedToken } from "../shards.ts";
import type { AssetKind } from "./limits.ts";
import { Asset } from "./schemas.ts";
import type { AssetStatus } from "./status.ts";

/** An asset as stored. */
export type AssetRecord = Omit<Asset, "id" | "tenantId" | "publicUrl" | "createdAt" | "updatedAt"> & {
  id: AssetId;
  tenantId: TenantId;
  /** The part of `publicUrl` that cannot be guessed: 256 bits, in base64url. */
  publicToken: string;
  /** Media type of the public file; null until the file exists. */
  publicType: string | null;
  /** The URL from which the file is fetched; null for an upload. */
  remoteUrl: string | null;
  /** The asset's share of the byte quota: its size, or its maximal size while the size is unknown. */
  reservedBytes: number;
  /**
   * The length of the sound or of a generated video. Null while it is unknown, for other files, and for files of
   * earlier releases.
   */
  durationMs: number | null;
  /** Incremented by every change; the value of the ETag. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** The fields of a new asset. */
type NewAsset = {
  id: AssetId;
  tenantId: TenantId;
  environment: Environment;
  kind: AssetKind;
  status: Extract<AssetStatus, "pending_upload" | "uploaded">;
  contentType?: string | null;
  sizeBytes?: number | null;
  sha256?: string | null;
  reservedBytes: number;
  remoteUrl?: string | null;
  originalFilename?: string | null | undefined;
  metadata?: Record<string, unknown> | undefined;
  now: Date;
};

const TOKEN_BYTES = 32;

/**
 * A new token of a public URL. `random` is a cryptographically secure source for the database that will store the
 * token.
 */
export const newPublicToken = (random: RandomBytes): string =>
  markedToken(Buffer.from(random(TOKEN_BYTES)).toString("base64url"), random);

/** A new asset. The token of its public URL comes from `random`: see `newPublicToken`. */
export const newAsset = ({ now, ...asset }: NewAsset, random: RandomBytes): AssetRecord => ({
  id: asset.id,
  tenantId: asset.tenantId,
  environment: asset.environment,
  kind: asset.kind,
  origin: (asset.remoteUrl ?? null) === null ? "uploaded" : "imported",
  status: asset.status,
  contentType: asset.contentType ?? null,
  sizeBytes: asset.sizeBytes ?? null,
  sha256: asset.sha256 ?? null,
  publicToken: newPublicToken(random),
  publicType: null,
  remoteUrl: asset.remoteUrl ?? null,
  reservedBytes: asset.reservedBytes,
  durationMs: null,
  error: null,
  originalFilename: asset.originalFilename ?? null,
  metadata: asset.metadata ?? {},
  version: 1,
  createdAt: now,
  updatedAt: now,
});

/** The asset of a rendered video. */
export const generatedAsset = (
  owner: Pick<NewAsset, "id" | "tenantId" | "environment" | "now">,
  file: { contentType: string; sizeBytes: number; sha256: string; durationMs: number },
  random: RandomBytes,
): AssetRecord => ({
  ...newAsset({ ...owner, kind: "video", status: "uploaded", reservedBytes: file.sizeBytes }, random),
  ...file,
  publicType: file.contentType,
  origin: "generated",
  status: "ready",
});

/** The API representation of an asset. `origin`: scheme, host and port of public URLs. */
export const presentAsset = (record: AssetRecord, origin: string): Asset =>
  presentAs(Asset, { ...record, publicUrl: publicUrl(record.publicToken, origin) });

/** The path of public files. */
export const PUBLIC_PATH = "/public/assets";
/** The public URL of an asset. */
export const publicUrl = (token: string, origin: string): string => `${origin}${PUBLIC_PATH}/${token}`;

const TOKEN = /^[A-Za-z0-9_-]{43}$/;
/** Whether `text` has the form of a token of a public URL. */
export const isPublicToken = (text: string): boolean => TOKEN.test(text);

type Owned = Pick<AssetRecord, "tenantId" | "id">;
/** The location of the original file of an asset. */
export const originalKey = ({ tenantId, id }: Owned): string => `originals/${tenantId}/${id}`;
/**
 * The location to which a signed PUT writes the file. It stays writable until the URL expires, so the file is copied to
 * `originalKey`.
 */
export const uploadKey = ({ tenantId, id }: Owned): string => `uploads/${tenantId}/${id}`;
/** The location of the re-encoded image. */
export const publicKey = ({ tenantId, id }: Owned): string => `public/${tenantId}/${id}`;

/** The compact JSON of `asset`. `metadata` may be large, so its cached text is used. */
export const assetText = ({ metadata, createdAt, updatedAt, ...others }: Asset): string => {
  const dates = `"createdAt":"${createdAt}","updatedAt":"${updatedAt}"`;
  return `${JSON.stringify(others).slice(0, -1)},"metadata":${jsonText(metadata)},${dates}}`;
};
