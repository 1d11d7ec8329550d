/** The `Host` header (RFC 9112 §3.2). */
import { isIPv6 } from "node:net";

/**
 * `uri-host [":" port]` (RFC 3986 §3.2.2). Each character matches at most one alternative, so matching takes linear
 * time.
 */
const HOST = /^(?:\[([0-9a-f:.]+)\]|(?:[a-z0-9._~!$&'()*+,;=-]|%[0-9a-f]{2})+)(?::(\d{0,5}))?$/i;
const MAX_PORT = 65_535;

/**
 * Whether `host` is a valid value of `Host`: a name, an IPv4 address or an IPv6 address in brackets, with an optional
 * port. Empty values are invalid. So are repeated headers, which arrive joined by a comma and a space.
 */
export const isHost = (host: string): boolean => {
  const match = HOST.exec(host);
  if (!match) return false;
  const [, ipv6, port = ""] = match;
  return (ipv6 === undefined || isIPv6(ipv6)) && Number(port) <= MAX_PORT;
};
