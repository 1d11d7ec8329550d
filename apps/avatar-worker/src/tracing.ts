/** The spans of calls in an avatar worker. Each has the id of the session, by which the spans of one call are found. */
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import type { AssignedCall, ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { timeOfId } from "@realtime-avatar/domain/id";
import type { Tracing } from "@realtime-avatar/runtime/tracing";
import { TURN_STAGES, type TurnTimings, totalOf } from "./conversation/timings/turn-timings.ts";

type CallId = Pick<AssignedCall, "session_id" | "generation">;

export type CallTraces = {
  /** Both sides are present: the span from the start of the call until now. */
  joined(call: CallId): void;
  /** The first sound of an answer was handed on, or its turn has ended without one: a span of the turn, with one for each stage. */
  turnTimed(call: CallId, timings: TurnTimings): void;
  /** The worker has left the call: the span since both were present, or since the start if they never were. */
  left(call: CallId, reason: EndReason | "left"): void;
  /** The service has answered, or not, a sync that was sent at `sentAt`: a span for each call whose state is new in it. */
  synced(calls: readonly ReportedCall[], sentAt: number, hasFailed: boolean): void;
};

export const traceCalls = ({ record, recordStages }: Pick<Tracing, "record" | "recordStages">): CallTraces => {
  const keyOf = ({ session_id, generation }: CallId): string => `${session_id} ${generation}`;
  const idOf = ({ session_id, generation }: CallId) => ({ session_id, generation });
  /** The last report of each call that the service has answered. */
  let answered = new Map<string, string>();
  /** When both sides were present, in milliseconds since 1970. */
  const joinTimes = new Map<string, number>();
  return {
    // A call that another worker had before was joined there.
    joined: (call) => {
      joinTimes.set(keyOf(call), Date.now());
      if (call.generation === 1) record("call_join", timeOfId(call.session_id), idOf(call));
    },
    turnTimed: (call, timings) => {
      // The sound is on its way when it is told of.
      const startTime = Date.now() - (totalOf(timings) - (timings.heard ?? 0));
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
