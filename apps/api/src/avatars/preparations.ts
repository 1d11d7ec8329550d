/** `/api/v1/avatars/{id}/prepare`. Other operations that start a preparation are in `avatars.ts`. */

import { findAvatar, type PrepareAvatarOutcome, prepareAvatar } from "@realtime-avatar/db/avatars/avatars";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
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
import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { operations } from "../http/operation.ts";
import { type Attempt, execute, type Settled, writtenResource } from "../http/write.ts";

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

/**
 * Maximum number of plans of a request with an Idempotency-Key. When many requests prepare one avatar, each success
 * makes the others plan again. Each new plan costs the database two statements: 60 requests kept all its connections
 * busy for 5 s.
 */
const MAX_PLANS = 4;
const CONTENDED = new Problem("unavailable", "Other requests are changing the avatar. Try again.", { retryable: true });

/** The avatar that determines the response of a request with an Idempotency-Key, and the number of plans so far. */
type Basis = { avatar: AvatarRecord | null; plans: number } | null;
type PrepareAttempt = Attempt<Static<typeof PrepareAvatar>, Basis, PrepareAvatarOutcome>;

/**
 * With an Idempotency-Key, the response is stored, so it is made before the write, from the avatar that was read. If
 * the avatar has changed meanwhile, the request is planned again. Without an Idempotency-Key, any version of the avatar
 * is prepared.
 */
const PREPARE_AVATAR = {
  body: PrepareAvatar,
  isBodyOptional: true,
  representation: AVATAR,
  lookUp: async ({ id, db, caller, idempotencyKey, previous }: PrepareAttempt): Promise<Basis> => {
    if (idempotencyKey === null) return null;
    if (!previous?.basis) return { avatar: isId("ava", id) ? await findAvatar(db, caller, id) : null, plans: 1 };
    const { basis, outcome } = previous;
    return outcome.kind === "unchanged" ? { avatar: outcome.avatar, plans: basis.plans + 1 } : basis;
  },
  plan: ({ db, id, caller, origin, dependencies: { assetOrigin } }: PrepareAttempt, basis: Basis) => {
    if (!isId("ava", id) || basis?.avatar === null) throw notFound();
    const version = basis?.avatar.version ?? null;
    const after = basis && preparedAgain(basis.avatar, origin.now);
    const jobId = newId("job", origin.now, origin.random);
    return {
      response: after && { version: after.version, body: presentAvatar(after, assetOrigin()) },
      write: (claim: Claim | null) => prepareAvatar(db, id, version, jobId, caller, origin, claim),
    };
  },
  settle: (
    outcome: PrepareAvatarOutcome,
    { origin, dependencies: { assetOrigin } }: PrepareAttempt,
    basis: Basis,
  ): Settled<Avatar> => {
    switch (outcome.kind) {
      case "unchanged":
        if (basis?.plans === MAX_PLANS) throw CONTENDED;
        // Throws, unless the avatar has changed since it was read.
        preparedAgain(outcome.avatar, origin.now);
        return { kind: "stale" };
      case "no_source":
        throw noSource(outcome.avatar);
      case "not_found":
        throw notFound();
      case "written":
        return writtenResource(outcome.avatar, presentAvatar(outcome.avatar, assetOrigin()));
      case "stale":
        return { kind: "stale" };
      case "replayed":
        return outcome;
    }
  },
};

export const preparationRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "preparations", prefix: "/api/v1/avatars" })
    .use(authentication(dependencies))
    .post("/:id/prepare", ({ write }) => execute(write, PREPARE_AVATAR), {
      scope: "avatars:write",
      detail: OPERATIONS.prepareAvatar,
    });
