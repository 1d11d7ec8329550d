/**
 * The voice of an agent, in a brought room. Implements the protocol of LiveKit's agents for avatars (livekit-agents
 * 1.7, `voice/avatar/_datastream_io.py`). The agent sends a byte stream for each segment of speech, faster than it can
 * be played. It calls `lk.clear_buffer` when it is interrupted. It waits for `lk.playback_finished` of each segment,
 * which must come exactly once.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Room, RoomEvent, RpcError, type RpcInvocationData } from "@livekit/rtc-node";
import type { TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import { type Rendering, SAMPLE_RATE } from "../renderer/renderer.ts";
import { createAgentTranscript } from "./agent-transcript.ts";
import type { Published } from "./publish.ts";
import { createSegments, type Segments } from "./segments.ts";

const AUDIO_TOPIC = "lk.audio_stream";
/** The topic for the words of the agent and of the people that it hears. */
const TRANSCRIPTION_TOPIC = "lk.transcription";
const CLEAR_BUFFER = "lk.clear_buffer";
const PLAYBACK_STARTED = "lk.playback_started";
const PLAYBACK_FINISHED = "lk.playback_finished";

/** Maximum number of waiting calls of the agent's methods. */
const MAX_WAITING = 32;
/** The payload of `lk.clear_buffer` is empty. */
const MAX_PAYLOAD = 1024;
/**
 * How often an agent may send data that is not played. A short stream can contain much sound, because streams are
 * compressed.
 */
const MAX_REFUSALS = 20;
/** Sound that LiveKit gets ahead of time, so that a late timer leaves no gap. */
const LEAD_MS = 100;
/**
 * Further sound that the renderer knows. Lips move before their sound, and they move smoothly when 230 ms of it are
 * known.
 */
const LIPS_MS = 140;
const STEP_MS = 10;
/** If the agent learns of an end before it has the response to `lk.clear_buffer`, it waits for another end. */
const CLEARED_MS = 50;
/** How long the agent may take for a response. */
const RESPONSE_MS = 2000;

/** The destination of the voice. `onActivity`: called while a participant speaks. */
type Output = {
  published: Published;
  rendering: Pick<Rendering, "hear" | "clear">;
  onActivity: () => void;
};

export type AgentVoice = {
  /** Plays the agent's speech from now on. */
  play(output: Output): void;
  /** Tells the agent that it was interrupted: its speech was lost with another worker. */
  tellLoss(): void;
  /** Drops the waiting speech, because the agent is gone. */
  forget(): void;
  stop(): void;
};

const milliseconds = (pcm: Int16Array): number => (1000 * pcm.length) / SAMPLE_RATE;

/** Passes upcoming sound to the renderer, so that it is known `LIPS_MS` before it is played. */
const createPreview = ({ peek }: Segments) => {
  /** Length of the sound that the renderer knows and that is not played yet. */
  let aheadMs = 0;
  return {
    show: ({ published, rendering }: Output): void => {
      while (published.queuedMs() + aheadMs < LEAD_MS + LIPS_MS) {
        const frame = peek();
        if (!frame) return;
        rendering.hear(frame, published.queuedMs() + aheadMs);
        aheadMs += milliseconds(frame);
      }
    },
    handedOn: (frame: Int16Array): void => {
      aheadMs -= milliseconds(frame);
    },
    clear: (): void => {
      aheadMs = 0;
    },
  };
};

/** Calls methods of a participant, one after another, so that reports arrive in the order of their events. */
const createCaller = ({ localParticipant }: Room, destinationIdentity: string) => {
  let last = Promise.resolve();
  let waiting = 0;
  let unsupported = new Set<string>();
  const perform = async (known: Set<string>, method: string, payload: string): Promise<void> => {
    if (known !== unsupported || known.has(method)) return;
    try {
      await localParticipant?.performRpc({ destinationIdentity, method, payload, responseTimeout: RESPONSE_MS });
    } catch (error) {
      // Only the agent can handle such a report.
      if (error instanceof RpcError && error.code === RpcError.ErrorCode.UNSUPPORTED_METHOD) known.add(method);
    }
  };
  return {
    call: (method: string, payload: string): void => {
      if (waiting >= MAX_WAITING || unsupported.has(method)) return;
      waiting++;
      const known = unsupported;
      last = last.then(() => perform(known, method, payload)).finally(() => waiting--);
    },
    /** Drops the waiting calls. A reconnecting agent is a new process with the same identity. */
    reset: (): void => {
      unsupported = new Set();
      last = Promise.resolve();
    },
  };
};

