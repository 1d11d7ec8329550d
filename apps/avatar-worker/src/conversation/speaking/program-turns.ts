/**
 * The turns that a program sends into a call: chooses the next one, and reports the state of each. It has no clock:
 * `step` must be called often.
 */
import { HEARD } from "@realtime-avatar/domain/calls/turns";
import type { AssignedTurn, ReportedTurn } from "@realtime-avatar/domain/calls/worker-sync";
import type { Turn } from "../conversation.ts";
import type { Text } from "./speaking.ts";

export type ProgramTurn = Pick<AssignedTurn, "turn_id" | "kind" | "text" | "instructions" | "interrupt">;

export type ProgramTurnsParts = {
  /** Whether the person is present and both sides are silent. */
  isFree(): boolean;
  say(text: Text): void;
  /** Answers a turn. null: no language model is configured, and the avatar only says fixed texts. */
  take: ((turn: Turn) => void) | null;
  /** Interrupts the avatar. */
  interrupt(): void;
  onProgress(turn: ReportedTurn): void;
};

export type ProgramTurns = {
  take(turns: readonly ProgramTurn[]): void;
  step(): void;
  /** Stops saying turns. */
  stop(): void;
};

/** The heard words, cut to their limit. */
const toHeard = (text: string | null): string | null =>
  text && [...text.toWellFormed().replaceAll("\0", "")].slice(0, HEARD.maxLength).join("");

export const createProgramTurns = (parts: ProgramTurnsParts): ProgramTurns => {
  let waiting: ProgramTurn[] = [];

  const report = ({ turn_id }: ProgramTurn, status: ReportedTurn["status"], heard: string | null = null): void =>
    parts.onProgress({ turn_id, status, heard: toHeard(heard) });
  const drop = (): void => {
    const dropped = waiting;
    waiting = [];
    for (const turn of dropped) report(turn, "dropped");
  };
  const step = (): void => {
    const next = parts.isFree() ? waiting.shift() : undefined;
    if (next === undefined) return;
    const text: Text = { text: next.text ?? "", onProgress: (status, heard) => report(next, status, heard) };
    if (next.kind === "say") parts.say(text);
    else parts.take?.({ ...text, instructions: next.instructions ?? undefined });
  };
  const takeOne = (turn: ProgramTurn): void => {
    if (turn.interrupt) {
      drop();
      parts.interrupt();
    }
    if (turn.kind === "interrupt") report(turn, "said");
    else if (turn.kind === "answer" && parts.take === null) report(turn, "failed");
    else waiting.push(turn);
    // A turn does not interrupt the person.
    step();
  };
  return {
    take: (turns) => {
      for (const turn of turns) takeOne(turn);
    },
    step,
    stop: drop,
  };
};
