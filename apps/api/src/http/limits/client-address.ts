/** The network of a client, for rate limits that apply before authentication. */
import { isIP, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";

/** The network that one client controls: an IPv4 address, or the first 64 bits of an IPv6 address. */
const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address;
  // An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) is treated as its IPv4 address.
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  return parsed.parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":");
};

/** An entry of `X-Forwarded-For`, without the port that some proxies add; `null` when it is not an address. */
const addressOf = (entry: string | undefined): string | null => {
  const [, bracketed, plain] = /^(?:\[(.+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(entry ?? "") ?? [];
  const address = bracketed ?? plain ?? entry ?? "";
  return isIP(address) === 0 ? null : address;
};

/**
 * The client's network. `trustedProxyHops`: the number of proxies in front of the service that each append the address
 * of their peer to `X-Forwarded-For`. Entries to the left of theirs are ignored, because the client can forge them. If
 * the entry is missing or malformed, the address of the connection, `peer`, is used.
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
