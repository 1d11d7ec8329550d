/**
 * Detects a participant whose data takes processor time from other calls. LiveKit and its library have no such limit.
 */
import { type Room, RoomEvent } from "@livekit/rtc-node";

const CHECK_MS = 1000;
type Received = { messages: number; bytes: number };

type Limits = Received & { burstSeconds: number };

/**
 * Limits per second, and the number of seconds that may come at once. A page that sends its state 60 times a second
 * stays below. An agent sends speech as fast as it has it: a minute can come at once, in frames of 20 ms at 48 kHz. In
 * the long run it sends no more than can be heard, which is at most 200 KB a second. The library keeps the first data
 * of a stream until the stream or the call ends, so the long-run limit bounds memory. The library decompresses streams
 * before it reports them. The limit of a person's bytes is low, so that this costs little processor time.
 */
export const LIMITS: Record<"person" | "agent", Limits> = {
  person: { messages: 100, bytes: 64 * 1024, burstSeconds: 10 },
  agent: { messages: 100, bytes: 256 * 1024, burstSeconds: 40 },
};

/**
 * The totals that the room has received on its data channels. Read from its statistics, because the library reports no
 * events for streams and method calls without a handler. Each of their packets costs as much as a message.
 */
const readReceived = async (room: Room): Promise<Received> => {
  const { publisherStats, subscriberStats } = await room.getRtcStats();
  const received = { messages: 0, bytes: 0 };
  for (const { stats } of [...publisherStats, ...subscriberStats]) {
    if (stats.case !== "dataChannel") continue;
    received.messages += stats.value.dc?.messagesReceived ?? 0;
    received.bytes += Number(stats.value.dc?.bytesReceived ?? 0);
  }
  return received;
};

/**
 * Returns a function that must be called often. It calls `onFlood` when the other participants have exceeded `limits`
 * with data, or with tracks, mutes and joins.
 */
export const watchFlood = (room: Room, limits: Limits, onFlood: () => void): ((now: number) => void) => {
  let before: Received = { messages: 0, bytes: 0 };
  let changes = 0;
  let checkedAt = 0;
  const excess: Received = { messages: 0, bytes: 0 };
  const check = async (): Promise<void> => {
    const received = await readReceived(room);
    const now = { ...received, messages: received.messages + changes };
    for (const kind of ["messages", "bytes"] as const) {
      excess[kind] = Math.max(0, excess[kind] + now[kind] - before[kind] - limits[kind]);
      if (excess[kind] > limits.burstSeconds * limits[kind]) onFlood();
    }
    before = now;
  };
  const count = (): void => {
    changes++;
  };
  const { TrackPublished, TrackUnpublished, TrackMuted, TrackUnmuted, ParticipantConnected } = RoomEvent;
  for (const event of [TrackPublished, TrackUnpublished, TrackMuted, TrackUnmuted, ParticipantConnected]) {
    room.on(event, count);
  }
  return (now) => {
    if (now - checkedAt < CHECK_MS) return;
    checkedAt = now;
    check().catch(() => {});
  };
};
