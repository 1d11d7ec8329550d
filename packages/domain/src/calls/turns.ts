/** Turns, by which a program makes the avatar of a running call speak: their rules and their representation. */
import { type Static, Type } from "@sinclair/typebox";
import type { SessionId, TurnId } from "../id.ts";
import { type FieldError, Problem, validationFailed } from "../problem.ts";
import { ClosedObject, DateTime, Nullable, OneOf, Text } from "../schema.ts";

/** `say`: these words. `answer`: as if the person had said the text. */
export const TURN_KINDS = ["say", "answer"] as const;
export type TurnKind = (typeof TURN_KINDS)[number];

/** The commands to a worker: a turn, or an interruption. */
export const COMMAND_KINDS = [...TURN_KINDS, "interrupt"] as const;
export type CommandKind = (typeof COMMAND_KINDS)[number];

/** A turn moves only forward in this list. The statuses after `speaking` are final. */
export const TURN_STATUSES = ["queued", "speaking", "said", "interrupted", "failed", "dropped"] as const;
export type TurnStatus = (typeof TURN_STATUSES)[number];

/** Whether a turn with this status is over. */
export const isTurnOver = (status: TurnStatus): boolean => status !== "queued" && status !== "speaking";

/** How many turns of a call can be `queued`. */
export const MAX_WAITING_TURNS = 8;
/** The bounds of the heard words, in code points. */
export const HEARD = { minLength: 0, maxLength: 4000 } as const;

const Id = (description?: string) => Text({ minLength: 1, maxLength: 160, ...(description && { description }) });

const text = Text({
  minLength: 1,
  maxLength: 4000,
  description: "The text to say. Markup, links and emoji are not spoken.",
});
const instructions = Text({
  minLength: 1,
  maxLength: 2000,
  description: "How to answer this turn. Only for `answer`.",
});
/** The texts of a turn, which are null in an interruption. */
export const TURN_TEXTS = { text: Nullable(text), instructions: Nullable(instructions) };

export const CreateTurn = ClosedObject({
  session_id: Id("The call."),
  kind: OneOf(TURN_KINDS, {
    description:
      "`say`: the avatar says these words. `answer`: it answers the text as if the person had said it, which needs a language model.",
  }),
  text,
  instructions: Type.Optional(instructions),
  interrupt: Type.Optional(
    Type.Boolean({
      description:
        "Default: true, which ends what the avatar is saying, and drops the turns that wait. false: the turn waits until the avatar is silent.",
    }),
  ),
});
export type CreateTurn = Static<typeof CreateTurn>;

export const Turn = ClosedObject({
  id: Id(),
  session_id: Id(),
  kind: OneOf(TURN_KINDS),
  status: OneOf(TURN_STATUSES, {
    description:
      "`queued`; `speaking`; `said`: to the end; `interrupted`: by the person, a turn, an interruption or the end of the call; `failed`: a provider or the avatar worker; `dropped`: before it began.",
  }),
  heard: Nullable(Text(HEARD), {
    description: "The words that were heard. null until the turn is over, and when they are unknown.",
  }),
  created_at: DateTime(),
});
export type Turn = Static<typeof Turn>;

export const InterruptCall = ClosedObject({ session_id: Id("The call.") });
export type InterruptCall = Static<typeof InterruptCall>;

export const InterruptedCall = ClosedObject({ session_id: Id() });
export type InterruptedCall = Static<typeof InterruptedCall>;

/** A turn as stored. */
export type TurnRecord = {
  id: TurnId;
  sessionId: SessionId;
  kind: TurnKind;
  status: TurnStatus;
  heard: string | null;
  createdAt: Date;
  /** Incremented by each change of the representation; the value of the ETag. */
  version: number;
};

/** The representation of a turn. */
export const presentTurn = ({ id, sessionId, kind, status, heard, createdAt }: Omit<TurnRecord, "version">): Turn => ({
  id,
  session_id: sessionId,
  kind,
  status,
  heard,
  created_at: createdAt.toISOString(),
});

/** The errors of a turn that its schema does not find. `spoken`: the spoken part of the text. */
export const turnErrors = (turn: CreateTurn, spoken: string): FieldError[] => {
  const errors: FieldError[] = [];
  if (spoken === "") {
    const detail = "Nothing of the text can be spoken. Write words, not only markup, links or emoji.";
    errors.push({ pointer: "#/text", code: "nothing_to_say", detail });
  }
  if (turn.kind === "say" && turn.instructions !== undefined) {
    const detail = "Is only for the kind `answer`: no language model reads what the avatar is to say.";
    errors.push({ pointer: "#/instructions", code: "not_allowed", detail });
  }
  return errors;
};

/**
 * The reasons why a call refuses a turn. `agent`: an agent speaks in it. `old_worker`, `no_model`: its avatar worker
 * cannot do the turn.
 */
export const TURN_REFUSALS = ["call_not_running", "agent", "old_worker", "no_model", "too_many"] as const;
export type TurnRefusal = (typeof TURN_REFUSALS)[number];

/** The problem of a turn, or of an interruption, that the call refuses. */
export const turnRefused = (why: TurnRefusal): Problem => {
  switch (why) {
    case "call_not_running":
      return new Problem("call_not_running", "The call has ended. Start another one.");
    case "agent":
      return validationFailed([
        {
          pointer: "#/session_id",
          code: "not_supported",
          detail: "The avatar of this call speaks with the voice of an agent. Have the agent say it.",
        },
      ]);
    case "old_worker":
      return new Problem(
        "conversation_not_configured",
        "The avatar worker of the call is of an older release, which takes no turns. Its operator upgrades it.",
      );
    case "no_model":
      return new Problem(
        "conversation_not_configured",
        "The avatar worker of the call has no language model. Its operator sets OPENAI_API_KEY or LLM_URL. A turn of the kind `say` needs none.",
      );
    case "too_many":
      return new Problem(
        "too_many_turns",
        `${MAX_WAITING_TURNS} turns of the call wait. Wait until one of them was said, or interrupt the call.`,
        { retryable: true },
      );
  }
};
