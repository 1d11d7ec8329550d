/** `/api/v1/assets`: uploads with a form or a signed PUT. Reads, imports and deletions are in `assets.ts`. */

import type { insertAsset } from "@realtime-avatar/db/assets/assets";
import { assetText, newAsset, originalKey, presentAsset, uploadKey } from "@realtime-avatar/domain/assets/asset";
import { Asset, AssetWithUpload, CompleteUpload, CreateUpload } from "@realtime-avatar/domain/assets/schemas";
import { UPLOAD_URL_SECONDS, uploadErrors } from "@realtime-avatar/domain/assets/upload";
import { type AssetId, newId } from "@realtime-avatar/domain/id";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication, type WriteRequest } from "../http/authenticate.ts";
import { clientNetwork } from "../http/limits/client-address.ts";
import type { Place } from "../http/limits/places.ts";
import { operations } from "../http/operation.ts";
import { toProblem } from "../http/problem.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { untimed } from "../http/request-context.ts";
import { withMembers } from "../http/response.ts";
import { type Attempt, execute, executeWithBody, type OutcomeOf } from "../http/write.ts";
import { openBody } from "./body-reader.ts";
import { COMPLETE_UPLOAD } from "./complete-upload.ts";
import { assetInsert, checkRoom, processingJob, settleInsert } from "./create-asset.ts";
import { checkFormType, FORM_OVERHEAD_BYTES } from "./form.ts";
import { formTooLarge, MAX_FORM_BYTES, type ReceivedFile, receiveUpload } from "./receive-file.ts";
import type { SpoolFile } from "./spool.ts";
import { removingUnlessKept } from "./stored-file.ts";
import { LIMITS_TEXT, UploadAsset } from "./upload-form.ts";

