/** `/api/v1/avatars` */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import {
  type AvatarChanges,
  findAvatar,
  type InsertAvatarOutcome,
  insertAvatar,
  type UpdateAvatarOutcome,
  updateAvatar,
} from "@realtime-avatar/db/avatars/avatars";
import { countAvatars, listAvatars } from "@realtime-avatar/db/avatars/list";
import type { AnyCaller } from "@realtime-avatar/db/callers/callers";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import {
  type AvatarRecord,
  avatarText,
  newAvatar,
  presentAvatar,
  unchangedAvatar,
} from "@realtime-avatar/domain/avatars/avatar";
import { acceptedStatuses } from "@realtime-avatar/domain/avatars/preparation";
import {
  AVATAR_LIST,
  Avatar,
  AvatarPage,
  CreateAvatar,
  MAX_UNPAGED_AVATARS,
  UpdateAvatar,
} from "@realtime-avatar/domain/avatars/schemas";
import type { SourceRefusal } from "@realtime-avatar/domain/avatars/source-kind";
import { type AvatarStatus, DELETABLE_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { isUnknownTestAsset } from "@realtime-avatar/domain/avatars/test-assets";
import { isId, newId } from "@realtime-avatar/domain/id";
import type { JobRecord } from "@realtime-avatar/domain/job";
import { readSearch } from "@realtime-avatar/domain/lists/search";
import { notFound, type Problem, validationFailed } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { entityTag, isKnown } from "../http/conditional.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { type Attempt, execute, type Settled, writtenResource } from "../http/write.ts";

/** Reads the request for a page. A request without parameters gets as many avatars as a page can hold. */
const readAvatarPage: typeof readSearch = (list, parameters) => {
  const page = readSearch(list, parameters);
  return Object.keys(parameters).length === 0 ? { ...page, limit: MAX_UNPAGED_AVATARS } : page;
};

const OPERATIONS = operations({
  createAvatar: {
    summary: "Create an avatar",
    description:
      "Creates an avatar in the environment of the calling key. With a `sourceAssetId`, its status is `preprocessing`, and becomes `ready` or `failed`. Without, it is `draft`.",
    body: CreateAvatar,
    success: { status: 201, description: "The avatar.", schema: Avatar },
  },
  listAvatars: {
    summary: "List avatars",
    description:
      "Lists the avatars in the environment of the calling key, newest first. Deleted avatars are included only with `status=deleted`. A request without parameters gets as many avatars as fit into 1 MiB, at most 2,000. With any parameter, `limit` is 50 when omitted.",
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
      "Changes the given fields. `settings` and `metadata` are replaced as a whole, not merged. Another source or model starts a preparation. A `ready` or `disabled` avatar keeps its status and its data until the preparation is done.",
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
  asset_not_found:
    "The asset does not exist in the environment of the calling key. Check the id, or upload the file first.",
  asset_kind_mismatch:
    "The kind of the asset is not `sourceKind`. Use another asset, or create the avatar with the other `sourceKind`.",
  asset_not_usable: "The asset is failed or deleted. Its `error` says why it failed. Upload another file.",
};
const invalidSource = (code: SourceRefusal): Problem =>
  validationFailed([{ pointer: "#/sourceAssetId", code, detail: SOURCE_DETAILS[code] }]);

/** Throws the problem of a test asset that the caller cannot use. The database has no list of test assets. */
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

const CREATE_AVATAR = {
  body: CreateAvatar,
  representation: AVATAR,
  plan: ({ db, body, caller, origin, dependencies: { config, assetOrigin } }: Attempt<CreateAvatar>) => {
    checkTestAsset(body.sourceAssetId, caller);
    const { tenantId, environment } = caller;
    const { now, random } = origin;
    const defaultModelId = config.defaultAvatarModelId;
    const avatar = newAvatar(body, { id: newId("ava", now, random), tenantId, environment, defaultModelId, now });
    const location = `/api/v1/avatars/${avatar.id}`;
    return {
      response: { location, version: avatar.version, body: presentAvatar(avatar, assetOrigin()) },
      write: (claim: Claim | null) => insertAvatar(db, avatar, firstJob(avatar, origin), caller, origin, claim),
    };
  },
  settle: (outcome: InsertAvatarOutcome) => {
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

/** Plans `changes`, which are allowed in one of `statuses`. */
const planChange = (
  { db, id, caller, origin, expectation: { versions } }: Attempt<unknown>,
  changes: AvatarChanges,
  statuses: readonly AvatarStatus[],
) => {
  if (!isId("ava", id)) throw notFound();
  checkTestAsset(changes.sourceAssetId, caller);
  const jobId = newId("job", origin.now, origin.random);
  return {
    response: null,
    write: () => updateAvatar(db, id, changes, { versions, statuses, jobId }, caller, origin),
  };
};

/** The avatar after `changes`. Throws a problem with the reason when they are not allowed. */
const settleChange = (
  outcome: UpdateAvatarOutcome,
  { expectation: { matches }, dependencies: { assetOrigin } }: Attempt<unknown>,
  changes: AvatarChanges,
): Settled<Avatar> => {
  switch (outcome.kind) {
    case "written":
    case "unchanged": {
      // `unchangedAvatar` throws, except when the avatar is already deleted: the response is then that of the first
      // deletion.
      const avatar = outcome.kind === "written" ? outcome.avatar : unchangedAvatar(outcome.avatar, changes, matches);
      return writtenResource(avatar, presentAvatar(avatar, assetOrigin()));
    }
    case "not_found":
      throw notFound();
    case "asset_not_found":
    case "asset_kind_mismatch":
    case "asset_not_usable":
      throw invalidSource(outcome.kind);
    case "stale":
      return outcome;
  }
};

const UPDATE_AVATAR = {
  body: UpdateAvatar,
  representation: AVATAR,
  plan: (attempt: Attempt<UpdateAvatar>) => planChange(attempt, attempt.body, acceptedStatuses(attempt.body)),
  settle: (outcome: UpdateAvatarOutcome, attempt: Attempt<UpdateAvatar>) =>
    settleChange(outcome, attempt, attempt.body),
};

const DELETION = { status: "deleted" } as const;
const DELETE_AVATAR = {
  body: null,
  representation: AVATAR,
  plan: (attempt: Attempt<unknown>) => planChange(attempt, DELETION, DELETABLE_STATUSES),
  settle: (outcome: UpdateAvatarOutcome, attempt: Attempt<unknown>) => settleChange(outcome, attempt, DELETION),
};

export const avatarRoutes = (dependencies: Dependencies) => {
  const { assetOrigin } = dependencies;
  return new Elysia({ name: "avatars", prefix: "/api/v1/avatars" })
    .use(authentication(dependencies))
    .post("", ({ write }) => execute(write, CREATE_AVATAR), {
      scope: "avatars:write",
      detail: OPERATIONS.createAvatar,
    })
    .get(
      "",
      listHandler(
        dependencies,
        AVATAR_LIST,
        ({ caller, db }, page) => listAvatars(db, caller, page, assetOrigin()),
        readAvatarPage,
        ({ caller, db }, filters) => countAvatars(db, caller, filters),
      ),
      { scope: "avatars:read", detail: OPERATIONS.listAvatars },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set, status }) => {
        readQuery(request, NO_PARAMETERS);
        const avatar = isId("ava", id) ? await findAvatar(db, caller, id) : null;
        if (!avatar) throw notFound();
        if (!isKnown(request, avatar)) return sendResource(AVATAR, presentAvatar(avatar, assetOrigin()), avatar, set);
        set.headers.etag = entityTag(avatar);
        return status(304, undefined);
      },
      { scope: "avatars:read", detail: OPERATIONS.getAvatar },
    )
    .patch("/:id", ({ write }) => execute(write, UPDATE_AVATAR), {
      scope: "avatars:write",
      detail: OPERATIONS.updateAvatar,
    })
    .delete("/:id", ({ write }) => execute(write, DELETE_AVATAR), {
      scope: "avatars:write",
      detail: OPERATIONS.deleteAvatar,
    });
};
