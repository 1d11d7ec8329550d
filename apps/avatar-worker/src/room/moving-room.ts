/**
 * The room of a call, for the conversation and the other parts of the call: one object that stays the same when the
 * call moves to another room. Registered handlers are registered again in the new room.
 */
import { type LocalParticipant, type Room, RoomEvent } from "@livekit/rtc-node";

/** An object that reads its members from `current()` at each use. `own`: its own members. */
export const following = <Target extends object>(current: () => Target, own: Partial<Target> = {}): Target =>
  new Proxy(own as Target, {
    get: (_, name) => {
      if (name in own) return Reflect.get(own, name);
      const member = Reflect.get(current(), name);
      if (typeof member !== "function") return member;
      return (...input: unknown[]) => {
        const target = current();
        return Reflect.apply(Reflect.get(target, name) as typeof member, target, input);
      };
    },
  });

type Handler = (...input: never[]) => void;

export type MovingRoom = {
  room: Room;
  /**
   * Moves to `next`: reports that the participants of the previous room have left, and that those of `next` have joined
   * with their tracks.
   */
  moveTo(next: Room): void;
};

export const createMovingRoom = (first: Room): MovingRoom => {
  let current = first;
  let isBetween = false;
  const handlers: { event: string; handler: Handler }[] = [];
  const registrations: ((room: Room) => void)[] = [];

  const register = (registration: (room: Room) => void): void => {
    registrations.push(registration);
    registration(current);
  };
  const emit = (event: RoomEvent, ...input: unknown[]): void => {
    for (const one of handlers) if (one.event === event) (one.handler as (...all: unknown[]) => void)(...input);
  };
  const localParticipant = following<LocalParticipant>(() => current.localParticipant as LocalParticipant, {
    registerRpcMethod: (method, handler) =>
      register((room) => room.localParticipant?.registerRpcMethod(method, handler)),
  });
  const room = following<Room>(() => current, {
    localParticipant,
    get remoteParticipants() {
      return isBetween ? new Map() : current.remoteParticipants;
    },
    on: ((event: string, handler: Handler) => {
      handlers.push({ event, handler });
      current.on(event as never, handler as never);
      return room;
    }) as Room["on"],
    registerTextStreamHandler: (topic, handler) => register((one) => one.registerTextStreamHandler(topic, handler)),
  });
  return {
    room,
    moveTo: (next) => {
      const left = [...current.remoteParticipants.values()];
      for (const { event, handler } of handlers) current.off(event as never, handler as never);
      isBetween = true;
      for (const participant of left) emit(RoomEvent.ParticipantDisconnected, participant);
      isBetween = false;
      current = next;
      for (const { event, handler } of handlers) current.on(event as never, handler as never);
      for (const registration of registrations) registration(current);
      for (const participant of next.remoteParticipants.values()) {
        emit(RoomEvent.ParticipantConnected, participant);
        for (const publication of participant.trackPublications.values()) {
          emit(RoomEvent.TrackPublished, publication, participant);
        }
      }
    },
  };
};
