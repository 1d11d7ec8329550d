/** `/api/v1/assets`: uploads by a form, and by a signed PUT. Reads, imports and deletions are in `assets.ts`. */

import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { assetText, newAsset, originalKey, presentAsset, uploadKey } from "@realtime-avatar/domain/assets/asset";
import { Asset, AssetWithUpload, CompleteUpload, CreateUpload } from "@realtime-avatar/domain/assets/schemas";
import { UPLOAD_URL_SECONDS, uploadErrors } from "@realtime-avatar/domain/assets/upload";
import { type AssetId, newId } from "@realtime-avatar/domain/id";
import { Elysia } from "elysia";
import { planCompletion } from "../assets/complete-upload.ts";
import { checkRoom, createAsset, processingJob, quotaOf } from "../assets/create-asset.ts";
import { formTooLarge, MAX_FORM_BYTES, type ReceivedFile, receiveUpload } from "../assets/receive-file.ts";
import { removingUnlessKept } from "../assets/stored-file.ts";
import { LIMITS_TEXT, UploadAsset } from "../assets/upload-form.ts";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readBody, readOptionalBody } from "../http/body.ts";
import { clientNetwork } from "../http/client-address.ts";
import { entityTag } from "../http/conditional.ts";
import { openBody } from "../http/files/body-reader.ts";
import { checkFormType, FORM_OVERHEAD_BYTES } from "../http/files/form.ts";
import type { Place } from "../http/files/places.ts";
import { checkIdempotencyKey, executeIdempotently, type MakePlan } from "../http/idempotency.ts";
import { toProblem } from "../http/problem.ts";
import { NO_PARAMETERS, readQuery, refuseIfAny } from "../http/query.ts";
import { untimed } from "../http/request-context.ts";
import { withMembers } from "../http/response.ts";
import { operations } from "../openapi/operation.ts";

const OPERATIONS = operations({
  uploadAsset: {
    summary: "Upload an asset",
    description: `Uploads a file in a form. The bytes of the file decide what it is, never its name or a declared type. What only decoding shows is checked later: the asset becomes \`ready\` or \`failed\`. With an \`Idempotency-Key\`, the same file with the same \`kind\` is the same request.\n\n${LIMITS_TEXT}`,
    body: UploadAsset,
    isForm: true,
    success: { status: 201, description: "The asset. Its file is waiting to be processed.", schema: Asset },
    problems: ["quota_exceeded"],
  },
  createUpload: {
    summary: "Upload a large asset straight to the store",
    description:
      "Creates an asset and returns where to PUT its file: `upload.url`, with exactly `upload.headers` and a `Content-Length`. The URL takes only a file of this size, type and MD5, until `upload.expiresAt`. Then call `complete`. An upload that is not completed within a day becomes `failed`.",
    body: CreateUpload,
    success: { status: 201, description: "The asset, and where to send its file.", schema: AssetWithUpload },
    problems: ["quota_exceeded"],
  },
  completeUpload: {
    summary: "Complete an upload",
    description:
      "Tells that the file has been sent to `upload.url`. Checks what it is, and starts to process it. Completing it again has no effect.",
    body: CompleteUpload,
    isBodyOptional: true,
    success: { status: 200, description: "The asset after the request.", schema: Asset },
    problems: ["invalid_transition"],
  },
});

const ASSET = { schema: Asset, toText: assetText };
const ASSET_WITH_UPLOAD = {
  schema: AssetWithUpload,
  toText: ({ upload, ...asset }: AssetWithUpload) => withMembers(assetText(asset), { upload }),
};

/** Counts an upload that ends with a problem. */
const countingRefusals = async <Result>({ metrics }: Dependencies, upload: () => Promise<Result>): Promise<Result> => {
  try {
    return await upload();
  } catch (error) {
    metrics?.assetRefused(toProblem(error).code);
    throw error;
  }
};

const locationOf = (id: AssetId): string => `/api/v1/assets/${id}`;

/** The plans of an upload whose file is in the store already. `keep` is called when its row was written. */
const planUpload =
  (db: Db, dependencies: Dependencies, id: AssetId, file: ReceivedFile, keep: () => void): MakePlan<Asset> =>
  (caller, origin) => {
    const { tenantId, environment } = caller;
    const { declaredKind: _, ...facts } = file;
    const owner = { id, tenantId, environment, now: origin.now };
    const asset = newAsset(
      { ...owner, ...facts, status: "uploaded", reservedBytes: file.sizeBytes },
      dependencies.random,
    );
    const body = presentAsset(asset, dependencies.assetOrigin());
    return {
      response: { status: 201, location: locationOf(id), etag: entityTag(asset), body },
      write: async (claim) => {
        const write = { asset, job: processingJob(asset, origin), quota: quotaOf(dependencies) };
        const outcome = await createAsset(db, write, caller, origin, claim);
        if (outcome.kind === "written") {
          keep();
          dependencies.metrics?.assetUploaded(file.kind, file.sizeBytes);
        }
        return outcome;
      },
    };
  };

