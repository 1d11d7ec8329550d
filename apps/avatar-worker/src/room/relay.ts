/**
 * The connection to the LiveKit server of an agent's owner, which is a stranger. The library of LiveKit reads all that a server
 * sends, keeps it until it is handled, also after the room was left, and follows redirects to any address. So it connects to a
 * relay in this process, which passes the bytes of WebSocket connections on, to this server alone, within a limit, until it is
 * closed. Media does not go this way.
 */
import { connect as connectPlain, createServer, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** What a server may send at once, and each second. A room with a thousand participants is half of that. */
const LIMIT = { burstBytes: 1024 * 1024, bytesPerSecond: 64 * 1024 };
/** The library sends its header in one piece; a token is in it. */
const MAX_HEADER_BYTES = 64 * 1024;
const END_OF_HEADER = "\r\n\r\n";

export type Relay = {
  /** Where the library finds the server. */
  url: string;
  /** Ends all connections. */
  close(): void;
};

/** The header of a request for a WebSocket, for the server `host`; null for any other request, which the server could redirect. */
const headerFor = (header: string, host: string): string | null => {
  const [request = "", ...fields] = header.split("\r\n");
  if (!request.startsWith("GET ") || !fields.some((field) => /^upgrade: *websocket$/i.test(field))) return null;
  return [request, `Host: ${host}`, ...fields.filter((field) => !/^host:/i.test(field))].join("\r\n");
};

const connectTo = ({ protocol, hostname, port }: URL): Socket => {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (protocol === "ws:") return connectPlain(Number(port || 80), host);
  return connectTls({ host, port: Number(port || 443), ...(isIP(host) === 0 && { servername: host }) });
};

/** Returns a function that counts bytes, and tells whether they are within the limit. */
const createMeter = () => {
  let excess = 0;
  let countedAt = performance.now();
  return (bytes: number): boolean => {
    const now = performance.now();
    excess = Math.max(0, excess - ((now - countedAt) / 1000) * LIMIT.bytesPerSecond) + bytes;
    countedAt = now;
    return excess <= LIMIT.burstBytes;
  };
};

/** `onFlood` is called, once, when the server sends more than the limit: the relay is closed then. */
export const startRelay = async (serverUrl: string, onFlood: () => void): Promise<Relay> => {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const isWithinLimit = createMeter();
  let isClosed = false;
  const close = (): void => {
    isClosed = true;
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  const receive = (bytes: Buffer, from: Socket, to: Socket): void => {
    if (isClosed) return;
    if (!isWithinLimit(bytes.length)) {
      close();
      onFlood();
    } else if (!to.write(bytes)) {
      from.pause();
      to.once("drain", () => from.resume());
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
  const server = createServer((client) => {
    let upstream: Socket | null = null;
    let head = Buffer.alloc(0);
    track(client, () => upstream?.destroy());
    client.on("data", (bytes: Buffer) => {
      if (upstream) return void upstream.write(bytes);
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf(END_OF_HEADER);
      if (end === -1 && head.length < MAX_HEADER_BYTES) return;
      const header = end === -1 ? null : headerFor(head.subarray(0, end).toString("latin1"), target.host);
      if (header === null || isClosed) return void client.destroy();
      const opened = connectTo(target);
      upstream = opened;
      // What the server has sent until then arrives.
      track(opened, () => client.end());
      opened.on("data", (received: Buffer) => receive(received, opened, client));
      opened.write(Buffer.concat([Buffer.from(header, "latin1"), head.subarray(end)]));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as { port: number };
  return { url: `ws://127.0.0.1:${port}`, close };
};
