/** The conversation of a call, received from its room: the words of both sides, and the state of the avatar. */
import type { AgentState } from "@realtime-avatar/domain/calls/lifecycle";
import { PERSON_IDENTITY } from "@realtime-avatar/domain/calls/room";
import { type Room, RoomEvent } from "livekit-client";

/** A spoken text. It grows while the avatar speaks. */
export type Caption = { id: string; isOwn: boolean; text: string };

/** Older texts are dropped. */
const MAX_CAPTIONS = 50;
const STATES: readonly string[] = ["listening", "thinking", "speaking"] satisfies AgentState[];

/** Adds a text, or replaces the one with its id. */
export const addCaption = (captions: readonly Caption[], caption: Caption): readonly Caption[] => {
  const index = captions.findIndex(({ id }) => id === caption.id);
  return index === -1 ? [...captions, caption].slice(-MAX_CAPTIONS) : captions.with(index, caption);
};

type Events = { onCaption: (caption: Caption) => void; onState: (state: AgentState) => void };

/** Must be called before the room is joined. */
export const watchConversation = (room: Room, { onCaption, onState }: Events): void => {
  room.registerTextStreamHandler("lk.transcription", (reader, { identity }) => {
    const id = `${identity} ${reader.info.attributes?.["lk.segment_id"] ?? reader.info.id}`;
    reader
      .readAll()
      .then((text) => onCaption({ id, isOwn: identity === PERSON_IDENTITY, text }))
      .catch(() => {});
  });
  room.on(RoomEvent.ParticipantAttributesChanged, ({ "lk.agent.state": state = "" }) => {
    if (STATES.includes(state)) onState(state as AgentState);
  });
};

/** Sends a turn as text. */
export const sendTurn = async (room: Room | null, text: string): Promise<void> => {
  await room?.localParticipant.sendText(text, { topic: "lk.chat" });
};
