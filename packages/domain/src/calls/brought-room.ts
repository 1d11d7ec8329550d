/**
 * The room that an agent brings: its LiveKit server, and a token with which the avatar joins. Both come from a caller,
 * so neither is trusted. The avatar worker connects to the server, so only the hosts of the operator's list and our own
 * server are accepted, whatever a name resolves to. The token is read but not verified, because its secret is not ours.
 * LiveKit verifies it.
 */
import { createHash } from "node:crypto";
import type { Static } from "@sinclair/typebox";
import type { RandomBytes, SessionId, TenantId } from "../id.ts";
import { type FieldError, validationFailed } from "../problem.ts";
import { ClosedObject, isValid, OneOf, Text } from "../schema.ts";
import { deriveKey, openSealed, seal } from "../secrets/sealed.ts";

const AVATAR_ID = Text({ minLength: 1, maxLength: 160 });
const ROOM_URL = Text({ minLength: 1, maxLength: 2048 });
const ROOM_TOKEN = Text({ minLength: 1, maxLength: 4096 });

/** The body of `POST /compat/bey/v1/session`: of the plugin `bey` of LiveKit Agents up to 1.8.8, and of the one in JavaScript. */
export const BringRoom = ClosedObject({ avatar_id: AVATAR_ID, livekit_url: ROOM_URL, livekit_token: ROOM_TOKEN });
export type BringRoom = Static<typeof BringRoom>;

/** The body of `POST /compat/bey/v1/sessions`: of the plugin from 1.8.9 on. */
export const BringRoomByTransport = ClosedObject({
  transport: OneOf(["livekit"]),
  avatar_id: AVATAR_ID,
  url: ROOM_URL,
  token: ROOM_TOKEN,
});
export type BringRoomByTransport = Static<typeof BringRoomByTransport>;

export const BroughtCall = ClosedObject({ id: Text({ minLength: 1, maxLength: 64 }) });
export type BroughtCall = Static<typeof BroughtCall>;

/** How long a token must still be valid, because the worker joins a moment later. */
const MIN_VALID_SECONDS = 60;

/** An entry of BYO_LIVEKIT_HOSTS: a host, or `*.` and the end of its name; with a port, unless it is that of https. */
const HOST_ENTRY = /^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[1-9]\d{0,4})?$/;
const LOOPBACK_ENTRY = /^((.*\.)?localhost|127(\.\d+){3}|0\.0\.0\.0)(:\d+)?$/;

/** The entries of a list such as `*.livekit.cloud, livekit.example.com:7443`; null when an entry is not a host. */
export const readHosts = (text: string): string[] | null => {
  const entries = text.split(",").map((entry) => entry.trim().toLowerCase());
  return entries.every((entry) => HOST_ENTRY.test(entry)) ? entries : null;
};

/** Whether a list has a host of this machine, which is only for development. */
export const hasLoopback = (hosts: readonly string[]): boolean => hosts.some((host) => LOOPBACK_ENTRY.test(host));

/** The servers that an avatar may join: the hosts of the operator's list, and the LiveKit server of the service. */
export type AllowedServers = { hosts: readonly string[]; ownUrl: string };

/** Only a host and a port: no user, path, query or character that programs read differently. */
const URL_FORM = /^wss?:\/\/([a-z0-9.-]{1,253}|\[[0-9a-f:.]+\])(:\d{1,5})?\/?$/i;
/** A label of the name of a host (RFC 1123). */
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/**
 * Scheme, host and port. All spellings of this machine count as one, because an agent beside an embedded LiveKit may
 * use another spelling.
 */
const originOf = ({ protocol, hostname, port }: URL): string =>
  `${protocol}//${LOOPBACK.test(hostname) ? "localhost" : hostname}:${port}`;

/** Whether `url`, as `readRoomUrl` returns it, is the LiveKit server of the service. */
export const isOwnServer = (url: string, ownUrl: string): boolean =>
  originOf(new URL(url)) === originOf(new URL(ownUrl));

const urlError = (detail: string): FieldError => ({ pointer: "#/livekit_url", code: "unsupported_url", detail });

/**
 * The URL in its normal form, or the reason why it is refused. The URL parser converts every spelling of an IPv4
 * address to one form. An address is refused unless the list has it.
 */
export const readRoomUrl = (text: string, { hosts, ownUrl }: AllowedServers): string | FieldError => {
  if (!URL_FORM.test(text) || !URL.canParse(text)) {
    return urlError("Must be wss:// and a host, with a port or without, and nothing else.");
  }
  const url = new URL(text);
  const { protocol, hostname, host } = url;
  const isName = hostname.startsWith("[") || hostname.split(".").every((label) => LABEL.test(label));
  if (!isName) return urlError("The host is not a valid name: each label has 1 to 63 letters, digits and hyphens.");
  const normal = `${protocol}//${host}`;
  if (originOf(url) === originOf(new URL(ownUrl))) return normal;
  if (protocol !== "wss:" && !(LOOPBACK.test(hostname) && hasLoopback(hosts)))
    return urlError("Must begin with wss://.");
  const isListed = hosts.some((entry) => (entry.startsWith("*.") ? host.endsWith(entry.slice(1)) : host === entry));
  return isListed ? normal : urlError("The operator of this service does not allow this host (BYO_LIVEKIT_HOSTS).");
};

/** The contents of a token that the service uses. */
export type RoomToken = { room: string; agentIdentity: string };

/** Grants that allow more than taking part in a room. */
const POWERS = ["roomAdmin", "roomCreate", "roomList", "roomRecord", "ingressAdmin", "agent"] as const;
/** Grants of a token for other features than rooms. */
const OTHER_POWERS = ["sip", "inference", "observability"] as const;

