/** `/api/v1/realtime/turns` and `/interrupt`: a program controls the speech of the avatar in a running call. */
import { createTurn, findTurn } from "@realtime-avatar/db/calls/turns";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import {
  CreateTurn,
  InterruptCall,
  InterruptedCall,
  presentTurn,
  Turn,
  turnErrors,
  turnRefused,
} from "@realtime-avatar/domain/calls/turns";
import { isId, newId } from "@realtime-avatar/domain/id";
import { notFound } from "@realtime-avatar/domain/problem";
import { spokenText } from "@realtime-avatar/speech/text";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { operations } from "../http/operation.ts";
import { requireKey } from "../http/person.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf, type Settled } from "../http/write.ts";
import { requireRealtime } from "./realtime.ts";

const PROBLEMS = ["not_found", "call_not_running", "conversation_not_configured", "realtime_not_configured"] as const;

const OPERATIONS = operations({
  createTurn: {
    summary: "Have the avatar say a text",
    description:
      "The call belongs to the calling key or to a descendant, and is running. With `say`, its avatar says the text. With `answer`, it answers the text as if the person had said it. Before the person joins, turns wait. At most 8 turns of a call wait. A turn is said at most once: when its avatar worker is lost, the turn fails.",
    body: CreateTurn,
    success: { status: 202, description: "The turn is waiting.", schema: Turn },
    problems: [...PROBLEMS, "too_many_turns"],
  },
  getTurn: {
    summary: "Read a turn",
    description:
      "Returns a turn of a call of the calling key or of a descendant, until an hour after it is over. `heard` contains the heard words.",
    success: { status: 200, description: "The turn.", schema: Turn },
  },
  interruptCall: {
    summary: "Interrupt a call",
    description: "Interrupts the avatar, and drops waiting turns. Later turns are said.",
    body: InterruptCall,
    success: { status: 202, description: "The interruption was accepted.", schema: InterruptedCall },
    problems: PROBLEMS,
  },
});

const TURN = { schema: Turn, toText: JSON.stringify };
const INTERRUPTED_CALL = { schema: InterruptedCall, toText: JSON.stringify };

/** The response to a write of a turn or of an interruption. */
const settle = (
  outcome: OutcomeOf<typeof createTurn>,
  { db, dependencies: { realtime } }: Attempt<unknown>,
): Settled<never> => {
  switch (outcome.kind) {
    case "not_found":
      throw notFound();
    case "refused":
      throw turnRefused(outcome.why);
    case "written":
      realtime?.waitingWorkers(db).look();
      return { kind: "written" };
    case "stale":
      return { kind: "stale" };
    case "replayed":
      return outcome;
  }
};

const CREATE_TURN = {
  body: CreateTurn,
  representation: TURN,
  errorsOf: (turn: CreateTurn) => turnErrors(turn, spokenText(turn.text)),
  plan: ({ db, body, caller, origin, dependencies }: Attempt<CreateTurn>) => {
    requireRealtime(dependencies);
    const { session_id: sessionId, kind, text, instructions = null, interrupt = true } = body;
    if (!isId("ses", sessionId)) throw notFound();
    const turn = { id: newId("trn", origin.now, origin.random), sessionId, kind };
    const queued = presentTurn({ ...turn, status: "queued", heard: null, createdAt: origin.now });
    return {
      response: { status: 202 as const, version: 1, body: queued },
      write: (claim: Claim | null) =>
        createTurn(db, { ...turn, text, instructions, interrupt }, requireKey(caller), origin, claim),
    };
  },
  settle,
};

const INTERRUPT_CALL = {
  body: InterruptCall,
  representation: INTERRUPTED_CALL,
  plan: ({ db, body: { session_id: sessionId }, caller, origin, dependencies }: Attempt<InterruptCall>) => {
    requireRealtime(dependencies);
    if (!isId("ses", sessionId)) throw notFound();
    const id = newId("trn", origin.now, origin.random);
    const interruption = { id, sessionId, kind: "interrupt" as const, text: null, instructions: null, interrupt: true };
    return {
      response: { status: 202 as const, version: null, body: { session_id: sessionId } },
      write: (claim: Claim | null) => createTurn(db, interruption, requireKey(caller), origin, claim),
    };
  },
  settle,
};

export const turnRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "turns", prefix: "/api/v1/realtime" })
    .use(authentication(dependencies))
    .post("/turns", ({ write }) => execute(write, CREATE_TURN), {
      scope: "realtime:write",
      detail: OPERATIONS.createTurn,
    })
    .get(
      "/turns/:id",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const turn = isId("trn", id) ? await findTurn(db, requireKey(caller), id) : null;
        if (!turn) throw notFound();
        return sendResource(TURN, presentTurn(turn), turn, set);
      },
      { scope: "realtime:write", detail: OPERATIONS.getTurn },
    )
    .post("/interrupt", ({ write }) => execute(write, INTERRUPT_CALL), {
      scope: "realtime:write",
      detail: OPERATIONS.interruptCall,
    });
