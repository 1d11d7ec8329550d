/** The turns of programs in a call, with the states that its worker reports. */
import { isTurnOver } from "@realtime-avatar/domain/calls/turns";
import { MAX_LISTED_TURNS, type ReportedCall, type ReportedTurn } from "@realtime-avatar/domain/calls/worker-sync";
import type { ProgramTurn } from "../conversation/speaking/program-turns.ts";

/** Number of reported turns that are remembered, so that none is said again. */
const MAX_REPORTED = 64;

export type Turns = {
  /** Sends new turns to the process of the call. Returns whether there were any. */
  take(turns: readonly ProgramTurn[]): boolean;
  /** The process reports the state of a turn. */
  update(turn: ReportedTurn): void;
  /** The process has ended. Its turns may have been heard, so they fail and are not said again. */
  fail(): void;
  report(): Pick<ReportedCall, "turns">;
  /** The service has acknowledged these reports. */
  answered(turns: readonly ReportedTurn[]): void;
};

/** `send`: sends to the process of the call. `onChange`: called when the status of a turn changes. */
export const createTurns = (send: (turns: ProgramTurn[]) => void, onChange: () => void): Turns => {
  const turns = new Map<string, ReportedTurn>();
  const reported = new Set<string>();

  const update = (turn: ReportedTurn): void => {
    const known = turns.get(turn.turn_id);
    // The process decodes untrusted data. Its reports count only for turns that it got, and only for later states.
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
