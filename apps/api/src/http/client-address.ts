/** Which client a request comes from, for limits that hold before anyone has shown a key. */
import { isIP, isIPv6 } from "node:net";

/** An IPv6 address without its zone, as eight numbers. */
const groupsOf = (address: string): number[] => {
  // The URL standard writes each address in one way: hexadecimal, and with its zeros left out.
  const { hostname } = new URL(`http://[${address.split("%")[0]}]`);
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter(Boolean));
  return [...head, ...Array(8 - head.length - tail.length).fill("0"), ...tail].map((group) =>
    Number.parseInt(group, 16),
  );
};

/** The network that one client has at its disposal: an IPv4 address, or the first 64 bits of an IPv6 address. */
const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address);
  const [sixth = 0, high = 0, low = 0] = groups.slice(5);
  // An IPv4 address in IPv6 clothes (RFC 4291 §2.5.5.2).
  if (sixth === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
  }
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":");
};

/** An entry of `X-Forwarded-For`, without the port that some proxies write; `null` when it is no address. */
const addressOf = (entry: string | undefined): string | null => {
  const [, bracketed, plain] = /^(?:\[(.+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(entry ?? "") ?? [];
  const address = bracketed ?? plain ?? entry ?? "";
  return isIP(address) === 0 ? null : address;
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
  const forwarded = trustedProxyHops > 0 ? addressOf(entries.at(-trustedProxyHops)) : null;
  return networkOf(forwarded ?? peer ?? "unknown");
};