type SignedUpload = { id: AssetId; url: string; headers: Record<string, string>; expiresAt: Date };

/** The plans of an asset whose file is sent to a signed URL. */
const planSignedUpload =
  (db: Db, dependencies: Dependencies, request: CreateUpload, signed: SignedUpload): MakePlan<AssetWithUpload> =>
  (caller, origin) => {
    const { id, url, headers, expiresAt } = signed;
    const { kind, sizeBytes, originalFilename, metadata } = request;
    const { tenantId, environment } = caller;
    const about = { kind, originalFilename, metadata, reservedBytes: sizeBytes };
    const owner = { id, tenantId, environment, now: origin.now };
    const asset = newAsset({ ...owner, ...about, status: "pending_upload" }, dependencies.random);
    const upload = { method: "PUT" as const, url, headers, expiresAt: expiresAt.toISOString() };
    const body = { ...presentAsset(asset, dependencies.assetOrigin()), upload };
    return {
      response: { status: 201, location: locationOf(id), etag: entityTag(asset), body },
      write: (claim) => createAsset(db, { asset, job: null, quota: quotaOf(dependencies) }, caller, origin, claim),
    };
  };

const sign = async (
  { storage, clock, random }: Dependencies,
  caller: AnyCaller,
  request: CreateUpload,
): Promise<SignedUpload> => {
  const now = clock();
  const id = newId("ast", now, random);
  const { contentType, sizeBytes, md5 } = request;
  const expiresAt = new Date(now.getTime() + 1000 * UPLOAD_URL_SECONDS);
  const key = uploadKey({ tenantId: caller.tenantId, id });
  return { id, expiresAt, ...(await storage.signPut(key, { contentType, sizeBytes, md5, expiresAt })) };
};

export const assetUploadRoutes = (dependencies: Dependencies) => {
  const { storage, spool, uploadSlots, clock, random, peerAddress, config } = dependencies;
  return new Elysia({ name: "asset-uploads", prefix: "/api/v1/assets" })
    .use(authentication(dependencies))
    .post(
      "",
      async ({ caller, writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        checkFormType(request);
        readQuery(request, NO_PARAMETERS);
        const declaredBytes = Math.max(0, Number(request.headers.get("content-length")) - FORM_OVERHEAD_BYTES);
        const asset = { tenantId: caller.tenantId, id: newId("ast", clock(), random) };
        const upload = (place: Place) =>
          spool.withFile(async (spooled) => {
            const body = openBody(request, requestContext, { maxBytes: MAX_FORM_BYTES, tooLarge: formTooLarge, place });
            await checkRoom(db, quotaOf(dependencies), declaredBytes, caller, request, path);
            const file = await receiveUpload(body, request.headers.get("content-type") ?? "", spooled);
            return removingUnlessKept(storage, asset, async (keep) => {
              await untimed(requestContext, () => storage.put(originalKey(asset), spooled, file.contentType));
              const context = { writeAsCaller, db, path, request, secret, set };
              const { declaredKind: kind, sha256 } = file;
              const plan = planUpload(db, dependencies, asset.id, file, keep);
              return executeIdempotently(dependencies, context, ASSET, { kind, sha256 }, plan);
            });
          });
        const client = clientNetwork(request, peerAddress(request), config.trustedProxyHops);
        return countingRefusals(dependencies, () => uploadSlots.run({ tenantId: caller.tenantId, client }, upload));
      },
      { scope: "avatars:write", detail: OPERATIONS.uploadAsset },
    )
    .post(
      "/uploads",
      async ({ caller, writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, CreateUpload);
        refuseIfAny(uploadErrors(body));
        const context = { writeAsCaller, db, path, request, secret, set };
        const plan = planSignedUpload(db, dependencies, body, await sign(dependencies, caller, body));
        return executeIdempotently(dependencies, context, ASSET_WITH_UPLOAD, body, plan);
      },
      { scope: "avatars:write", detail: OPERATIONS.createUpload },
    )
    .post(
      "/:id/complete",
      async ({ caller, writeAsCaller, db, params: { id }, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readOptionalBody(request, requestContext, CompleteUpload);
        const context = { writeAsCaller, db, path, request, secret, set };
        const plan = await untimed(requestContext, () => planCompletion(db, dependencies, id, caller));
        return executeIdempotently(dependencies, context, ASSET, body, plan);
      },
      { scope: "avatars:write", detail: OPERATIONS.completeUpload },
    );
};
