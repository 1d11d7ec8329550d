/** A conversation on a simulated clock, with scripted providers. */
import type { AgentState } from "@realtime-avatar/domain/calls/lifecycle";
import { type ConversationEvents, type ConversationParts, createConversation, type Turn } from "../conversation.ts";
import type { Counted } from "../counted.ts";
import type { TurnEvent } from "../hearing/turn-detector.ts";
import { NO_TOOLS } from "../page-tools.ts";
import type { Message } from "../providers/chat.ts";
import type { ProviderError } from "../providers/errors.ts";
import type { Transcript } from "../speaking/speaking.ts";
import type { TurnTimings } from "../timings/turn-timings.ts";

const SAMPLES_PER_MS = 48;
const MS_PER_CHARACTER = 1000 / 15;
const SOUND = new Int16Array(1600);

/** Records the events of the conversation. */
const createRecord = () => {
  const record = {
    states: [] as AgentState[],
    /** The final texts, with the timings of the answers. */
    final: [] as Transcript[],
    said: [] as string[],
    done: [] as Turn[],
    failures: [] as string[],
    counted: [] as Counted[],
    timings: [] as TurnTimings[],
    ends: [] as string[],
    toolCalls: [] as string[],
  };
  const { states, final, said, done, failures, counted, timings, ends } = record;
  const events: ConversationEvents = {
    onTurn: () => counted.push("turn"),
    onInterruption: () => counted.push("interruption"),
    onState: (state) => {
      if (states.at(-1) !== state) states.push(state);
    },
    onTranscript: (transcript) => {
      if (!transcript.isFinal) return;
      said.push(`${transcript.role}: ${transcript.text}`);
      final.push(transcript);
    },
    onToolCalls: (calls, results) => {
      for (const call of calls) record.toolCalls.push(`${call.id}: ${results.get(call) ?? "runs"}`);
    },
    onTurnTimings: (each) => timings.push(each),
    onTurnDone: (turn) => done.push(turn),
    onFailure: (provider, why) => failures.push(`${provider} ${why}`),
    onGiveUp: () => ends.push("failed"),
  };
  return { record, events };
};

/** A clock with its sound. `pass` advances the clock and plays the sound. */
const createClock = () => {
  const clock = { time: 0, queuedMs: 0 };
  return {
    clock,
    sleep: async (ms: number): Promise<void> => {
      const end = clock.time + ms;
      while (clock.time < end) await new Promise((resolve) => setImmediate(resolve));
    },
    settle: async (): Promise<void> => {
      for (let turns = 0; turns < 50; turns++) await Promise.resolve();
      await new Promise((resolve) => setImmediate(resolve));
    },
    output: {
      play: (pcm: Int16Array): void => {
        clock.queuedMs += pcm.length / SAMPLES_PER_MS;
      },
      queuedMs: () => clock.queuedMs,
      preview: () => {},
      clear: () => {
        clock.queuedMs = 0;
      },
    },
  };
};

/** Starts a conversation on a simulated clock. Only `pass` advances the clock. It plays the queued sound. */
export const startConversation = (parts: Partial<ConversationParts> = {}) => {
  const { clock, sleep, settle, output } = createClock();
  const { record, events } = createRecord();
  const asked: (readonly Message[])[] = [];
  const verdicts: unknown[] = [];
  const aborted: string[] = [];
  const script = {
    answer: "Good morning to you.",
    failure: null as ProviderError | null,
    heard: "",
    delays: { llmMs: 0, ttsMs: 0 },
  };
  async function* voice(text: string): AsyncGenerator<Int16Array> {
    await sleep(script.delays.ttsMs);
    yield new Int16Array(Math.round(text.length * MS_PER_CHARACTER * SAMPLES_PER_MS)).fill(1000);
  }
  async function* ask(messages: readonly Message[], signal: AbortSignal): AsyncGenerator<string> {
    asked.push(messages);
    signal.addEventListener("abort", () => aborted.push(script.answer));
    if (script.failure) throw script.failure;
    await sleep(script.delays.llmMs);
    yield script.answer;
  }
  const conversation = createConversation({
    ...{ instructions: "Be brief.", context: [], maxTurnsPerMinute: 20, maxTextLength: 240 },
    ...{ ask, tools: NO_TOOLS, recognize: async () => script.heard, voice, ownVoice: voice, output, events },
    pathDelays: () => ({ fromPersonMs: 40, toPersonMs: 70 }),
    resolvePause: (pause, verdict) => verdicts.push([pause, verdict]),
    now: () => clock.time,
    ...parts,
  });
  return {
    ...record,
    ...{ conversation, asked, verdicts, aborted, settle },
    hear: (event: TurnEvent) => conversation.hear(event, clock.time),
    setAnswer: (text: string) => {
      script.answer = text;
    },
    setHeard: (text: string) => {
      script.heard = text;
    },
    setDelays: (delays: typeof script.delays) => {
      script.delays = delays;
    },
    fail: (error: ProviderError | null) => {
      script.failure = error;
    },
    pass: async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 10) {
        await settle();
        conversation.step();
        clock.time += 10;
        clock.queuedMs = Math.max(0, clock.queuedMs - 10);
      }
      conversation.step();
      await settle();
    },
    isQuiet: () => clock.queuedMs === 0,
  };
};

export const LONG = "One two three four five six seven eight nine ten eleven twelve.";
export const spoken = (...kinds: TurnEvent["kind"][]): TurnEvent[] =>
  kinds.map((kind): TurnEvent => {
    if (kind === "pause") return { kind, pause: 1, sound: SOUND };
    if (kind === "resume") return { kind, pause: 1 };
    if (kind === "end") return { kind, pause: 1, reason: "whole", speechMs: 500, silenceMs: 352, tailMs: 10 };
    return kind === "noise" ? { kind, speechMs: 64 } : { kind };
  });
