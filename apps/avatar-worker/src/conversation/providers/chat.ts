/** The answer of a language model: `POST /chat/completions` with `stream`. The response is a stream of events (SSE). */

import type { Endpoint } from "@realtime-avatar/runtime/providers/endpoints";
import { OPENAI } from "@realtime-avatar/speech/settings";
import { ProviderError } from "./errors.ts";
import { type RequestLimits, requestBytes } from "./request.ts";
import { createToolCalls, type ToolOffer } from "./tool-calls.ts";

/** A tool call in a message of the model. It is sent back together with the result. */
type MessageCall = { id: string; type: "function"; function: { name: string; arguments: string } };

export type Message =
  | { role: "system" | "user" | "assistant"; content: string }
  | { role: "assistant"; content: string; tool_calls: readonly MessageCall[] }
  | { role: "tool"; content: string; tool_call_id: string };

/** Longer answers are cut at this length: four minutes of speech. */
export const MAX_ANSWER_LENGTH = 4000;
const MAX_LINE_LENGTH = 64 * 1024;
/** Each token is an event of about 300 bytes. Reasoning models also send their thoughts. */
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

/** `isEstimated`: the server has not reported the tokens. */
export type Tokens = { input: number; output: number; isEstimated: boolean };

const MAX_TOKENS_OF_REQUEST = 10_000_000;
const CHARACTERS_OF_TOKEN = 4;
const isTokens = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS_OF_REQUEST;

/** The tokens of an event; null when it reports none. */
const readTokens = (usage: unknown): Tokens | null => {
  const { prompt_tokens: input, completion_tokens: output } = (usage ?? {}) as Record<string, unknown>;
  return isTokens(input) && isTokens(output) ? { input, output, isEstimated: false } : null;
};

/** The tokens of texts of these lengths, in UTF-16 units. */
const estimateTokens = (inputLength: number, outputLength: number): Tokens => ({
  input: Math.ceil(inputLength / CHARACTERS_OF_TOKEN),
  output: Math.ceil(outputLength / CHARACTERS_OF_TOKEN),
  isEstimated: true,
});

/** Reads an event: its first choice and its usage, each null when it is missing. Usage often comes in a separate event. */
const readEvent = (data: string): { choice: Choice | null; tokens: Tokens | null } => {
  let event: { choices?: unknown; usage?: unknown } | null;
  try {
    event = JSON.parse(data);
  } catch {
    throw malformed();
  }
  // An error event has no choices.
  if (!Array.isArray(event?.choices)) throw malformed();
  const [choice = null] = event.choices;
  return { choice, tokens: readTokens(event.usage) };
};

const NO_OFFER: ToolOffer = { tools: [], onCalls: () => {} };

const requestBody = (
  { url, model }: Endpoint,
  messages: readonly Message[],
  { maxTokens, offer: { tools } = NO_OFFER }: ChatOptions,
  includesUsage: boolean,
): string =>
  JSON.stringify({
    model,
    messages,
    stream: true,
    ...(includesUsage && { stream_options: { include_usage: true } }),
    // Some servers refuse an empty list.
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: "function", function: tool })) }),
    // OpenAI's newest models accept only the new name, and most other servers only the old one.
    ...(url === OPENAI.url ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens }),
  });

export type ChatOptions = {
  maxTokens: number;
  signal: AbortSignal;
  /** The tools that the model may call. */
  offer?: ToolOffer;
  /** Called once at the end of a request that the server has accepted, also when it fails or is aborted. */
  onTokens?: (tokens: Tokens) => void;
  limits?: RequestLimits;
};

/** URLs of servers that refuse requests with the option for usage. */
const withoutUsage = new Set<string>();

/** The response to a request with the option for usage. A server that refuses it is asked again without the option. */
async function* requestAnswer(
  endpoint: Endpoint,
  messages: readonly Message[],
  options: ChatOptions,
): AsyncGenerator<Uint8Array> {
  const { signal, limits = CHAT_LIMITS } = options;
  const request = (includesUsage: boolean): AsyncGenerator<Uint8Array> => {
    const body = requestBody(endpoint, messages, options, includesUsage);
    return requestBytes({ provider: "llm", endpoint, path: "/chat/completions", body, limits, signal });
  };
  const { url } = endpoint;
  if (withoutUsage.has(url)) return yield* request(false);
  try {
    yield* request(true);
  } catch (error) {
    // A server refuses before the first byte.
    if (!(error instanceof ProviderError && error.isBadRequest)) throw error;
    for await (const bytes of request(false)) {
      withoutUsage.add(url);
      yield bytes;
    }
  }
}

/** The usage of a request so far. `hasBegun`: the response has begun. */
type Used = { tokens: Tokens | null; outputLength: number; hasBegun: boolean };

/** Reads the answer of a response, and records its tokens in `used`. */
async function* readAnswer(
  bytes: AsyncIterable<Uint8Array>,
  { onCalls }: ToolOffer,
  used: Used,
): AsyncGenerator<string> {
  const calls = createToolCalls();
  let lengthLeft = MAX_ANSWER_LENGTH;
  let isFinished = false;
  for await (const line of readLines(bytes)) {
    used.hasBegun = true;
    if (!line.startsWith("data:")) continue;
    const data = line.slice("data:".length).trim();
    if (data === "[DONE]") {
      isFinished = true;
      break;
    }
    const { choice, tokens } = readEvent(data);
    used.tokens = tokens ?? used.tokens;
    if (choice?.finish_reason) isFinished = true;
    calls.push(choice?.delta?.tool_calls);
    const content = choice?.delta?.content;
    if (typeof content !== "string" || content === "") continue;
    used.outputLength += content.length;
    yield content.slice(0, lengthLeft).toWellFormed();
    lengthLeft -= content.length;
    if (lengthLeft <= 0) return;
  }
  if (!isFinished) throw malformed();
  const asked = calls.read();
  if (asked.length > 0) onCalls(asked);
}

/**
 * The answer to `messages`, piece by piece, at most `MAX_ANSWER_LENGTH` UTF-16 units. Throws a `ProviderError`, also
 * when the answer breaks off. Throws the reason of `signal` when it is aborted.
 */
export async function* askModel(
  endpoint: Endpoint,
  messages: readonly Message[],
  options: ChatOptions,
): AsyncGenerator<string> {
  const used: Used = { tokens: null, outputLength: 0, hasBegun: false };
  try {
    yield* readAnswer(requestAnswer(endpoint, messages, options), options.offer ?? NO_OFFER, used);
  } finally {
    // The server has read the request even if the answer is interrupted, so the tokens of the request count.
    if (used.hasBegun || options.signal.aborted) {
      options.onTokens?.(used.tokens ?? estimateTokens(JSON.stringify(messages).length, used.outputLength));
    }
  }
}
