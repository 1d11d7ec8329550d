/**
 * A receiver of webhooks in a separate process: prints its port and certificate, then the arrival time of each message.
 */
import { createServer } from "node:https";
import { selfSigned } from "@realtime-avatar/testing/network/certificate";

const certificate = selfSigned(["hooks.example.com"]);
let lines = "";
const server = createServer(certificate, (request, response) => {
  const at = performance.timeOrigin + performance.now();
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (part: string) => {
    body += part;
  });
  request.on("end", () => {
    // A receiver that hangs.
    if (request.url === "/dead") return;
    response.writeHead(204).end();
    const target = /"data":\{"id":"(\w+)"/.exec(body)?.[1] ?? "";
    lines += `${request.url} ${target} ${at}\n`;
  });
});
setInterval(() => {
  if (lines === "") return;
  process.stdout.write(lines);
  lines = "";
}, 50);
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ port, ca: certificate.cert })}\n`);
});
process.stdin.on("end", () => process.exit()).resume();
