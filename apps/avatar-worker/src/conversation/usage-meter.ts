/** Counts the usage of a conversation, and decides whether it may ask the language model. */
import { type AssignedCall, type ConversationUsage, MAX_INTEGER } from "@realtime-avatar/domain/calls/worker-sync";
import type { Tokens } from "./providers/chat.ts";

const NOTHING: ConversationUsage = {
  ...{ input_tokens: 0, output_tokens: 0, estimated_tokens: 0 },
  ...{ heard_seconds: 0, spoken_characters: 0 },
};

/**
 * The token budget of a call: the tokens that the service has counted, and those that its tenant may still use today.
 */
export type Budget = { used: number; left: number };

/** The tenant of the call has used its tokens of the day. */
export class NoTokensLeft extends Error {
  override readonly name = "NoTokensLeft";
}

export type UsageMeter = {
  /** Usage since the start of the call, including earlier workers and processes. */
  usage(): ConversationUsage;
  addTokens(tokens: Tokens): void;
  addHeard(milliseconds: number): void;
  addSpoken(text: string): void;
  /**
   * Waits until the service has counted the usage of the call. Therefore each concurrent call exceeds the limit of the
   * day by one request at most. Throws `NoTokensLeft`, the reason of `signal`, or a `TimeoutError` after five seconds.
   * Without a limit, it returns at once.
   */
  waitForTokens(signal: AbortSignal): Promise<void>;
  /** Sets the budget that the service reports. */
  setBudget(budget: Budget): void;
};

export const countTokens = (usage: ConversationUsage | null): number =>
  usage === null ? 0 : usage.input_tokens + usage.output_tokens;

/** How long a request to the language model waits until the service has counted the earlier ones. */
const WAIT_MS = 5000;

const add = (sum: number, more: number): number => Math.min(sum + more, MAX_INTEGER);

/** The meter of a call. Its conversation continues from `usage`. `waitMs`: for tests. */
export const createUsageMeter = (
  { usage: before = NOTHING, tokens_left }: Pick<AssignedCall, "usage" | "tokens_left">,
  waitMs = WAIT_MS,
): UsageMeter => {
  let usage = before;
  let heardMs = 0;
  let budget: Budget | null = tokens_left === undefined ? null : { used: countTokens(before), left: tokens_left };
  /** Waiting requests, resolved by the next budget from the service. */
  let waiting: (() => void)[] = [];
  return {
    usage: () => usage,
    addTokens: ({ input, output, isEstimated }) => {
      usage = {
        ...usage,
        input_tokens: add(usage.input_tokens, input),
        output_tokens: add(usage.output_tokens, output),
        estimated_tokens: add(usage.estimated_tokens, isEstimated ? input + output : 0),
      };
    },
    addHeard: (milliseconds) => {
      heardMs += milliseconds;
      usage = { ...usage, heard_seconds: before.heard_seconds + Math.ceil(heardMs / 1000) };
    },
    addSpoken: (text) => {
      usage = { ...usage, spoken_characters: usage.spoken_characters + [...text].length };
    },
    waitForTokens: async (signal) => {
      if (budget === null) return;
      const ended = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
      const aborted = new Promise<never>((_, reject) => {
        ended.addEventListener("abort", () => reject(ended.reason), { once: true });
      });
      aborted.catch(() => {});
      while (budget.used < countTokens(usage)) {
        ended.throwIfAborted();
        await Promise.race([new Promise<void>((resolve) => waiting.push(resolve)), aborted]);
      }
      if (budget.left <= 0) throw new NoTokensLeft();
    },
    setBudget: (next) => {
      if (budget === null) return;
      budget = next;
      const told = waiting;
      waiting = [];
      for (const tell of told) tell();
    },
  };
};
