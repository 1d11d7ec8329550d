/** The URLs that the worker may fetch for a tenant. This is checked before any name is resolved. */
import { isIP } from "node:net";
import { PRIVATE_NAME } from "@realtime-avatar/domain/assets/remote-url";
import { type Refused, refused } from "./outcome.ts";

/** Ports of HTTPS servers. Other ports would make the fetcher a port scanner. */
export const HTTPS_PORTS: readonly number[] = [443, 8443];

export type Target = { kind: "target"; url: URL; host: string; port: number };

/**
 * The host and the port of `text`, a URL; `base` is the URL of the redirect that names it. `refused` for a URL that is not
 * https, has credentials, another port than `ports`, an IP address, or a name without a dot.
 *
 * The parser (WHATWG URL) converts each spelling of an IPv4 address to the dotted form: decimal, octal, hexadecimal,
 * short forms, full-width digits, a dot at the end. So one comparison refuses all spellings.
 */
export const parseTarget = (text: string, base: URL | null, ports: readonly number[]): Target | Refused => {
  const name = base === null ? "The URL" : "The URL to which the host redirects";
  const url = URL.parse(text, base?.href);
  if (!url) return refused("invalid_url", `${name} is malformed.`);
  if (url.protocol !== "https:") return refused("https_required", `${name} does not begin with https://.`);
  if (url.username !== "" || url.password !== "") {
    return refused("credentials_not_allowed", `${name} contains a user name or a password.`);
  }
  const port = url.port === "" ? 443 : Number(url.port);
  if (!ports.includes(port)) {
    return refused("port_not_allowed", `${name} has the port ${port}; allowed are ${ports.join(" and ")}.`);
  }
  // The dot at the end of an absolute name is not part of the name in its certificate.
  const host = url.hostname.replace(/\.$/, "");
  if (host.startsWith("[") || isIP(host) !== 0) {
    return refused("ip_address_not_allowed", `${name} contains an IP address instead of a host name.`);
  }
  // A name without a dot belongs to a machine of the local network.
  if (!/^[^.]+(\.[^.]+)+$/.test(host) || PRIVATE_NAME.test(host)) {
    return refused("host_not_public", `${name} has a host that is not on the internet.`);
  }
  return { kind: "target", url, host, port };
};
