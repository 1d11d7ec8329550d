/** `/api/v1/realtime/prepare`: an avatar worker loads an avatar, so that the next call shows its first picture sooner. */
import { preloadAvatar } from "@realtime-avatar/db/calls/preloads";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { PREPARED_SECONDS, PrepareCall, PreparedCall } from "@realtime-avatar/domain/calls/schemas";
import { isId } from "@realtime-avatar/domain/id";
import { notFound } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import { avatarNotReady } from "../credits/opening.ts";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { operations } from "../http/operation.ts";
import { requireKey } from "../http/person.ts";
import { type Attempt, execute, type OutcomeOf, type Settled } from "../http/write.ts";
import { requireRealtime } from "./realtime.ts";

const OPERATIONS = operations({
  prepareCall: {
    summary: "Prepare a call",
    description: `An avatar worker loads the avatar, so that the next call with it shows its first picture sooner. Free: it holds no credits and takes no slot. A tenant has one prepared avatar in each environment, the latest, for ${PREPARED_SECONDS} seconds. A call also works without it, and if another call takes the slot meanwhile.`,
    body: PrepareCall,
    success: { status: 200, description: "The request was received.", schema: PreparedCall },
    problems: ["not_found", "avatar_not_ready", "realtime_not_configured"],
  },
});

const PREPARED_CALL = { schema: PreparedCall, toText: JSON.stringify };

const PREPARE_CALL = {
  body: PrepareCall,
  representation: PREPARED_CALL,
  plan: ({ db, body: { avatar_id }, caller, origin, dependencies }: Attempt<PrepareCall>) => {
    requireRealtime(dependencies);
    if (!isId("ava", avatar_id)) throw notFound();
    return {
      response: { version: null, body: { avatar_id, expires_in_seconds: PREPARED_SECONDS } },
      write: (claim: Claim | null) => preloadAvatar(db, avatar_id, requireKey(caller), origin, claim),
    };
  },
  settle: (
    outcome: OutcomeOf<typeof preloadAvatar>,
    { db, dependencies: { realtime } }: Attempt<PrepareCall>,
  ): Settled<PreparedCall> => {
    switch (outcome.kind) {
      case "not_found":
        throw notFound();
      case "not_ready":
        throw avatarNotReady(outcome.avatarStatus);
      case "written":
        realtime?.waitingWorkers(db).look();
        return { kind: "written" };
      case "stale":
        return { kind: "stale" };
      case "replayed":
        return outcome;
    }
  },
};

export const preloadRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "preloads", prefix: "/api/v1/realtime" })
    .use(authentication(dependencies))
    .post("/prepare", ({ write }) => execute(write, PREPARE_CALL), {
      scope: "realtime:write",
      detail: OPERATIONS.prepareCall,
    });
