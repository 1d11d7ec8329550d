/**
 * A conversation in a room of the service. Connects it to the person, to the providers, and to the avatar's picture and
 * sound.
 */
import type { Room } from "@livekit/rtc-node";
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { type AgentState, avatarAttributes } from "@realtime-avatar/domain/calls/lifecycle";
import type { CallMode } from "@realtime-avatar/domain/calls/schemas";
import type { AssignedCall, ReportedTurn } from "@realtime-avatar/domain/calls/worker-sync";
import { isLoud } from "@realtime-avatar/face/loudness";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import { speak } from "@realtime-avatar/speech/speak";
import { FLITE_VOICES, type Voice as SpeechVoice } from "@realtime-avatar/speech/voices";
import type { Rendering } from "../renderer/renderer.ts";
import { sendMessage } from "../room/messages.ts";
import type { Presence } from "../room/presence.ts";
import type { Published } from "../room/publish.ts";
import { type ConversationEvents, type ConversationParts, createConversation } from "./conversation.ts";
import type { Counted } from "./counted.ts";
import { createHearing, type Hearing } from "./hearing/hearing.ts";
import { VAD_RATE } from "./hearing/vad.ts";
import { createPageTools, NO_TOOLS } from "./page-tools.ts";
import { askModel } from "./providers/chat.ts";
import { type Failure, type Provider, voiceError } from "./providers/errors.ts";
import { transcribe } from "./providers/transcribe.ts";
import { createSegments, type SegmentTaker } from "./segments.ts";
import type { ConversationSettings } from "./settings.ts";
import { createProgramTurns, type ProgramTurns } from "./speaking/program-turns.ts";
import type { Voice } from "./speaking/say.ts";
import type { SpeechOutput } from "./speaking/speech-queue.ts";
import { createPathMeter } from "./timings/path-delays.ts";
import type { TurnTimings } from "./timings/turn-timings.ts";
import { createTranscription } from "./transcription.ts";
import { receiveTurns } from "./typed-turns.ts";
import type { UsageMeter } from "./usage-meter.ts";
import { chooseModel, chooseVoice } from "./voice.ts";

export const STEP_MS = 10;
/** Length of the frames of the person's sound. A longer frame would delay an interruption. */
const HEARD_FRAME_MS = 10;
/** `lk.agent.state` changes at most this often. */
const STATE_MS = 100;
/**
 * Longest text of one request to a voice, in UTF-16 units. Flite speaks it whole before the first sound is heard;
 * this length makes at most 8 seconds.
 */
const MAX_TEXT_LENGTH = { flite: 120, openai: 240 } as const;
/** Number of steps between two reports of heard words. A killed process loses the words of these steps. */
const HEARD_STEPS = 20;
const MAX_VOCABULARY_LENGTH = 1000;
/**
 * Time from the end of the last line of a call to the end of the call. A page of the SDK hears the line half a second
 * late.
 */
const CLOSING_MS = 1500;

export type InRoom = {
  rendering: Rendering;
  published: Published;
  times: Presence;
  /** Hears the person, in frames of this length. */
  listen: (onSound: (pcm: Int16Array) => void, frameMs: number) => void;
};
/** The parts of a call that its conversation uses. */
export type CallConversation = {
  settings: ConversationSettings;
  meter: UsageMeter;
  onProviderFailure: (provider: Provider, why: Failure) => void;
  /** See `onTurn` and `onInterruption` of `ConversationEvents`. */
  onCount: (counted: Counted) => void;
  onTurnTimings: (timings: TurnTimings) => void;
  /** Takes the segments of the transcript; null when the service wants none. */
  segments: SegmentTaker | null;
  /** Reports the state of a program's turn. */
  onTurn: (turn: ReportedTurn) => void;
};

/**
 * Returns a function that publishes the state of the avatar. Publishes the first state at once; of several states in a
 * short time, only the last.
 */
export const createStates = ({ localParticipant }: Room, mode: CallMode): ((state: AgentState) => void) => {
  let told: AgentState = "listening";
  let next: AgentState = "listening";
  let timer: NodeJS.Timeout | null = null;
  const tell = (): void => {
    timer = null;
    if (next === told) return;
    told = next;
    timer = setTimeout(tell, STATE_MS);
    localParticipant?.setAttributes(avatarAttributes(mode, told)).catch(() => {});
  };
  return (state) => {
    next = state;
    if (timer === null) tell();
  };
};

/** Wraps a voice, so that its errors become provider errors. */
const createVoice = (voice: SpeechVoice, speech: SpeechSettings, onText: (text: string) => void): Voice =>
  async function* (text, signal) {
    onText(text);
    try {
      yield* speak(text, voice, speech, { signal });
    } catch (error) {
      throw voiceError(error);
    }
  };

/** The voice of a call, and the built-in voice. `onText`: called with each text that is sent to one of them. */
export const chooseVoices = (assigned: AssignedCall, speech: SpeechSettings, onText = (_: string): void => {}) => {
  const voice = chooseVoice(assigned, speech);
  const [flite = voice] = FLITE_VOICES;
  return {
    voice: createVoice(voice, speech, onText),
    maxTextLength: MAX_TEXT_LENGTH[voice.provider],
    ownVoice: createVoice(flite, speech, onText),
  };
};

