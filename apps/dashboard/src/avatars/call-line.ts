/** How an avatar is called: by a program, and by the person. */
import type { Avatar } from "@realtime-avatar/client";
import { BASE } from "../paths.ts";

/** The page on which the person talks to the avatar. It is another document. */
export const callAddress = ({ id, environment }: Pick<Avatar, "id" | "environment">): string =>
  `${BASE}/call?avatar=${id}${environment === "test" ? "&environment=test" : ""}`;

/** A call of up to a minute with an avatar, for a key with `realtime:write`. */
export const callLine = (id: string): string =>
  `curl -sS ${location.origin}/api/v1/usage/sessions -H "Authorization: Bearer $API_KEY" ` +
  `-H "Content-Type: application/json" -d '{"avatarId": "${id}", "maxSessionSeconds": 60}'`;
