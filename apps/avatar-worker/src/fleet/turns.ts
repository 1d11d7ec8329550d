/** The turns of programs in a call, as its worker reports them. */
import { isTurnOver } from "@realtime-avatar/domain/calls/turns";
import { MAX_LISTED_TURNS, type ReportedCall, type ReportedTurn } from "@realtime-avatar/domain/calls/worker-sync";
import type { ProgramTurn } from "../conversation/speaking/program-turns.ts";

/** How many turns that were reported are remembered, so that none is said again. */
const MAX_REPORTED = 64;

export type Turns = {
  /** Sends those that are new to the process of the call. Returns whether there are any. */
  take(turns: readonly ProgramTurn[]): boolean;
  /** The process tells what becomes of a turn. */
  update(turn: ReportedTurn): void;
  /** The process has ended: what it had may have been heard, and is not said again. */
  fail(): void;
  report(): Pick<ReportedCall, "turns">;
  /** A sync that reported these was answered. */
  answered(turns: readonly ReportedTurn[]): void;
};

/** `send`: to the process of the call. `onChange`: a turn has another status. */
export const createTurns = (send: (turns: ProgramTurn[]) => void, onChange: () => void): Turns => {
  const turns = new Map<string, ReportedTurn>();
  const reported = new Set<string>();

  const update = (turn: ReportedTurn): void => {
    const known = turns.get(turn.turn_id);
    // The process decodes what strangers send: it tells only of turns that it has got, and only forward.
    if (!known || isTurnOver(known.status) || known.status === turn.status || turn.status === "queued") return;
    turns.set(turn.turn_id, turn);
    onChange();
  };
  return {
    take: (all) => {
      const fresh = all.filter(({ turn_id }) => !turns.has(turn_id) && !reported.has(turn_id));
      for (const { turn_id } of fresh) turns.set(turn_id, { turn_id, status: "queued", heard: null });
      if (fresh.length > 0) send(fresh);
      return fresh.length > 0;
    },
    update,
    fail: () => {
      for (const { turn_id } of [...turns.values()]) update({ turn_id, status: "failed", heard: null });
    },
    report: () => (turns.size === 0 ? {} : { turns: [...turns.values()].slice(0, MAX_LISTED_TURNS) }),
    answered: (all) => {
      for (const { turn_id, status } of all) {
        if (!isTurnOver(status) || !turns.delete(turn_id)) continue;
        reported.add(turn_id);
        for (const oldest of reported) if (reported.size > MAX_REPORTED) reported.delete(oldest);
      }
    },
  };
};
