/**
 * Recognizes the spoken turns of a person. Each turn is recognized in its pauses, and ignored when its text is not a
 * turn.
 */
import type { InputProvenance } from "@realtime-avatar/domain/calls/transcript";
import { pauseVerdict } from "./hearing/heard-text.ts";
import { TURN_TIMES, type TurnEvent, type Verdict } from "./hearing/turn-detector.ts";

/** When the person fell silent, and when that silence ended the turn, in milliseconds of the clock of `heardUntil`. */
export type SpokenTimes = { silentAt: number; overAt: number };

/** The provenance of a spoken turn. */
export const HEARD: InputProvenance = {
  ...{ version: 1, observed_source: "server_stt", observed_by: "worker", ingress: "room_audio_stt" },
};

export type ListeningParts = {
  /** The text of a sound: 16-bit PCM, mono, 16 kHz. */
  recognize(sound: Int16Array, signal: AbortSignal): Promise<string>;
  /** An ISO 639-1 code. */
  language: string | undefined;
  resolvePause(pause: number, verdict: Verdict): void;
  /** Whether the avatar was still speaking when the turn began. */
  wasSpeaking(): boolean;
  recentlySaid(): string;
  /** The person has begun to speak. `onIgnored`, `onTurn` or `onFailure` follows. */
  onBegin(): void;
  /** The text of a pause looks like a whole turn, which may end now. `onResume` or `onTurn` follows. */
  onWhole(text: string): void;
  /** The person continues. */
  onResume(): void;
  /** The sound was noise, "mm-hmm", or the avatar's own voice. */
  onIgnored(): void;
  onTurn(text: string, times: SpokenTimes): void;
  onFailure(error: unknown): void;
};

type Heard = { kind: "recognized"; text: string; verdict: Verdict } | { kind: "failed"; error: unknown };
/** The recognition of a turn up to a pause. */
type Recognition = { pause: number; stop: AbortController; heard: Promise<Heard> };

export type Listening = {
  /** `heardUntil`: see `HearingOptions`. */
  hear(event: TurnEvent, heardUntil: number): void;
  /** Whether the person is in the middle of a turn. */
  isInTurn(): boolean;
  stop(): void;
};

type EndEvent = Extract<TurnEvent, { kind: "end" }>;

/** A whole turn ends after `wholeMs` of silence. A longer silence means that the text came late. */
const readTimes = (verdict: Verdict, { silenceMs, tailMs }: EndEvent, heardUntil: number): SpokenTimes => {
  const neededMs = verdict === "whole" ? Math.min(silenceMs, TURN_TIMES.wholeMs) : silenceMs;
  return { silentAt: heardUntil - silenceMs - tailMs, overAt: heardUntil - silenceMs + neededMs };
};

export const createListening = (parts: ListeningParts): Listening => {
  const { language, resolvePause } = parts;
  const running = new Set<Recognition>();
  let current: Recognition | null = null;
  let isInTurn = false;

  const recognize = async (sound: Int16Array, signal: AbortSignal): Promise<Heard> => {
    const during = { wasSpeaking: parts.wasSpeaking(), recentlySaid: parts.recentlySaid() };
    try {
      const text = await parts.recognize(sound, signal);
      return { kind: "recognized", text, verdict: pauseVerdict(text, during, language) };
    } catch (error) {
      return { kind: "failed", error };
    }
  };
  const handlePause = async (pause: number, sound: Int16Array): Promise<void> => {
    const stop = new AbortController();
    const recognition: Recognition = { pause, stop, heard: recognize(sound, stop.signal) };
    current = recognition;
    running.add(recognition);
    const heard = await recognition.heard;
    running.delete(recognition);
    if (current !== recognition) return;
    // No text will come, so waiting longer gives no information.
    const verdict = heard.kind === "failed" ? "whole" : heard.verdict;
    if (verdict === "ignored") {
      current = null;
      isInTurn = false;
      parts.onIgnored();
    }
    if (heard.kind === "recognized" && verdict === "whole") parts.onWhole(heard.text);
    resolvePause(pause, verdict);
  };
  const handleEnd = async (event: EndEvent, heardUntil: number): Promise<void> => {
    const ended = current;
    current = null;
    isInTurn = false;
    if (ended === null) return parts.onIgnored();
    const heard = await ended.heard;
    if (ended.stop.signal.aborted) return;
    if (heard.kind === "failed") parts.onFailure(heard.error);
    else if (heard.verdict === "ignored") parts.onIgnored();
    else parts.onTurn(heard.text, readTimes(heard.verdict, event, heardUntil));
  };
  return {
    hear: (event, heardUntil) => {
      switch (event.kind) {
        case "begin":
          isInTurn = true;
          parts.onBegin();
          break;
        case "pause":
          void handlePause(event.pause, event.sound);
          break;
        case "resume":
          current?.stop.abort();
          current = null;
          parts.onResume();
          break;
        case "end":
          void handleEnd(event, heardUntil);
          break;
        case "noise":
          break;
      }
    },
    isInTurn: () => isInTurn,
    stop: () => {
      for (const { stop } of running) stop.abort();
    },
  };
};
