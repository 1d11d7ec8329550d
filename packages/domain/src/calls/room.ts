/** The rooms of calls, and the grants of their tokens. */
import type { SessionId } from "../id.ts";
import { avatarAttributes } from "./lifecycle.ts";
import { JOIN_TIMEOUT_SECONDS } from "./limits.ts";
import type { CallMode } from "./schemas.ts";

/** The identities in a room. A second participant with one of them replaces the first. */
export const PERSON_IDENTITY = "person";
export const AVATAR_IDENTITY = "avatar";

/** The start of the names of our rooms. `instance` distinguishes services that share a LiveKit server. */
export const roomPrefix = (instance: string): string => `rta-${instance}-`;

/** The name of a room of a call. `number` counts the rooms of the call, because a resumed call gets another room. */
export const roomName = (instance: string, session: SessionId, number = 1): string =>
  `${roomPrefix(instance)}${number === 1 ? "" : `${number}-`}${session}`;

/** The id of the session in the name of a room. */
export const sessionOfRoom = (name: string): string => name.slice(name.lastIndexOf("-") + 1);

/**
 * The grants of a token for a room. No token has `roomCreate` or `roomConfig`. So the holder of an old token cannot
 * bring an agent into a room, and cannot create a room again, unless the server allows it to everyone. No token has
 * administrative grants.
 */
export type CallToken = {
  identity: string;
  kind: "standard" | "agent";
  ttlSeconds: number;
  attributes: Record<string, string>;
  video: {
    roomJoin: true;
    room: string;
    canSubscribe: boolean;
    canPublish: boolean;
    /** Omitted: all sources. */
    canPublishSources?: "microphone"[];
    canPublishData: boolean;
    canUpdateOwnMetadata: boolean;
  };
};

/**
 * The token of the person, who may publish only a microphone. LiveKit accepts a token for one minute longer, and gives
 * a participant a further token that is valid for ten minutes. `ttlSeconds`: for how long the call waits for the
 * person.
 */
export const personToken = (room: string, ttlSeconds: number = JOIN_TIMEOUT_SECONDS): CallToken => ({
  identity: PERSON_IDENTITY,
  kind: "standard",
  ttlSeconds,
  attributes: {},
  video: {
    roomJoin: true,
    room,
    canSubscribe: true,
    canPublish: true,
    canPublishSources: ["microphone"],
    canPublishData: true,
    canUpdateOwnMetadata: false,
  },
});

/**
 * The token of the avatar, whose attributes say when it speaks. LiveKit does not count agents as participants. It lasts
 * as long as the call can, so that the avatar can join again when its process has ended. Callers never get it.
 */
export const avatarToken = (room: string, mode: CallMode, maxSeconds: number): CallToken => ({
  identity: AVATAR_IDENTITY,
  kind: "agent",
  ttlSeconds: JOIN_TIMEOUT_SECONDS + maxSeconds,
  attributes: avatarAttributes(mode),
  video: {
    roomJoin: true,
    room,
    canSubscribe: true,
    canPublish: true,
    canPublishData: true,
    canUpdateOwnMetadata: true,
  },
});
