/**
 * The protocol between the avatar and the pages of the published SDK: messages on a topic, and attributes of the
 * avatar.
 */
import type { EndReason } from "./end-reasons.ts";
import type { CallMode, ReleaseReason } from "./schemas.ts";

export const LIFECYCLE_TOPIC = "rta.lifecycle";

/** The maximum length of a message that is read. */
const MAX_REQUEST_BYTES = 1024;
/** The maximum length of an id in a message, in UTF-16 units. The SDK refuses longer ids. */
const MAX_ID_LENGTH = 64;

/** The reasons for which a call ends soon. */
export type EndingReason = Extract<EndReason, "session_cap" | "idle">;

/** The reasons for the end of a call's seconds. The SDK knows `out_of_credits` only for the end itself. */
export type TimeLeftReason = Extract<EndReason, "session_cap" | "out_of_credits">;

/** The SDK refuses a message with any other field. */
export type LifecycleMessage =
  | {
      kind: "session_clock";
      started_at_unix_ms: number;
      max_session_seconds: number;
      idle_timeout_seconds: number;
    }
  | { kind: "ending"; reason: EndingReason }
  /**
   * The remaining seconds, in the last minute of a call, and the reason for its end. Only our own pages use this
   * message; the SDK ignores unknown kinds. Both fields are null when the call goes on for longer because its hold has
   * grown.
   */
  | { kind: "time_left"; seconds: number; reason: TimeLeftReason }
  | { kind: "time_left"; seconds: null; reason: null }
  /** The avatar has said the last line. The call ends now. */
  | { kind: "closing_turn_done"; turn_id: string }
  /** Whether the avatar makes the requested gesture, and the reason if it does not. */
  | { kind: "clip_ack"; request_id: string; accepted: boolean; reason: string }
  | { kind: "ended"; reason: EndReason };

/** `end`: the SDK's `requestGracefulClose`. `action`: its `performAction`. */
export type PageMessage = { kind: "end" } | { kind: "action"; requestId: string; actionId: string };

const parse = (message: Uint8Array): Record<string, unknown> | null => {
  if (message.length > MAX_REQUEST_BYTES) return null;
  try {
    return JSON.parse(new TextDecoder().decode(message));
  } catch {
    return null;
  }
};

const isId = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= MAX_ID_LENGTH;

/** A message of a page; null for other messages, which are ignored. */
export const readPageMessage = (message: Uint8Array): PageMessage | null => {
  const { kind, request_id: requestId, action_id: actionId } = parse(message) ?? {};
  if (kind === "request_graceful_close") return { kind: "end" };
  return kind === "action_request" && isId(requestId) && isId(actionId)
    ? { kind: "action", requestId, actionId }
    : null;
};

export const encodeLifecycle = (message: LifecycleMessage): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(message));

/** The activity of the avatar. While it thinks or speaks, the SDK does not count the call as idle. */
export type AgentState = "listening" | "thinking" | "speaking";

/** The attributes of the avatar as a participant. `rta.media_mode` says whether it has a picture. */
export const avatarAttributes = (mode: CallMode, state: AgentState = "listening"): Record<string, string> => ({
  "rta.media_mode": mode === "avatar" ? "video" : "voice",
  "lk.agent.state": state,
});

/** The end reason of a call that a program released. */
export const toEndReason = (reason: ReleaseReason | undefined): EndReason => {
  if (reason === "idle_timeout") return "idle";
  return reason === "disconnected" ? "disconnected" : "user_ended";
};
