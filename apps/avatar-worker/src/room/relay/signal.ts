/**
 * Filters the signalling messages of a LiveKit server to the avatar. The library of LiveKit trusts the server: it ends
 * the process for an id without its prefix, for a missing room or for an invalid description. So each message is
 * decoded, checked and encoded again. Kinds and fields that the avatar does not need are left out. So are unknown ones,
 * which the library does not know either (`@livekit/protocol` 1.52.1 has the fields of the library's own protocol).
 */
import {
  type ICEServer,
  type JoinResponse,
  LeaveRequest,
  type ParticipantInfo,
  ParticipantInfo_State,
  RequestResponse,
  type RoomMovedResponse,
  type SessionDescription,
  SignalResponse,
  type TrackInfo,
  TrackType,
  TrickleRequest,
} from "@livekit/protocol";
import { checkCandidate, cleanDescription, OutOfBounds } from "./sdp.ts";

type Message = SignalResponse["message"];

const PARTICIPANT_ID = /^PA_[\w-]{1,64}$/;
const TRACK_ID = /^TR_[\w-]{1,64}$/;
const TOKEN = /^[\w.-]{1,16384}$/;
/** The version format of https://semver.org. The library parses the version before it calls a method of the agent. */
const NUMBER = "(?:0|[1-9]\\d{0,8})";
const LABEL = "(?:0|[1-9]\\d{0,8}|\\d*[A-Za-z-][\\dA-Za-z-]*)";
const VERSION = new RegExp(
  `^(?:|${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${LABEL}(?:\\.${LABEL})*)?(?:\\+[\\dA-Za-z-]+(?:\\.[\\dA-Za-z-]+)*)?)$`,
);
const ICE_URL =
  /^(?:stun|stuns|turn|turns):(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?(?:\?transport=(?:udp|tcp))?$/i;
const MID = /^[\w-]{0,16}$/;

/** Limit in seconds. LiveKit 1.13 sends a ping every five seconds. */
const MAX_PING_SECONDS = 120;
const MAX_PARTICIPANTS = 1000;
const MAX_TRACKS = 64;
/** Limit for a connection. A server has a few candidates for each of its addresses. */
const MAX_CANDIDATES = 64;
/** Limit for a connection. A server answers each of the avatar's few offers. */
const MAX_DESCRIPTIONS = 100;
const MAX_ICE_URLS = 16;
const MAX_TEXT = 512;

const check = (isWithin: boolean, what: string): void => {
  if (!isWithin) throw new OutOfBounds(what);
};
/** Returns a required field; throws when it is missing. */
const present = <Value>(value: Value | undefined, what: string): Value => {
  if (value === undefined) throw new OutOfBounds(what);
  return value;
};
const isWithin = (value: number, least: number, most: number): boolean => value >= least && value <= most;

const checkTrack = ({ sid, type }: TrackInfo): void => {
  check(TRACK_ID.test(sid), "the id of a track");
  check(type === TrackType.AUDIO || type === TrackType.VIDEO, "the type of a track");
};

const checkIceServers = (servers: ICEServer[]): void => {
  const urls = servers.flatMap((server) => server.urls);
  check(urls.length <= MAX_ICE_URLS && urls.every((url) => ICE_URL.test(url)), "the ICE servers");
  const texts = servers.flatMap(({ username, credential }) => [username, credential]);
  check(servers.length <= MAX_ICE_URLS && texts.every(({ length }) => length <= MAX_TEXT), "the ICE servers");
};

/** The participants of the room, by id. */
const createParticipants = () => {
  const identities = new Map<string, string>();
  return (info: ParticipantInfo): void => {
    const { sid, identity, state, tracks } = info;
    check(PARTICIPANT_ID.test(sid), "the id of a participant");
    check(identity.length <= MAX_TEXT, "the identity of a participant");
    // The library would store the participant under two identities.
    check((identities.get(sid) ?? identity) === identity, "the identity of a participant");
    check(tracks.length <= MAX_TRACKS, "the tracks of a participant");
    for (const track of tracks) checkTrack(track);
    if (state === ParticipantInfo_State.DISCONNECTED) identities.delete(sid);
    else identities.set(sid, identity);
    check(identities.size <= MAX_PARTICIPANTS, "the participants");
    info.dataTracks = [];
  };
};

/** Counts the distinct candidates of a connection. */
const createCandidates = (): ((candidate: string) => void) => {
  const candidates = new Set<string>();
  return (candidate) => {
    candidates.add(candidate);
    check(candidates.size <= MAX_CANDIDATES, "the ICE candidates");
  };
};

/** The JSON of a candidate with only the members that the library reads. */
const cleanCandidate = (json: string, onCandidate: (candidate: string) => void): string => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    throw new OutOfBounds("an ICE candidate");
  }
  check(typeof parsed === "object" && parsed !== null, "an ICE candidate");
  const { candidate, sdpMid, sdpMLineIndex } = parsed as Record<string, unknown>;
  check(typeof candidate === "string", "an ICE candidate");
  onCandidate(checkCandidate(candidate as string));
  check(typeof sdpMid === "string" && MID.test(sdpMid), "the section of an ICE candidate");
  const isIndex = Number.isInteger(sdpMLineIndex) && isWithin(sdpMLineIndex as number, 0, 1000);
  check(isIndex, "the section of an ICE candidate");
  return JSON.stringify({ candidate, sdpMid, sdpMLineIndex });
};

