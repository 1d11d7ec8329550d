/**
 * Checks session descriptions and ICE candidates of a LiveKit server. The library of LiveKit ends the process when it
 * cannot parse one. So each line that the avatar needs is checked against its form, and every other line is left out.
 */
import { isIP } from "node:net";

const MAX_BYTES = 64 * 1024;
/** The library needs at most one section for data, and one for each track. */
const MAX_SECTIONS = 32;

/** Data of a server that is outside of the allowed bounds. */
export class OutOfBounds extends Error {}

const PAYLOAD_TYPE = "(?:12[0-7]|1[01]\\d|[1-9]?\\d)";
/** Up to this number, a codec is known by its number (RFC 3551), so no line needs to name it. */
const MAX_ASSIGNED_TYPE = 34;
const EXTENSION_ID = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]\\d?)";
const PORT = "(?:6553[0-5]|655[0-2]\\d|65[0-4]\\d\\d|6[0-4]\\d{3}|[1-5]\\d{4}|[1-9]\\d{0,3}|0)";
const HASH = (name: string, bytes: number): string => `${name} (?:[0-9A-F]{2}:){${bytes - 1}}[0-9A-F]{2}`;

const lineOf = (form: string): RegExp => new RegExp(`^${form}$`);
const MEDIA = lineOf(`m=(?:audio|video) ${PORT} UDP/TLS/RTP/SAVPF ${PAYLOAD_TYPE}(?: ${PAYLOAD_TYPE}){0,63}`);
const DATA = lineOf(`m=application ${PORT} UDP/DTLS/SCTP webrtc-datachannel`);
const RTPMAP = lineOf(`a=rtpmap:(${PAYLOAD_TYPE}) [\\w.-]{1,32}/[1-9]\\d{2,5}(?:/[12])?`);
const CODEC_DETAILS = lineOf(
  `a=(?:rtcp-fb:(?=\\d+ [\\w-]{1,32}(?: [\\w-]{1,32})?$)|fmtp:(?=\\d+ [\\w=;/., -]{1,512}$))(${PAYLOAD_TYPE}) .*`,
);
const DIRECTION = /^a=(sendrecv|sendonly|recvonly|inactive)$/;
const CANDIDATE_LINE = /^a=(candidate:.*)$/;
const SESSION_ATTRIBUTES = [
  ...["group:BUNDLE(?: [\\w-]{1,16}){1,64}", "setup:(?:active|passive|actpass)", "extmap-allow-mixed"],
  ...["ice-lite", "ice-ufrag:[\\w+/=-]{4,256}", "ice-pwd:[\\w+/=-]{22,256}"],
  `fingerprint:(?:${HASH("sha-256", 32)}|${HASH("sha-384", 48)}|${HASH("sha-512", 64)})`,
].map((form) => lineOf(`a=${form}`));
/** Attributes of a media section, in addition to those of a session. */
const MEDIA_ATTRIBUTES = [
  ...["mid:[\\w-]{1,16}", "rtcp-mux", "rtcp-rsize", `sctp-port:${PORT}`, "max-message-size:\\d{1,9}"],
  `extmap:${EXTENSION_ID}(?:/(?:sendrecv|sendonly|recvonly|inactive))? (?!urn:ietf:params:rtp-hdrext:encrypt)[\\w:/.#-]{1,256}`,
].map((form) => lineOf(`a=${form}`));

/** The library expects these lines, but does not use them. */
const START = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0"];

/** The library expects the parts of a candidate in this order, and its words in these upper or lower cases. */
const CANDIDATE = lineOf(
  "candidate:[\\w+/-]{1,32} [12] (?:udp|UDP|(tcp|TCP)) (\\d{1,10}) ([\\w.:]{1,45}) " +
    `${PORT} typ (?:host|srflx|prflx|relay)(?: raddr ([\\w.:]{1,45}) rport ${PORT})?` +
    "( tcptype (?:active|passive|so))?" +
    "(?: (?:ufrag [\\w+/=-]{4,256}|generation \\d{1,3}|network-id \\d{1,4}|network-cost \\d{1,3}))*",
);
const MAX_PRIORITY = 2 ** 32 - 1;

