/**
 * A LiveKit server that means harm, as a process: `hostile-livekit.ts <url of a real server> <behaviour> <port of another listener>`.
 * It passes on what a real server and its client say, and adds to it, in LiveKit's protocol. It prints its address, and `closed`
 * when the client has closed a connection, whether it agrees or not.
 */
import {
  ICEServer,
  LeaveRequest,
  LeaveRequest_Action,
  ParticipantInfo,
  ParticipantUpdate,
  RegionInfo,
  RegionSettings,
  Room,
  RoomUpdate,
  SignalResponse,
  TrackInfo,
} from "@livekit/protocol";
import type { ServerWebSocket } from "bun";

type Data = { path: string; authorization: string; waiting: (string | Buffer)[]; real: WebSocket | null };
type Client = ServerWebSocket<Data>;
type Message = SignalResponse["message"];

const [, , realUrl = "", behaviour = "", otherPort = ""] = process.argv;
/** How long a call has to be joined before the harm begins. */
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

/** What the server sends in place of the messages of a real server: the client never joins. */
const BEFORE_JOIN: Record<string, (client: Client) => unknown> = {
  silence: () => {},
  "pings before the join": (client) => sendWithoutEnd(client, pong),
};
/** What the server sends in addition to the messages of a real server. */
const IN_CALL: Record<string, (client: Client) => unknown> = {
  pings: (client) => sendWithoutEnd(client, pong),
  "metadata of the room": (client) => sendWithoutEnd(client, metadata(60_000)),
  "messages of 15 MiB": (client) => sendWithoutEnd(client, metadata(15 * 1024 * 1024)),
  participants: (client) => sendWithoutEnd(client, participants),
  tokens: (client) => sendWithoutEnd(client, () => encode({ case: "refreshToken", value: "x".repeat(10_000) })),
  "no messages": (client) => sendWithoutEnd(client, () => new Uint8Array(1000).fill(255)),
  elsewhere: (client) => client.send(elsewhere()),
};
/** What becomes of the response to the join. */
const JOIN: Record<string, (join: Extract<Message, { case: "join" }>["value"]) => void> = {
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

const server: Bun.Server<Data> = Bun.serve<Data>({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) => {
    const { pathname, search } = new URL(request.url);
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
    },
    message: ({ data: { real, waiting } }, message) => {
      if (real?.readyState === WebSocket.OPEN) real.send(message);
      else waiting.push(message);
    },
    close: ({ data: { real } }) => {
      process.stdout.write("closed\n");
      real?.close();
    },
  },
});
process.stdout.write(`${server.url.href}\n`);
