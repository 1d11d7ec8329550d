/** `/api/v1/avatars/{id}/prepare`. What else starts a preparation is in `avatars.ts`. */

import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import { findAvatar, prepareAvatar } from "@realtime-avatar/db/avatars/avatars";
import type { Db } from "@realtime-avatar/db/connection/pool";
import {
  type AvatarRecord,
  avatarText,
  noSource,
  preparedAgain,
  presentAvatar,
} from "@realtime-avatar/domain/avatars/avatar";
import { Avatar, PrepareAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { isId, newId } from "@realtime-avatar/domain/id";
import { notFound, Problem } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readOptionalBody } from "../http/body.ts";
import { entityTag } from "../http/conditional.ts";
import { checkIdempotencyKey, executeIdempotently, type MakePlan } from "../http/idempotency.ts";
import { sendResource } from "../http/response.ts";
import { operations } from "../openapi/operation.ts";

const OPERATIONS = operations({
  prepareAvatar: {
    summary: "Prepare an avatar again",
    description:
      "Starts a preparation of the avatar from its source. A `draft` or `failed` avatar becomes `preprocessing`. A `ready` or `disabled` one keeps its status and its data until the preparation is done.",
    body: PrepareAvatar,
    isBodyOptional: true,
    success: { status: 200, description: "The avatar after the request.", schema: Avatar },
    problems: ["invalid_transition"],
  },
});

const AVATAR = { schema: Avatar, toText: avatarText };

/** Prepares an avatar, in whatever version it is. Throws the problem that says why it is not prepared. */
const prepareNow = async (
  db: Db,
  id: string,
  caller: AnyCaller,
  origin: Origin,
): Promise<{ kind: "written"; avatar: AvatarRecord } | { kind: "stale" }> => {
  if (!isId("ava", id)) throw notFound();
  const jobId = newId("job", origin.now, origin.random);
  const outcome = await prepareAvatar(db, id, null, jobId, caller, origin);
  switch (outcome.kind) {
    case "unchanged":
      preparedAgain(outcome.avatar, origin.now);
      throw new Error("The avatar was not prepared, although its status allows it.");
    case "no_source":
      throw noSource(outcome.avatar);
    case "not_found":
      throw notFound();
    case "replayed":
      throw new Error("A request without an Idempotency-Key was replayed.");
    case "stale":
      return { kind: "stale" };
    case "written":
      return outcome;
  }
};

/**
 * How often a request with an Idempotency-Key is planned, at most. Of many at once on one avatar, each that succeeds makes the
 * others plan again, which costs the database two statements each time: 60 requests took 5 s of all its connections.
 */
const MAX_PLANS = 4;
const CONTENDED = new Problem("unavailable", "Other requests are changing the avatar. Try again.", { retryable: true });

/**
 * The plans of a preparation with an Idempotency-Key: its response is stored, so it is made before the write. It follows from the
 * avatar as it was read: when that has changed meanwhile, the request is planned again from the avatar as it is then. A refusal is thrown by the plan, so that an earlier response is replayed
 * instead where there is one.
 */
const planPreparation = async (
  db: Db,
  { assetOrigin }: Dependencies,
  id: string,
  owner: AnyCaller,
): Promise<MakePlan<Avatar>> => {
  let current: AvatarRecord | null = isId("ava", id) ? await findAvatar(db, owner, id) : null;
  let plans = 0;
  return (caller, origin) => {
    if (current === null) throw notFound();
    const before = current;
    const after = preparedAgain(before, origin.now);
    return {
      response: {
        status: 200,
        location: null,
        etag: entityTag(after),
        body: presentAvatar(after, assetOrigin()),
      },
      write: async (claim) => {
        const jobId = newId("job", origin.now, origin.random);
        const outcome = await prepareAvatar(db, before.id, before.version, jobId, caller, origin, claim);
        switch (outcome.kind) {
          case "unchanged":
            current = outcome.avatar;
            plans += 1;
            if (plans === MAX_PLANS) throw CONTENDED;
            return { kind: "stale" };
          case "stale":
            return { kind: "stale" };
          case "no_source":
            throw noSource(outcome.avatar);
          case "not_found":
            throw notFound();
          case "written":
          case "replayed":
            return outcome;
        }
      },
    };
  };
};

export const preparationRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "preparations", prefix: "/api/v1/avatars" }).use(authentication(dependencies)).post(
    "/:id/prepare",
    async ({ caller, writeAsCaller, db, params: { id }, path, request, secret, set, requestContext }) => {
      checkIdempotencyKey(request);
      const body = await readOptionalBody(request, requestContext, PrepareAvatar);
      if (!request.headers.has("idempotency-key")) {
        const { avatar } = await writeAsCaller((by, origin) => prepareNow(db, id, by, origin));
        return sendResource(AVATAR, presentAvatar(avatar, dependencies.assetOrigin()), avatar, set);
      }
      const context = { writeAsCaller, db, path, request, secret, set };
      const plan = await planPreparation(db, dependencies, id, caller);
      return executeIdempotently(dependencies, context, AVATAR, body, plan);
    },
    { scope: "avatars:write", detail: OPERATIONS.prepareAvatar },
  );
