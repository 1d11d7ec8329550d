/** `forgery.test.ts` tests the addresses that are not public. */
import { expect, test } from "bun:test";
import { isPublicAddress } from "./address.ts";

test.each(
  [
    "1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.167.255.255",
    "168.63.129.15 168.63.129.17 223.255.255.255 2001:4860:4860::8888 2606:4700:4700::1111",
    "2a00:1450:4001:80e::200e 2001:200::1",
  ].flatMap((line) => line.split(" ")),
)("an address, %s: public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  "",
  "localhost",
  "8.8.8",
  "134744072",
  "0x08.8.8.8",
  "010.8.8.8",
  "8.8.8.8 ",
  "8.8.8.8/0",
  "[2606::1]",
  "1::2::3",
])("a text, %j: not an address", (text) => {
  expect(isPublicAddress(text)).toBe(false);
});

test.each(["4000::1", "5f00::1", "1::1", "e000::1"])("an address, %s outside of 2000::/3: not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

/**
 * Each IPv6 address with the IPv4 address that it contains. The IPv4 address decides only for NAT64 with the well-known
 * prefix.
 */
test.each([
  // NAT64, well-known prefix (RFC 6052): the addresses that DNS64 makes for a name without an IPv6 address.
  ["64:ff9b::808:808", "8.8.8.8", true],
  ["64:ff9b::8.8.8.8", "8.8.8.8", true],
  ["64:ff9b:0:0:0:0:5db8:d822", "93.184.216.34", true],
  ["64:ff9b::a00:1", "10.0.0.1", false],
  ["64:ff9b::7f00:1", "127.0.0.1", false],
  ["64:ff9b::a9fe:a9fe", "169.254.169.254", false],
  ["64:ff9b::6440:1", "100.64.0.1", false],
  ["64:ff9b::c0a8:101", "192.168.1.1", false],
  ["64:ff9b::a83f:8110", "168.63.129.16", false],
  ["64:ff9b::e000:1", "224.0.0.1", false],
  ["64:ff9b::", "0.0.0.0", false],
  ["64:ff9b::ffff:ffff", "255.255.255.255", false],
  // Outside of the /96.
  ["64:ff9b::1:808:808", "8.8.8.8", false],
  ["64:ff9a::808:808", "8.8.8.8", false],
  // NAT64, local use (RFC 8215): the operator chooses the targets.
  ["64:ff9b:1::808:808", "8.8.8.8", false],
  ["64:ff9b:1:ffff::808:808", "8.8.8.8", false],
  // IPv4-mapped, IPv4-compatible, IPv4-translated (RFC 4291, RFC 2765): not used by names of the public internet.
  ["::ffff:8.8.8.8", "8.8.8.8", false],
  ["::ffff:a00:1", "10.0.0.1", false],
  ["::8.8.8.8", "8.8.8.8", false],
  ["::ffff:0:808:808", "8.8.8.8", false],
  // 6to4 and Teredo (RFC 7526, RFC 4380): obsolete, with relays of other operators.
  ["2002:808:808::1", "8.8.8.8", false],
  ["2002:a00:1::1", "10.0.0.1", false],
  ["2001:0:808:808:8000:63bf:f7f7:f7f7", "8.8.8.8", false],
])("an address, %s with %s in it: public %p", (address, _, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});
