/**
 * Public files. `/public/assets/{token}` is the re-encoded image of an asset, or a video that the service has rendered.
 * `/public/avatars/{token}` is the preview of an avatar; with `/picture` the picture of calls, with `/animated` the
 * moving preview. Anyone with the address can read them. A token cannot be guessed. An absent, unready or deleted file
 * and a malformed token get the same 404.
 */

import { findPublicAsset } from "@realtime-avatar/db/assets/assets";
import { findPreview } from "@realtime-avatar/db/avatars/preparations";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { findIn } from "@realtime-avatar/db/databases/databases";
import { isPublicToken, originalKey, PUBLIC_PATH, publicKey } from "@realtime-avatar/domain/assets/asset";
import {
  ANIMATED_PATH,
  animatedPicture,
  manifestFile,
  PREPARED_TYPES,
  PREVIEW_PATH,
  preparedKey,
  readPreparedFile,
  WHOLE_PICTURE_PATH,
  wholePicture,
} from "@realtime-avatar/domain/avatars/preparation";
import { notFound } from "@realtime-avatar/domain/problem";
import type { Storage } from "@realtime-avatar/storage/storage";
import { Elysia } from "elysia";
import { readManifest } from "../calls/manifests.ts";
import type { Dependencies } from "../dependencies.ts";
import { entityTag, hasTag } from "../http/conditional.ts";
import { clientNetwork } from "../http/limits/client-address.ts";
import { type RequestContext, withRequestContext } from "../http/request-context.ts";
import type { ResponseHead } from "../http/response.ts";
import { parseRange, type RequestedRange } from "./range.ts";

const HEADERS = {
  "accept-ranges": "bytes",
  // A deleted image disappears from caches within a minute.
  "cache-control": "public, max-age=60",
};

/**
 * A file of the store that everyone with its address can read. `tag`: its entity tag, in quotes. `headers`: replace the
 * usual ones.
 */
type PublicFile = { key: string; contentType: string; tag: string; headers?: Record<string, string> };

/** The file of a well-formed token; null when it does not exist. */
type FindFile = (db: Db, token: string, storage: Storage) => Promise<PublicFile | null>;

const assetFile: FindFile = async (db, token) => {
  const asset = await findPublicAsset(db, token);
  return (
    asset && {
      key: asset.isGenerated ? originalKey(asset) : publicKey(asset),
      contentType: asset.publicType,
      tag: entityTag(asset),
    }
  );
};

type Manifest = Parameters<typeof wholePicture>[0];
type Preview = NonNullable<Awaited<ReturnType<typeof findPreview>>>;

/** The prepared file `name` of an avatar; null when the name is invalid. */
const preparedFile = (avatar: Preview, name: string): PublicFile | null => {
  const file = readPreparedFile(name);
  return file && { key: preparedKey(avatar, name), contentType: PREPARED_TYPES[file.type], tag: `"${file.sha256}"` };
};

const previewFile: FindFile = async (db, token) => {
  const preview = await findPreview(db, token);
  return preview && preparedFile(preview, preview.previewFile);
};

/** How long the store may take for a manifest. */
const MANIFEST_MS = 1000;

/** A file that the manifest of an avatar names. `choose`: returns its name, or null. */
const manifestPicture =
  (choose: (manifest: Manifest, preview: Preview) => string | null): FindFile =>
  async (db, token, storage) => {
    const preview = await findPreview(db, token);
    const file = preview && manifestFile(preview.cacheManifestId ?? "");
    if (preview === null || file === null) return null;
    const outcome = await readManifest(storage, preparedKey(preview, file), AbortSignal.timeout(MANIFEST_MS));
    if (outcome.kind === "failed") throw outcome.error;
    const name = outcome.kind === "read" ? choose(outcome.manifest, preview) : null;
    return name === null ? null : preparedFile(preview, name);
  };

/** The picture that calls show. */
const wholePictureFile = manifestPicture(wholePicture);
/** The moving preview, or the still preview of an avatar that an earlier release has prepared. */
const animatedFile = manifestPicture((manifest, { previewFile }) => animatedPicture(manifest) ?? previewFile);

/**
 * The range of the request. With `If-Range`, only if the client has this version (RFC 9110 §13.1.5). A HEAD request has
 * no range (§14.2).
 */
