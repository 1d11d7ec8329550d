/** Turns that a page of the published SDK sends as text: streams on `lk.chat`. */
import type { Room } from "@livekit/rtc-node";
import { PERSON_IDENTITY } from "@realtime-avatar/domain/calls/room";
import type { InputProvenance } from "@realtime-avatar/domain/calls/transcript";
import type { Turn } from "./conversation.ts";

const TOPIC = "lk.chat";
/** In UTF-16 units. A longer text is not a turn. */
const MAX_TEXT_LENGTH = 4000;
const MAX_INSTRUCTIONS_LENGTH = 4000;
const MAX_ID_LENGTH = 160;

const ATTRIBUTES = {
  id: "rta.turn_id",
  retryOf: "rta.retry_of_turn_id",
  instructions: "rta.turn_instructions",
  closing: "rta.closing_turn",
  declaredSource: "rta.declared_input_source",
  declarationScope: "rta.input_source_declaration_scope",
} as const;

/**
 * The provenance that the page declares of a turn. The turn came in as text; the application can declare that the text
 * is recognized speech.
 */
const readProvenance = (attributes: Readonly<Record<string, string>>): InputProvenance => {
  const source = attributes[ATTRIBUTES.declaredSource];
  const scope = attributes[ATTRIBUTES.declarationScope];
  return {
    ...{ version: 1, observed_source: "text", observed_by: "sdk", ingress: "room_text" },
    ...((source === "text" || source === "client_stt") && { declared_source: source }),
    ...((scope === "turn" || scope === "adapter") && { declaration_scope: scope }),
  };
};

/** Reads a turn from its text and attributes; null when it is empty or too long. */
export const readTurn = (text: string, attributes: Readonly<Record<string, string>> = {}): Turn | null => {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.length > MAX_TEXT_LENGTH) return null;
  const read = (name: keyof typeof ATTRIBUTES, maxLength: number): string | undefined =>
    attributes[ATTRIBUTES[name]]?.slice(0, maxLength).toWellFormed() || undefined;
  return {
    text: trimmed.toWellFormed(),
    id: read("id", MAX_ID_LENGTH),
    retryOf: read("retryOf", MAX_ID_LENGTH),
    instructions: read("instructions", MAX_INSTRUCTIONS_LENGTH),
    isClosing: attributes[ATTRIBUTES.closing] === "1",
    provenance: readProvenance(attributes),
  };
};

/** Calls `onTurn` with the turns of the person. The library bounds the length of a stream. */
export const receiveTurns = (room: Room, onTurn: (turn: Turn) => void): void => {
  room.registerTextStreamHandler(TOPIC, (reader, { identity }) => {
    if (identity !== PERSON_IDENTITY) return void reader.close();
    const read = async (): Promise<void> => {
      const turn = readTurn(await reader.readAll(), reader.info.attributes);
      if (turn !== null) onTurn(turn);
    };
    // Fails when the person leaves in the middle of a text.
    read().catch(() => {});
  });
};
