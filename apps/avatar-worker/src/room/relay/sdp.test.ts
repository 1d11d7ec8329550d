import { describe, expect, test } from "bun:test";
import { checkCandidate, cleanDescription } from "./sdp.ts";

const FINGERPRINT = `a=fingerprint:sha-256 ${Array(32).fill("7F").join(":")}`;
/** A description of LiveKit 1.13.5, with fewer codecs. */
const ANSWER = [
  ...["v=0", "o=- 7382101701215704489 1795894155 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=msid-semantic:WMS *"],
  ...[FINGERPRINT, "a=extmap-allow-mixed", "a=group:BUNDLE 0 1"],
  ...["m=video 9 UDP/TLS/RTP/SAVPF 96 103", "c=IN IP4 0.0.0.0", "a=setup:active", "a=mid:0"],
  ...["a=ice-ufrag:iJabZEwkQNWNxMIP", "a=ice-pwd:mdKBtDtBZwzKbXgAdIqbZiWlNllrNVtF", "a=rtcp-mux", "a=rtcp-rsize"],
  ...["a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 goog-remb", "a=rtcp-fb:96 nack pli", "a=rtpmap:103 H264/90000"],
  "a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f",
  ...["a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid", "a=recvonly"],
  ...["a=candidate:233762139 1 udp 2130706431 127.0.0.1 43265 typ host ufrag iJabZEwkQNWNxMIP", "a=end-of-candidates"],
  ...[
    "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
    "c=IN IP4 0.0.0.0",
    "a=setup:active",
    "a=mid:1",
    "a=sendrecv",
  ],
  ...["a=sctp-port:5000", "a=max-message-size:65535", ""],
];
/** The cleaned description, and its candidates. */
const clean = (lines: string[], type: "offer" | "answer" = "answer") => {
  const candidates: string[] = [];
  const sdp = cleanDescription(type, lines.join("\r\n"), (candidate) => candidates.push(candidate));
  return { lines: sdp.split("\r\n"), candidates };
};
describe("a session description", () => {
  test("of a real server: only the lines that the avatar needs", () => {
    const { lines, candidates } = clean(ANSWER);
    const unneeded = ["a=msid-semantic:WMS *", "a=end-of-candidates", "a=sendrecv", "a=recvonly"];
    const kept = ANSWER.filter((line) => !unneeded.includes(line) && !line.startsWith("o="));
    expect(lines.filter((line) => line !== "a=recvonly" && !line.startsWith("o=")).sort()).toEqual(kept.sort());
    expect(candidates).toEqual([
      "candidate:233762139 1 udp 2130706431 127.0.0.1 43265 typ host ufrag iJabZEwkQNWNxMIP",
    ]);
  });

  test.each([
    ["a=recvonly", "a=recvonly"],
    ["a=sendrecv", "a=recvonly"],
    ["a=x", "a=recvonly"],
    ["a=sendonly", "a=inactive"],
    ["a=inactive", "a=inactive"],
  ])("with '%s' for a picture: '%s', so that the server sends no picture", (direction, expected) => {
    const { lines } = clean(ANSWER.map((line) => (line === "a=recvonly" ? direction : line)));
    expect(lines.filter((line) => /^a=(send|recv|inactive)/.test(line))).toEqual([expected]);
  });

  test.each([
    ...["a=fingerprint:x", "a=fingerprint:sha-256 7F", "a=setup:x", "a=mid:", "a=rtpmap:128 VP8/90000"],
    ...["a=rtpmap:96 VP8", "a=rtpmap:96 VP8/x", "a=extmap:0 urn:x", "a=extmap:x", "a=sctp-port:65536", "a=ssrc:x"],
    ...[
      "a=ssrc-group:",
      "a=msid:PA_x|TR_x t",
      "a=rid:x",
      "a=simulcast:x",
      "a=crypto:x",
      "a=rtcp:x",
      "b=x",
      "c=x",
      "k=x",
    ],
    ...[
      "a=ice-pwd:short",
      "a=max-message-size:9999999999",
      "a=group:LS 0",
      "a=rtcp-fb:x",
      "a=fmtp:96",
      "x",
      "",
      "=",
      "a=",
    ],
    ...["a=rtpmap:127 VP9/90000", "a=fmtp:127 x=1", "a=rtcp-fb:127 nack", "a=rtcp-fb:* nack", "a=fmtp:0 x=1"],
    ...["a=rtpmap:96 H264/90000", "a=rtpmap:0 PCMA/8000", "a=extmap:1 urn:ietf:params:rtp-hdrext:encrypt"],
  ])("with the line '%s': the line is left out", (line) => {
    const lines = ANSWER.flatMap((own) => (own === "a=rtpmap:103 H264/90000" ? [own, line] : [own]));
    expect(clean(lines)).toEqual(clean(ANSWER));
  });

  test.each([
    ["garbage", ["garbage"]],
    ["an empty one", []],
    ["no media", ANSWER.slice(0, 8)],
    ["another version", ["v=1", ...ANSWER.slice(1)]],
    ["media of another kind", ANSWER.map((line) => line.replace("m=video", "m=text"))],
    ["media on another transport", ANSWER.map((line) => line.replace("SAVPF", "AVP"))],
    ["the number 128 for a codec", ANSWER.map((line) => line.replace("SAVPF 96 103", "SAVPF 96 128"))],
    ["33 sections", [...ANSWER.slice(0, 8), ...Array(33).fill("m=video 9 UDP/TLS/RTP/SAVPF 96")]],
    ["100,000 bytes", [...ANSWER, "x".repeat(100_000)]],
    ["an invalid candidate", [...ANSWER, "a=candidate:x"]],
    ["a candidate whose address is a name", ANSWER.map((line) => line.replace("127.0.0.1 43265", "x.invalid 43265"))],
  ])("with %s: refused", (_, lines) => {
    expect(() => clean(lines)).toThrow();
  });

  test("lines of media before the first section: left out", () => {
    const lines = ["a=extmap:1 urn:x", "a=mid:0", "a=rtpmap:96 VP8/90000", "a=candidate:x"];
    expect(clean([...ANSWER.slice(0, 8), ...lines, ...ANSWER.slice(8)])).toEqual(clean(ANSWER));
  });

  test("an offer: with data passes; with media is refused", () => {
    const data = ANSWER.indexOf("m=application 9 UDP/DTLS/SCTP webrtc-datachannel");
    expect(clean([...ANSWER.slice(0, 8), ...ANSWER.slice(data)], "offer").lines).toContain("a=sctp-port:5000");
    expect(() => clean(ANSWER, "offer")).toThrow("a track for the avatar");
  });
});

