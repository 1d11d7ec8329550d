/** `/api/v1/assets`: imports, reads and deletions. Uploads are in `asset-uploads.ts`. */

import { type DeleteAssetOutcome, deleteAsset, findAsset } from "@realtime-avatar/db/assets/assets";
import { listAssets } from "@realtime-avatar/db/assets/list";
import { assetText, newAsset, presentAsset } from "@realtime-avatar/domain/assets/asset";
import { ASSET_LIMITS } from "@realtime-avatar/domain/assets/limits";
import { remoteUrlErrors } from "@realtime-avatar/domain/assets/remote-url";
import { ASSET_LIST, Asset, AssetPage, CreateRemoteAsset } from "@realtime-avatar/domain/assets/schemas";
import { isId, newId } from "@realtime-avatar/domain/id";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { checkVersion } from "@realtime-avatar/domain/transitions";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { entityTag, isKnown } from "../http/conditional.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { type Attempt, execute, type Settled, writtenResource } from "../http/write.ts";
import { assetInsert, processingJob, settleInsert } from "./create-asset.ts";
import { removeAllFiles } from "./stored-file.ts";

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

const ASSET_IN_USE = "An avatar uses the asset. Delete the avatar, or give it another source, first.";

const ASSET = { schema: Asset, toText: assetText };

const IMPORT_ASSET = {
  body: CreateRemoteAsset,
  errorsOf: ({ remoteUrl }: CreateRemoteAsset) => remoteUrlErrors(remoteUrl),
  representation: ASSET,
  plan: (attempt: Attempt<CreateRemoteAsset>) => {
    const { body, caller, origin, dependencies } = attempt;
    const { tenantId, environment } = caller;
    const id = newId("ast", origin.now, origin.random);
    const owner = { id, tenantId, environment, now: origin.now };
    const reservedBytes = ASSET_LIMITS[body.kind].maxBytes;
    const asset = newAsset({ ...owner, ...body, status: "pending_upload", reservedBytes }, origin.random);
    const resource = presentAsset(asset, dependencies.assetOrigin());
    return {
      response: { location: `/api/v1/assets/${id}`, version: asset.version, body: resource },
      write: assetInsert(attempt, asset, processingJob(asset, origin)),
    };
  },
  settle: settleInsert,
};

const DELETE_ASSET = {
  body: null,
  representation: ASSET,
  plan: ({ db, id, caller, origin, expectation: { versions } }: Attempt<unknown>) => {
    if (!isId("ast", id)) throw notFound();
    return { response: null, write: () => deleteAsset(db, id, { versions }, caller, origin) };
  },
  settle: async (
    outcome: DeleteAssetOutcome,
    { expectation: { matches }, dependencies: { storage, assetOrigin } }: Attempt<unknown>,
  ): Promise<Settled<Asset>> => {
    switch (outcome.kind) {
      case "in_use":
        throw new Problem("asset_in_use", ASSET_IN_USE);
      case "not_found":
        throw notFound();
      case "stale":
        return outcome;
      case "unchanged":
        // The asset is already deleted, or has another version.
        checkVersion(outcome.asset, matches);
    }
    await removeAllFiles(storage, outcome.asset);
    return writtenResource(outcome.asset, presentAsset(outcome.asset, assetOrigin()));
  },
};

export const assetRoutes = (dependencies: Dependencies) => {
  const { assetOrigin } = dependencies;
  return new Elysia({ name: "assets", prefix: "/api/v1/assets" })
    .use(authentication(dependencies))
    .post("/remote", ({ write }) => execute(write, IMPORT_ASSET), {
      scope: "avatars:write",
      detail: OPERATIONS.createRemoteAsset,
    })
    .get(
      "",
      listHandler(dependencies, ASSET_LIST, ({ caller, db }, page) => listAssets(db, caller, page, assetOrigin())),
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
    .delete("/:id", ({ write }) => execute(write, DELETE_ASSET), {
      scope: "avatars:write",
      detail: OPERATIONS.deleteAsset,
    });
};
