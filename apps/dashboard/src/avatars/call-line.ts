/** Ways to call an avatar: by a program, and by the person. */
import type { Avatar } from "@realtime-avatar/client";
import { BASE } from "../paths.ts";

/** The address of the page on which the person talks to the avatar. It is a separate document. */
export const callAddress = ({ id, environment }: Pick<Avatar, "id" | "environment">): string =>
  `${BASE}/call?avatar=${id}${environment === "test" ? "&environment=test" : ""}`;

const start = (path: string, body: string): string =>
  `curl -sS ${location.origin}/api/v1/realtime/livekit/session${path} -H "Authorization: Bearer $API_KEY" ` +
  `-H "Content-Type: application/json" -d '${body}'`;

/**
 * The commands of a program, for a key with `realtime:write`. They start a call with an avatar, and end it at once: no
 * person joins the call, so it would hold its credits until the time to join has passed.
 */
export const callLines = (id: string): string =>
  `CALL=$(${start("", `{"avatar_id": "${id}", "max_session_seconds": 60}`)})
echo "$CALL"
SESSION=$(echo "$CALL" | grep -o 'ses_[0-9a-z]*' | head -n 1)
${start("/release", `{"session_id": "'$SESSION'", "reason": "manual"}`)}`;
