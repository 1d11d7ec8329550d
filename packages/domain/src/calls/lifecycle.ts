/** What the avatar and the pages of the published SDK tell each other: messages on a topic, and attributes of the avatar. */
import type { EndReason } from "./end-reasons.ts";
import type { CallMode, ReleaseReason } from "./schemas.ts";

export const LIFECYCLE_TOPIC = "rta.lifecycle";

/** The longest message of a page that is read. */
const MAX_REQUEST_BYTES = 1024;

/** Why a call ends soon. */
export type EndingReason = Extract<EndReason, "session_cap" | "idle">;

/** The SDK refuses a message with any other field. */
export type LifecycleMessage =
  | {
      kind: "session_clock";
      started_at_unix_ms: number;
      max_session_seconds: number;
      idle_timeout_seconds: number;
    }
  | { kind: "ending"; reason: EndingReason }
  /** The answer to the last turn of a call is over: the page may end the call. */
  | { kind: "closing_turn_done"; turn_id: string }
  | { kind: "ended"; reason: EndReason };

/** Whether a message of a page asks for the end of the call, as that of the SDK's `requestGracefulClose`. */
export const asksToEnd = (message: Uint8Array): boolean => {
  if (message.length > MAX_REQUEST_BYTES) return false;
  try {
    return JSON.parse(new TextDecoder().decode(message))?.kind === "request_graceful_close";
  } catch {
    return false;
  }
};

export const encodeLifecycle = (message: LifecycleMessage): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(message));

/** The activity of the avatar. While it thinks or speaks, the SDK does not count the call as idle. */
export type AgentState = "listening" | "thinking" | "speaking";

/** The attributes of the avatar as a participant. `rta.media_mode` tells whether it has a picture. */
export const avatarAttributes = (mode: CallMode, state: AgentState = "listening"): Record<string, string> => ({
  "rta.media_mode": mode === "avatar" ? "video" : "voice",
  "lk.agent.state": state,
});

/** Why a call has ended that a program released. */
export const endReasonOf = (reason: ReleaseReason | undefined): EndReason => {
  if (reason === "idle_timeout") return "idle";
  return reason === "disconnected" ? "disconnected" : "user_ended";
};
