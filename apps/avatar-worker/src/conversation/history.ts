/** The messages of both sides that are sent to the language model. */
import type { Message } from "./providers/chat.ts";

/** Older messages are dropped. */
const MAX_MESSAGES = 48;
/** In UTF-16 units, of what was said, and of the system messages of the start. */
const MAX_LENGTH = 24_000;

export type History = {
  /** Adds what one side has said. Of an answer that was interrupted: the words that were heard. */
  add(role: "user" | "assistant", text: string): void;
  /** The last thing that was said; null in a new call. */
  last(): Message | null;
  /** All that the model is told, the newest last. */
  messages(): readonly Message[];
};

/** The last of `messages` that fit into `MAX_LENGTH`, in their order. */
const newest = (messages: readonly Message[]): Message[] => {
  let lengthLeft = MAX_LENGTH;
  const first = messages.findLastIndex(({ content }) => {
    lengthLeft -= content.length;
    return lengthLeft < 0;
  });
  return messages.slice(first + 1);
};

/** `context`: the `initial_context` of the start. Its system messages are not forgotten. */
export const createHistory = (context: readonly Message[] = []): History => {
  const system = newest(context.filter(({ role }) => role === "system"));
  const said: Message[] = context.filter(({ role }) => role !== "system");
  return {
    add: (role, content) => {
      if (content === "") return;
      said.push({ role, content });
      if (said.length > MAX_MESSAGES) said.splice(0, said.length - MAX_MESSAGES);
    },
    last: () => said.at(-1) ?? null,
    messages: () => [...system, ...newest(said)],
  };
};
