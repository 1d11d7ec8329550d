/**
 * A conversation: takes the turns of a person, asks the language model, and says the answer, until it is interrupted.
 * It has no room and no clock: turns, speech and sound are arguments. `step` must be called every 10 ms.
 */
import type { AgentState } from "@realtime-avatar/domain/calls/lifecycle";
import type { InputProvenance, TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import { FRAME_MS } from "../renderer/renderer.ts";
import { type Ask, type Asking, askWithTools, type Tools } from "./ask-with-tools.ts";
import type { TurnEvent, Verdict } from "./hearing/turn-detector.ts";
import { createHistory, type History } from "./history.ts";
import { createListening, HEARD, type SpokenTimes } from "./listening.ts";
import type { Message } from "./providers/chat.ts";
import { createEarlyAsk } from "./providers/early-ask.ts";
import { type Failure, type Provider, ProviderError } from "./providers/errors.ts";
import { readAhead } from "./read-ahead.ts";
import type { Voice } from "./speaking/say.ts";
import {
  createSpeaking,
  cutSentences,
  type OnProgress,
  once,
  type Speaking,
  sayVerbatim,
  type Text,
  type Transcript,
} from "./speaking/speaking.ts";
import { createSpeechQueue, type SpeechOutput, type SpeechQueue } from "./speaking/speech-queue.ts";
import { createTurnClock, type TurnClock, type TurnTimings } from "./timings/turn-timings.ts";
import { NoTokensLeft } from "./usage-meter.ts";

/** A turn: spoken or typed by the person, or sent by a program. */
export type Turn = {
  text: string;
  /** Instructions for this answer only. */
  instructions?: string | undefined;
  id?: string | undefined;
  /** The id of the turn that this one repeats. An answered turn is not answered again. */
  retryOf?: string | undefined;
  /** The last line of a call: the avatar says this text verbatim, and takes no turn after it. */
  isClosing?: boolean;
  /** The origin of a turn of the person: speech or text, and its source. */
  provenance?: InputProvenance;
  /** The turn is in the history, because an earlier process heard it. */
  isHeard?: boolean;
  /** Set for a turn of a program. */
  onProgress?: OnProgress;
};

/** How long sound travels between the person and the avatar, in milliseconds. */
export type PathDelays = { fromPersonMs: number; toPersonMs: number };

export type ConversationEvents = {
  /** A request to the language model begins for a turn. */
  onTurn(): void;
  /** A turn has interrupted the avatar. */
  onInterruption(): void;
  onState(state: AgentState): void;
  onTranscript(transcript: Transcript): void;
  /** See `Asking`. */
  onToolCalls(...calls: Parameters<NonNullable<Asking["onCalls"]>>): void;
  /**
   * The first sound of the answer to a turn is queued, or the turn has ended without sound. Called once for each turn
   * of `onTurn`.
   */
  onTurnTimings(timings: TurnTimings): void;
  /** A turn is done: its answer was heard, interrupted or dropped, or has failed. */
  onTurnDone(turn: Turn): void;
  onFailure(provider: Provider, why: Failure): void;
  /** The language model has failed `MAX_FAILURES` times in a row. */
  onGiveUp(): void;
};

export type ConversationParts = {
  /** The operator's instructions, followed by those of the call. */
  instructions: string;
  context: readonly Message[];
  /** The segments that earlier processes of the call have recorded. */
  before?: readonly TranscriptSegment[];
  /** An ISO 639-1 code. */
  language?: string | undefined;
  maxTurnsPerMinute: number;
  ask: Ask;
  tools: Tools;
  recognize(sound: Int16Array, signal: AbortSignal): Promise<string>;
  voice: Voice;
  /** The longest text of one request to `voice`, in UTF-16 units. */
  maxTextLength: number;
  /** The built-in voice, which needs no provider. */
  ownVoice: Voice;
  output: SpeechOutput;
  pathDelays(): PathDelays;
  /** See `TurnDetector`. */
  resolvePause(pause: number, verdict: Verdict): void;
  /** In milliseconds. */
  now(): number;
  events: ConversationEvents;
};

export const MAX_FAILURES = 3;
export const APOLOGY = "Sorry, I cannot answer right now.";
export const NO_TOKENS_LEFT = "I have reached my limit for today. Please come back tomorrow.";
export const TOO_MANY_TURNS = "One moment, please. I need a short break.";
const MINUTE_MS = 60_000;
/** The shortest time between two notices that there are too many turns. */
const REFUSAL_MS = 10_000;
const MAX_ANSWERED = 64;

/**
 * Returns a function that counts a turn. `within`: below the limit. `refused`: above it; the avatar says so. `dropped`:
 * above it; the avatar said so a moment ago.
 */
const createTurnLimit = (perMinute: number, now: () => number): (() => "within" | "refused" | "dropped") => {
  let times: number[] = [];
  let refusedAt = Number.NEGATIVE_INFINITY;
  return () => {
    times = times.filter((time) => time > now() - MINUTE_MS);
    if (times.length >= perMinute) {
      if (now() - refusedAt < REFUSAL_MS) return "dropped";
      refusedAt = now();
      return "refused";
    }
    times.push(now());
    return "within";
  };
};

/** The segments with words, without those of tool calls. */
const onlySaid = (segments: readonly TranscriptSegment[] = []): TranscriptSegment[] =>
  segments.filter(({ tool_calls }) => tool_calls === undefined);

/** The newest ids of answered turns, including those of `before`. */
const createAnswered = (before: readonly TranscriptSegment[]) => {
  const ids = new Set<string>();
  const add = ({ id, retryOf }: Pick<Turn, "id" | "retryOf">): void => {
    for (const each of [id, retryOf]) if (each !== undefined) ids.add(each);
    for (const oldest of [...ids].slice(0, Math.max(0, ids.size - MAX_ANSWERED))) ids.delete(oldest);
  };
  for (const [at, { role, turn_id, retry_of_turn_id }] of before.entries()) {
    const next = before[at + 1];
    if (role === "user" && next?.role === "assistant" && !next.own) add({ id: turn_id, retryOf: retry_of_turn_id });
  }
  return { has: (id: string | undefined): boolean => id !== undefined && ids.has(id), add };
};

/**
 * The last turn of the person, when no words follow it. A turn of a program is not continued, because it has failed
 * with its process.
 */
const unansweredTurn = (before: readonly TranscriptSegment[]): Turn | null => {
  const last = before.at(-1);
  if (last?.role !== "user" || !last.input_provenance) return null;
  const { text, turn_id: id, retry_of_turn_id: retryOf, input_provenance: provenance } = last;
  return { text, id, retryOf, provenance, isHeard: true };
};

/** Whether a turn repeats the last message of the history. */
const isRepeated = ({ text, retryOf }: Turn, last: ReturnType<History["last"]>): boolean =>
  retryOf !== undefined && last?.role === "user" && last.content === text;

/**
 * Says that no tokens are left, only once until the model answers again. `stay`: called instead when it was already
 * said.
 */
const createLimitNotice = (sayOwn: (text: string, signal: AbortSignal) => Promise<void>, stay: () => void) => {
  let isTold = false;
  return {
    tell: async (signal: AbortSignal): Promise<void> => {
      if (isTold) return stay();
      isTold = true;
      await sayOwn(NO_TOKENS_LEFT, signal);
    },
    forget: (): void => {
      isTold = false;
    },
  };
};

/** Answers turns, one at a time. */
const createAnswering = (parts: ConversationParts, queue: SpeechQueue, history: History, speaking: Speaking) => {
  const { events } = parts;
  const countTurn = createTurnLimit(parts.maxTurnsPerMinute, parts.now);
  const answered = createAnswered(onlySaid(parts.before));
  let modelFailures = 0;
  let isClosing = false;
  let current = new AbortController();

  const interrupt = (): AbortSignal => {
    current.abort();
    current = new AbortController();
    queue.cutOff();
    return current.signal;
  };
  async function* ask({ instructions = "" }: Turn, signal: AbortSignal, clock: TurnClock): AsyncGenerator<string> {
    const system = [parts.instructions, instructions].filter((text) => text !== "").join("\n\n");
    const asking = { ask: parts.ask, tools: parts.tools, history, system, onCalls: events.onToolCalls };
    for await (const token of askWithTools(asking, signal)) {
      clock.mark("first_token");
      yield token;
    }
    modelFailures = 0;
    notice.forget();
  }
  /** Says a fixed text of the service in the built-in voice. */
  const sayOwn = (text: string, signal: AbortSignal): Promise<void> =>
    speaking.say(once(text), signal, { isOwn: true }).catch(() => {});
  const notice = createLimitNotice(sayOwn, () => speaking.setState("listening"));
  const fail = async (error: unknown, signal: AbortSignal): Promise<void> => {
    if (signal.aborted) return;
    if (error instanceof NoTokensLeft) return notice.tell(signal);
    const isModel = error instanceof ProviderError && error.provider === "llm";
    if (error instanceof ProviderError) events.onFailure(error.provider, error.why);
    if (isModel) modelFailures++;
    // Silence would look like a broken call.
    await sayOwn(APOLOGY, signal);
    if (isModel && modelFailures >= MAX_FAILURES) events.onGiveUp();
  };
  const respond = async (turn: Turn, signal: AbortSignal, clock: TurnClock): Promise<void> => {
    let hasBegun = false;
    speaking.setState("thinking");
    const text = turn.isClosing ? once(turn.text) : ask(turn, signal, clock);
    const answer = readAhead(cutSentences(text, parts.maxTextLength));
    const onBegin = (): void => {
      hasBegun = true;
      answered.add(turn);
      clock.mark("first_sound");
      // The first frame is already in the queue.
      const queuedMs = Math.max(0, parts.output.queuedMs() - FRAME_MS);
      clock.mark("heard", parts.now() + queuedMs + parts.pathDelays().toPersonMs);
      events.onTurnTimings(clock.timings());
    };
    try {
      await speaking.say(answer, signal, { isOwn: false, onBegin, onProgress: turn.onProgress, clock });
    } catch (error) {
      await fail(error, signal);
    } finally {
      if (!hasBegun) events.onTurnTimings(clock.timings());
    }
  };
  return {
    interrupt,
    say: ({ text, onProgress }: Text): void => {
      if (isClosing) onProgress("dropped", null);
      else void sayVerbatim({ text, onProgress }, interrupt(), { ...parts, speaking, onFailure: events.onFailure });
    },
    /** Says that a provider has failed, instead of an answer. */
    fail: (error: unknown): void => void fail(error, interrupt()),
    take: (turn: Turn, clock: TurnClock): void => {
      const isAnswered = answered.has(turn.retryOf);
      if (isAnswered) answered.add(turn);
      const limit = isAnswered || isClosing ? "dropped" : countTurn();
      if (limit !== "within") turn.onProgress?.("dropped", null);
      if (limit === "dropped") return void events.onTurnDone(turn);
      if (speaking.state() === "speaking") events.onInterruption();
      isClosing = turn.isClosing === true;
      if (limit === "within" && !isClosing) events.onTurn();
      const signal = interrupt();
      if (!isClosing && !turn.isHeard && !isRepeated(turn, history.last())) speaking.writePerson(turn);
      const responding = limit === "within" ? respond(turn, signal, clock) : sayOwn(TOO_MANY_TURNS, signal);
      void responding.finally(() => events.onTurnDone(turn));
    },
  };
};

export type Conversation = {
  /** Takes a typed turn. It interrupts the avatar. */
  take(turn: Turn): void;
  /** Says a text verbatim. It interrupts the avatar. */
  say(text: Text): void;
  /** Takes an event of the turn detector. `heardUntil`: see `HearingOptions`. */
  hear(event: TurnEvent, heardUntil: number): void;
  step(): void;
  /** Whether the avatar speaks or thinks. */
  isActive(): boolean;
  /** Whether the person is present and both sides are silent. */
  isFree(): boolean;
  /** The heard words of the current speech; null while the avatar is silent. */
  heard(): string | null;
  /** Interrupts the avatar. */
  interrupt(): void;
  /** Sets whether the person is away. The avatar waits while the person is away. */
  setAway(isAway: boolean): void;
  stop(): void;
};

export const createConversation = (parts: ConversationParts): Conversation => {
  const { recognize, language, resolvePause, events, now, pathDelays } = parts;
  const queue = createSpeechQueue(parts.output);
  const history = createHistory(parts.context, parts.before);
  const speaking = createSpeaking(parts, queue, history);
  const early = createEarlyAsk(parts.ask);
  const answering = createAnswering({ ...parts, ask: early.ask }, queue, history, speaking);
  /** Whether the avatar was still speaking when the person began to speak. */
  let wasSpeaking = false;
  let isAway = false;

  const resumeSpeech = (): void => {
    if (isAway || listening.isInTurn()) return;
    queue.resume();
    if (queue.isActive()) events.onState(speaking.state());
  };
  const take = (turn: Turn, clock = createTurnClock(now)): void => {
    answering.take(turn, clock);
    resumeSpeech();
  };
  const takeSpoken = (text: string, { silentAt, overAt }: SpokenTimes): void => {
    const clock = createTurnClock(now, silentAt - pathDelays().fromPersonMs);
    clock.mark("end_of_speech", silentAt);
    clock.mark("end_of_turn", overAt);
    clock.mark("text");
    take({ text, provenance: HEARD }, clock);
  };
  const listening = createListening({
    ...{ recognize, language, resolvePause },
    wasSpeaking: () => wasSpeaking,
    recentlySaid: speaking.recentlySaid,
    onBegin: () => {
      wasSpeaking = queue.isActive();
      queue.pause();
      if (wasSpeaking) events.onState("listening");
    },
    onWhole: (text) => {
      // No early request while the avatar speaks, because the history does not have the heard words yet. With tools, no
      // early request is made either, because the person may have said only half a turn.
      if (queue.isActive() || parts.tools.list().length > 0) return;
      const system: Message = { role: "system", content: parts.instructions };
      early.begin([system, ...history.messages(), { role: "user", content: text }]);
    },
    onResume: early.drop,
    onIgnored: resumeSpeech,
    onTurn: takeSpoken,
    onFailure: (error) => {
      resumeSpeech();
      // If the avatar continues its answer, no apology is needed.
      if (!queue.isActive()) answering.fail(error);
      else if (error instanceof ProviderError) events.onFailure(error.provider, error.why);
    },
  });
  const unanswered = unansweredTurn(onlySaid(parts.before));
  if (unanswered) take(unanswered);
  return {
    take: (turn) => take(turn),
    heard: queue.heard,
    say: answering.say,
    hear: listening.hear,
    step: queue.step,
    isActive: queue.isActive,
    isFree: () => !queue.isActive() && !listening.isInTurn() && !isAway,
    interrupt: () => {
      if (speaking.state() === "speaking") events.onInterruption();
      answering.interrupt();
    },
    setAway: (isAwayNow) => {
      isAway = isAwayNow;
      if (!isAway) return resumeSpeech();
      queue.pause();
      if (queue.isActive()) events.onState("listening");
    },
    stop: () => {
      listening.stop();
      early.drop();
      answering.interrupt();
    },
  };
};
