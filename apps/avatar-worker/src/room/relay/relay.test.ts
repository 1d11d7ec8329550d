/**
 * The relay to an untrusted LiveKit server. test/hostile-server.system.test.ts uses it with the library and a real
 * server.
 */
import { afterAll, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createServer, type TLSSocket } from "node:tls";
import { selfSigned } from "@realtime-avatar/testing/network/certificate";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { removeAtEnd, temporaryFolder } from "@realtime-avatar/testing/temporary-folder";

const folder = await temporaryFolder();
removeAtEnd(folder);
const { cert, key } = selfSigned(["localhost"]);
const authority = join(folder, "authority.pem");
await writeFile(authority, cert);

let received = "";
const server = createServer({ cert, key }, (socket: TLSSocket) => {
  socket.on("error", () => {});
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1");
    socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n");
  });
});
server.on("tlsClientError", () => {});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as { port: number };
afterAll(() => void server.close());

/**
 * Sends a request through a relay to the server, in a process with these variables. Returns the request that the server
 * received, and the response.
 */
const send = async (request: string, variables: Record<string, string>, host = "localhost") => {
  received = "";
  const program = `
    import { connect } from "node:net";
    const { startRelay } = await import(${JSON.stringify(join(import.meta.dir, "relay.ts"))});
    const relay = await startRelay("wss://${host}:${port}", () => {});
    const socket = connect(Number(new URL(relay.url).port), "127.0.0.1", () => socket.write(${JSON.stringify(request)}));
    socket.on("data", (bytes) => process.stdout.write(bytes)).on("error", () => {}).on("close", () => relay.close());`;
  const { stdout } = await runToEnd([process.execPath, "-e", program], variables);
  return { received, response: stdout };
};

const WEBSOCKET = "GET /rtc?access_token=secret HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n\r\n";
const VALIDATE = "GET /rtc/validate?access_token=secret HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

test("a server with a valid certificate: it gets the WebSocket request, with its own name as host", async () => {
  const { received, response } = await send(WEBSOCKET, { NODE_EXTRA_CA_CERTS: authority });
  expect(received).toStartWith(
    `GET /rtc?access_token=secret HTTP/1.1\r\nHost: localhost:${port}\r\nUpgrade: websocket\r\n`,
  );
  expect(response).toContain("101 Switching Protocols");
});

test.each([
  ["a server whose certificate has no trusted authority", WEBSOCKET, {}, "localhost"],
  ["a server whose certificate is for another host", WEBSOCKET, { NODE_EXTRA_CA_CERTS: authority }, "127.0.0.1"],
  ["a request for anything but a WebSocket", VALIDATE, { NODE_EXTRA_CA_CERTS: authority }, "localhost"],
] as const)("%s: the server gets no request", async (_, request, variables, host) => {
  expect(await send(request, variables, host)).toEqual({ received: "", response: "" });
});
