/** The answer of a language model: `POST /chat/completions` with `stream`, which sends events (SSE). */

import type { Endpoint } from "@realtime-avatar/runtime/providers/endpoints";
import { OPENAI } from "@realtime-avatar/speech/settings";
import { ProviderError } from "./errors.ts";
import { type RequestLimits, requestBytes } from "./request.ts";
import { createToolCalls, type ToolOffer } from "./tool-calls.ts";

/** A call of a tool in a message of the model, which is sent back to it with the result. */
type MessageCall = { id: string; type: "function"; function: { name: string; arguments: string } };

export type Message =
  | { role: "system" | "user" | "assistant"; content: string }
  | { role: "assistant"; content: string; tool_calls: readonly MessageCall[] }
  | { role: "tool"; content: string; tool_call_id: string };

/** Longer answers end here: four minutes of speech. */
export const MAX_ANSWER_LENGTH = 4000;
const MAX_LINE_LENGTH = 64 * 1024;
/** Each token is an event of some 300 bytes. Models that think send their thoughts as well. */
export const CHAT_LIMITS: RequestLimits = { waitMs: 15_000, totalMs: 120_000, maxBytes: 4 * 1024 * 1024 };

const malformed = (): ProviderError => new ProviderError("llm", "malformed");

/** The lines of a body. Throws for bytes that are not UTF-8, and for a line that is too long. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
    } catch {
      throw malformed();
    }
  };
  let rest = "";
  for await (const bytes of body) {
    const lines = (rest + decode(bytes)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE_LENGTH) throw malformed();
    yield* lines;
  }
  yield rest + decode();
}

type Choice = { delta?: { content?: unknown; tool_calls?: unknown } | null; finish_reason?: unknown };

/** The first choice of an event; null for an event without one, such as that with the usage. */
const readChoice = (data: string): Choice | null => {
  let event: { choices?: unknown } | null;
  try {
    event = JSON.parse(data);
  } catch {
    throw malformed();
  }
  // An error that the model sends in place of an event has no choices.
  if (!Array.isArray(event?.choices)) throw malformed();
  const [choice = null] = event.choices;
  return choice;
};

const NO_OFFER: ToolOffer = { tools: [], onCalls: () => {} };

const requestBody = (
  { url, model }: Endpoint,
  messages: readonly Message[],
  { maxTokens, offer: { tools } = NO_OFFER }: ChatOptions,
): string =>
  JSON.stringify({
    model,
    messages,
    stream: true,
    // Some servers refuse an empty list.
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: "function", function: tool })) }),
    // OpenAI's newest models know only the new name, and most other servers only the old one.
    ...(url === OPENAI.url ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens }),
  });

export type ChatOptions = {
  maxTokens: number;
  signal: AbortSignal;
  /** The tools that the model may call. */
  offer?: ToolOffer;
  limits?: RequestLimits;
};

/**
 * The answer to `messages`, piece by piece, at most `MAX_ANSWER_LENGTH` UTF-16 units. Throws a `ProviderError`, also when the answer
 * breaks off, or the reason of `signal` when it is aborted.
 */
export async function* askModel(
  endpoint: Endpoint,
  messages: readonly Message[],
  options: ChatOptions,
): AsyncGenerator<string> {
  const { signal, offer = NO_OFFER, limits = CHAT_LIMITS } = options;
  const body = requestBody(endpoint, messages, options);
  const bytes = requestBytes({ provider: "llm", endpoint, path: "/chat/completions", body, limits, signal });
  const calls = createToolCalls();
  let lengthLeft = MAX_ANSWER_LENGTH;
  let isFinished = false;
  for await (const line of readLines(bytes)) {
    if (!line.startsWith("data:")) continue;
    const data = line.slice("data:".length).trim();
    if (data === "[DONE]") {
      isFinished = true;
      break;
    }
    const choice = readChoice(data);
    if (choice?.finish_reason) isFinished = true;
    calls.push(choice?.delta?.tool_calls);
    const content = choice?.delta?.content;
    if (typeof content !== "string" || content === "") continue;
    yield content.slice(0, lengthLeft).toWellFormed();
    lengthLeft -= content.length;
    if (lengthLeft <= 0) return;
  }
  if (!isFinished) throw malformed();
  const asked = calls.read();
  if (asked.length > 0) offer.onCalls(asked);
}
