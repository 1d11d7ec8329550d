/**
 * The form of a URL that the worker may fetch. The worker resolves the name and checks its addresses. This module
 * refuses URLs that no resolution can make acceptable.
 */
import type { FieldError } from "../problem.ts";
import { REMOTE_URL_PATTERN } from "./schemas.ts";

const FORM = new RegExp(REMOTE_URL_PATTERN);
/** The accepted ports of https. The URL parser omits the default port. */
const PORTS = ["", "8443"];
/** The URL parser converts every spelling of an IPv4 address (decimal, octal, hexadecimal, shortened) to this form. */
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;
/**
 * Names that are not public by definition: those of the machine (RFC 6761 §6.3), of its network (RFC 6762, RFC 8375),
 * and those reserved for private use, as in clusters and clouds. They are not resolved, because the outcome would
 * reveal which of them exist.
 */
export const PRIVATE_NAME = /(^|\.)(localhost|local|internal|home\.arpa)$/;

/**
 * The reason why `text` cannot be the https URL of a public host, whatever its name resolves to; null when it can be.
 */
export const publicUrlFault = (text: string): string | null => {
  if (!URL.canParse(text)) return "Must be a URL.";
  const { protocol, username, password, port, hostname } = new URL(text);
  if (protocol !== "https:") return "Must begin with https://.";
  if (username !== "" || password !== "") return "Must not have credentials.";
  if (!PORTS.includes(port)) return "Must have port 443 or 8443.";
  const host = hostname.replace(/\.$/, "");
  if (hostname.startsWith("[") || IPV4.test(host)) return "Must have a host name, not an IP address.";
  if (!host.includes(".") || PRIVATE_NAME.test(host)) return "Must have a public host name.";
  return FORM.test(text) ? null : "Must be written in ASCII, without spaces, and begin with https:// and a host name.";
};

/** The errors of `remoteUrl`, a valid text; an empty list when the worker may try to fetch it. */
export const remoteUrlErrors = (remoteUrl: string): FieldError[] => {
  const detail = publicUrlFault(remoteUrl);
  return detail === null ? [] : [{ pointer: "#/remoteUrl", code: "unsupported_url", detail }];
};
