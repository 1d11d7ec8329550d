/** The usage of a call's conversation, as the worker reports it to the service. */
import { type AssignedCall, ConversationUsage, type ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { type Budget, countTokens } from "../conversation/usage-meter.ts";

const FIELDS = Object.keys(ConversationUsage.properties) as (keyof ConversationUsage)[];
/** How often usage is reported while the conversation does not wait for it. Each report is a write of the service. */
const REPORT_MS = 10_000;

/** `conversation`: null when the call has no conversation. `now`: in milliseconds. */
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
    /** The call for a new process, which continues from the usage of earlier ones. */
    assigned: (call: AssignedCall): AssignedCall => ({
      ...call,
      ...(current && { usage: current }),
      ...(left !== undefined && { tokens_left: left }),
    }),
    /**
     * Takes the token budget from the service; null: no limit applies. `tell`: tells the conversation, unless it never
     * had a limit.
     */
    setBudget: (budget: Budget | null, tell: (budget: Budget) => void): void => {
      if (budget === null && left === undefined) return;
      const next = budget ?? { used: countTokens(current), left: Number.MAX_SAFE_INTEGER };
      left = next.left;
      tell(next);
    },
    /**
     * Takes a report of the process, which cannot lower the usage. Returns whether the service must get it at once,
     * because the conversation waits for it. `isLast`: the call has ended.
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
      const isAwaited = left !== undefined && countTokens(current) > countTokens(last);
      if (isLast || isAwaited || now() - reportedAt >= REPORT_MS) [reported, reportedAt] = [current, now()];
      return isAwaited;
    },
  };
};
