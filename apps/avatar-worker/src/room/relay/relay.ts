/**
 * The connection to the LiveKit server of an agent's owner, which is untrusted. The library of LiveKit trusts a server.
 * It reads all data and keeps it until it is handled, even after the room was left. It follows redirects to any
 * address. It ends the process when a message is invalid. So the library connects to a relay in this process. The relay
 * passes WebSocket connections on to this server alone, until it is closed. It checks each message of the server
 * (signal.ts) and limits the rate. Media does not pass through the relay.
 */
import { connect as connectPlain, createServer, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { createMeter, type Limit } from "../../meter.ts";
import { createSignalFilter } from "./signal.ts";
import { createMessageReader, encodeFrame, type Message } from "./websocket.ts";

/** Limit of bytes from a server. A room with a thousand participants sends half of the burst. */
const MAX_BYTES: Limit = { burst: 1024 * 1024, perSecond: 64 * 1024 };
/** Limit of messages. The burst covers several changes of each of a thousand participants. */
const MAX_MESSAGES: Limit = { burst: 5000, perSecond: 500 };
/** Limit of connections. The library connects again when a connection ends. */
const MAX_CONNECTIONS: Limit = { burst: 20, perSecond: 1 / 15 };
/** Limit of the request header, which contains the token. The library sends it in one piece. */
const MAX_HEADER_BYTES = 64 * 1024;
const END_OF_HEADER = "\r\n\r\n";

export type Relay = {
  /** The address of the relay, for the library. */
  url: string;
  /** Ends all connections. */
  close(): void;
};

/**
 * The header of a WebSocket request for the server `host`. null for any other request, because the server could
 * redirect it.
 */
const requestFor = (header: string, host: string): string | null => {
  const [request = "", ...fields] = header.split("\r\n");
  if (!request.startsWith("GET ") || !fields.some((field) => /^upgrade: *websocket$/i.test(field))) return null;
  // Without extensions, all frames have the standard form.
  const passed = fields.filter((field) => !/^(host|sec-websocket-extensions):/i.test(field));
  return [request, `Host: ${host}`, ...passed].join("\r\n");
};

/** The part of a response that the library reads. `isOpen`: messages follow it. */
const responseOf = (header: string): { isOpen: boolean; text: string } => {
  const [start = "", ...fields] = header.split("\r\n");
  const [, status] = /^HTTP\/1\.1 (\d{3})\b/.exec(start) ?? [];
  if (status === undefined) throw new Error("an invalid response");
  const isOpen = status === "101";
  const accepted = fields.filter((field) => /^sec-websocket-accept: *[\w+/=]{28}$/i.test(field));
  const own = isOpen
    ? ["Upgrade: websocket", "Connection: Upgrade", ...accepted]
    : ["Connection: close", "Content-Length: 0"];
  return { isOpen, text: [`HTTP/1.1 ${status} ${isOpen ? "Switching Protocols" : "Refused"}`, ...own].join("\r\n") };
};

const connectTo = ({ protocol, hostname, port }: URL): Socket => {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (protocol === "ws:") return connectPlain(Number(port || 80), host);
  return connectTls({ host, port: Number(port || 443), ...(isIP(host) === 0 && { servername: host }) });
};

/**
 * Returns a function that takes the pieces of a header. It returns the header and the data after it, or null while the
 * header is incomplete.
 */
const createHeaderReader = () => {
  let head = Buffer.alloc(0);
  return (piece: Buffer): { header: string; rest: Buffer } | null => {
    head = Buffer.concat([head, piece]);
    const end = head.indexOf(END_OF_HEADER);
    if (end === -1 && head.length < MAX_HEADER_BYTES) return null;
    if (end === -1) throw new Error("a header that is too long");
    return { header: head.subarray(0, end).toString("latin1"), rest: head.subarray(end + END_OF_HEADER.length) };
  };
};

/** Returns a function that takes the pieces of one connection from a server. It returns the data for the library. */
const createResponseReader = (countMessages: (count: number) => void): ((piece: Buffer) => Buffer) => {
  const readHeader = createHeaderReader();
  const readMessages = createMessageReader(MAX_BYTES.burst);
  const filter = createSignalFilter();
  let isOpen = false;
  const pass = (message: Message): Buffer[] => {
    if (message.kind !== "binary") return [encodeFrame(message)];
    const payload = filter(message.payload);
    return payload ? [encodeFrame({ kind: "binary", payload })] : [];
  };
  const passAll = (piece: Buffer): Buffer[] => {
    const messages = readMessages(piece);
    countMessages(messages.length);
    return messages.flatMap(pass);
  };
  return (piece) => {
    if (isOpen) return Buffer.concat(passAll(piece));
    const read = readHeader(piece);
    if (read === null) return Buffer.alloc(0);
    const response = responseOf(read.header);
    isOpen = response.isOpen;
    const start = Buffer.from(response.text + END_OF_HEADER, "latin1");
    return isOpen ? Buffer.concat([start, ...passAll(read.rest)]) : start;
  };
};

/** `onRefusal`: called once, when the server sends invalid data or exceeds a limit. The relay is closed then. */
export const startRelay = async (serverUrl: string, onRefusal: () => void): Promise<Relay> => {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const countBytes = createMeter(MAX_BYTES);
  const countMessages = createMeter(MAX_MESSAGES);
  const countConnections = createMeter(MAX_CONNECTIONS);
  let isClosed = false;
  const close = (): void => {
    isClosed = true;
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  /** Runs `work`. Closes the relay if it throws because of invalid data or a limit. */
  const attempt = (work: () => void): void => {
    if (isClosed) return;
    try {
      work();
    } catch {
      close();
      onRefusal();
    }
  };
  const track = (socket: Socket, onClose: () => void): void => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      onClose();
    });
  };
  const open = (client: Socket): Socket => {
    countConnections(1);
    const upstream = connectTo(target);
    const read = createResponseReader(countMessages);
    // Data that the server sent before still arrives.
    track(upstream, () => client.end());
    upstream.on("data", (piece: Buffer) =>
      attempt(() => {
        countBytes(piece.length);
        const passed = read(piece);
        if (passed.length === 0 || client.write(passed)) return;
        upstream.pause();
        client.once("drain", () => upstream.resume());
      }),
    );
    return upstream;
  };
  const server = createServer((client) => {
    let upstream: Socket | null = null;
    const readHeader = createHeaderReader();
    track(client, () => upstream?.destroy());
    client.on("data", (piece: Buffer) =>
      attempt(() => {
        if (upstream) return void upstream.write(piece);
        const read = readHeader(piece);
        if (read === null) return;
        const header = requestFor(read.header, target.host);
        if (header === null) return void client.destroy();
        upstream = open(client);
        upstream.write(Buffer.concat([Buffer.from(header + END_OF_HEADER, "latin1"), read.rest]));
      }),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as { port: number };
  return { url: `ws://127.0.0.1:${port}`, close };
};
