/** A participant who sends so much that it takes the time of other calls: LiveKit and its library have no limit for it. */
import { type Room, RoomEvent } from "@livekit/rtc-node";

const CHECK_MS = 1000;
type Received = { messages: number; bytes: number };

type Limits = Received & { burstSeconds: number };

/**
 * What may come each second, and in how many seconds as much at once. A page that tells its state 60 times a second stays below. An
 * agent sends its speech as fast as it has it: a minute can come at once, in frames of 20 ms at 48 kHz. In the long run it sends no
 * more than can be heard, which is 200 KB a second at most. The library keeps what a stream began with until the stream or the call
 * ends, so what comes in the long run is memory. Streams can be compressed, and the library decompresses them before it tells of
 * them: the bytes of a person are few, so that they cost little processor time.
 */
export const LIMITS: Record<"person" | "agent", Limits> = {
  person: { messages: 100, bytes: 64 * 1024, burstSeconds: 10 },
  agent: { messages: 100, bytes: 256 * 1024, burstSeconds: 40 },
};

/**
 * What the room has received on its data channels so far. By its statistics, because that is all there is: the events of the
 * library do not tell of streams and calls of methods that nobody handles, and each of their packets costs as much as a message.
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
 * Returns a function to call often, which calls `onFlood` when the others have sent more than `limits`, or have published, muted or
 * joined as often.
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
