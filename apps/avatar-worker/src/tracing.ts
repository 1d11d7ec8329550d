/** The spans of calls in an avatar worker. Each has the id of the session, which connects the spans of one call. */
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import type { AssignedCall, ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { timeOfId } from "@realtime-avatar/domain/id";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import { TURN_STAGES, type TurnTimings, totalMs } from "./conversation/timings/turn-timings.ts";

type CallId = Pick<AssignedCall, "session_id" | "generation">;

export type CallTraces = {
  /** Both sides are present. Writes the span from the start of the call until now. */
  joined(call: CallId): void;
  /**
   * The first sound of an answer is queued, or its turn has ended without sound. Writes a span of the turn, with a
   * child for each stage.
   */
  turnTimed(call: CallId, timings: TurnTimings): void;
  /**
   * The worker has left the call. Writes the span since both sides were present, or since the start if they never were.
   */
  left(call: CallId, reason: EndReason | "left"): void;
  /** A sync that was sent at `sentAt` has succeeded or failed. Writes a span for each call whose state is new in it. */
  synced(calls: readonly ReportedCall[], sentAt: number, hasFailed: boolean): void;
};

export const traceCalls = ({ record, recordStages }: Pick<Tracing, "record" | "recordStages">): CallTraces => {
  const keyOf = ({ session_id, generation }: CallId): string => `${session_id} ${generation}`;
  const idOf = ({ session_id, generation }: CallId) => ({ session_id, generation });
  /** The last acknowledged report of each call. */
  let answered = new Map<string, string>();
  /** When both sides were present, in milliseconds since 1970. */
  const joinTimes = new Map<string, number>();
  return {
    // A call that came from another worker was joined there.
    joined: (call) => {
      joinTimes.set(keyOf(call), Date.now());
      if (call.generation === 1) record("call_join", timeOfId(call.session_id), idOf(call));
    },
    turnTimed: (call, timings) => {
      // The first sound is reported while it travels to the person.
      const startTime = Date.now() - (totalMs(timings) - (timings.heard ?? 0));
      const stages = TURN_STAGES.flatMap((name) => {
        const milliseconds = timings[name];
        return milliseconds === undefined ? [] : [{ name, milliseconds }];
      });
      recordStages("turn", startTime, idOf(call), stages);
    },
    left: (call, reason) => {
      const joinTime = joinTimes.get(keyOf(call));
      joinTimes.delete(keyOf(call));
      const attributes = { ...idOf(call), reason };
      if (joinTime === undefined) record("call_join", timeOfId(call.session_id), attributes, true);
      else record("call", joinTime, attributes, reason === "failed");
    },
    synced: (calls, sentAt, hasFailed) => {
      const sent = new Map(calls.map((call) => [call.session_id, `${call.generation} ${call.state}`]));
      for (const call of calls) {
        if (answered.get(call.session_id) === sent.get(call.session_id)) continue;
        record("call_report", sentAt, { ...idOf(call), state: call.state }, hasFailed);
      }
      if (!hasFailed) answered = sent;
    },
  };
};