/**
 * Receives the words of the agent and of the people that it hears. `onActivity`: called for each text from the agent.
 */
const receiveTranscription = (
  room: Room,
  identity: string,
  onSegment: ((segment: TranscriptSegment) => void) | null,
  onActivity: () => void,
): void => {
  const speakers = () => [identity, room.localParticipant?.identity];
  const transcript = onSegment && createAgentTranscript(speakers, onSegment);
  room.registerTextStreamHandler(TRANSCRIPTION_TOPIC, (reader, { identity: sender }) => {
    if (transcript) transcript(reader, sender);
    else void reader.close();
    if (sender === identity) onActivity();
  });
};

/**
 * Receives the voice of the participant `identity` only. Must be called before the avatar is published, because an
 * agent speaks as soon as it sees the picture. `onFlood`: called when too much unplayable data comes, and when a track
 * comes, because the avatar requests none. `onSegment`: receives the segments of the transcript; null without a
 * transcript.
 */
export const receiveVoice = (
  room: Room,
  identity: string,
  onFlood: () => void,
  onSegment: ((segment: TranscriptSegment) => void) | null,
): AgentVoice => {
  const { call, reset } = createCaller(room, identity);
  const report = (samples: number, isInterrupted: boolean): void => {
    // The agent accepts no other members.
    const finished = { playback_position: samples / SAMPLE_RATE, interrupted: isInterrupted };
    call(PLAYBACK_FINISHED, JSON.stringify(finished));
  };
  let refusals = 0;
  const refuse = (): void => {
    refusals++;
    if (refusals > MAX_REFUSALS) onFlood();
  };
  const segments = createSegments(refuse);
  const preview = createPreview(segments);
  let output: Output | null = null;
  let timer: NodeJS.Timeout | undefined;

  /** Stops speaking. Returns the number of played samples of each segment. */
  const clear = (): number[] => {
    const unplayed = ((output?.published.queuedMs() ?? 0) * SAMPLE_RATE) / 1000;
    output?.published.clear();
    output?.rendering.clear();
    preview.clear();
    return segments.clear().map(({ playedSamples }) => Math.max(0, playedSamples - unplayed));
  };
  const clearBuffer = async ({ callerIdentity, payload }: RpcInvocationData): Promise<string> => {
    if (callerIdentity !== identity || payload.length > MAX_PAYLOAD) {
      refuse();
      return "reject";
    }
    const played = clear();
    void pause(CLEARED_MS).then(() => {
      for (const samples of played) report(samples, true);
    });
    return "ok";
  };
  const step = (to: Output): void => {
    const { published, onActivity } = to;
    const segment = segments.first();
    // Seconds count only while the agent is present. Speech of an agent that the server hides would be free, so it is
    // not played.
    if (!segment || published.isPaused() || !room.remoteParticipants.has(identity)) return;
    preview.show(to);
    while (published.queuedMs() < LEAD_MS) {
      const frame = segments.next();
      if (!frame) break;
      if (segment.playedSamples === 0) call(PLAYBACK_STARTED, "");
      segment.playedSamples += frame.length;
      published.play(frame);
      preview.handedOn(frame);
      onActivity();
    }
    if (!segment.isComplete || published.queuedMs() > 0) return;
    segments.finish();
    report(segment.playedSamples, segment.isCut);
  };

  room.registerByteStreamHandler(AUDIO_TOPIC, (reader, { identity: sender }) => {
    if (sender === identity && segments.open(reader)) return;
    void reader.close();
    refuse();
    // The agent expects an end for each of its segments.
    if (sender === identity) report(0, true);
  });
  receiveTranscription(room, identity, onSegment, () => output?.onActivity());
  room.localParticipant?.registerRpcMethod(CLEAR_BUFFER, clearBuffer);
  room.on(RoomEvent.TrackSubscribed, onFlood);

  return {
    play: (to) => {
      output = to;
      timer = setInterval(() => step(to), STEP_MS);
    },
    tellLoss: () => report(0, true),
    forget: () => {
      clear();
      reset();
    },
    stop: () => {
      clearInterval(timer);
      segments.clear();
    },
  };
};
