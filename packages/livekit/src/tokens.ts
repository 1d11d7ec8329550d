/** Tokens with which a participant joins a room. */
import type { CallToken } from "@realtime-avatar/domain/calls/room";
import type { LivekitConfig } from "./config.ts";

/** Signs a token that is valid from now on. */
export const mintToken = async (
  { apiKey, apiSecret }: LivekitConfig,
  { identity, kind, ttlSeconds, attributes, video }: CallToken,
): Promise<string> => {
  const { AccessToken, TrackSource } = await import("livekit-server-sdk");
  const { canPublishSources, ...grant } = video;
  const token = new AccessToken(apiKey, apiSecret.reveal(), { identity, ttl: ttlSeconds, attributes });
  token.kind = kind;
  token.addGrant({ ...grant, ...(canPublishSources && { canPublishSources: [TrackSource.MICROPHONE] }) });
  return token.toJwt();
};

/** A token without rights except joining a room, to ask the server about the room. */
export const probeToken = (config: LivekitConfig, room: string): Promise<string> =>
  mintToken(config, {
    identity: "probe",
    kind: "standard",
    ttlSeconds: 10,
    attributes: {},
    video: {
      roomJoin: true,
      room,
      canSubscribe: false,
      canPublish: false,
      canPublishData: false,
      canUpdateOwnMetadata: false,
    },
  });
