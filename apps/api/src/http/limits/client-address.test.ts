import { expect, test } from "bun:test";
import { clientNetwork } from "./client-address.ts";

const network = (forwarded: string | null, peer: string | null, hops: number): string =>
  clientNetwork({ headers: new Headers(forwarded === null ? {} : { "x-forwarded-for": forwarded }) }, peer, hops);

test.each<[string | null, string | null, number, string]>([
  // No proxy is trusted: the address of the connection is used.
  [null, "192.0.2.1", 0, "192.0.2.1"],
  ["203.0.113.5", "192.0.2.1", 0, "192.0.2.1"],
  // One proxy has appended its client. The client wrote the earlier entries.
  ["203.0.113.5", "192.0.2.1", 1, "203.0.113.5"],
  ["10.0.0.1, 203.0.113.5", "192.0.2.1", 1, "203.0.113.5"],
  ["203.0.113.5,198.51.100.2", "192.0.2.1", 2, "203.0.113.5"],
  [" 203.0.113.5 ", "192.0.2.1", 1, "203.0.113.5"],
  // Too few entries, or a malformed one: the address of the connection is used.
  ["203.0.113.5", "192.0.2.1", 2, "192.0.2.1"],
  [null, "192.0.2.1", 1, "192.0.2.1"],
  ["unknown", "192.0.2.1", 1, "192.0.2.1"],
  ["203.0.113.5, ", "192.0.2.1", 1, "192.0.2.1"],
  ["203.0.113.5:x", "192.0.2.1", 1, "192.0.2.1"],
  ["[203.0.113.5", "192.0.2.1", 1, "192.0.2.1"],
  // Some proxies write the port as well.
  ["203.0.113.5:4711", "192.0.2.1", 1, "203.0.113.5"],
  ["[2001:db8:1:2::9]:4711", "192.0.2.1", 1, "2001:db8:1:2"],
  ["[2001:db8:1:2::9]", "192.0.2.1", 1, "2001:db8:1:2"],
  [null, null, 0, "unknown"],
  // One client controls a /64.
  [null, "2001:db8:1:2:3:4:5:6", 0, "2001:db8:1:2"],
  [null, "2001:0DB8:1:2::9", 0, "2001:db8:1:2"],
  [null, "2001:db8::9", 0, "2001:db8:0:0"],
  [null, "::1", 0, "0:0:0:0"],
  [null, "fe80::1%eth0", 0, "fe80:0:0:0"],
  ["2001:db8:1:2:ffff::", "::1", 1, "2001:db8:1:2"],
  // An IPv4-mapped address is treated as its IPv4 address.
  [null, "::ffff:192.0.2.1", 0, "192.0.2.1"],
  [null, "::FFFF:192.0.2.1", 0, "192.0.2.1"],
  [null, "::ffff:c000:201", 0, "192.0.2.1"],
  [null, "0:0:0:0:0:ffff:192.0.2.1", 0, "192.0.2.1"],
  ["1::2:3:4:5:192.0.2.1", "::1", 1, "1:0:2:3"],
  ["64:ff9b::192.0.2.1", "::1", 1, "64:ff9b:0:0"],
])("X-Forwarded-For %s, from %s over %d proxies: network %s", (forwarded, peer, hops, expected) => {
  expect(network(forwarded, peer, hops)).toBe(expected);
});
