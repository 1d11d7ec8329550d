/** Resuming a call. It goes on in a new room, because LiveKit cannot revoke the tokens of the old one. */
import type { SessionId } from "../id.ts";
import { Problem } from "../problem.ts";
import type { ConnectionHistoryGrant } from "./kept/connection-history.ts";
import { IDLE_TIMEOUT_SECONDS, RETURN_SECONDS } from "./limits.ts";
import { PERSON_IDENTITY } from "./room.ts";
import type { CallGrant, CallInput } from "./schemas.ts";
import { ignoredFields } from "./start.ts";
import { RESUME } from "./worker-sync.ts";

/** A call whose person wants to come back. */
export type CallToResume = {
  sessionId: SessionId;
  /** Neither the call nor its lease has ended. */
  isOpen: boolean;
  isStarted: boolean;
  /** The call is in the room of an agent, or an agent brings its avatar. */
  hasAgent: boolean;
  roomNumber: number;
  /** An earlier request has given the call this room. The room is not known to exist. */
  isRoomPending: boolean;
  input: CallInput;
  /** For how long the call holds credits. */
  heldSeconds: number;
  /** The maximum length of the call; above `heldSeconds` when its hold grows. */
  maxSeconds: number;
  /** The price of a second, in credit micros. */
  price: number;
  /** The features of its avatar worker. */
  features: readonly string[];
  /** Whether pages of the call upload how well they are connected. */
  hasConnectionHistory: boolean;
};

const notResumable = (detail: string): Problem => new Problem("call_not_resumable", detail);

/**
 * The number of the room in which `call` goes on. Throws the problem `session_closed` when it has ended, and `call_not_resumable` when
 * it cannot change its room.
 */
export const roomToResumeIn = (call: CallToResume): number => {
  if (!call.isOpen) throw new Problem("session_closed", "The call has ended.");
  if (call.hasAgent) throw notResumable("The avatar of the call speaks for an agent, which is in the room.");
  if (!call.isStarted) {
    throw notResumable("Nobody has joined the call. Send the same start again, with its `Idempotency-Key`.");
  }
  if (!call.features.includes(RESUME)) {
    throw notResumable("The avatar worker of the call cannot change rooms: it is of an earlier release.");
  }
  return call.isRoomPending ? call.roomNumber : call.roomNumber + 1;
};

/** The grant of a call that goes on in another room. */
export const presentResumed = (
  { sessionId, input, heldSeconds, maxSeconds, price, features }: CallToResume,
  {
    roomName,
    livekitUrl,
    token,
    now,
    connectionHistory,
  }: {
    roomName: string;
    livekitUrl: string;
    token: string;
    now: Date;
    connectionHistory: ConnectionHistoryGrant | null;
  },
): CallGrant => ({
  status: "ready",
  session_id: sessionId,
  room_name: roomName,
  livekit_url: livekitUrl,
  participant_token: token,
  participant_identity: PERSON_IDENTITY,
  reservation_expires_at: new Date(now.getTime() + RETURN_SECONDS * 1000).toISOString(),
  stt_mode: input.stt_mode,
  room_created: true,
  dispatch_created: true,
  join_timeout_seconds: RETURN_SECONDS,
  idle_timeout_seconds: IDLE_TIMEOUT_SECONDS,
  max_session_seconds: maxSeconds,
  held_seconds: heldSeconds,
  price_credit_micros_per_second: price,
  ...(connectionHistory && { connection_history: connectionHistory }),
  ignored: ignoredFields(input, features),
});
