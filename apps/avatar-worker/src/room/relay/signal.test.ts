import { describe, expect, test } from "bun:test";
import {
  DataTrackInfo,
  ICEServer,
  JoinResponse,
  LeaveRequest,
  LeaveRequest_Action,
  MediaSectionsRequirement,
  ParticipantInfo,
  ParticipantInfo_State,
  ParticipantUpdate,
  Pong,
  RegionInfo,
  RegionSettings,
  Room,
  RoomMovedResponse,
  RoomUpdate,
  ServerInfo,
  SessionDescription,
  SignalResponse,
  SpeakersChanged,
  TrackInfo,
  TrackPublishedResponse,
  TrackType,
  TrickleRequest,
} from "@livekit/protocol";
import fc from "fast-check";
import { createSignalFilter } from "./signal.ts";

type Message = SignalResponse["message"];
const encode = (message: Message): Uint8Array => new SignalResponse({ message }).toBinary();
/** The filtered form of each message of one connection. */
const filtered = (...messages: Message[]): (Message | null)[] => {
  const filter = createSignalFilter();
  return messages.map((message) => {
    const passed = filter(encode(message));
    return passed && SignalResponse.fromBinary(passed).message;
  });
};

const participant = (change: Partial<ParticipantInfo> = {}) =>
  new ParticipantInfo({ sid: "PA_x", identity: "x", tracks: [new TrackInfo({ sid: "TR_x" })], ...change });
const update = (...participants: ParticipantInfo[]): Message => ({
  case: "update",
  value: new ParticipantUpdate({ participants }),
});
const join = (change: Partial<JoinResponse> = {}): Message => {
  const room = new Room({ sid: "RM_x", name: "r" });
  const own = { room, participant: participant(), pingInterval: 5, pingTimeout: 15 };
  return { case: "join", value: new JoinResponse({ ...own, ...change }) };
};
const without = (name: "room" | "participant"): Message => {
  const message = join();
  if (message.case === "join") delete message.value[name];
  return message;
};
const version = (text: string): Message => join({ serverInfo: new ServerInfo({ version: text }) });
const ice = (...urls: string[]): Message =>
  join({ iceServers: [new ICEServer({ urls, username: "u", credential: "c" })] });
const trickle = (init: unknown): Message => ({
  case: "trickle",
  value: new TrickleRequest({ candidateInit: typeof init === "string" ? init : JSON.stringify(init) }),
});
const candidate = (port: number) => `candidate:1 1 udp 1 10.0.0.1 ${port} typ host`;
const trickled = (port: number): Message => trickle({ candidate: candidate(port), sdpMid: "", sdpMLineIndex: 0 });
const tracks = (...infos: Partial<TrackInfo>[]): Message =>
  update(participant({ tracks: infos.map((info) => new TrackInfo(info)) }));

