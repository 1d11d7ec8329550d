/** Joining and leaving a room. */
import { ConnectionState, type RemoteParticipant, type Room, RoomEvent } from "@livekit/rtc-node";

const JOIN_MS = 10_000;
const LEAVE_MS = 2000;

/** The result of `work`; rejects when it takes longer than `ms`. */
export const withTimeout = async <Result>(ms: number, work: Promise<Result>): Promise<Result> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it took too long")), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** Leaves a room once. Does not wait for an unresponsive server. */
export const leaveRoom = async (room: Room): Promise<void> => {
  if (room.connectionState === ConnectionState.CONN_DISCONNECTED) return;
  const tracks = [...room.remoteParticipants.values()].flatMap(({ trackPublications }) => [
    ...trackPublications.values(),
  ]);
  await withTimeout(LEAVE_MS, room.disconnect()).catch(() => {});
  // Closed now, because their threads and files would stay until the next garbage collection.
  await Promise.all(tracks.map(({ track }) => track?.close()));
};

/**
 * Joins a room without subscriptions. With `dynacast`, a track without subscribers is not encoded. Rejects with a
 * message without the token. `maxStreamBytes`: the limit of one stream after decompression. The library keeps a whole
 * stream in memory, also the stream of a method call. Compressed, it can be a thousand times smaller.
 */
export const joinRoom = async (room: Room, url: string, token: string, maxStreamBytes: number): Promise<void> => {
  const dataStream = { maxPayloadByteLength: maxStreamBytes };
  const connecting = room.connect(url, token, { autoSubscribe: false, dynacast: true, dataStream });
  try {
    await withTimeout(JOIN_MS, connecting);
  } catch {
    // The join can still succeed. The room must be left then.
    connecting.then(
      () => leaveRoom(room),
      () => {},
    );
    throw new Error("the room cannot be joined");
  }
};

/**
 * Waits for a participant. True if the participant is present, or joins within `seconds` and before the room is left.
 */
export const waitForParticipant = (room: Room, identity: string, seconds: number): Promise<boolean> =>
  new Promise((resolve) => {
    if (!room.isConnected || room.remoteParticipants.has(identity)) return resolve(room.isConnected);
    const settle = (isThere: boolean): void => {
      clearTimeout(timer);
      room.off(RoomEvent.ParticipantConnected, onConnected);
      room.off(RoomEvent.Disconnected, onDisconnected);
      resolve(isThere);
    };
    const onConnected = (participant: RemoteParticipant): void => {
      if (participant.identity === identity) settle(true);
    };
    const onDisconnected = (): void => settle(false);
    const timer = setTimeout(() => settle(false), seconds * 1000);
    room.on(RoomEvent.ParticipantConnected, onConnected);
    room.on(RoomEvent.Disconnected, onDisconnected);
  });
