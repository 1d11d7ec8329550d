/** The webhooks of a LiveKit server. */
import { createHash } from "node:crypto";
import type { LivekitConfig } from "./config.ts";

/**
 * The room of an event. Null for an event without a room, and when the signature is missing or wrong. An event is only
 * a reason to examine the room, because it can be late, repeated or out of order. `readBody` is called only for a token
 * that our secret has signed for an event.
 */
export const readEvent = async (
  { apiKey, apiSecret }: LivekitConfig,
  authorization: string | null,
  readBody: () => Promise<string>,
): Promise<{ roomName: string | null } | null> => {
  if (authorization === null) return null;
  const { TokenVerifier } = await import("livekit-server-sdk");
  const claims = await new TokenVerifier(apiKey, apiSecret.reveal()).verify(authorization).catch(() => null);
  // A token of a participant has the same signature but no digest.
  if (!claims?.sha256) return null;
  const body = await readBody();
  if (claims.sha256 !== createHash("sha256").update(body).digest("base64")) return null;
  return { roomName: roomNameOf(body) };
};

/** Parsed here, because the library refuses an event with unknown fields, and LiveKit would then repeat the event. */
const roomNameOf = (body: string): string | null => {
  try {
    const { room } = JSON.parse(body) as { room?: { name?: unknown } };
    return typeof room?.name === "string" ? room.name : null;
  } catch {
    return null;
  }
};
