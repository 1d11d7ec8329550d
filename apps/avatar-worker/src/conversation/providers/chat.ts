/** The answer of a language model: `POST /chat/completions` with `stream`, which sends events (SSE). */
import { OPENAI } from "@realtime-avatar/speech/settings";
import type { Endpoint } from "../settings.ts";
import { ProviderError } from "./errors.ts";
import { type RequestLimits, requestBytes } from "./request.ts";

export type Message = { role: "system" | "user" | "assistant"; content: string };

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

type Choice = { delta?: { content?: unknown } | null; finish_reason?: unknown };

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

const requestBody = ({ url, model }: Endpoint, messages: readonly Message[], maxTokens: number): string =>
  JSON.stringify({
    model,
    messages,
    stream: true,
    // OpenAI's newest models know only the new name, and most other servers only the old one.
    ...(url === OPENAI.url ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens }),
  });

export type ChatOptions = { maxTokens: number; signal: AbortSignal; limits?: RequestLimits };

/**
 * The answer to `messages`, piece by piece, at most `MAX_ANSWER_LENGTH` UTF-16 units. Throws a `ProviderError`, also when the answer
 * breaks off, or the reason of `signal` when it is aborted.
 */
export async function* askModel(
  endpoint: Endpoint,
  messages: readonly Message[],
  { maxTokens, signal, limits = CHAT_LIMITS }: ChatOptions,
): AsyncGenerator<string> {
  const body = requestBody(endpoint, messages, maxTokens);
  const bytes = requestBytes({ provider: "llm", endpoint, path: "/chat/completions", body, limits, signal });
  let lengthLeft = MAX_ANSWER_LENGTH;
  let isFinished = false;
  for await (const line of readLines(bytes)) {
    if (!line.startsWith("data:")) continue;
    const data = line.slice("data:".length).trim();
    if (data === "[DONE]") return;
    const choice = readChoice(data);
    if (choice?.finish_reason) isFinished = true;
    const content = choice?.delta?.content;
    if (typeof content !== "string" || content === "") continue;
    yield content.slice(0, lengthLeft).toWellFormed();
    lengthLeft -= content.length;
    if (lengthLeft <= 0) return;
  }
  if (!isFinished) throw malformed();
}
