/** Completes an upload by a signed PUT: copies its file, checks the copy, and starts its processing. */

import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import { completeAsset, findAsset } from "@realtime-avatar/db/assets/assets";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Claim, WriteOutcome } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { type AssetRecord, originalKey, presentAsset, uploadKey } from "@realtime-avatar/domain/assets/asset";
import { contentTypeOf, MAGIC_BYTES } from "@realtime-avatar/domain/assets/magic";
import type { Asset } from "@realtime-avatar/domain/assets/schemas";
import { ASSET_TRANSITIONS, type AssetStatus, USABLE_STATUSES } from "@realtime-avatar/domain/assets/status";
import { isId } from "@realtime-avatar/domain/id";
import { type FieldErrorCode, notFound, Problem, validationFailed } from "@realtime-avatar/domain/problem";
import { allowedFrom, invalidTransition } from "@realtime-avatar/domain/transitions";
import type { Storage } from "@realtime-avatar/storage/storage";
import type { Dependencies } from "../dependencies.ts";
import { entityTag } from "../http/conditional.ts";
import type { MakePlan } from "../http/idempotency.ts";
import { processingJob } from "./create-asset.ts";

/** What completing an upload comes to. */
type Completion =
  | { kind: "refused"; problem: Problem }
  /** The file is known already: nothing is to be done. */
  | { kind: "known"; asset: AssetRecord }
  /** The file has been copied. */
  | { kind: "copied"; asset: AssetRecord; contentType: string; sizeBytes: number };

const refused = (problem: Problem): Completion => ({ kind: "refused", problem });

/** What the state of an asset alone says; null when it waits for the file of an upload. */
const completionOf = (asset: AssetRecord | null): Completion | null => {
  if (asset === null) return refused(notFound());
  const { status, remoteUrl } = asset;
  if (!USABLE_STATUSES.includes(status))
    return refused(invalidTransition(status, allowedFrom<AssetStatus>(ASSET_TRANSITIONS, status)));
  if (status !== "pending_upload") return { kind: "known", asset };
  if (remoteUrl === null) return null;
  const detail = "The file of this asset is fetched from its `remoteUrl`; there is no upload to complete.";
  return refused(new Problem("invalid_transition", detail, { currentStatus: status, allowedStatuses: ["deleted"] }));
};

/** The first bytes of a stored file, and its size; null when there is none. */
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

/** What is wrong with the copy of an upload: the code and the detail; or its content type. */
const inspect = (
  asset: AssetRecord,
  { head, sizeBytes }: { head: Uint8Array; sizeBytes: number },
): { code: FieldErrorCode; detail: string } | { contentType: string } => {
  if (sizeBytes !== asset.reservedBytes) {
    return { code: "wrong_size", detail: `The file must have ${asset.reservedBytes} bytes, as was declared.` };
  }
  const magic = contentTypeOf(head);
  if (magic === null)
    return { code: "unsupported_file", detail: "The file does not begin as one of an accepted type." };
  const { kind, contentType } = magic;
  if (kind === asset.kind) return { contentType };
  const detail = `The file begins as ${contentType}, which is of kind ${kind}, not ${asset.kind}.`;
  return { code: "asset_kind_mismatch", detail };
};

/**
 * Copies the file of an upload to its place, and checks the copy: the URL of the upload stays valid until it expires, so the
 * file that was sent to it can still change. Null when there is no file.
 */
const copyUpload = async (storage: Storage, asset: AssetRecord): Promise<Completion | null> => {
  const key = originalKey(asset);
  if ((await storage.copy(uploadKey(asset), key)) === "missing") return null;
  const file = await readStart(storage, key);
  if (file === null) return null;
  const result = inspect(asset, file);
  if ("contentType" in result)
    return { kind: "copied", asset, contentType: result.contentType, sizeBytes: file.sizeBytes };
  await storage.delete(key).catch(() => {});
  return refused(validationFailed([{ pointer: "#", ...result }]));
};

const uploadMissing = refused(
  new Problem(
    "invalid_transition",
    "No file has been sent to the URL of the upload. PUT it to `upload.url` with `upload.headers`, and complete again.",
    { currentStatus: "pending_upload", allowedStatuses: ["deleted"] },
  ),
);

/** Copies the file, where the asset waits for one. */
const complete = async (db: Db, storage: Storage, owner: AnyCaller, id: string): Promise<Completion> => {
  const find = async () => (isId("ast", id) ? findAsset(db, owner, id) : null);
  const asset = await find();
  const known = completionOf(asset);
  if (known !== null) return known;
  const copied = await copyUpload(storage, asset as AssetRecord);
  // A request that was first has removed the upload after its write.
  return copied ?? completionOf(await find()) ?? uploadMissing;
};

/**
 * The plans of the completion of an upload. Copies the file first, where the asset waits for one; a refusal is thrown by the
 * plan, so that an earlier response is replayed instead where there is one.
 */
export const planCompletion = async (
  db: Db,
  { storage, assetOrigin }: Dependencies,
  id: string,
  owner: AnyCaller,
): Promise<MakePlan<Asset>> => {
  let completion = await complete(db, storage, owner, id);
  const responseOf = (asset: AssetRecord) => {
    const body = presentAsset(asset, assetOrigin());
    return { status: 200, location: null, etag: entityTag(asset), body };
  };
  const write = async (
    copied: Extract<Completion, { kind: "copied" }>,
    caller: AnyCaller,
    origin: Origin,
    claim: Claim | null,
  ): Promise<WriteOutcome> => {
    const { asset, contentType, sizeBytes } = copied;
    const upload = { contentType, sizeBytes, job: processingJob(asset, origin) };
    const outcome = await completeAsset(db, asset.id, upload, caller, origin, claim);
    switch (outcome.kind) {
      case "written":
        await storage.delete(uploadKey(asset)).catch(() => {});
        return { kind: "written" };
      case "unchanged":
        // Another request was first. The response is planned again, from the asset as it is now.
        completion = completionOf(outcome.asset) ?? copied;
        return { kind: "stale" };
      case "not_found":
        throw notFound();
      case "stale":
      case "replayed":
        return outcome;
    }
  };
  return (caller, origin) => {
    const planned = completion;
    if (planned.kind === "refused") throw planned.problem;
    if (planned.kind === "known")
      return { response: responseOf(planned.asset), write: async () => ({ kind: "written" }) };
    const { asset, contentType, sizeBytes } = planned;
    const version = asset.version + 1;
    const after: AssetRecord = { ...asset, status: "uploaded", contentType, sizeBytes, version, updatedAt: origin.now };
    return { response: responseOf(after), write: (claim) => write(planned, caller, origin, claim) };
  };
};