describe("a message that the library needs", () => {
  const messages: [string, Message][] = [
    ["a join", join({ otherParticipants: [participant({ sid: "PA_y", identity: "y" })] })],
    ["a version", version("1.13.5")],
    ["a version before a release", version("1.9.0-rc.1+build.5")],
    ["ICE servers", ice("stun:a.example:3478", "turns:b.example:443?transport=tcp", "turn:[::1]:3478")],
    ["an update", tracks({ sid: "TR_a", type: TrackType.AUDIO }, { sid: "TR_b", type: TrackType.VIDEO })],
    ["a room", { case: "roomUpdate", value: new RoomUpdate({ room: new Room({ name: "r" }) }) }],
    ["a track", { case: "trackPublished", value: new TrackPublishedResponse({ cid: "c", track: { sid: "TR_x" } }) }],
    ["a token", { case: "refreshToken", value: "eyJ.eyJ.x-_" }],
    ["a pong", { case: "pongResp", value: new Pong({ timestamp: 5n }) }],
    ["a candidate", trickled(1)],
  ];
  test.each(messages)("%s: passes unchanged", (_, message) => {
    expect(filtered(message)).toEqual([message]);
  });

  test("fields that it does not need: left out", () => {
    const regions = new RegionSettings({ regions: [new RegionInfo({ region: "x", url: "wss://elsewhere" })] });
    const dataTracks = [new DataTrackInfo({ sid: "x" })];
    const action = LeaveRequest_Action.RECONNECT;
    const init = { candidate: candidate(1), sdpMid: "0", sdpMLineIndex: 0, x: 1 };
    expect(
      filtered(
        { case: "leave", value: new LeaveRequest({ action, regions }) },
        update(participant({ dataTracks })),
        trickle(init),
        // The library ends the process for a second member with the same name.
        trickle(`${JSON.stringify(init).slice(0, -1)},"sdpMid":"0"}`),
      ),
    ).toEqual([
      { case: "leave", value: new LeaveRequest({ action }) },
      update(participant()),
      ...Array(2).fill(trickle({ candidate: candidate(1), sdpMid: "0", sdpMLineIndex: 0 })),
    ]);
  });

  test("an unknown field: left out", () => {
    const bytes = encode(update(participant()));
    const unknown = Uint8Array.of(0xfa, 0xff, 0x03, 1, 65);
    expect(createSignalFilter()(Buffer.concat([bytes, unknown]))).toEqual(bytes);
  });

  test("messages that the avatar does not need, and of unknown kinds: dropped", () => {
    const speakers = [{ sid: "x", level: Number.NaN }];
    expect(filtered({ case: "speakersChanged", value: new SpeakersChanged({ speakers }) })).toEqual([null]);
    expect(createSignalFilter()(Uint8Array.of(0xfa, 0xff, 0x03, 1, 65))).toBeNull();
    expect(createSignalFilter()(new Uint8Array())).toBeNull();
  });
});