const NAME = Text({ minLength: 1, maxLength: 512 });
type Claims = Record<string, unknown>;

/** The member of an object that was parsed from JSON; undefined for other values. */
const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
    ? (value as Claims)[name]
    : undefined;

const isGranted = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

/** The claims of a JSON Web Token; null for another text. Its length is bounded, and so is the depth of its JSON. */
const claimsOf = (token: string): Claims | null => {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token) ?? [];
  if (payload === undefined) return null;
  try {
    const claims = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(payload, "base64url")));
    return typeof claims === "object" && claims !== null && !Array.isArray(claims) ? claims : null;
  } catch {
    return null;
  }
};

/** Whether the holder may publish a picture and a sound, and send messages. */
const mayPublish = (video: unknown): boolean => {
  const sources = memberOf(video, "canPublishSources") ?? [];
  const hasSources =
    Array.isArray(sources) &&
    (sources.length === 0 || ["camera", "microphone"].every((source) => sources.some((one) => one === source)));
  const grants = ["canPublish", "canPublishData"].map((name) => memberOf(video, name) ?? true);
  return hasSources && grants.every((grant) => grant === true);
};

const identityOf = (claims: Claims): unknown => memberOf(claims, "sub");
const agentOf = (claims: Claims): unknown => memberOf(memberOf(claims, "attributes"), "lk.publish_on_behalf");
/** Whether the agent of the token is the avatar itself. Such a call would have no agent, and would not be charged. */
const isOnBehalfOfItself = (claims: Claims): boolean =>
  identityOf(claims) !== undefined && identityOf(claims) === agentOf(claims);

/** The missing or excessive claims of a token. */
const faultsOf = (claims: Claims, now: Date): [code: FieldError["code"], detail: string][] => {
  const video = memberOf(claims, "video");
  const seconds = now.getTime() / 1000;
  const { exp, nbf = 0 } = { exp: memberOf(claims, "exp"), nbf: memberOf(claims, "nbf") ?? 0 };
  const checks: [isMet: boolean, code: FieldError["code"], detail: string][] = [
    [memberOf(claims, "kind") === "agent", "not_allowed", "The kind of the token must be agent (`kind`)."],
    [isValid(NAME, identityOf(claims)), "required", "The token has no identity (`sub`)."],
    [memberOf(video, "roomJoin") === true, "required", "The token may not join a room (`video.roomJoin`)."],
    [isValid(NAME, memberOf(video, "room")), "required", "The token has no room (`video.room`)."],
    [mayPublish(video), "not_allowed", "The token may not publish (`video.canPublish`)."],
    [
      isValid(NAME, agentOf(claims)),
      "required",
      "The token does not say for whom the avatar speaks (`attributes` has no `lk.publish_on_behalf`).",
    ],
    [
      !isOnBehalfOfItself(claims),
      "not_allowed",
      "The avatar cannot speak for itself: `lk.publish_on_behalf` must name another participant than `sub`.",
    ],
    [
      typeof exp === "number" && exp > seconds + MIN_VALID_SECONDS,
      "not_in_future",
      `The token must be valid for ${MIN_VALID_SECONDS} seconds more (\`exp\`).`,
    ],
    [
      typeof nbf === "number" && nbf <= seconds + MIN_VALID_SECONDS,
      "not_allowed",
      "The token is not valid yet (`nbf`).",
    ],
  ];
  return checks.filter(([isMet]) => !isMet).map(([, code, detail]) => [code, detail]);
};

/**
 * Reads a token for a room. Throws `validation_failed`, which names the missing claims. Its code is
 * `token_too_powerful` for a token that allows more than taking part in the room, because callers need not entrust us
 * with such rights.
 */
export const readRoomToken = (token: string, now: Date): RoomToken => {
  const pointer = "#/livekit_token";
  const claims = claimsOf(token);
  if (claims === null) {
    throw validationFailed([{ pointer, code: "malformed", detail: "Must be a token of LiveKit: a JSON Web Token." }]);
  }
  const video = memberOf(claims, "video");
  const powers = [
    ...POWERS.filter((name) => isGranted(memberOf(video, name))).map((name) => `video.${name}`),
    ...OTHER_POWERS.filter((name) => isGranted(memberOf(claims, name))),
  ];
  if (powers.length > 0) {
    const detail = `The token may do more than be in its room: ${powers.join(", ")}.`;
    throw validationFailed([{ pointer, code: "token_too_powerful", detail }]);
  }
  const faults = faultsOf(claims, now);
  if (faults.length > 0) throw validationFailed(faults.map(([code, detail]) => ({ pointer, code, detail })));
  return {
    room: memberOf(video, "room") as string,
    agentIdentity: agentOf(claims) as string,
  };
};

/**
 * A digest of the token and the key. Another key that sends the same token starts its own call, and learns nothing
 * about this one.
 */
export const tokenDigest = (token: string, keyId: string): Uint8Array =>
  createHash("sha256").update(`${keyId}\n${token}`).digest();

type Owner = { tenantId: TenantId; sessionId: SessionId };
const ownerOf = ({ tenantId, sessionId }: Owner): string => `${tenantId} ${sessionId}`;

/** The key that seals tokens, from `SESSION_SECRET`. Derived once, at the start of a process. */
export const roomTokenKey = (secret: { reveal(): string }): Uint8Array =>
  deriveKey(secret, "realtime-avatar room token 1");

/** A token sealed for its call. */
export const sealRoomToken = (token: string, call: Owner, key: Uint8Array, random: RandomBytes): Uint8Array =>
  seal(token, ownerOf(call), key, random);

/** The token; null when it was sealed with another key or for another call, or was changed. */
export const openRoomToken = (sealed: Uint8Array, call: Owner, key: Uint8Array): string | null =>
  openSealed(sealed, ownerOf(call), key);
