/** Which addresses the worker may connect to for a tenant: those of the public internet. */
import ipaddr from "ipaddr.js";

/**
 * Ranges that ipaddr.js calls unicast, but that are not hosts of the public internet: the IANA special-purpose address
 * registries, and an address that a cloud provider answers on from inside.
 */
const SPECIAL_RANGES = [
  // Azure's WireServer: credentials and configuration of the virtual machine.
  "168.63.129.16/32",
  // AS112 sinks, AMT relays, 6to4 relays.
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.175.48.0/24",
  // IETF protocol assignments, among them Teredo, ORCHID and benchmarking.
  "2001::/23",
  "2001:db8::/32",
  // 6to4 and NAT64 contain an IPv4 address, which can be a private one.
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
].map((range) => ipaddr.parseCIDR(range));

/** Global unicast: all addresses outside it are special, unassigned, or translate to IPv4 (::ffff:0:0/96, 64:ff9b::/96). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Whether `address`, an IPv4 address in dotted form or an IPv6 address, is a public unicast address. Anything else is not. */
export const isPublicAddress = (address: string): boolean => {
  // No octal, hexadecimal or short forms, and no zone: a resolver returns none.
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !(ipaddr.IPv6.isValid(address) && !address.includes("%"))) {
    return false;
  }
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  if (parsed.kind() === "ipv6" && !parsed.match(GLOBAL_IPV6)) return false;
  return !SPECIAL_RANGES.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits));
};
