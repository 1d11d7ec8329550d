/**
 * A host with only an IPv4 address, reached as on a network with NAT64. Runs in a separate network, in which
 * 64:ff9b::/96 leads to this process. Prints the outcome of each request, and the number of connections.
 */

import { setServers } from "node:dns";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { selfSigned } from "@realtime-avatar/testing/network/certificate";
import { fetchRemote } from "./fetch.ts";
import { startNameServer } from "./name-server.testing.ts";
import { createPoster } from "./post.ts";
import { PUBLIC_INTERNET } from "./request.ts";
import { http } from "./server.testing.ts";

/**
 * The records of the name server. DNS64 makes an IPv6 address from each IPv4 address of a name without IPv6 addresses.
 */
const NAMES = {
  "public.example.com": { ipv4: ["8.8.8.8"], ipv6: ["64:ff9b::808:808"] },
  "private.example.com": { ipv4: ["10.0.0.1"], ipv6: ["64:ff9b::a00:1"] },
  "synthesized.example.com": { ipv4: [], ipv6: ["64:ff9b::808:808"] },
  "hidden.example.com": { ipv4: [], ipv6: ["64:ff9b::a00:1"] },
  "local.example.com": { ipv4: [], ipv6: ["64:ff9b:1::808:808"] },
};

const certificate = selfSigned(Object.keys(NAMES));
let connections = 0;
const server = createServer(certificate, (socket) => {
  connections += 1;
  socket.on("error", () => {});
  socket.once("data", () => socket.end(http(200, { "Content-Length": 2, Connection: "close" }, "ok")));
});
await new Promise<void>((resolve) => server.listen(443, "::", resolve));
const nameServer = await startNameServer(NAMES);
setServers([`127.0.0.1:${nameServer.port}`]);

const network = { ...PUBLIC_INTERNET, ca: certificate.cert };
const poster = createPoster({ network });
const folder = mkdtempSync(join(tmpdir(), "nat64-"));
const outcomes: Record<string, string[]> = {};
for (const name of Object.keys(NAMES)) {
  const url = `https://${name}/`;
  const posted = await poster.post({ receiver: name, url, headers: {}, body: "{}" }, new AbortController().signal);
  const fetched = await fetchRemote(url, { path: join(folder, name), maxBytes: 1000, network });
  outcomes[name] = [posted, fetched].map((outcome) => ("code" in outcome ? outcome.code : outcome.kind));
}
process.stdout.write(JSON.stringify({ outcomes, connections }));
rmSync(folder, { recursive: true });
poster.close();
nameServer.close();
server.close();
