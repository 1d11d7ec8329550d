/** A call without a language model: the avatar repeats the person's words, and says the turns of programs. */
import type { Room } from "@livekit/rtc-node";
import type { AssignedCall, ReportedTurn } from "@realtime-avatar/domain/calls/worker-sync";
import { isLoud } from "@realtime-avatar/face/loudness";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import { FRAME_MS } from "../../renderer/renderer.ts";
import { createSpeakingPublisher } from "../../room/messages.ts";
import { createEcho, ECHO_DELAY_MS } from "../echo.ts";
import { createHearing, type Hearing } from "../hearing/hearing.ts";
import { chooseVoices, createOutput, createStates, type HeldConversation, type InRoom, STEP_MS } from "../in-room.ts";
import type { Failure, Provider } from "../providers/errors.ts";
import { createSegments, type SegmentTaker } from "../segments.ts";
import { createTranscription } from "../transcription.ts";
import { createProgramTurns } from "./program-turns.ts";
import { createSpeaking, sayVerbatim, type Transcript } from "./speaking.ts";
import { createSpeechQueue } from "./speech-queue.ts";

export type EchoParts = {
  speech: SpeechSettings;
  onProviderFailure: (provider: Provider, why: Failure) => void;
  /** See `CallConversation`. */
  segments: SegmentTaker | null;
  onTurn: (turn: ReportedTurn) => void;
};

/**
 * Says the turns of a program, one at a time. Any speech of the person ends a turn: without a recognizer, no text tells
 * noise from words.
 */
const createSayings = (room: Room, assigned: AssignedCall, inRoom: InRoom, parts: EchoParts) => {
  const { voice, ownVoice, maxTextLength } = chooseVoices(assigned, parts.speech);
  let hearing: Hearing | null = null;
  let isInTurn = false;
  let isAway = false;
  let current = new AbortController();
  const output = createOutput(inRoom, () => hearing);
  const queue = createSpeechQueue(output);
  const sendToPage = createTranscription(room);
  const record = parts.segments && createSegments(parts.segments);
  const onTranscript = (transcript: Transcript): void => {
    sendToPage(transcript);
    record?.add(transcript);
  };
  const events = { onState: createStates(room, assigned.mode), onTranscript };
  const speaking = createSpeaking({ voice, ownVoice, events }, queue, { add: () => {} });

  const interrupt = (): void => {
    current.abort();
    current = new AbortController();
    queue.cutOff();
  };
  const resumeSpeech = (): void => {
    if (!isInTurn && !isAway) queue.resume();
  };
  const openHearing = (): Hearing => {
    const opened = createHearing({
      onEvent: (event) => {
        if (event.kind === "begin") {
          isInTurn = true;
          queue.pause();
        } else if (event.kind === "pause") opened.resolvePause(event.pause, "whole");
        else if (event.kind === "end") {
          isInTurn = false;
          interrupt();
          resumeSpeech();
        }
      },
      isAvatarActive: queue.isActive,
    });
    return opened;
  };
  const turns = createProgramTurns({
    take: null,
    isFree: () => !queue.isActive() && !isInTurn && !isAway,
    say: (text) => {
      // Drops the queued sound of the echo.
      output.clear();
      if (assigned.input.stt_mode !== "off") hearing ??= openHearing();
      void sayVerbatim(text, current.signal, { speaking, maxTextLength, onFailure: parts.onProviderFailure });
    },
    interrupt,
    onProgress: parts.onTurn,
  });
  return {
    turns,
    isActive: queue.isActive,
    hear: (pcm: Int16Array): void => hearing?.hear(pcm),
    step: (): void => {
      queue.step();
      turns.step();
    },
    setAway: (isAwayNow: boolean): void => {
      isAway = isAwayNow;
      if (isAway) queue.pause();
      else resumeSpeech();
    },
    stop: (): void => {
      turns.stop();
      interrupt();
      hearing?.close();
    },
  };
};

/** Repeats the person's words, unless `isSaying`. */
const startEcho = (
  room: Room,
  { mode }: AssignedCall,
  { rendering, published, times, listen }: InRoom,
  sayings: Sayings,
): void => {
  const tell = createSpeakingPublisher(room, mode);
  const echo = createEcho((frame) => {
    published.play(frame.pcm);
    tell(frame.isLoud);
  });
  listen((pcm) => {
    const frame = { pcm, isLoud: isLoud(pcm) };
    if (frame.isLoud) times.otherWasActive(performance.now());
    sayings.hear(pcm);
    if (sayings.isActive()) return echo.clear();
    // The delay of the echo is known, so the lips get the sound at once.
    rendering.hear(pcm, ECHO_DELAY_MS + published.queuedMs());
    echo.hear(frame);
  }, FRAME_MS);
};
type Sayings = ReturnType<typeof createSayings>;

/** Holds a call without a language model until it is stopped. */
export const holdEcho = (room: Room, assigned: AssignedCall, inRoom: InRoom, parts: EchoParts): HeldConversation => {
  const sayings = createSayings(room, assigned, inRoom, parts);
  if (assigned.input.stt_mode !== "off") startEcho(room, assigned, inRoom, sayings);
  const timer = setInterval(sayings.step, STEP_MS);
  return {
    personLeft: () => sayings.setAway(true),
    personCame: () => sayings.setAway(false),
    takeTurns: sayings.turns.take,
    stop: () => {
      clearInterval(timer);
      sayings.stop();
    },
  };
};
