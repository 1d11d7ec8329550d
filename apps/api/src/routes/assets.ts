/** `/api/v1/assets`: imports, reads and deletions. Uploads are in `asset-uploads.ts`. */

import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import { deleteAsset, findAsset } from "@realtime-avatar/db/assets/assets";
import { listAssets } from "@realtime-avatar/db/assets/list";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type AssetRecord, assetText, newAsset, presentAsset } from "@realtime-avatar/domain/assets/asset";
import { ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { remoteUrlErrors } from "@realtime-avatar/domain/assets/remote-url";
import { ASSET_LIST, Asset, AssetPage, CreateRemoteAsset } from "@realtime-avatar/domain/assets/schemas";
import { isId, newId } from "@realtime-avatar/domain/id";
import { pageText, readPage } from "@realtime-avatar/domain/page";
import { checkVersion, notFound, Problem } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import { createAsset, processingJob, quotaOf } from "../assets/create-asset.ts";
import { removeAllFiles } from "../assets/stored-file.ts";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readBody } from "../http/body.ts";
import { type Expectation, entityTag, isKnown, readIfMatch } from "../http/conditional.ts";
import { checkIdempotencyKey, executeIdempotently, type MakePlan } from "../http/idempotency.ts";
import { NO_PARAMETERS, readQuery, refuseIfAny } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { operations } from "../openapi/operation.ts";

const OPERATIONS = operations({
  createRemoteAsset: {
    summary: "Import an asset",
    description:
      "Creates an asset from a file that the service fetches from `remoteUrl`: over https, from public addresses, with at most 3 redirects. The asset becomes `ready` or `failed`.",
    body: CreateRemoteAsset,
    success: { status: 201, description: "The asset. Its file is fetched now.", schema: Asset },
    problems: ["quota_exceeded"],
  },
  listAssets: {
    summary: "List assets",
    description:
      "Lists the assets in the environment of the calling key, newest first. Deleted assets are included only with `status=deleted`.",
    query: ASSET_LIST.query,
    success: { status: 200, description: "A page of assets.", schema: AssetPage },
  },
  getAsset: {
    summary: "Read an asset",
    description: "Returns an asset in any status, including `deleted`.",
    isConditional: true,
    success: { status: 200, description: "The asset.", schema: Asset },
  },
  deleteAsset: {
    summary: "Delete an asset",
    description:
      "Sets the status to `deleted`, and deletes its files. `publicUrl` is 404 at once, and gone from caches after 60 seconds. Deleting it again has no effect.",
    success: { status: 200, description: "The asset after the request.", schema: Asset },
    problems: ["asset_in_use"],
  },
});

const ASSET = { schema: Asset, toText: assetText };

const planImport =
  (db: Db, dependencies: Dependencies, request: CreateRemoteAsset): MakePlan<Asset> =>
  (caller, origin) => {
    const { random, assetOrigin } = dependencies;
    const { tenantId, environment } = caller;
    const id = newId("ast", origin.now, random);
    const owner = { id, tenantId, environment, now: origin.now };
    const reservedBytes = ASSET_LIMITS[request.kind].maxBytes;
    const asset = newAsset({ ...owner, ...request, status: "pending_upload", reservedBytes }, random);
    const body = presentAsset(asset, assetOrigin());
    const write = { asset, job: processingJob(asset, origin), quota: quotaOf(dependencies) };
    return {
      response: { status: 201, location: `/api/v1/assets/${id}`, etag: entityTag(asset), body },
      write: (claim) => createAsset(db, write, caller, origin, claim),
    };
  };

/** Deletes an asset. Throws the problem that says why it cannot be deleted. */
const remove = async (
  db: Db,
  id: string,
  { versions, matches }: Expectation,
  caller: AnyCaller,
  origin: Origin,
): Promise<{ kind: "written"; asset: AssetRecord } | { kind: "stale" }> => {
  if (!isId("ast", id)) throw notFound();
  const outcome = await deleteAsset(db, id, { versions }, caller, origin);
  switch (outcome.kind) {
    case "unchanged":
      // It is deleted already, or has another version.
      checkVersion(outcome.asset, matches);
      return { kind: "written", asset: outcome.asset };
    case "in_use":
      throw new Problem("asset_in_use", "An avatar that is not deleted is built from the asset.");
    case "not_found":
      throw notFound();
    case "written":
    case "stale":
      return outcome;
  }
};

export const assetRoutes = (dependencies: Dependencies) => {
  const { responseBytes, storage, assetOrigin } = dependencies;
  return new Elysia({ name: "assets", prefix: "/api/v1/assets" })
    .use(authentication(dependencies))
    .post(
      "/remote",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, CreateRemoteAsset);
        refuseIfAny(remoteUrlErrors(body.remoteUrl));
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, ASSET, body, planImport(db, dependencies, body));
      },
      { scope: "avatars:write", detail: OPERATIONS.createRemoteAsset },
    )
    .get(
      "",
      async ({ caller, db, request, set }) => {
        const page = readPage(ASSET_LIST, readQuery(request, ASSET_LIST.query));
        const text = pageText(ASSET_LIST, page, await listAssets(db, caller, page, assetOrigin()));
        return responseBytes.send(text, caller.tenantId, request, set);
      },
      { scope: "avatars:read", detail: OPERATIONS.listAssets },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set, status }) => {
        readQuery(request, NO_PARAMETERS);
        const asset = isId("ast", id) ? await findAsset(db, caller, id) : null;
        if (!asset) throw notFound();
        if (!isKnown(request, asset)) return sendResource(ASSET, presentAsset(asset, assetOrigin()), asset, set);
        set.headers.etag = entityTag(asset);
        return status(304, undefined);
      },
      { scope: "avatars:read", detail: OPERATIONS.getAsset },
    )
    .delete(
      "/:id",
      async ({ writeAsCaller, db, params: { id }, request, set }) => {
        const expectation = readIfMatch(request);
        readQuery(request, NO_PARAMETERS, expectation.errors);
        const { asset } = await writeAsCaller((caller, origin) => remove(db, id, expectation, caller, origin));
        await removeAllFiles(storage, asset);
        return sendResource(ASSET, presentAsset(asset, assetOrigin()), asset, set);
      },
      { scope: "avatars:write", detail: OPERATIONS.deleteAsset },
    );
};
