/** The look-up of names of the public internet, with a name server of the test. */
import { afterAll, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { getServers, setServers } from "node:dns";
import { PUBLIC_INTERNET } from "./request.ts";

/** The name of a query, and its type: 1 asks for IPv4 addresses. */
const questionOf = (query: Buffer): { name: string; type: number; bytes: Buffer } => {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString());
    at += 1 + length;
  }
  return { name: labels.join("."), type: query.readUInt16BE(at + 1), bytes: query.subarray(12, at + 5) };
};
const ADDRESS = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 93, 184, 216, 34]);

/** Starts a name server. It knows the address of each name, and does not answer for those below `silent.example.com`. */
const startNameServer = async () => {
  const socket = createSocket("udp4");
  const silent = new Set<string>();
  socket.on("message", (query, { port, address }) => {
    const { name, type, bytes } = questionOf(query);
    if (name.endsWith(".silent.example.com")) return void silent.add(name);
    const header = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, type === 1 ? 1 : 0, 0, 0, 0, 0]);
    query.copy(header, 0, 0, 2);
    socket.send(Buffer.concat([header, bytes, type === 1 ? ADDRESS : Buffer.alloc(0)]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return { port: socket.address().port, silent, close: () => socket.close() };
};

const before = getServers();
const server = await startNameServer();
setServers([`127.0.0.1:${server.port}`]);
afterAll(() => {
  setServers(before);
  server.close();
});

test("look-ups that a name server does not answer, and one of another name: it is answered at once", async () => {
  let ended = 0;
  for (let i = 0; i < 64; i++) {
    void PUBLIC_INTERNET.resolve(`name${i}.silent.example.com`)
      .catch(() => [])
      .then(() => {
        ended += 1;
      });
  }
  while (server.silent.size < 64) await Bun.sleep(5);
  expect(await PUBLIC_INTERNET.resolve("hooks.example.com")).toEqual(["93.184.216.34"]);
  expect(ended).toBe(0);
});