/**
 * Checks a candidate from a description or a message. Its address must be an IP address instead of a name, because the
 * library starts a thread for each name.
 */
export const checkCandidate = (candidate: string): string => {
  const [, tcp, priority, address = "", related, tcpType] = CANDIDATE.exec(candidate) ?? [];
  const areAddresses = isIP(address) !== 0 && (!related || isIP(related) !== 0);
  if (!areAddresses || Number(priority) > MAX_PRIORITY || (tcpType && !tcp)) throw new OutOfBounds("an ICE candidate");
  return candidate;
};

/** The codec of a line: its number, and whether the line names the codec. */
const readCodec = (line: string): { type: string; isName: boolean } | null => {
  const [, type] = RTPMAP.exec(line) ?? CODEC_DETAILS.exec(line) ?? [];
  return type === undefined ? null : { type, isName: RTPMAP.test(line) };
};

const isSessionLine = (line: string): boolean => SESSION_ATTRIBUTES.some((form) => form.test(line));

/**
 * The lines of a media section that the avatar needs. `types`: the numbers of its codecs. `onCandidate`: called with
 * each candidate.
 */
const cleanSection = (lines: string[], types: string[], onCandidate: (candidate: string) => void): string[] => {
  // An assigned number (RFC 3551) has a fixed codec. The library rejects a different one.
  const unnamed = new Set(types.filter((type) => Number(type) > MAX_ASSIGNED_TYPE));
  const named = new Set<string>();
  const nameLines = lines.filter((line) => {
    const codec = readCodec(line);
    if (!codec?.isName || !unnamed.delete(codec.type)) return false;
    named.add(codec.type);
    return true;
  });
  const isNeeded = (line: string): boolean => {
    const [, candidate] = CANDIDATE_LINE.exec(line) ?? [];
    if (candidate !== undefined) onCandidate(checkCandidate(candidate));
    if (candidate !== undefined) return true;
    const codec = readCodec(line);
    // The library cannot parse details of an unnamed codec.
    if (codec) return !codec.isName && named.has(codec.type);
    return isSessionLine(line) || MEDIA_ATTRIBUTES.some((form) => form.test(line));
  };
  return [...nameLines, ...lines.filter(isNeeded)];
};

/** A media section in which the server sends nothing, because the avatar receives no media. */
const cleanMedia = ([media = "", ...lines]: string[], onCandidate: (candidate: string) => void): string[] => {
  const isData = DATA.test(media);
  if (!isData && !MEDIA.test(media)) throw new OutOfBounds("a section of media");
  const direction = lines.map((line) => DIRECTION.exec(line)?.[1]).find((found) => found !== undefined);
  const receives = direction !== "sendonly" && direction !== "inactive";
  const directions = isData ? [] : [`a=${receives ? "recvonly" : "inactive"}`];
  const types = isData ? [] : media.split(" ").slice(3);
  return [media, "c=IN IP4 0.0.0.0", ...cleanSection(lines, types, onCandidate), ...directions];
};

/**
 * The session description in a form that the library can parse, without media from the server. Throws `OutOfBounds`
 * when it is invalid or too large. `onCandidate`: called with each candidate in it.
 */
export const cleanDescription = (
  type: "offer" | "answer",
  sdp: string,
  onCandidate: (candidate: string) => void,
): string => {
  const lines = sdp.length > MAX_BYTES ? [] : sdp.split(/\r?\n/);
  const starts = lines.flatMap((line, index) => (line.startsWith("m=") ? [index] : []));
  const [first] = starts;
  if (lines[0] !== "v=0" || first === undefined || starts.length > MAX_SECTIONS) {
    throw new OutOfBounds("a session description");
  }
  // An old server offers its tracks in an offer. In an answer, media is allowed: a new server answers with more sections
  // than it uses.
  if (type === "offer" && lines.some((line) => MEDIA.test(line))) throw new OutOfBounds("a track for the avatar");
  const sections = starts.map((start, index) => lines.slice(start, starts[index + 1]));
  const session = lines.slice(1, first).filter(isSessionLine);
  const media = sections.flatMap((section) => cleanMedia(section, onCandidate));
  return `${[...START, ...session, ...media].join("\r\n")}\r\n`;
};
