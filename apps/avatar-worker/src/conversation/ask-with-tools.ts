/** The answer of a language model that can call tools of the page before it answers. */
import type { History } from "./history.ts";
import { MAX_ANSWER_LENGTH, type Message } from "./providers/chat.ts";
import { ProviderError } from "./providers/errors.ts";
import { type Tool, type ToolCall, type ToolOffer, toolError } from "./providers/tool-calls.ts";

/** How many rounds of tool calls one answer can have. After them, the model must answer. */
export const MAX_ROUNDS = 4;
/** Bound of all results for one answer together, in UTF-16 units. */
const MAX_RESULTS_LENGTH = 16_384;

/** The tools of a page. */
export type Tools = {
  /** Empty when the page has registered no tools. */
  list(): readonly Tool[];
  /**
   * The result of a call, as text for the model. An error is such a text too. Rejects only with the reason of `signal`.
   */
  call(call: ToolCall, signal: AbortSignal): Promise<string>;
  /** Drops the tools, because the model server refuses them. */
  drop(): void;
};

/** See `askModel`. */
export type Ask = (messages: readonly Message[], signal: AbortSignal, offer: ToolOffer) => AsyncGenerator<string>;

/** `onCalls`: called when tool calls begin, and again with the results that are known. */
export type Asking = {
  ask: Ask;
  tools: Tools;
  history: History;
  system: string;
  onCalls?: (calls: readonly ToolCall[], results: ReadonlyMap<ToolCall, string>) => void;
};

/** Asks once. When the server refuses a request with tools, drops the tools and asks again without them. */
async function* askOnce(
  { ask, tools, history, system }: Asking,
  offer: ToolOffer,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const messages: Message[] = [{ role: "system", content: system }, ...history.messages()];
  try {
    yield* ask(messages, signal, offer);
  } catch (error) {
    // A server refuses before it sends any text.
    if (offer.tools.length === 0 || !(error instanceof ProviderError && error.why === "refused")) throw error;
    for await (const part of ask(messages, signal, { ...offer, tools: [] })) {
      if (tools.list() === offer.tools) tools.drop();
      yield part;
    }
  }
}

/**
 * The answer to the last message of the history, piece by piece, at most `MAX_ANSWER_LENGTH` UTF-16 units and one
 * piece. The history has each tool call as soon as it begins, before the answer. Throws a `ProviderError`, or the
 * reason of `signal` when it is aborted.
 */
export async function* askWithTools(asking: Asking, signal: AbortSignal): AsyncGenerator<string> {
  const { tools, history, onCalls: tell } = asking;
  let answerLength = 0;
  let lengthLeft = MAX_RESULTS_LENGTH;
  const fit = (result: string): string => {
    if (result.length > lengthLeft) return toolError("The results of this turn are too long.");
    lengthLeft -= result.length;
    return result;
  };
  for (let round = 0; ; round++) {
    const offered = round < MAX_ROUNDS ? tools.list() : [];
    let text = "";
    let calls: readonly ToolCall[] = [];
    const onCalls = (all: readonly ToolCall[]): void => {
      calls = all;
    };
    for await (const part of askOnce(asking, { tools: offered, onCalls }, signal)) {
      text += part;
      yield part;
      answerLength += part.length;
      if (answerLength >= MAX_ANSWER_LENGTH) return;
    }
    if (calls.length === 0 || offered.length === 0) return;
    // The avatar says the text that precedes a tool call while the tool runs.
    if (text !== "") yield "\n";
    signal.throwIfAborted();
    const setResult = history.addCalls(text, calls);
    const results = new Map<ToolCall, string>();
    tell?.(calls, results);
    try {
      await Promise.all(
        calls.map(async (call) => {
          const result = await tools.call(call, signal);
          if (signal.aborted) return;
          results.set(call, fit(result));
          setResult(call, results.get(call) ?? "");
        }),
      );
    } finally {
      if (results.size > 0) tell?.(calls, results);
    }
    signal.throwIfAborted();
  }
}
