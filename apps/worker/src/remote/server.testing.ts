/** A TLS server of a test that speaks HTTP byte by byte, so that it can break every rule. */
import { createServer, type TLSSocket } from "node:tls";
import { selfSigned } from "@realtime-avatar/testing/network/certificate";
import { type Network, PUBLIC_INTERNET } from "./request.ts";

const HOSTS = ["files.example.com", "other.example.com"];
const CERTIFICATE = selfSigned(HOSTS);

export type TestServer = {
  port: number;
  /** The number of TCP connections so far. */
  connections: () => number;
  /** The heads of the requests so far. */
  requests: string[];
  /** Reaches the server by every name. Loopback is allowed. */
  network: Network;
  close: () => Promise<void>;
};

/** Starts a server on loopback. `respond` gets the path of each request and its socket. */
export const startServer = async (respond: (path: string, socket: TLSSocket) => void): Promise<TestServer> => {
  const requests: string[] = [];
  const sockets = new Set<TLSSocket>();
  let connections = 0;
  const server = createServer({ ...CERTIFICATE }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    let head = "";
    socket.on("data", (data) => {
      head += data.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      requests.push(head);
      const [, path = ""] = head.split(" ");
      head = "";
      respond(path, socket);
    });
  });
  server.on("connection", () => {
    connections += 1;
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  return {
    port,
    connections: () => connections,
    requests,
    network: {
      ...PUBLIC_INTERNET,
      resolve: async () => ["127.0.0.1"],
      isAllowed: () => true,
      ports: [port],
      ca: CERTIFICATE.cert,
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** An HTTP/1.1 response. */
export const http = (status: number, headers: Record<string, string | number>, body = ""): string =>
  `HTTP/1.1 ${status} Status\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n${body}`;
