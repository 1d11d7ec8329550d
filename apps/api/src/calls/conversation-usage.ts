/** Usage and token budgets of conversations, for avatar workers. */
import type { CallUsage, SyncResult } from "@realtime-avatar/db/calls/fleet";
import {
  type AssignedCall,
  CONVERSATION,
  type SyncRequest,
  type SyncResponse,
} from "@realtime-avatar/domain/calls/worker-sync";

const keyOf = (session: string, generation: number): string => `${session} ${generation}`;

/** The calls to start, with the earlier usage of their conversations. A call in a brought room has no conversation. */
export const withUsage = (
  start: readonly AssignedCall[],
  { usage }: Pick<SyncResult, "usage">,
  { features }: Pick<SyncRequest, "features">,
): AssignedCall[] => {
  const bySession = new Map(usage.map((one) => [one.sessionId, one]));
  return start.map((call) => {
    const used = bySession.get(call.session_id);
    if (!used || !features.includes(CONVERSATION) || call.agent_identity !== null) return call;
    return {
      ...call,
      usage: {
        ...{ input_tokens: used.inputTokens, output_tokens: used.outputTokens, estimated_tokens: used.estimatedTokens },
        ...{ heard_seconds: used.heardSeconds, spoken_characters: used.spokenCharacters },
      },
      ...(used.tokensLeft !== null && { tokens_left: used.tokensLeft }),
    };
  });
};

/** The remaining tokens of the conversations in a request; empty without a limit. */
export const presentTokens = (
  usage: readonly CallUsage[],
  { calls }: Pick<SyncRequest, "calls">,
): NonNullable<SyncResponse["tokens"]> => {
  const listed = new Set(
    calls.flatMap((call) => (call.usage === undefined ? [] : keyOf(call.session_id, call.generation))),
  );
  return usage.flatMap(({ sessionId, generation, inputTokens, outputTokens, tokensLeft: left }) =>
    left === null || !listed.has(keyOf(sessionId, generation))
      ? []
      : { session_id: sessionId, generation, used: inputTokens + outputTokens, left },
  );
};
