/** The connection of the avatar to a room of a call. */
import { Room, RoomEvent } from "@livekit/rtc-node";
import type { AssignedCall, Move } from "@realtime-avatar/domain/calls/worker-sync";
import { joinRoom, leaveRoom } from "./join.ts";
import { type Relay, startRelay } from "./relay/relay.ts";
import { otherSide } from "./sides.ts";

/** The longest stream that is read. For a person: none is needed. For an agent: 175 seconds of speech at 48 kHz. */
const MAX_STREAM_BYTES = { person: 64 * 1024, agent: 16 * 1024 * 1024 };

/** The access to a room. */
export type Access = Pick<Move, "url" | "token">;

/** A connection to a room of a call. `joining`: the join. `gone`: rejects when the room is left or deleted. */
export type Connection = { room: Room; joining: Promise<void>; gone: Promise<never>; disconnect(): Promise<void> };

/** Joins a room of a call. The server of a brought room is untrusted: `onFlood` is called when it sends too much. */
export const connect = (assigned: AssignedCall, { url, token }: Access, onFlood: () => void): Connection => {
  const room = new Room();
  let relay: Relay | null = null;
  const join = async (): Promise<void> => {
    if (assigned.agent_identity !== null) relay = await startRelay(url, onFlood);
    await joinRoom(room, relay?.url ?? url, token, MAX_STREAM_BYTES[otherSide(assigned)]);
  };
  const disconnect = async (): Promise<void> => {
    await leaveRoom(room);
    relay?.close();
  };
  const gone = new Promise<never>((_, reject) => {
    room.once(RoomEvent.Disconnected, () => reject(new Error("the room is gone")));
  });
  gone.catch(() => {});
  return { room, joining: join(), gone, disconnect };
};
