/**
 * A hostile LiveKit server as a process: `hostile-livekit.ts <url of a real server> <behaviour> <port of another
 * listener>`. It forwards the messages between a real server and a client, and adds its own in LiveKit's protocol. It
 * prints its address, and `closed` when the client has closed a connection. A request for `/harm` sends the messages of
 * the behaviour.
 */
import {
  ConnectionQualityInfo,
  ConnectionQualityUpdate,
  ICEServer,
  LeaveRequest,
  LeaveRequest_Action,
  MediaSectionsRequirement,
  ParticipantInfo,
  ParticipantUpdate,
  RegionInfo,
  RegionSettings,
  Room,
  RoomUpdate,
  SessionDescription,
  SignalResponse,
  SpeakerInfo,
  SpeakersChanged,
  TrackInfo,
  TrackSubscribed,
  TrackType,
  TrickleRequest,
} from "@livekit/protocol";
import type { ServerWebSocket } from "bun";

type Data = { path: string; authorization: string; waiting: (string | Buffer)[]; real: WebSocket | null };
type Client = ServerWebSocket<Data>;
type Message = SignalResponse["message"];

const [, , realUrl = "", behaviour = "", otherPort = ""] = process.argv;
/** How long a call must be joined before the attack begins. */
const JOINED_MS = 1500;
const MAX_BUFFERED = 2_000_000;
const PIECE = 200;

const encode = (message: Message): Uint8Array => new SignalResponse({ message }).toBinary();
const isOpen = (client: Client): boolean => client.readyState === WebSocket.OPEN;
const sendWithoutEnd = async (client: Client, next: () => Uint8Array): Promise<void> => {
  for (; isOpen(client); await Bun.sleep(1)) {
    for (let count = 0; count < PIECE && client.getBufferedAmount() < MAX_BUFFERED; count++) client.send(next());
  }
};

let count = 0;
const pong = (): Uint8Array => encode({ case: "pong", value: 1n });
const metadata = (size: number) => (): Uint8Array =>
  encode({ case: "roomUpdate", value: new RoomUpdate({ room: new Room({ metadata: count++ + "x".repeat(size) }) }) });
const participants = (): Uint8Array => {
  const track = () => new TrackInfo({ sid: `TR_${count++}`, name: "x" });
  const one = () => new ParticipantInfo({ sid: `PA_${count++}`, identity: `p${count}`, tracks: [track(), track()] });
  return encode({ case: "update", value: new ParticipantUpdate({ participants: Array.from({ length: 100 }, one) }) });
};
const elsewhere = (): Uint8Array => {
  const regions = new RegionSettings({
    regions: [new RegionInfo({ region: "x", url: `ws://127.0.0.1:${otherPort}` })],
  });
  return encode({ case: "leave", value: new LeaveRequest({ action: LeaveRequest_Action.RECONNECT, regions }) });
};

const update = (...participants: Partial<ParticipantInfo>[]): Uint8Array =>
  encode({
    case: "update",
    value: new ParticipantUpdate({ participants: participants.map((one) => new ParticipantInfo(one)) }),
  });
const trickle = (candidateInit: string): Uint8Array =>
  encode({ case: "trickle", value: new TrickleRequest({ candidateInit }) });
const candidateOf = (port: number, address = "10.255.255.1"): string =>
  JSON.stringify({
    candidate: `candidate:${port} 1 udp 2130706431 ${address} ${port} typ host`,
    sdpMid: "0",
    sdpMLineIndex: 0,
  });
const description = (type: "answer" | "offer", sdp: string): Uint8Array =>
  encode({ case: type, value: new SessionDescription({ type, sdp }) });

/**
 * Single messages. Each of them ends a process in which LiveKit's library reads it, or takes much of its processor
 * time.
 */
const MESSAGES: Record<string, () => Uint8Array[]> = {
  "a participant with the id x": () => [update({ sid: "x", identity: "x" })],
  "a track with the id x": () => [update({ sid: "PA_x", identity: "x", tracks: [new TrackInfo({ sid: "x" })] })],
  "a track of type DATA": () => {
    const tracks = [new TrackInfo({ sid: "TR_x", type: TrackType.DATA })];
    return [update({ sid: "PA_x", identity: "x", tracks })];
  },
  "a speaker with the id x": () => [
    encode({ case: "speakersChanged", value: new SpeakersChanged({ speakers: [new SpeakerInfo({ sid: "x" })] }) }),
  ],
  "speakers whose level is no number": () => {
    const speakers = ["PA_x", "PA_y"].map((sid) => new SpeakerInfo({ sid, level: Number.NaN, active: true }));
    const joins = speakers.map(({ sid }) => ({ sid, identity: sid }));
    return [update(...joins), encode({ case: "speakersChanged", value: new SpeakersChanged({ speakers }) })];
  },
  "the quality of a participant with the id x": () => {
    const updates = [new ConnectionQualityInfo({ participantSid: "x" })];
    return [encode({ case: "connectionQuality", value: new ConnectionQualityUpdate({ updates }) })];
  },
  "a subscription to the track x": () => [
    encode({ case: "trackSubscribed", value: new TrackSubscribed({ trackSid: "x" }) }),
  ],
  "a candidate that is not JSON": () => [trickle("x")],
  "an invalid candidate": () => [trickle(JSON.stringify({ candidate: "x", sdpMid: "0", sdpMLineIndex: 0 }))],
  "an update without a room": () => [encode({ case: "roomUpdate", value: new RoomUpdate() })],
  "an answer that is garbage": () => [description("answer", "garbage")],
  "an answer without a type": () => [encode({ case: "answer", value: new SessionDescription({ sdp: "v=0" }) })],
  "2,000,000 sections of media": () => [
    encode({ case: "mediaSectionsRequirement", value: new MediaSectionsRequirement({ numAudios: 2_000_000 }) }),
  ],
  "3,000 candidates": () => Array.from({ length: 3000 }, (_, index) => trickle(candidateOf(index + 1024))),
  "candidates whose addresses are names": () =>
    Array.from({ length: 60 }, (_, index) => trickle(candidateOf(index + 1024, `a${index}.invalid`))),
};

