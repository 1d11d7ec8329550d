/** `/api/v1/avatars` */

import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import { type AvatarChanges, findAvatar, insertAvatar, updateAvatar } from "@realtime-avatar/db/avatars/avatars";
import { listAvatars } from "@realtime-avatar/db/avatars/list";
import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  type AvatarRecord,
  avatarText,
  newAvatar,
  presentAvatar,
  unchangedAvatar,
} from "@realtime-avatar/domain/avatars/avatar";
import { acceptedStatuses } from "@realtime-avatar/domain/avatars/preparation";
import { AVATAR_LIST, Avatar, AvatarPage, CreateAvatar, UpdateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import type { SourceRefusal } from "@realtime-avatar/domain/avatars/source-kind";
import { type AvatarStatus, DELETABLE_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { isUnknownTestAsset } from "@realtime-avatar/domain/avatars/test-assets";
import { isId, newId } from "@realtime-avatar/domain/id";
import type { JobRecord } from "@realtime-avatar/domain/job";
import { pageText, readPage } from "@realtime-avatar/domain/page";
import { notFound, type Problem, validationFailed } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readBody } from "../http/body.ts";
import { type Expectation, entityTag, isKnown, readIfMatch } from "../http/conditional.ts";
import { checkIdempotencyKey, executeIdempotently, type MakePlan } from "../http/idempotency.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { type ResponseHead, sendResource } from "../http/response.ts";
import { operations } from "../openapi/operation.ts";

const OPERATIONS = operations({
  createAvatar: {
    summary: "Create an avatar",
    description:
      "Creates an avatar in the environment of the calling key. With a `sourceAssetId` it is `preprocessing`, and becomes `ready` or `failed`; without, it is a `draft`.",
    body: CreateAvatar,
    success: { status: 201, description: "The avatar.", schema: Avatar },
  },
  listAvatars: {
    summary: "List avatars",
    description:
      "Lists the avatars in the environment of the calling key, newest first. Deleted avatars are included only with `status=deleted`.",
    query: AVATAR_LIST.query,
    success: { status: 200, description: "A page of avatars.", schema: AvatarPage },
  },
  getAvatar: {
    summary: "Read an avatar",
    description: "Returns an avatar in any status, including `deleted`.",
    isConditional: true,
    success: { status: 200, description: "The avatar.", schema: Avatar },
  },
  updateAvatar: {
    summary: "Change an avatar",
    description:
      "Changes the given fields. `settings` and `metadata` are replaced as a whole, not merged. Another source or model starts a preparation. A `ready` or `disabled` avatar keeps its status and its data until that is done.",
    body: UpdateAvatar,
    success: { status: 200, description: "The avatar after the request.", schema: Avatar },
    problems: ["invalid_transition"],
  },
  deleteAvatar: {
    summary: "Delete an avatar",
    description:
      "Sets the status to `deleted`, and ends its preparation. `previewUrl` is 404 at once. The avatar can still be read, but lists omit it by default. Deleting it again has no effect.",
    success: { status: 200, description: "The avatar after the request.", schema: Avatar },
  },
});

const AVATAR = { schema: Avatar, toText: avatarText };

const SOURCE_DETAILS: Record<SourceRefusal, string> = {
  asset_not_found: "There is no such asset in the environment of the calling key.",
  asset_kind_mismatch: "The kind of the asset is not `sourceKind`.",
  asset_not_usable: "The asset is failed or deleted.",
};
const invalidSource = (code: SourceRefusal): Problem =>
  validationFailed([{ pointer: "#/sourceAssetId", code, detail: SOURCE_DETAILS[code] }]);

/** Throws the problem of a test asset that the caller cannot name. The database knows no list of test assets. */
const checkTestAsset = (sourceAssetId: string | null | undefined, { environment }: AnyCaller): void => {
  if (sourceAssetId && isUnknownTestAsset(sourceAssetId, environment)) throw invalidSource("asset_not_found");
};

/** The job of a new avatar; null for a draft. */
const firstJob = (avatar: AvatarRecord, { now, random }: Origin): JobRecord | null =>
  avatar.status === "draft"
    ? null
    : {
        id: newId("job", now, random),
        tenantId: avatar.tenantId,
        environment: avatar.environment,
        kind: "prepare_avatar",
        targetId: avatar.id,
        generation: avatar.generation,
        runAt: now,
      };

const planCreate =
  (db: Db, { config, random, assetOrigin }: Dependencies, body: CreateAvatar): MakePlan<Avatar> =>
  (caller, origin) => {
    checkTestAsset(body.sourceAssetId, caller);
    const { tenantId, environment } = caller;
    const { now } = origin;
    const defaultModelId = config.defaultAvatarModelId;
    const avatar = newAvatar(body, { id: newId("ava", now, random), tenantId, environment, defaultModelId, now });
    const location = `/api/v1/avatars/${avatar.id}`;
    return {
      response: { status: 201, location, etag: entityTag(avatar), body: presentAvatar(avatar, assetOrigin()) },
      write: async (claim) => {
        const outcome = await insertAvatar(db, avatar, firstJob(avatar, origin), caller, origin, claim);
        switch (outcome.kind) {
          case "asset_not_found":
          case "asset_kind_mismatch":
          case "asset_not_usable":
            throw invalidSource(outcome.kind);
          default:
            return outcome;
        }
      },
    };
  };

type Change = {
  id: string;
  changes: AvatarChanges;
  /** The statuses in which the change is allowed. */
  statuses: readonly AvatarStatus[];
  expectation: Expectation;
};

/** Changes an avatar. Throws the problem that says why the change is not allowed. */
const changeAvatar = async (
  db: Db,
  { id, changes, statuses, expectation: { versions, matches } }: Change,
  caller: AnyCaller,
  origin: Origin,
): Promise<{ kind: "written"; avatar: AvatarRecord } | { kind: "stale" }> => {
  if (!isId("ava", id)) throw notFound();
  checkTestAsset(changes.sourceAssetId, caller);
  const jobId = newId("job", origin.now, origin.random);
  const outcome = await updateAvatar(db, id, changes, { versions, statuses, jobId }, caller, origin);
  switch (outcome.kind) {
    case "unchanged":
      // `unchangedAvatar` throws, except for an avatar that is deleted again: the response is that of the first deletion.
      return { kind: "written", avatar: unchangedAvatar(outcome.avatar, changes, matches) };
    case "not_found":
      throw notFound();
    case "asset_not_found":
    case "asset_kind_mismatch":
    case "asset_not_usable":
      throw invalidSource(outcome.kind);
    case "written":
    case "stale":
      return outcome;
  }
};

export const avatarRoutes = (dependencies: Dependencies) => {
  const { responseBytes, assetOrigin } = dependencies;
  const sendAvatar = (avatar: AvatarRecord, set: ResponseHead): string =>
    sendResource(AVATAR, presentAvatar(avatar, assetOrigin()), avatar, set);
  return new Elysia({ name: "avatars", prefix: "/api/v1/avatars" })
    .use(authentication(dependencies))
    .post(
      "",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, CreateAvatar);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, AVATAR, body, planCreate(db, dependencies, body));
      },
      { scope: "avatars:write", detail: OPERATIONS.createAvatar },
    )
    .get(
      "",
      async ({ caller, db, request, set }) => {
        const page = readPage(AVATAR_LIST, readQuery(request, AVATAR_LIST.query));
        const text = pageText(AVATAR_LIST, page, await listAvatars(db, caller, page, assetOrigin()));
        return responseBytes.send(text, caller.tenantId, request, set);
      },
      { scope: "avatars:read", detail: OPERATIONS.listAvatars },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set, status }) => {
        readQuery(request, NO_PARAMETERS);
        const avatar = isId("ava", id) ? await findAvatar(db, caller, id) : null;
        if (!avatar) throw notFound();
        if (!isKnown(request, avatar)) return sendAvatar(avatar, set);
        set.headers.etag = entityTag(avatar);
        return status(304, undefined);
      },
      { scope: "avatars:read", detail: OPERATIONS.getAvatar },
    )
    .patch(
      "/:id",
      async ({ writeAsCaller, db, params: { id }, request, set, requestContext }) => {
        const expectation = readIfMatch(request);
        const changes = await readBody(request, requestContext, UpdateAvatar, expectation.errors);
        const change = { id, changes, statuses: acceptedStatuses(changes), expectation };
        const { avatar } = await writeAsCaller((caller, origin) => changeAvatar(db, change, caller, origin));
        return sendAvatar(avatar, set);
      },
      { scope: "avatars:write", detail: OPERATIONS.updateAvatar },
    )
    .delete(
      "/:id",
      async ({ writeAsCaller, db, params: { id }, request, set }) => {
        const expectation = readIfMatch(request);
        readQuery(request, NO_PARAMETERS, expectation.errors);
        const change = { id, changes: { status: "deleted" } as const, statuses: DELETABLE_STATUSES, expectation };
        const { avatar } = await writeAsCaller((caller, origin) => changeAvatar(db, change, caller, origin));
        return sendAvatar(avatar, set);
      },
      { scope: "avatars:write", detail: OPERATIONS.deleteAvatar },
    );
};
