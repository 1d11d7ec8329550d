/**
 * Early requests: asks the language model in the silence that may end a turn, before the end is certain. The answer is
 * used if the model would get the same messages at the end of the turn. Otherwise it is dropped.
 */
import type { Ask } from "../ask-with-tools.ts";
import { readAhead } from "../read-ahead.ts";
import { MAX_ANSWER_LENGTH, type Message } from "./chat.ts";

/** Maximum number of unused early requests in a row. It limits the cost of a person who pauses endlessly. */
const MAX_UNUSED = 3;

type Early = {
  key: string;
  stop: AbortController;
  answer: AsyncGenerator<string>;
  first: Promise<IteratorResult<string>>;
};

export type EarlyAsk = {
  /** Begins an early request without tools. An earlier one is dropped. */
  begin(messages: readonly Message[]): void;
  /** Drops the early request, because the person continues. */
  drop(): void;
  ask: Ask;
};

async function* limitLength(answer: AsyncGenerator<string>): AsyncGenerator<string> {
  let length = 0;
  for await (const part of answer) {
    yield part;
    length += part.length;
    if (length >= MAX_ANSWER_LENGTH) return;
  }
}

export const createEarlyAsk = (ask: Ask): EarlyAsk => {
  let early: Early | null = null;
  let unused = 0;
  const keyOf = (messages: readonly Message[]): string => JSON.stringify(messages);
  const drop = (): void => {
    early?.stop.abort();
    early = null;
  };
  async function* use({ stop, answer, first }: Early, signal: AbortSignal): AsyncGenerator<string> {
    const abort = (): void => stop.abort(signal.reason);
    signal.addEventListener("abort", abort);
    try {
      signal.throwIfAborted();
      const { done, value } = await first;
      if (done) return;
      yield value;
      yield* answer;
    } finally {
      signal.removeEventListener("abort", abort);
      stop.abort();
    }
  }
  return {
    begin: (messages) => {
      drop();
      if (unused >= MAX_UNUSED) return;
      unused++;
      const stop = new AbortController();
      const answer = readAhead(limitLength(ask(messages, stop.signal, { tools: [], onCalls: () => {} })));
      const first = answer.next();
      // The failure of an unused answer is ignored.
      first.catch(() => {});
      early = { key: keyOf(messages), stop, answer, first };
    },
    drop,
    ask: (messages, signal, offer) => {
      const begun = early;
      const isSame = begun?.key === keyOf(messages) && offer.tools.length === 0;
      if (isSame) early = null;
      drop();
      unused = 0;
      return begun && isSame ? use(begun, signal) : ask(messages, signal, offer);
    },
  };
};
