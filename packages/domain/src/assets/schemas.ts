/** The request and response schemas of assets. */
import { type Static, type TUnsafe, Type } from "@sinclair/typebox";
import { ENVIRONMENTS } from "../environment.ts";
import { defineList, Page } from "../page.ts";
import { ClosedObject, Count, DateTime, JsonObject, Nullable, OneOf, Text } from "../schema.ts";
import { MAX_URL_LENGTH } from "../text.ts";
import { ASSET_ERROR_CODES, type AssetErrorCode } from "./errors.ts";
import { ASSET_KINDS, ASSET_LIMITS, ASSET_ORIGINS } from "./limits.ts";
import { ASSET_STATUSES } from "./status.ts";

/** Maximum size of `metadata`, as compact JSON in UTF-8. */
const MAX_METADATA_BYTES = 32 * 1024;

/**
 * The form of a URL that is fetched. `remoteUrlErrors` tests this pattern, and rules that a pattern cannot express. The
 * last label begins with a letter, because a host whose last label is a number is an IPv4 address (WHATWG URL).
 */
export const REMOTE_URL_PATTERN = "^https://([A-Za-z0-9_-]+\\.)+[A-Za-z][A-Za-z0-9_-]*\\.?(:443|:8443)?([/?#][!-~]*)?$";
/** 16 bytes have exactly one form in base64: the unused bits of the last digit are zero. */
export const MD5_PATTERN = "^[A-Za-z0-9+/]{21}[AQgw]==$";

const id = Text({ minLength: 1, maxLength: 64 });

/** Fields that requests and responses share. */
const fields = {
  kind: OneOf(ASSET_KINDS, { description: "Kind of the file." }),
  originalFilename: Text({ minLength: 1, maxLength: 240, description: "Name of the file, for your own use." }),
  metadata: JsonObject({
    "x-maxBytes": MAX_METADATA_BYTES,
    description: `Your own data, at most ${MAX_METADATA_BYTES} bytes as compact JSON in UTF-8.`,
  }),
};

/** The fields of an uploaded form, beside its `file`. The bytes of the file decide its kind. */
export const UploadFields = ClosedObject({ kind: Type.Optional(fields.kind) });
export type UploadFields = Static<typeof UploadFields>;

export const CreateRemoteAsset = ClosedObject({
  kind: fields.kind,
  remoteUrl: Type.Unsafe<string>({
    ...Text({
      minLength: 1,
      maxLength: MAX_URL_LENGTH,
      description:
        "The https URL of the file, on port 443 or 8443, without credentials, in ASCII. Its host is a public name, not an address.",
    }),
    pattern: REMOTE_URL_PATTERN,
  }) as ReturnType<typeof Text>,
  originalFilename: Type.Optional(fields.originalFilename),
  metadata: Type.Optional(fields.metadata),
});
export type CreateRemoteAsset = Static<typeof CreateRemoteAsset>;

const CONTENT_TYPES = ASSET_KINDS.flatMap((kind): readonly string[] => ASSET_LIMITS[kind].contentTypes);
const MAX_BYTES = Math.max(...ASSET_KINDS.map((kind) => ASSET_LIMITS[kind].maxBytes));

/** MD5 of the file, as in the header `Content-MD5` (RFC 1864). */
const Md5 = Type.Unsafe<string>({
  ...Text({ minLength: 24, maxLength: 24, description: "MD5 of the file in base64, as in `Content-MD5`." }),
  pattern: MD5_PATTERN,
});

export const CreateUpload = ClosedObject({
  kind: fields.kind,
  contentType: OneOf(CONTENT_TYPES, { description: "Media type of the file: one of its kind." }),
  sizeBytes: Count({ minimum: 1, maximum: MAX_BYTES, description: "Size of the file: at most that of its kind." }),
  md5: Md5,
  originalFilename: Type.Optional(fields.originalFilename),
  metadata: Type.Optional(fields.metadata),
});
export type CreateUpload = Static<typeof CreateUpload>;

/** Completing an upload needs no fields. */
export const CompleteUpload = ClosedObject({});

const ERROR_CODE = Text({
  minLength: 1,
  maxLength: 64,
  description: `One of: ${Object.values(ASSET_ERROR_CODES).flat().join(", ")}. Later versions may add others.`,
});
const AssetError = ClosedObject({
  // Not an `enum`: during an upgrade, the older version reads what the newer one has written.
  code: ERROR_CODE as TUnsafe<AssetErrorCode> & typeof ERROR_CODE,
  detail: Text({
    minLength: 1,
    maxLength: 500,
    description: "The problem with the file, and how a person can solve it.",
  }),
});
export type AssetError = Static<typeof AssetError>;

const asset = {
  id,
  tenantId: id,
  environment: OneOf(ENVIRONMENTS),
  kind: fields.kind,
  origin: OneOf(ASSET_ORIGINS, {
    description: "Where the file is from. `generated`: the file of a video, which the service has rendered.",
  }),
  status: OneOf(ASSET_STATUSES),
  contentType: Nullable(Text({ minLength: 1, maxLength: 64 }), { description: "Null until the file is known." }),
  sizeBytes: Nullable(Count(), { description: "Null until the file is known." }),
  sha256: Nullable(Text({ minLength: 64, maxLength: 64 }), {
    description: "SHA-256 of the file in hexadecimal; null until it is known.",
  }),
  publicUrl: Text({
    minLength: 1,
    maxLength: MAX_URL_LENGTH,
    description:
      "Public address of the re-encoded image. It is 404 before the asset is `ready`, and for video and audio that was uploaded or imported. Of a generated video it is the file itself.",
  }),
  error: Nullable(AssetError, { description: "Why the asset is `failed`; otherwise null." }),
  originalFilename: Nullable(fields.originalFilename),
  metadata: fields.metadata,
  createdAt: DateTime(),
  updatedAt: DateTime(),
};
export const Asset = ClosedObject(asset);
export type Asset = Static<typeof Asset>;

/** How to send the file of a new asset straight to the store. */
const Upload = ClosedObject({
  method: OneOf(["PUT"]),
  url: Text({ minLength: 1, maxLength: 4096 }),
  headers: JsonObject({ "x-maxBytes": 4096, description: "Headers to send, exactly." }),
  expiresAt: DateTime({ description: "The store refuses the file from this moment on." }),
});
export const AssetWithUpload = ClosedObject({ ...asset, upload: Upload });
export type AssetWithUpload = Static<typeof AssetWithUpload>;

/** `GET /api/v1/assets` */
export const ASSET_LIST = defineList("ast", {
  kind: Type.Optional(fields.kind),
  status: Type.Optional(OneOf(ASSET_STATUSES)),
});
export const AssetPage = Page(Asset);