/** The providers of a call, as parts of a conversation. */
const connectProviders = (
  assigned: AssignedCall,
  settings: ConversationSettings,
  meter: UsageMeter,
): Omit<ConversationParts, "output" | "pathDelays" | "resolvePause" | "now" | "events" | "tools"> => {
  const { llm, stt, maxTokens, maxTurnsPerMinute, instructions } = settings;
  const { input } = assigned;
  const model = chooseModel(input, settings);
  const language = input.transcription?.language_codes?.[0]?.split("-")[0]?.toLowerCase();
  const vocabulary = input.transcription?.custom_vocabulary?.join(", ").slice(0, MAX_VOCABULARY_LENGTH);
  const options = { sampleRate: VAD_RATE, hints: { language, vocabulary } };
  return {
    instructions: [instructions, input.instructions ?? ""].filter((text) => text !== "").join("\n\n"),
    context: input.initial_context ?? [],
    before: assigned.history?.segments ?? [],
    language,
    maxTurnsPerMinute,
    ask: async function* (messages, signal, offer) {
      await meter.waitForTokens(signal);
      yield* askModel({ ...llm, model }, messages, { maxTokens, signal, offer, onTokens: meter.addTokens });
    },
    recognize: async (sound, signal) => {
      if (!stt) return "";
      meter.addHeard((1000 * sound.length) / VAD_RATE);
      return transcribe(stt, sound, { ...options, signal });
    },
    ...chooseVoices(assigned, settings.speech, meter.addSpoken),
  };
};

/** `hearing`: gets the avatar's sound, to tell it from the person's; null when the person is not heard. */
export const createOutput = (
  { rendering, published, times }: Omit<InRoom, "listen">,
  hearing: () => Hearing | null,
): SpeechOutput => ({
  play: (pcm) => {
    hearing()?.play(pcm, published.queuedMs());
    published.play(pcm);
    times.otherWasActive(performance.now());
  },
  queuedMs: published.queuedMs,
  preview: rendering.hear,
  clear: () => {
    published.clear();
    rendering.clear();
    hearing()?.clear();
  },
});

export type HeldConversation = {
  /** The avatar's remaining speech waits until the person comes back. */
  personLeft(): void;
  personCame(): void;
  takeTurns: ProgramTurns["take"];
  stop(): void;
};

/**
 * Holds a conversation until it is stopped. `onEnd`: called when it has failed, or the avatar has said its last line.
 */
export const holdConversation = (
  room: Room,
  assigned: AssignedCall,
  inRoom: InRoom,
  { settings, meter, onProviderFailure, onCount, onTurnTimings, segments, onTurn }: CallConversation,
  onEnd: (reason: EndReason) => void,
): HeldConversation => {
  const { times, rendering } = inRoom;
  const publishState = createStates(room, assigned.mode);
  const path = createPathMeter(room);
  const isHeard = settings.stt !== null && assigned.input.stt_mode !== "off";
  const hearing = isHeard
    ? createHearing({
        onEvent: (event, heardUntil) => {
          if (event.kind === "begin" || event.kind === "pause") void path.measure();
          conversation.hear(event, heardUntil);
        },
        isAvatarActive: () => conversation.isActive(),
      })
    : null;
  const sendToPage = createTranscription(room);
  const record = segments && createSegments(segments);
  const events: ConversationEvents = {
    onTurn: () => onCount("turn"),
    onInterruption: () => onCount("interruption"),
    onTurnTimings,
    onState: (state) => {
      rendering.think(state === "thinking");
      publishState(state);
    },
    onTranscript: (transcript) => {
      sendToPage(transcript);
      record?.add(transcript);
    },
    onToolCalls: (calls, results) => record?.addCalls(calls, results),
    onTurnDone: ({ id, isClosing }) => {
      if (!isClosing) return;
      if (id !== undefined) void sendMessage(room, { kind: "closing_turn_done", turn_id: id });
      setTimeout(() => onEnd("user_ended"), CLOSING_MS);
    },
    onFailure: onProviderFailure,
    onGiveUp: () => onEnd("failed"),
  };
  const conversation = createConversation({
    ...connectProviders(assigned, settings, meter),
    tools: assigned.input.capabilities?.includes("client_tools") ? createPageTools(room) : NO_TOOLS,
    output: createOutput(inRoom, () => hearing),
    pathDelays: path.delays,
    resolvePause: (pause, verdict) => hearing?.resolvePause(pause, verdict),
    now: () => performance.now(),
    events,
  });
  receiveTurns(room, (turn) => {
    times.otherWasActive(performance.now());
    void path.measure();
    conversation.take(turn);
  });
  if (hearing) {
    const hear = (pcm: Int16Array): void => {
      if (isLoud(pcm)) times.otherWasActive(performance.now());
      hearing.hear(pcm);
    };
    inRoom.listen(hear, HEARD_FRAME_MS);
  }
  const turns = createProgramTurns({ ...conversation, onProgress: onTurn });
  let steps = 0;
  const step = (): void => {
    conversation.step();
    turns.step();
    if (++steps % HEARD_STEPS === 0) record?.heard(conversation.heard());
  };
  const timer = setInterval(step, STEP_MS);
  return {
    personLeft: () => conversation.setAway(true),
    personCame: () => conversation.setAway(false),
    takeTurns: turns.take,
    stop: () => {
      clearInterval(timer);
      turns.stop();
      conversation.stop();
      hearing?.close();
    },
  };
};
