/**
 * The voice of an agent, in a room of its owner: the protocol of LiveKit's agents for avatars, as livekit-agents 1.7 has it in
 * `voice/avatar/_datastream_io.py`. The agent sends a byte stream for each segment of speech, faster than it can be played. It
 * calls `lk.clear_buffer` when it is interrupted, and waits for `lk.playback_finished` of each segment, which must come once.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Room, RoomEvent, RpcError, type RpcInvocationData } from "@livekit/rtc-node";
import type { TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import { type Rendering, SAMPLE_RATE } from "../renderer/renderer.ts";
import { createAgentTranscript } from "./agent-transcript.ts";
import type { Published } from "./publish.ts";
import { createSegments, type Segments } from "./segments.ts";

const AUDIO_TOPIC = "lk.audio_stream";
/** What the agent and those that it hears have said. */
const TRANSCRIPTION_TOPIC = "lk.transcription";
const CLEAR_BUFFER = "lk.clear_buffer";
const PLAYBACK_STARTED = "lk.playback_started";
const PLAYBACK_FINISHED = "lk.playback_finished";

/** How many calls of methods of the agent wait for its response at most. */
const MAX_WAITING = 32;
/** The payload of `lk.clear_buffer` is empty. */
const MAX_PAYLOAD = 1024;
/** How often an agent may send what is not played. A short stream can contain much sound, because streams are compressed. */
const MAX_REFUSALS = 20;
/** How much sound LiveKit has ahead of time: enough for a timer that is late. */
const LEAD_MS = 100;
/** How much more sound the renderer knows. Lips move before their sound, and move smoothly where 230 ms of it are known. */
const LIPS_MS = 140;
const STEP_MS = 10;
/** An agent that is told of an end before it has the response to `lk.clear_buffer` waits for another one. */
const CLEARED_MS = 50;
/** How long the agent has for a response. */
const RESPONSE_MS = 2000;

/** Where the voice goes. `onActivity` is called while a participant speaks. */
type Output = {
  published: Published;
  rendering: Pick<Rendering, "hear" | "clear">;
  onActivity: () => void;
};

export type AgentVoice = {
  /** Plays what the agent says, from now on. */
  play(output: Output): void;
  /** Tells the agent that it was interrupted: what it was saying was lost with another worker. */
  tellLoss(): void;
  /** Drops what waits, because the agent is gone. */
  forget(): void;
  stop(): void;
};

const milliseconds = (pcm: Int16Array): number => (1000 * pcm.length) / SAMPLE_RATE;

/** Tells the renderer of the sound that comes next, so that it is known `LIPS_MS` before it is handed on. */
const createPreview = ({ peek }: Segments) => {
  /** How much of the sound that the renderer knows is not handed on. */
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

/** Calls methods of a participant, one after another: each tells of something that was later than the one before. */
const createCaller = ({ localParticipant }: Room, destinationIdentity: string) => {
  let last = Promise.resolve();
  let waiting = 0;
  let unsupported = new Set<string>();
  const perform = async (known: Set<string>, method: string, payload: string): Promise<void> => {
    if (known !== unsupported || known.has(method)) return;
    try {
      await localParticipant?.performRpc({ destinationIdentity, method, payload, responseTimeout: RESPONSE_MS });
    } catch (error) {
      // The agent is the only one to tell.
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
    /** Drops the calls that wait. Who comes back is another program, with the same identity. */
    reset: (): void => {
      unsupported = new Set();
      last = Promise.resolve();
    },
  };
};

/** Takes what the agent and those that it hears have said. `onActivity` is called for each text of the agent. */
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
 * Receives the voice of the participant `identity` alone. To be called in the room before the avatar is published:
 * an agent speaks as soon as it sees the picture. `onFlood` is called when much comes that is not played, and for a track of
 * a participant: the avatar asks for none. `onSegment` receives the segments of the transcript; null without a transcript.
 */
export const receiveVoice = (
  room: Room,
  identity: string,
  onFlood: () => void,
  onSegment: ((segment: TranscriptSegment) => void) | null,
): AgentVoice => {
  const { call, reset } = createCaller(room, identity);
  const report = (samples: number, isInterrupted: boolean): void => {
    // The agent takes no other members.
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

  /** Stops speaking. Returns how many samples of each segment were played. */
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
    // Seconds count while the agent is present. What a server passes on of a participant whom it does not show would cost nothing.
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
    // Each segment of the agent has an end.
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