const checkJoin = (join: JoinResponse, checkParticipant: (info: ParticipantInfo) => void): void => {
  check(isWithin(join.pingInterval, 1, MAX_PING_SECONDS), "the interval of pings");
  check(isWithin(join.pingTimeout, 1, MAX_PING_SECONDS), "the time-out of pings");
  check(VERSION.test(join.serverInfo?.version ?? ""), "the version of the server");
  checkIceServers(join.iceServers);
  present(join.room, "the room");
  for (const info of [present(join.participant, "the participant"), ...join.otherParticipants]) checkParticipant(info);
};

const checkMove = (move: RoomMovedResponse, checkParticipant: (info: ParticipantInfo) => void): void => {
  check(TOKEN.test(move.token), "a token");
  present(move.room, "the room");
  for (const info of [present(move.participant, "the participant"), ...move.otherParticipants]) checkParticipant(info);
};

const cleanSession = (
  description: SessionDescription,
  type: "offer" | "answer",
  onCandidate: (candidate: string) => void,
): SessionDescription => {
  check(description.type === type, "the type of a session description");
  check(Object.keys(description.midToTrackId).length === 0, "a track for the avatar");
  description.sdp = cleanDescription(type, description.sdp, onCandidate);
  return description;
};

/**
 * Returns a function that filters the messages of one connection. It returns the message for the library, or null when
 * the library needs none. It throws when the message is out of bounds.
 */
export const createSignalFilter = (): ((bytes: Uint8Array) => Uint8Array | null) => {
  const checkParticipant = createParticipants();
  const onCandidate = createCandidates();
  let descriptions = 0;

  const clean = (message: Message): Message | null => {
    switch (message.case) {
      case "join":
        checkJoin(message.value, checkParticipant);
        return message;
      case "reconnect":
        checkIceServers(message.value.iceServers);
        return message;
      case "answer":
      case "offer":
        descriptions++;
        check(descriptions <= MAX_DESCRIPTIONS, "the session descriptions");
        return { case: message.case, value: cleanSession(message.value, message.case, onCandidate) };
      case "trickle": {
        const { candidateInit, target, final } = message.value;
        const value = { candidateInit: cleanCandidate(candidateInit, onCandidate), target, final };
        return { case: "trickle", value: new TrickleRequest(value) };
      }
      case "update":
        for (const participant of message.value.participants) checkParticipant(participant);
        return message;
      case "trackPublished":
        checkTrack(present(message.value.track, "the track"));
        return message;
      case "roomUpdate":
        present(message.value.room, "the room");
        return message;
      case "roomMoved":
        checkMove(message.value, checkParticipant);
        return message;
      case "refreshToken":
        check(TOKEN.test(message.value), "a token");
        return message;
      case "leave": {
        const { reason, action, canReconnect } = message.value;
        return { case: "leave", value: new LeaveRequest({ reason, action, canReconnect }) };
      }
      case "requestResponse": {
        const { requestId, reason, message: text } = message.value;
        return { case: "requestResponse", value: new RequestResponse({ requestId, reason, message: text }) };
      }
      // A server requests these sections before it sends a track. The avatar has requested no track.
      case "mediaSectionsRequirement":
        throw new OutOfBounds("a track for the avatar");
      case "mute":
      case "pong":
      case "pongResp":
        return message;
      default:
        return null;
    }
  };

  return (bytes) => {
    const message = clean(SignalResponse.fromBinary(bytes, { readUnknownFields: false }).message);
    return message && new SignalResponse({ message }).toBinary();
  };
};