const requestedRange = ({ headers, method }: Request, tag: string, sizeBytes: number): RequestedRange => {
  if (method !== "GET") return { kind: "whole" };
  const condition = headers.get("if-range");
  return condition === null || condition === tag ? parseRange(headers.get("range"), sizeBytes) : { kind: "whole" };
};

/**
 * The policy of a public file, which is an image, sound or a video that the service has encoded. If a browser took the
 * file for a page, the page could neither run scripts nor load anything. A browser shows a video or a sound in a page
 * that it creates, which loads the file again: `media-src` allows that.
 */
const contentPolicy = (contentType: string): string =>
  `sandbox; default-src 'none'${/^(audio|video)\//.test(contentType) ? "; media-src 'self'" : ""}`;

type PublicRequest = { token: string; request: Request; set: ResponseHead; requestContext: RequestContext };

/** Responds to a GET or a HEAD with a file. */
export const sendFile = async (
  { storage, fileSender, peerAddress, config }: Dependencies,
  { key, contentType, tag, headers: own }: PublicFile,
  { request, set }: Pick<PublicRequest, "request" | "set">,
): Promise<Response> => {
  const stored = await storage.stat(key);
  if (stored === null) throw notFound();
  const { sizeBytes } = stored;
  const respond = (status: number, body: ReadableStream | null, more: Record<string, string> = {}): Response => {
    const policy = { "content-security-policy": contentPolicy(contentType) };
    const headers = { ...(set.headers as Record<string, string>), ...HEADERS, ...own, ...policy, etag: tag, ...more };
    set.status = status;
    // Empty, because Elysia would copy the response header by header to add the headers of `set`.
    set.headers = {};
    return new Response(body, { status, headers });
  };
  if (hasTag(request, tag)) return respond(304, null);
  const range = requestedRange(request, tag, sizeBytes);
  if (range.kind === "unsatisfiable") return respond(416, null, { "content-range": `bytes */${sizeBytes}` });
  const { start, end } = range.kind === "part" ? range : { start: 0, end: sizeBytes - 1 };
  const part = range.kind === "part" ? { "content-range": `bytes ${start}-${end}/${sizeBytes}` } : {};
  const status = range.kind === "part" ? 206 : 200;
  // For a HEAD request, Elysia reads the stream to find its length.
  const client = clientNetwork(request, peerAddress(request), config.trustedProxyHops);
  const stream = await fileSender.open({ client, file: key }, () => storage.open(key, { start, end }));
  if (stream === null) throw notFound();
  return respond(status, stream, { "content-type": contentType, ...part });
};

const serve = async (
  dependencies: Dependencies,
  findFile: FindFile,
  { token, request, set, requestContext }: PublicRequest,
): Promise<Response> => {
  const { databases, storage } = dependencies;
  const find = (db: Db) => findFile(db.until(requestContext), token, storage);
  const file = isPublicToken(token) ? await findIn(databases.ofToken(token), find) : null;
  if (file === null) throw notFound();
  return sendFile(dependencies, file, { request, set });
};

const fileRoutes = (dependencies: Dependencies, name: string, prefix: string, findFile: FindFile) =>
  new Elysia({ name, prefix })
    .use(withRequestContext)
    .get("/:token", ({ params: { token }, request, set, requestContext }) =>
      serve(dependencies, findFile, { token, request, set: set as ResponseHead, requestContext }),
    );

export const publicAssetRoutes = (dependencies: Dependencies) =>
  fileRoutes(dependencies, "public-assets", PUBLIC_PATH, assetFile);

export const publicAvatarRoutes = (dependencies: Dependencies) =>
  fileRoutes(dependencies, "public-avatars", PREVIEW_PATH, previewFile)
    .get(`/:token${WHOLE_PICTURE_PATH}`, ({ params: { token }, request, set, requestContext }) =>
      serve(dependencies, wholePictureFile, { token, request, set: set as ResponseHead, requestContext }),
    )
    .get(`/:token${ANIMATED_PATH}`, ({ params: { token }, request, set, requestContext }) =>
      serve(dependencies, animatedFile, { token, request, set: set as ResponseHead, requestContext }),
    );
