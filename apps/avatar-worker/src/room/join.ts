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

/** Leaves a room, at most once. A server that does not respond is not waited for. */
export const leaveRoom = async (room: Room): Promise<void> => {
  if (room.connectionState === ConnectionState.CONN_DISCONNECTED) return;
  const tracks = [...room.remoteParticipants.values()].flatMap(({ trackPublications }) => [
    ...trackPublications.values(),
  ]);
  await withTimeout(LEAVE_MS, room.disconnect()).catch(() => {});
  // Else their threads and files would be there until the next garbage collection.
  await Promise.all(tracks.map(({ track }) => track?.close()));
};

/**
 * Joins a room, and subscribes to nothing in it. With `dynacast`, a track without subscribers is not encoded. Rejects when that fails; its message says no token. `maxStreamBytes`: of one
 * stream, when it is not compressed any more. The library keeps as much of a stream in memory, that of a method call included, and
 * a thousandth of it can be enough on the wire.
 */
export const joinRoom = async (room: Room, url: string, token: string, maxStreamBytes: number): Promise<void> => {
  const dataStream = { maxPayloadByteLength: maxStreamBytes };
  const connecting = room.connect(url, token, { autoSubscribe: false, dynacast: true, dataStream });
  try {
    await withTimeout(JOIN_MS, connecting);
  } catch {
    // It may still succeed: then the room must be left.
    connecting.then(
      () => leaveRoom(room),
      () => {},
    );
    throw new Error("the room cannot be joined");
  }
};

/** Whether a participant is in the room, now or within `seconds`, and before the room is left. */
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