describe("an ICE candidate", () => {
  test.each([
    "candidate:1 1 udp 2130706431 10.0.0.1 7882 typ host",
    "candidate:1 1 UDP 2130706431 2001:db8::1 7882 typ host generation 0 ufrag abcd network-id 1",
    "candidate:1 2 tcp 1671430143 10.0.0.1 7881 typ host tcptype passive",
    "candidate:a+/9 1 udp 1 1.2.3.4 1 typ srflx raddr 0.0.0.0 rport 0",
    "candidate:1 1 udp 16777215 1.2.3.4 3478 typ relay raddr 5.6.7.8 rport 65535",
  ])("%s: passes", (candidate) => {
    expect(checkCandidate(candidate)).toBe(candidate);
  });

  test.each([
    ...["", "x", "candidate:", "candidate:1 1 udp 1 x.invalid 1 typ host", "candidate:1 1 udp 1 a.local 1 typ host"],
    ...["candidate:1 1 udp 4294967296 1.2.3.4 1 typ host", "candidate:1 1 udp -1 1.2.3.4 1 typ host"],
    ...["candidate:1 1 udp 1 1.2.3.4 65536 typ host", "candidate:1 1 udp 1 1.2.3 1 typ host"],
    ...["candidate:1 1 udp 1 1.2.3.4 1 typ x", "candidate:1 3 udp 1 1.2.3.4 1 typ host"],
    ...["candidate:1 1 sctp 1 1.2.3.4 1 typ host", "candidate:1 1 udp 1 1.2.3.4 1 typ host raddr x.y rport 1"],
    ...["candidate:1 1 udp 1 1.2.3.4 1 typ HOST", "candidate:1 1 udp 1 1.2.3.4 1 typ host tcptype so"],
    ...["candidate:1 1 udp 1 1.2.3.4 1 typ host network-id 65536"],
    ...["candidate:1 1 udp 1 1.2.3.4 1 typ host x", "candidate:1 1 udp 1 fe80::1%eth0 1 typ host"],
    ...["candidate:1 1 udp 1 1.2.3.4 1 typ host\ncandidate:2 1 udp 1 1.2.3.4 1 typ host"],
  ])("'%s': refused", (candidate) => {
    expect(() => checkCandidate(candidate)).toThrow();
  });
});
