/** What the conversation of a call has used, as the worker reports it to the service. */
import { type AssignedCall, ConversationUsage, type ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { type Budget, tokensOf } from "../conversation/usage-meter.ts";

const FIELDS = Object.keys(ConversationUsage.properties) as (keyof ConversationUsage)[];
/** How often the usage of a call is reported while its conversation does not wait for that: each report is a write of the service. */
const REPORT_MS = 10_000;

/** `conversation`: null when the call has none. `now`: in milliseconds. */
type UsageParts = {
  conversation: object | null;
  watcher: { used(growth: ConversationUsage): void } | null;
  now?: () => number;
};

export const createUsageRecord = (
  { usage: before, tokens_left }: AssignedCall,
  { conversation, watcher, now = () => performance.now() }: UsageParts,
) => {
  let current = before ?? null;
  let reported = current;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let left = tokens_left;
  return {
    report: (): Pick<ReportedCall, "usage"> => (reported && conversation ? { usage: reported } : {}),
    /** As a new process gets the call: it goes on from what earlier ones have used. */
    assigned: (call: AssignedCall): AssignedCall => ({
      ...call,
      ...(current && { usage: current }),
      ...(left !== undefined && { tokens_left: left }),
    }),
    /** Takes what the service says of the tokens; null: there is no limit. `tell`: tells the conversation, unless it has had no limit. */
    setBudget: (budget: Budget | null, tell: (budget: Budget) => void): void => {
      if (budget === null && left === undefined) return;
      const next = budget ?? { used: tokensOf(current), left: Number.MAX_SAFE_INTEGER };
      left = next.left;
      tell(next);
    },
    /**
     * Takes what the process has told: it cannot lower it. Returns whether the service is to learn of it at once, because the
     * conversation waits for that. `isLast`: the call has ended.
     */
    update: (used: ConversationUsage | undefined, isLast: boolean): boolean => {
      const last = current;
      if (used !== undefined) {
        const growths = FIELDS.map((field) => [field, Math.max(used[field] - (last?.[field] ?? 0), 0)] as const);
        const growth = Object.fromEntries(growths) as ConversationUsage;
        current = Object.fromEntries(
          growths.map(([field, by]) => [field, (last?.[field] ?? 0) + by]),
        ) as ConversationUsage;
        if (growths.some(([, by]) => by > 0)) watcher?.used(growth);
      }
      const isAwaited = left !== undefined && tokensOf(current) > tokensOf(last);
      if (isLast || isAwaited || now() - reportedAt >= REPORT_MS) [reported, reportedAt] = [current, now()];
      return isAwaited;
    },
  };
};
