/**
 * Asks the language model for the answer to a turn that may be over, while the silence that ends it passes. The answer is used if the
 * model would be asked the same when the turn ends, and dropped otherwise.
 */
import type { Ask } from "../ask-with-tools.ts";
import { readAhead } from "../read-ahead.ts";
import { MAX_ANSWER_LENGTH, type Message } from "./chat.ts";

/** Early requests until one is used: a person who pauses without end costs no more. */
const MAX_UNUSED = 3;

type Early = {
  key: string;
  stop: AbortController;
  answer: AsyncGenerator<string>;
  first: Promise<IteratorResult<string>>;
};

export type EarlyAsk = {
  /** Begins to ask, without tools. An answer that was begun before is dropped. */
  begin(messages: readonly Message[]): void;
  /** The person goes on. */
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
      // The failure of an answer that is not used is not told.
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
