/** `/api/v1/avatars` */

import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  type AvatarChanges,
  findAvatar,
  insertAvatar,
  listAvatars,
  updateAvatar,
} from "@realtime-avatar/db/statements/avatars";
import type { Caller } from "@realtime-avatar/db/statements/callers";
import {
  AVATAR_LIST,
  Avatar,
  AvatarPage,
  type AvatarRecord,
  CreateAvatar,
  DELETABLE_STATUSES,
  newAvatar,
  presentAvatar,
  UpdateAvatar,
  unchangedAvatar,
  updatableStatuses,
} from "@realtime-avatar/domain/avatar";
import { isId, newId } from "@realtime-avatar/domain/id";
import { pageText, readPage } from "@realtime-avatar/domain/page";
import { notFound } from "@realtime-avatar/domain/problem";
import type { AvatarStatus } from "@realtime-avatar/domain/state";
import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readBody } from "../http/body.ts";
import { type Expectation, entityTag, isKnown, readIfMatch } from "../http/conditional.ts";
import { checkIdempotencyKey, executeIdempotently } from "../http/idempotency.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { originOf, type RequestContext } from "../http/request-context.ts";
import { operation } from "../openapi/operation.ts";

export const avatarRoutes = (dependencies: Dependencies) => {
  const { random, config, responseBytes } = dependencies;

  /** Changes an avatar that is in one of `statuses`; otherwise says why it is not changed. */
  const change = async (
    db: Db,
    id: string,
    changes: AvatarChanges,
    { versions, matches }: Expectation,
    statuses: readonly AvatarStatus[],
    caller: Caller,
    context: RequestContext,
  ): Promise<{ kind: "done"; avatar: AvatarRecord } | { kind: "stale" }> => {
    if (!isId("ava", id)) throw notFound();
    const origin = originOf(dependencies, caller, context);
    const outcome = await updateAvatar(db, id, changes, { versions, statuses }, caller, origin);
    switch (outcome.kind) {
      case "written":
        return { kind: "done", avatar: outcome.avatar };
      case "unchanged":
        return { kind: "done", avatar: unchangedAvatar(outcome.avatar, changes, matches) };
      case "not_found":
        throw notFound();
      case "stale":
        return outcome;
    }
  };

  return new Elysia({ name: "avatars", prefix: "/api/v1/avatars" })
    .use(authentication(dependencies))
    .post(
      "",
      async ({ writeAsCaller, db, path, request, secret, set, requestContext }) => {
        checkIdempotencyKey(request);
        const body = await readBody(request, requestContext, CreateAvatar);
        const context = { writeAsCaller, db, path, request, secret, set };
        return executeIdempotently(dependencies, context, Avatar, body, (caller) => {
          const origin = originOf(dependencies, caller, requestContext);
          const avatar = newAvatar(body, {
            id: newId("ava", origin.now, random),
            tenantId: caller.tenantId,
            environment: caller.environment,
            defaultModelId: config.defaultAvatarModelId,
            now: origin.now,
          });
          const location = `/api/v1/avatars/${avatar.id}`;
          return {
            response: { status: 201, location, etag: entityTag(avatar), body: presentAvatar(avatar) },
            write: (claim) => insertAvatar(db, avatar, caller, origin, claim),
          };
        });
      },
      {
        scope: "avatars:write",
        detail: operation({
          operationId: "createAvatar",
          summary: "Create an avatar",
          description: "Creates an avatar in the environment of the calling key. A new avatar is a draft.",
          body: CreateAvatar,
          success: { status: 201, description: "The avatar.", schema: Avatar },
        }),
      },
    )
    .get(
      "",
      async ({ caller, db, request, set }) => {
        const page = readPage(AVATAR_LIST, readQuery(request, AVATAR_LIST.query));
        const text = pageText(AVATAR_LIST, page, await listAvatars(db, caller, page));
        return responseBytes.send(text, caller.tenantId, request, set);
      },
      {
        scope: "avatars:read",
        detail: operation({
          operationId: "listAvatars",
          summary: "List avatars",
          description:
            "Lists the avatars in the environment of the calling key, newest first. Deleted avatars are included only with `status=deleted`.",
          query: AVATAR_LIST.query,
          success: { status: 200, description: "A page of avatars.", schema: AvatarPage },
        }),
      },
    )
    .get(
      "/:id",
      async ({ caller, db, params: { id }, request, set, status }) => {
        readQuery(request, NO_PARAMETERS);
        const avatar = isId("ava", id) ? await findAvatar(db, caller, id) : null;
        if (!avatar) throw notFound();
        set.headers.etag = entityTag(avatar);
        return isKnown(request, avatar) ? status(304, undefined) : presentAvatar(avatar);
      },
      {
        scope: "avatars:read",
        response: { 200: Avatar, 304: Type.Undefined() },
        detail: operation({
          operationId: "getAvatar",
          summary: "Read an avatar",
          description: "Returns an avatar in any status, including `deleted`.",
          isConditional: true,
          success: { status: 200, description: "The avatar.", schema: Avatar },
        }),
      },
    )
    .patch(
      "/:id",
      async ({ writeAsCaller, db, params: { id }, request, set, requestContext }) => {
        const expectation = readIfMatch(request);
        const body = await readBody(request, requestContext, UpdateAvatar, expectation.errors);
        const statuses = updatableStatuses(body);
        const { avatar } = await writeAsCaller((caller) =>
          change(db, id, body, expectation, statuses, caller, requestContext),
        );
        set.headers.etag = entityTag(avatar);
        return presentAvatar(avatar);
      },
      {
        scope: "avatars:write",
        response: { 200: Avatar },
        detail: operation({
          operationId: "updateAvatar",
          summary: "Change an avatar",
          description: "Changes the given fields. `settings` and `metadata` are replaced as a whole, not merged.",
          body: UpdateAvatar,
          success: { status: 200, description: "The avatar after the request.", schema: Avatar },
          problems: ["invalid_transition"],
        }),
      },
    )
    .delete(
      "/:id",
      async ({ writeAsCaller, db, params: { id }, request, set, requestContext }) => {
        const expectation = readIfMatch(request);
        readQuery(request, NO_PARAMETERS, expectation.errors);
        const changes = { status: "deleted" } as const;
        const { avatar } = await writeAsCaller((caller) =>
          change(db, id, changes, expectation, DELETABLE_STATUSES, caller, requestContext),
        );
        set.headers.etag = entityTag(avatar);
        return presentAvatar(avatar);
      },
      {
        scope: "avatars:write",
        response: { 200: Avatar },
        detail: operation({
          operationId: "deleteAvatar",
          summary: "Delete an avatar",
          description:
            "Sets the status to `deleted`. The avatar can still be read, but lists omit it by default. Deleting it again has no effect.",
          success: { status: 200, description: "The avatar after the request.", schema: Avatar },
        }),
      },
    );
};