const OPERATIONS = operations({
  uploadAsset: {
    summary: "Upload an asset",
    description: `Uploads a file in a form. The bytes of the file decide its type, never its name or a declared type. Properties that only decoding shows are checked later: the asset becomes \`ready\` or \`failed\`. With an \`Idempotency-Key\`, the same file with the same \`kind\` is the same request.\n\n${LIMITS_TEXT}`,
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
      "Reports that the file was sent to `upload.url`. Checks its type, and starts to process it. Completing it again has no effect.",
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

/** An upload whose file is already in the store. `keep`: called after its row is written. */
type StoredUpload = { id: AssetId; file: ReceivedFile; keep: () => void };
const UPLOAD_ASSET = {
  representation: ASSET,
  plan: (attempt: Attempt<StoredUpload>) => {
    const { body, caller, origin, dependencies } = attempt;
    const { id, file } = body;
    const { tenantId, environment } = caller;
    const { declaredKind: _, ...facts } = file;
    const owner = { id, tenantId, environment, now: origin.now };
    const asset = newAsset({ ...owner, ...facts, status: "uploaded", reservedBytes: file.sizeBytes }, origin.random);
    return {
      response: {
        location: locationOf(id),
        version: asset.version,
        body: presentAsset(asset, dependencies.assetOrigin()),
      },
      write: assetInsert(attempt, asset, processingJob(asset, origin)),
    };
  },
  settle: (outcome: OutcomeOf<typeof insertAsset>, attempt: Attempt<StoredUpload>) => {
    const { file, keep } = attempt.body;
    if (outcome.kind === "written") {
      keep();
      attempt.dependencies.metrics?.assetUploaded(file.kind, file.sizeBytes);
    }
    return settleInsert(outcome, attempt);
  },
};

type SignedUpload = { id: AssetId; url: string; headers: Record<string, string>; expiresAt: Date };

const sign = async ({ caller, body, dependencies }: Attempt<CreateUpload>): Promise<SignedUpload> => {
  const { storage, clock, random } = dependencies;
  const now = clock();
  const id = newId("ast", now, random);
  const { contentType, sizeBytes, md5 } = body;
  const expiresAt = new Date(now.getTime() + 1000 * UPLOAD_URL_SECONDS);
  const key = uploadKey({ tenantId: caller.tenantId, id });
  return { id, expiresAt, ...(await storage.signPut(key, { contentType, sizeBytes, md5, expiresAt })) };
};

/** An asset whose file is sent to a signed URL. */
const CREATE_UPLOAD = {
  body: CreateUpload,
  errorsOf: uploadErrors,
  representation: ASSET_WITH_UPLOAD,
  lookUp: async (attempt: Attempt<CreateUpload, SignedUpload>): Promise<SignedUpload> =>
    attempt.previous?.basis ?? sign(attempt),
  plan: (attempt: Attempt<CreateUpload, SignedUpload>, signed: SignedUpload) => {
    const { body, caller, origin, dependencies } = attempt;
    const { id, url, headers, expiresAt } = signed;
    const { kind, sizeBytes, originalFilename, metadata } = body;
    const { tenantId, environment } = caller;
    const about = { kind, originalFilename, metadata, reservedBytes: sizeBytes };
    const owner = { id, tenantId, environment, now: origin.now };
    const asset = newAsset({ ...owner, ...about, status: "pending_upload" }, origin.random);
    const upload = { method: "PUT" as const, url, headers, expiresAt: expiresAt.toISOString() };
    const resource = { ...presentAsset(asset, dependencies.assetOrigin()), upload };
    return {
      response: { location: locationOf(id), version: asset.version, body: resource },
      write: assetInsert(attempt, asset, null),
    };
  },
  settle: settleInsert,
};

/** Receives the file of a form, and writes its asset. */
const receiveForm = async (write: WriteRequest, spooled: SpoolFile, place: Place): Promise<string> => {
  const { request, requestContext, caller, dependencies } = write;
  const { storage, clock, random } = dependencies;
  const body = openBody(request, requestContext, { maxBytes: MAX_FORM_BYTES, tooLarge: formTooLarge, place });
  const receive = async (): Promise<ReceivedFile> => {
    await checkRoom(write, Math.max(0, Number(request.headers.get("content-length")) - FORM_OVERHEAD_BYTES));
    return receiveUpload(body, request.headers.get("content-type") ?? "", spooled);
  };
  const file = await receive().finally(body.close);
  const asset = { tenantId: caller.tenantId, id: newId("ast", clock(), random) };
  return removingUnlessKept(storage, asset, async (keep) => {
    await untimed(requestContext, () => storage.put(originalKey(asset), spooled, file.contentType));
    const { declaredKind: kind, sha256 } = file;
    return executeWithBody(write, UPLOAD_ASSET, { id: asset.id, file, keep }, { kind, sha256 });
  });
};

export const assetUploadRoutes = (dependencies: Dependencies) => {
  const { spool, uploadSlots, peerAddress, config } = dependencies;
  return new Elysia({ name: "asset-uploads", prefix: "/api/v1/assets" })
    .use(authentication(dependencies))
    .post(
      "",
      async ({ write, caller: { tenantId }, request }) => {
        checkFormType(request);
        readQuery(request, NO_PARAMETERS);
        const upload = (place: Place) => spool.withFile((spooled) => receiveForm(write, spooled, place));
        const client = clientNetwork(request, peerAddress(request), config.trustedProxyHops);
        return countingRefusals(dependencies, () => uploadSlots.run({ tenantId, client }, upload));
      },
      { scope: "avatars:write", detail: OPERATIONS.uploadAsset },
    )
    .post("/uploads", ({ write }) => execute(write, CREATE_UPLOAD), {
      scope: "avatars:write",
      detail: OPERATIONS.createUpload,
    })
    .post("/:id/complete", ({ write }) => execute(write, COMPLETE_UPLOAD), {
      scope: "avatars:write",
      detail: OPERATIONS.completeUpload,
    });
};
