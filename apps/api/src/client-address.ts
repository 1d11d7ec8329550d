/** Which client a request comes from, for limits that hold before anyone has shown a key. */
import { isIP, isIPv6 } from "node:net";

/** An IPv6 address without its zone, as eight groups. */
const groupsOf = (address: string): string[] => {
  const [head = "", tail] = (address.split("%")[0] ?? "")
    .split("::")
    .map((part) => (part === "" ? [] : part.split(":")));
  if (tail === undefined) return [...head];
  return [...head, ...Array(8 - head.length - tail.length).fill("0"), ...tail];
};

/** The network that one client has at its disposal: an IPv4 address, or the first 64 bits of an IPv6 address. */
const networkOf = (address: string): string => {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address).slice(0, 4);
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":");
};

/**
 * The client's network. `trustedProxyHops` is the number of proxies in front that each append the address of their peer
 * to `X-Forwarded-For`: so many entries from the right are theirs, what stands before them anyone may have written. An
 * entry that is missing or no address counts for nothing, and the connection's own `peer` stands.
 */
export const clientNetwork = (
  { headers }: Pick<Request, "headers">,
  peer: string | null,
  trustedProxyHops: number,
): string => {
  const entries = (headers.get("x-forwarded-for") ?? "").split(",").map((entry) => entry.trim());
  const forwarded = trustedProxyHops > 0 ? entries.at(-trustedProxyHops) : undefined;
  return networkOf(forwarded !== undefined && isIP(forwarded) !== 0 ? forwarded : (peer ?? "unknown"));
};
