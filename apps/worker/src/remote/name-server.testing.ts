/** A name server of a test, over UDP on loopback. */
import { createSocket } from "node:dgram";
import ipaddr from "ipaddr.js";

/** Types of records (RFC 1035, RFC 3596). */
const [A, AAAA] = [1, 28];

export type Names = Record<string, { ipv4: readonly string[]; ipv6: readonly string[] }>;

/** The name of a query, its type, and the bytes of its question. */
const questionOf = (query: Buffer): { name: string; type: number; bytes: Buffer } => {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString());
    at += 1 + length;
  }
  return { name: labels.join("."), type: query.readUInt16BE(at + 1), bytes: query.subarray(12, at + 5) };
};

/** A record of the name in the question, with a time to live of 0. */
const recordOf = (type: number, address: string): Buffer => {
  const bytes = ipaddr.parse(address).toByteArray();
  return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
};

/** Starts a name server that knows `names`. It does not answer for names below `silent.example.com`, which it collects. */
export const startNameServer = async (names: Names) => {
  const socket = createSocket("udp4");
  const silent = new Set<string>();
  socket.on("message", (query, { port, address }) => {
    const { name, type, bytes } = questionOf(query);
    if (name.endsWith(".silent.example.com")) return void silent.add(name);
    const { ipv4 = [], ipv6 = [] } = names[name] ?? {};
    const addresses = type === A ? ipv4 : type === AAAA ? ipv6 : [];
    const header = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, addresses.length, 0, 0, 0, 0]);
    query.copy(header, 0, 0, 2);
    socket.send(Buffer.concat([header, bytes, ...addresses.map((each) => recordOf(type, each))]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return { port: socket.address().port, silent, close: () => socket.close() };
};
