/**
 * How long sound travels between a person and the avatar. The time of the network is half a round trip to the page. Our
 * jitter buffer is measured. The page does not report its own, so Chromium's value for even packets is assumed.
 */
import type { Room } from "@livekit/rtc-node";
import { PERSON_IDENTITY } from "@realtime-avatar/domain/calls/room";
import type { PathDelays } from "../conversation.ts";

/** Sound is sent when a packet is full. */
const PACKET_MS = 20;
const PAGE_BUFFER_MS = 30;
/** A page answers a call of an unknown method at once. */
const PING_METHOD = "rta.ping";
const PING_MS = 2000;
const UNSUPPORTED_METHOD = 1400;
const MAX_BUFFER_MS = 1000;
/** Used before the first measurement. */
const USUAL: PathDelays = { fromPersonMs: 60, toPersonMs: 60 };

type Buffered = { seconds: number; samples: number };

/** The total time that samples of sound have spent in the jitter buffer since the start. */
const readBuffer = async (room: Room): Promise<Buffered | null> => {
  const { publisherStats, subscriberStats } = await room.getRtcStats();
  for (const { stats } of [...subscriberStats, ...publisherStats]) {
    if (stats.case !== "inboundRtp" || stats.value.stream?.kind !== "audio") continue;
    const { jitterBufferDelay = 0, jitterBufferEmittedCount = 0n } = stats.value.inbound ?? {};
    return { seconds: jitterBufferDelay, samples: Number(jitterBufferEmittedCount) };
  }
  return null;
};

/** The milliseconds of a round trip to the page; null when it does not answer in time. */
const ping = async ({ localParticipant }: Room): Promise<number | null> => {
  const sentAt = performance.now();
  const request = { destinationIdentity: PERSON_IDENTITY, method: PING_METHOD, payload: "", responseTimeout: PING_MS };
  try {
    await localParticipant?.performRpc(request);
  } catch (error) {
    if ((error as { code?: number }).code !== UNSUPPORTED_METHOD) return null;
  }
  return performance.now() - sentAt;
};

export type PathMeter = {
  delays(): PathDelays;
  /**
   * Measures again. The buffer is measured since the last call. Must be called when a turn begins, and in its pauses.
   */
  measure(): Promise<void>;
};

export const createPathMeter = (room: Room): PathMeter => {
  let before: Buffered = { seconds: 0, samples: 0 };
  let delays = USUAL;
  let isMeasuring = false;
  const measure = async (): Promise<void> => {
    const [buffer, roundTripMs] = await Promise.all([readBuffer(room), ping(room)]);
    if (buffer === null || roundTripMs === null || buffer.samples <= before.samples) return;
    const bufferMs = (1000 * (buffer.seconds - before.seconds)) / (buffer.samples - before.samples);
    before = buffer;
    const wayMs = PACKET_MS + roundTripMs / 2;
    delays = {
      fromPersonMs: wayMs + Math.min(MAX_BUFFER_MS, Math.max(0, bufferMs)),
      toPersonMs: wayMs + PAGE_BUFFER_MS,
    };
  };
  return {
    delays: () => delays,
    measure: async () => {
      if (isMeasuring) return;
      isMeasuring = true;
      // The room was left.
      await measure().catch(() => {});
      isMeasuring = false;
    },
  };
};
