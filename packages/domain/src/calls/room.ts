/** The rooms of calls, and what the tokens for them allow. */
import type { SessionId } from "../id.ts";
import { avatarAttributes } from "./lifecycle.ts";
import { JOIN_TIMEOUT_SECONDS } from "./limits.ts";
import type { CallMode } from "./schemas.ts";

/** The identities in a room. A second participant with one of them replaces the first. */
export const PERSON_IDENTITY = "person";
export const AVATAR_IDENTITY = "avatar";

/** The start of the names of our rooms. `instance` keeps services apart that share a LiveKit server. */
export const roomPrefix = (instance: string): string => `rta-${instance}-`;

/** The name of a room of a call. `number`: counts the rooms of the call, because a call that is resumed gets another one. */
export const roomName = (instance: string, session: SessionId, number = 1): string =>
  `${roomPrefix(instance)}${number === 1 ? "" : `${number}-`}${session}`;

/** The id of the session in the name of a room. */
export const sessionOfRoom = (name: string): string => name.slice(name.lastIndexOf("-") + 1);

/**
 * What a token for a room allows. None has `roomCreate` or `roomConfig`: who keeps one can neither create a room again where
 * the server does not allow it to everybody, nor bring an agent into it. None may administer.
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
    /** Everything, where it is left out. */
    canPublishSources?: "microphone"[];
    canPublishData: boolean;
    canUpdateOwnMetadata: boolean;
  };
};

/**
 * The token of the person: a microphone, and nothing else. LiveKit accepts a token for one minute longer, and gives a
 * participant another one, which is valid for ten minutes. `ttlSeconds`: for how long the call waits for the person.
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
 * The token of the avatar, which tells by its attributes when it speaks. LiveKit does not count agents as participants. It lasts as
 * long as the call can, so that the avatar can join again when its process has ended. No caller gets it.
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
