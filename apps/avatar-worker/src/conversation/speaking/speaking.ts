/** The avatar's speech, with its transcript. */
import type { AgentState } from "@realtime-avatar/domain/calls/lifecycle";
import type { InputProvenance } from "@realtime-avatar/domain/calls/transcript";
import type { TurnStatus } from "@realtime-avatar/domain/calls/turns";
import { createSentenceSplitter } from "@realtime-avatar/speech/sentences";
import type { History } from "../history.ts";
import { type Failure, type Provider, ProviderError } from "../providers/errors.ts";
import type { TurnClock, TurnTimings } from "../timings/turn-timings.ts";
import { say, type Voice } from "./say.ts";
import type { Outcome, SpeechQueue } from "./speech-queue.ts";

/**
 * A spoken text. A later text with the same `id` replaces it. A final text of the avatar has the `timings` of the turn
 * that it answers, and `isInterrupted`. A text of the person has `turn`.
 */
export type Transcript = {
  id: number;
  role: "user" | "assistant";
  text: string;
  isFinal: boolean;
  isInterrupted?: boolean;
  /** Whether it is a text of the service, such as an apology. The model does not get it. */
  isOwn?: boolean;
  turn?: PersonTurn;
  timings?: TurnTimings;
};

/** The part of a person's turn that a transcript has. */
export type PersonTurn = {
  text: string;
  id?: string | undefined;
  retryOf?: string | undefined;
  /** The origin of the turn: speech or text, and its source. */
  provenance?: InputProvenance;
};

/**
 * Reports the state of a turn. `heard`: the heard words; null when the turn has not begun, and while it is being said.
 */
export type OnProgress = (status: Exclude<TurnStatus, "queued">, heard: string | null) => void;

/** Length of the avatar's remembered last words, in UTF-16 units. Its echo is recognized by them. */
const RECENT_LENGTH = 600;

export async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

/** Cuts a text into pieces that are synthesized one by one. The first piece is as short as possible. */
export async function* cutSentences(text: AsyncGenerator<string>, maxLength: number): AsyncGenerator<string> {
  const splitter = createSentenceSplitter({ maxLength });
  for await (const part of text) yield* splitter.push(part);
  yield* splitter.end();
}

/**
 * `isOwn`: it is a text of the service. The built-in voice says it. The model does not get it. `onBegin`: called when
 * the first sound is queued.
 */
type SayOptions = {
  isOwn: boolean;
  onBegin?: () => void;
  onProgress?: OnProgress | undefined;
  clock?: TurnClock;
};
type SpeakingParts = {
  voice: Voice;
  /** The built-in voice. */
  ownVoice: Voice;
  events: { onState(state: AgentState): void; onTranscript(transcript: Transcript): void };
};

/** Says texts, and writes them to the transcript and the history. */
export const createSpeaking = (
  { voice, ownVoice, events }: SpeakingParts,
  queue: SpeechQueue,
  history: Pick<History, "add">,
) => {
  let transcripts = 0;
  let recentlySaid = "";
  let state: AgentState = "listening";
  const setState = (next: AgentState): void => {
    state = next;
    events.onState(next);
  };
  return {
    /** The state of the avatar. In a pause: the state before it. */
    state: () => state,
    setState,
    recentlySaid: () => recentlySaid,
    writePerson: (turn: PersonTurn): void => {
      const { text } = turn;
      history.add("user", text);
      events.onTranscript({ id: ++transcripts, role: "user", text, isFinal: true, turn });
    },
    /** Says texts as one segment of the transcript. */
    say: async (
      texts: AsyncIterable<string>,
      signal: AbortSignal,
      { isOwn, onBegin, onProgress, clock }: SayOptions,
    ) => {
      const id = ++transcripts;
      let said = "";
      const onSaid = (all: string): void => {
        if (said === "") onBegin?.();
        if (said === "") onProgress?.("speaking", null);
        recentlySaid = `${recentlySaid} ${all.slice(said.length)}`.slice(-RECENT_LENGTH);
        said = all;
        setState("speaking");
        events.onTranscript({ id, role: "assistant", text: all, isFinal: false, isOwn });
      };
      let outcome: Outcome = { heard: "", isInterrupted: true };
      const onFinished = (finished: Outcome): void => {
        outcome = finished;
        const { heard, isInterrupted } = finished;
        if (!isOwn) history.add("assistant", heard);
        const timings = clock && { timings: clock.timings() };
        if (said !== "")
          events.onTranscript({ id, role: "assistant", text: heard, isFinal: true, isInterrupted, isOwn, ...timings });
        setState("listening");
      };
      try {
        await say(texts, { queue, voice: isOwn ? ownVoice : voice, signal, onSaid, onFinished });
        // The voice may know none of the letters, and then nothing is heard.
        const status = outcome.heard === "" ? "failed" : "said";
        onProgress?.(outcome.isInterrupted ? "interrupted" : status, outcome.heard);
      } catch (error) {
        onProgress?.(signal.aborted ? "interrupted" : "failed", outcome.heard);
        throw error;
      }
    },
  };
};
export type Speaking = ReturnType<typeof createSpeaking>;

/** A text from a program for the avatar to say. */
export type Text = { text: string; onProgress: OnProgress };

type VerbatimParts = {
  speaking: Speaking;
  /** See `ConversationParts`. */
  maxTextLength: number;
  onFailure: (provider: Provider, why: Failure) => void;
};

/** Says a text verbatim. When its voice fails, the avatar does not apologise. */
export const sayVerbatim = async (
  { text, onProgress }: Text,
  signal: AbortSignal,
  { speaking, maxTextLength, onFailure }: VerbatimParts,
): Promise<void> => {
  try {
    await speaking.say(cutSentences(once(text), maxTextLength), signal, { isOwn: false, onProgress });
  } catch (error) {
    if (!signal.aborted && error instanceof ProviderError) onFailure(error.provider, error.why);
  }
};
