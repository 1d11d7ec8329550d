/** A call as the service assigns it, for tests without a room. */
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId } from "@realtime-avatar/domain/id";

export const assigned: AssignedCall = {
  session_id: "ses_x" as SessionId,
  generation: 1,
  environment: "live",
  url: "ws://x",
  token: "t",
  agent_identity: null,
  mode: "avatar",
  avatar: { avatar_id: "ava_x", manifest: null },
  input: { stt_mode: "server" },
  max_seconds: 60,
  limit: "session_cap",
  used_seconds: 0,
  idle_seconds: 30,
  away_seconds: 10,
};
