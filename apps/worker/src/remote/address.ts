/** The addresses to which the worker may connect for a tenant: those of the public internet. */
import ipaddr from "ipaddr.js";

/**
 * Ranges that ipaddr.js calls unicast but that are not hosts of the public internet: the IANA special-purpose address
 * registries, and an internal address of a cloud provider.
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
  // 6to4, with an IPv4 address in it.
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
].map((range) => ipaddr.parseCIDR(range));

/**
 * Global unicast. Outside of it, all addresses except those of NAT64 are special, unassigned, or of IPv4 hosts
 * (::ffff:0:0/96).
 */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * NAT64 (RFC 6052): the last 32 bits are the IPv4 address that is reached. On a network with DNS64, a name without an
 * IPv6 address has such addresses. For the prefix of local use (64:ff9b:1::/48, RFC 8215), the operator decides which
 * hosts are reached.
 */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/**
 * Whether `address`, an IPv4 address in dotted form or an IPv6 address, is a public unicast address. All other texts
 * are not.
 */
export const isPublicAddress = (address: string): boolean => {
  // Octal, hexadecimal and short forms and zones are refused: a resolver never returns them.
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !(ipaddr.IPv6.isValid(address) && !address.includes("%"))) {
    return false;
  }
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === "ipv6" && parsed.match(NAT64)) {
    return isPublicAddress(ipaddr.fromByteArray(parsed.toByteArray().slice(12)).toString());
  }
  if (parsed.range() !== "unicast") return false;
  if (parsed.kind() === "ipv6" && !parsed.match(GLOBAL_IPV6)) return false;
  return !SPECIAL_RANGES.some(([range, bits]) => range.kind() === parsed.kind() && parsed.match(range, bits));
};
