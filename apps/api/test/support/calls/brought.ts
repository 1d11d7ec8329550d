/** Brought rooms, for tests: tokens in the form of the plugin `bey`, and its request. */
import type { Answer, TestApi } from "../api.ts";

export const BRING = "/compat/bey/v1/session";
export const ROOM_URL = "wss://project.livekit.cloud";

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

let tokens = 0;
/** The claims of a token of the plugin, different each time. */
export const roomClaims = () => ({
  exp: Math.floor(Date.now() / 1000) + 21_600 + tokens++,
  nbf: Math.floor(Date.now() / 1000),
  iss: "API of somebody",
  sub: "bey-avatar-agent",
  name: "bey-avatar-agent",
  kind: "agent",
  video: { roomJoin: true, room: "the room of an agent" } as Record<string, unknown>,
  attributes: { "lk.publish_on_behalf": "agent-AJ_x" } as Record<string, unknown>,
});

/** A token with these claims. Its secret is unknown to the service, so any signature is accepted. */
export const roomToken = (changes: object = {}): string =>
  `${encode({ alg: "HS256" })}.${encode({ ...roomClaims(), ...changes })}.${"x".repeat(43)}`;

/** The path and the fields of the plugin since 1.8.9. */
export const BRING_BY_TRANSPORT = "/compat/bey/v1/sessions";

/** Sends a request like the plugin since 1.8.9. */
export const bringByTransportTo =
  (call: TestApi["call"]) =>
  (key: string, avatarId: string, changes: object = {}, headers: Record<string, string> = {}): Promise<Answer> => {
    const body = { transport: "livekit", avatar_id: avatarId, url: ROOM_URL, token: roomToken(), ...changes };
    return call("POST", BRING_BY_TRANSPORT, { body, headers: { "x-api-key": key, ...headers } });
  };

/** Sends a request like the plugin up to 1.8.8, and like the JavaScript plugin. */
export const bringTo =
  (call: TestApi["call"]) =>
  (key: string, avatarId: string, changes: object = {}, headers: Record<string, string> = {}): Promise<Answer> => {
    const body = { avatar_id: avatarId, livekit_url: ROOM_URL, livekit_token: roomToken(), ...changes };
    return call("POST", BRING, { body, headers: { "x-api-key": key, ...headers } });
  };