/** Messages that the server sends instead of those of a real server, so that the client never joins. */
const BEFORE_JOIN: Record<string, (client: Client) => unknown> = {
  silence: () => {},
  "pings before the join": (client) => sendWithoutEnd(client, pong),
};
/** Messages that the server sends in addition to those of a real server. */
const IN_CALL: Record<string, (client: Client) => unknown> = {
  pings: (client) => sendWithoutEnd(client, pong),
  "metadata of the room": (client) => sendWithoutEnd(client, metadata(60_000)),
  "messages of 15 MiB": (client) => sendWithoutEnd(client, metadata(15 * 1024 * 1024)),
  participants: (client) => sendWithoutEnd(client, participants),
  tokens: (client) => sendWithoutEnd(client, () => encode({ case: "refreshToken", value: "x".repeat(10_000) })),
  "no messages": (client) => sendWithoutEnd(client, () => new Uint8Array(1000).fill(255)),
  elsewhere: (client) => client.send(elsewhere()),
};
type Join = Extract<Message, { case: "join" }>["value"];
/** Changes of the response to the join. */
const JOIN: Record<string, (join: Join) => void> = {
  "an interval of pings of 0": (join) => {
    join.pingInterval = 0;
  },
  "an interval of pings of -1": (join) => {
    join.pingInterval = -1;
  },
  "a time-out of pings of -1": (join) => {
    join.pingTimeout = -1;
  },
  "a join without a room": (join) => {
    delete join.room;
  },
  "a join without a participant": (join) => {
    delete join.participant;
  },
  "a join as the participant x": ({ participant }) => {
    if (participant) participant.sid = "x";
  },
  "a join with the participant x": (join) => {
    join.otherParticipants = [new ParticipantInfo({ sid: "x", identity: "x" })];
  },
  "an invalid version": ({ serverInfo }) => {
    if (serverInfo) serverInfo.version = "x";
  },
  "a room of 60 MiB": ({ room }) => {
    if (room) room.metadata = "x".repeat(60 * 1024 * 1024);
  },
  addresses: (join) => {
    const urls = [`stun:127.0.0.1:${otherPort}`, `turn:127.0.0.1:${otherPort}?transport=tcp`];
    join.iceServers = [new ICEServer({ urls, username: "u", credential: "c" })];
  },
};

const connectToReal = (client: Client): WebSocket => {
  const { path, authorization, waiting } = client.data;
  const real = new WebSocket(realUrl + path, { headers: { authorization } });
  real.binaryType = "arraybuffer";
  real.onopen = () => {
    for (const message of waiting.splice(0)) real.send(message);
  };
  real.onmessage = ({ data }) => {
    const response = SignalResponse.fromBinary(new Uint8Array(data as ArrayBuffer));
    if (response.message.case === "join") JOIN[behaviour]?.(response.message.value);
    client.send(response.toBinary());
  };
  real.onclose = () => client.close();
  return real;
};

const clients = new Set<Client>();
/** Whether the server has closed its connections and accepts no more. */
let isCut = false;
const server: Bun.Server<Data> = Bun.serve<Data>({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => {
    const { pathname, search } = new URL(request.url);
    if (isCut) return new Promise<Response>(() => {});
    if (pathname === "/harm") {
      isCut = behaviour === "cut";
      if (isCut) for (const client of clients) client.close();
      for (const client of clients) for (const message of MESSAGES[behaviour]?.() ?? []) client.send(message);
      return new Response();
    }
    const authorization = request.headers.get("authorization") ?? "";
    const data: Data = { path: pathname + search, authorization, waiting: [], real: null };
    return server.upgrade(request, { data }) ? undefined : new Response(null, { status: 404 });
  },
  websocket: {
    perMessageDeflate: false,
    open: (client) => {
      const before = BEFORE_JOIN[behaviour];
      if (before) return void before(client);
      client.data.real = connectToReal(client);
      setTimeout(() => IN_CALL[behaviour]?.(client), JOINED_MS);
      clients.add(client);
    },
    message: ({ data: { real, waiting } }, message) => {
      if (real?.readyState === WebSocket.OPEN) real.send(message);
      else waiting.push(message);
    },
    close: (client) => {
      const { real } = client.data;
      clients.delete(client);
      process.stdout.write("closed\n");
      // Otherwise the real server would disconnect the client.
      if (!isCut) real?.close();
    },
  },
});
process.stdout.write(`${server.url.href}\n`);