describe("a message that is out of bounds", () => {
  const messages: [string, Message][] = [
    ...[0, -1, 121].flatMap((seconds): [string, Message][] => [
      [`an interval of pings of ${seconds}`, join({ pingInterval: seconds })],
      [`a time-out of pings of ${seconds}`, join({ pingTimeout: seconds })],
    ]),
    ["a join without a room", without("room")],
    ["a join without a participant", without("participant")],
    ...["x", "PA", "PA_", "TR_x", `PA_${"x".repeat(65)}`].flatMap((sid): [string, Message][] => [
      [`a participant with the id ${sid}`, update(participant({ sid }))],
      [`a join as ${sid}`, join({ participant: participant({ sid }) })],
      [`a join with ${sid}`, join({ otherParticipants: [participant({ sid })] })],
    ]),
    ["a long identity", update(participant({ identity: "x".repeat(513) }))],
    ["two identities of one participant", update(participant(), participant({ identity: "y" }))],
    ["a track with the id x", tracks({ sid: "x" })],
    ["a track of type DATA", tracks({ sid: "TR_x", type: TrackType.DATA })],
    ["a track of an unknown type", tracks({ sid: "TR_x", type: 7 as TrackType })],
    ["65 tracks of a participant", tracks(...Array.from({ length: 65 }, (_, index) => ({ sid: `TR_${index}` })))],
    ["a published track without its data", { case: "trackPublished", value: new TrackPublishedResponse({ cid: "c" }) }],
    ["an update without a room", { case: "roomUpdate", value: new RoomUpdate() }],
    ["a move without a room", { case: "roomMoved", value: new RoomMovedResponse({ token: "x" }) }],
    ["a token that cannot be sent", { case: "refreshToken", value: "x\r\ny" }],
    ["an empty token", { case: "refreshToken", value: "" }],
    ["sections of media", { case: "mediaSectionsRequirement", value: new MediaSectionsRequirement({ numAudios: 1 }) }],
    [
      "an answer that is garbage",
      { case: "answer", value: new SessionDescription({ type: "answer", sdp: "garbage" }) },
    ],
    ["an answer as an offer", { case: "offer", value: new SessionDescription({ type: "answer", sdp: "v=0" }) }],
    ["a candidate that is not JSON", trickle("x")],
    ["a candidate that is null", trickle("null")],
    ["an invalid candidate", trickle({ candidate: "x", sdpMid: "0", sdpMLineIndex: 0 })],
    ["a candidate without a section", trickle({ candidate: candidate(1), sdpMLineIndex: 0 })],
    ["a candidate of the section -1", trickle({ candidate: candidate(1), sdpMid: "0", sdpMLineIndex: -1 })],
    ["a candidate of the section 0.5", trickle({ candidate: candidate(1), sdpMid: "0", sdpMLineIndex: 0.5 })],
    ...["1", "1.2", "1.2.3.4", "x", "01.2.3", "1.2.3-01", "1.2.3-", "v1.2.3", `1.${"9".repeat(30)}.0`].map(
      (text): [string, Message] => [`the version ${text}`, version(text)],
    ),
    ...["http://x", "turn:", "turn:a b", "stun:x?y", "x", "turn:x?transport=quic"].map((url): [string, Message] => [
      `the ICE server ${url}`,
      ice(url),
    ]),
    ["17 ICE servers", ice(...Array(17).fill("stun:x"))],
    ["a long password for ICE", join({ iceServers: [new ICEServer({ credential: "x".repeat(513) })] })],
  ];
  test.each(messages)("%s: refused", (_, message) => {
    expect(() => filtered(message)).toThrow();
  });

  test("a participant that left, and a new one with the same id: passes", () => {
    const left = participant({ state: ParticipantInfo_State.DISCONNECTED });
    expect(() => filtered(update(participant()), update(left), update(participant({ identity: "y" })))).not.toThrow();
  });

  test.each([
    ["64 candidates, each of them twice", 64, true],
    ["65 candidates", 65, false],
  ])("%s: within the bounds? %#", (_, count, isWithin) => {
    const messages = Array.from({ length: count }, (_, index) => trickled(index + 1));
    const pass = () => filtered(...messages, ...messages);
    if (isWithin) expect(pass).not.toThrow();
    else expect(pass).toThrow("candidates");
  });

  test("a hundred session descriptions: pass; one more: refused", () => {
    const sdp = "v=0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n";
    const answer: Message = { case: "answer", value: new SessionDescription({ type: "answer", sdp }) };
    expect(() => filtered(...Array<Message>(100).fill(answer))).not.toThrow();
    expect(() => filtered(...Array<Message>(101).fill(answer))).toThrow("the session descriptions");
  });

  test("a thousand participants: pass; one more: refused", () => {
    const some = (count: number) =>
      Array.from({ length: count }, (_, index) => participant({ sid: `PA_${index}`, identity: `p${index}` }));
    expect(() => filtered(update(...some(1000)))).not.toThrow();
    expect(() => filtered(update(...some(1001)))).toThrow("the participants");
  });

  test("a message with a random change: passes in a form that the filter accepts, or is refused", () => {
    const originals = [join(), tracks({ sid: "TR_a" }), trickled(1), version("1.2.3"), ice("turn:x")].map(encode);
    const change = fc.record({ at: fc.nat(400), byte: fc.nat(255), isInserted: fc.boolean() });
    fc.assert(
      fc.property(fc.constantFrom(...originals), fc.array(change, { minLength: 1, maxLength: 8 }), (bytes, changes) => {
        const changed = [...bytes];
        for (const { at, byte, isInserted } of changes) changed.splice(at % changed.length, isInserted ? 0 : 1, byte);
        let passed: Uint8Array | null = null;
        try {
          passed = createSignalFilter()(Uint8Array.from(changed));
        } catch {
          // The filter has refused the message.
        }
        if (passed) expect(createSignalFilter()(passed)).toEqual(passed);
      }),
      { numRuns: 2000 },
    );
  });
});
