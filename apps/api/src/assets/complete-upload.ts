/** Completes an upload with a signed PUT: copies its file, checks the copy, and starts its processing. */

import { type CompleteAssetOutcome, completeAsset, findAsset } from "@realtime-avatar/db/assets/assets";
import type { Claim, WriteOutcome } from "@realtime-avatar/db/idempotency/idempotency-keys";
import {
  type AssetRecord,
  assetText,
  originalKey,
  presentAsset,
  uploadKey,
} from "@realtime-avatar/domain/assets/asset";
import { detectContentType, MAGIC_BYTES } from "@realtime-avatar/domain/assets/magic";
import { describeRefusedType } from "@realtime-avatar/domain/assets/refused-type";
import { Asset, CompleteUpload } from "@realtime-avatar/domain/assets/schemas";
import { ASSET_TRANSITIONS, type AssetStatus, USABLE_STATUSES } from "@realtime-avatar/domain/assets/status";
import { isId } from "@realtime-avatar/domain/id";
import { notFound, Problem, validationFailed } from "@realtime-avatar/domain/problem";
import type { FieldErrorCode } from "@realtime-avatar/domain/problems/field-error-codes";
import { allowedFrom, invalidTransition } from "@realtime-avatar/domain/transitions";
import type { Storage } from "@realtime-avatar/storage/storage";
import type { Static } from "@sinclair/typebox";
import { untimed } from "../http/request-context.ts";
import type { Attempt } from "../http/write.ts";
import { processingJob } from "./create-asset.ts";

/** An asset, and its file if this request has copied it. Without a file, the upload was completed before. */
type Completion = { asset: AssetRecord; file: { contentType: string; sizeBytes: number } | null };

/**
 * The completion that follows from the state of an asset; null when the asset waits for an upload. Throws a problem for
 * any other state.
 */
const completionOf = (asset: AssetRecord): Completion | null => {
  const { status, remoteUrl } = asset;
  if (!USABLE_STATUSES.includes(status))
    throw invalidTransition(status, allowedFrom<AssetStatus>(ASSET_TRANSITIONS, status));
  if (status !== "pending_upload") return { asset, file: null };
  if (remoteUrl === null) return null;
  const detail =
    "The file of this asset is fetched from its `remoteUrl`; there is no upload to complete. Wait until its status is `ready`.";
  throw new Problem("invalid_transition", detail, { currentStatus: status, allowedStatuses: ["deleted"] });
};

/** The first bytes of a stored file, and its size; null when the file does not exist. */
const readStart = async (storage: Storage, key: string): Promise<{ head: Uint8Array; sizeBytes: number } | null> => {
  const file = await storage.open(key);
  if (file === null) return null;
  const { stream, sizeBytes } = file;
  let head = new Uint8Array(0);
  // Leaving the loop early cancels the stream.
  for await (const piece of stream) {
    head = Buffer.concat([head, piece]).subarray(0, MAGIC_BYTES);
    if (head.byteLength === MAGIC_BYTES) break;
  }
  return { head, sizeBytes };
};

/** Checks the copy of an upload. Returns the code and detail of an error, or the content type. */
const inspect = (
  asset: AssetRecord,
  { head, sizeBytes }: { head: Uint8Array; sizeBytes: number },
): { code: FieldErrorCode; detail: string } | { contentType: string } => {
  if (sizeBytes !== asset.reservedBytes) {
    return {
      code: "wrong_size",
      detail: `The file has ${sizeBytes} bytes, and ${asset.reservedBytes} were declared. Send that file, or create another upload.`,
    };
  }
  const magic = detectContentType(head);
  if (magic === null) return { code: "unsupported_file", detail: describeRefusedType(head, [asset.kind]) };
  const { kind, contentType } = magic;
  if (kind === asset.kind) return { contentType };
  const detail = `The file begins as ${contentType}, which is of kind ${kind}, not ${asset.kind}. Create another upload, of the kind ${kind}.`;
  return { code: "asset_kind_mismatch", detail };
};

/**
 * Copies the file of an upload to its place, and checks the copy. The URL of the upload stays valid until it expires,
 * so the original can still change. Returns null when no file was sent.
 */
const copyUpload = async (storage: Storage, asset: AssetRecord): Promise<Completion | null> => {
  const key = originalKey(asset);
  if ((await storage.copy(uploadKey(asset), key)) === "missing") return null;
  const file = await readStart(storage, key);
  if (file === null) return null;
  const result = inspect(asset, file);
  if ("contentType" in result) return { asset, file: { contentType: result.contentType, sizeBytes: file.sizeBytes } };
  await storage.delete(key).catch(() => {});
  throw validationFailed([{ pointer: "#", ...result }]);
};

const UPLOAD_MISSING = new Problem(
  "invalid_transition",
  "No file has been sent to the URL of the upload. PUT it to `upload.url` with `upload.headers`, and complete again.",
  { currentStatus: "pending_upload", allowedStatuses: ["deleted"] },
);

type CompleteAttempt = Attempt<Static<typeof CompleteUpload>, Completion, CompleteAssetOutcome>;

/** Copies the file if the asset waits for one. */
const complete = async ({ db, caller, id, dependencies: { storage } }: CompleteAttempt): Promise<Completion> => {
  const find = async (): Promise<AssetRecord> => {
    const asset = isId("ast", id) ? await findAsset(db, caller, id) : null;
    if (asset === null) throw notFound();
    return asset;
  };
  const asset = await find();
  const known = completionOf(asset);
  if (known !== null) return known;
  const copied = await copyUpload(storage, asset);
  if (copied !== null) return copied;
  // Another request may have completed the asset and removed the upload.
  const completed = completionOf(await find());
  if (completed === null) throw UPLOAD_MISSING;
  return completed;
};

export const COMPLETE_UPLOAD = {
  body: CompleteUpload,
  isBodyOptional: true,
  representation: { schema: Asset, toText: assetText },
  lookUp: async (attempt: CompleteAttempt): Promise<Completion> => {
    const { previous, requestContext } = attempt;
    if (previous === null) return untimed(requestContext, () => complete(attempt));
    const { basis, outcome } = previous;
    // Another request was faster. The response follows from the current asset.
    return outcome.kind === "unchanged" ? (completionOf(outcome.asset) ?? basis) : basis;
  },
  plan: ({ db, caller, origin, dependencies: { assetOrigin } }: CompleteAttempt, { asset, file }: Completion) => {
    const changes = { status: "uploaded", version: asset.version + 1, updatedAt: origin.now } as const;
    const after: AssetRecord = file === null ? asset : { ...asset, ...file, ...changes };
    const upload = file && { ...file, job: processingJob(asset, origin) };
    return {
      response: { version: after.version, body: presentAsset(after, assetOrigin()) },
      /** Without a copied file, nothing is written. */
      write: async (claim: Claim | null): Promise<CompleteAssetOutcome | { kind: "known" }> =>
        upload === null ? { kind: "known" } : completeAsset(db, asset.id, upload, caller, origin, claim),
    };
  },
  settle: async (
    outcome: CompleteAssetOutcome | { kind: "known" },
    { dependencies: { storage } }: CompleteAttempt,
    { asset }: Completion,
  ): Promise<WriteOutcome> => {
    switch (outcome.kind) {
      case "written":
        await storage.delete(uploadKey(asset)).catch(() => {});
        return { kind: "written" };
      case "known":
        return { kind: "written" };
      case "unchanged":
        return { kind: "stale" };
      case "not_found":
        throw notFound();
      case "stale":
      case "replayed":
        return outcome;
    }
  },
};
