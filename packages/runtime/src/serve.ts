/** The HTTP server. */

import { networkInterfaces } from "node:os";

/**
 * Disables Bun's own limit, which would respond to a large body with a bare 413 before authentication. The application
 * counts the bytes itself. Bun discards a body that the application does not read as it arrives.
 */
const NO_BODY_LIMIT = Number.MAX_SAFE_INTEGER;

export type Address = {
  host: string;
  port: number;
  /** The environment variable for the port, for the error when the server cannot listen. */
  portVariable: string;
};

/** A path with more segments than this matches no route. */
const MAX_SEGMENTS = 10;

/** One pattern for each number of segments: `/`, `/:s0`, `/:s0/:s1` and so on. No pattern matches an empty segment. */
const PATTERNS = Array.from({ length: MAX_SEGMENTS + 1 }, (_, count) =>
  count === 0 ? "/" : Array.from({ length: count }, (_, index) => `/:s${index}`).join(""),
);

/**
 * Segments of `pchar` (RFC 3986 §3.3) without percent-escapes; `.` and `..` are not allowed. A path with a slash at the
 * end is a different path.
 */
const NORMAL_PATH = /^(?:\/|(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~!$&'()*+,;=:@-]+)+\/?)$/;

/**
 * The path of a request target if it was sent in its normal form; null if it has dot segments, empty segments, backslashes or
 * percent-escapes (no route needs one). `target` is the path with its query, in which Bun has already resolved dot segments
 * and backslashes. `segments` come from Bun's router: percent-decoded, but otherwise as sent. If the two differ, the path was
 * not in its normal form.
 */
export const normalPath = (target: string, segments: readonly string[]): string | null => {
  const query = target.indexOf("?");
  const path = query === -1 ? target : target.slice(0, query);
  return NORMAL_PATH.test(path) && path === `/${segments.join("/")}` ? path : null;
};

const SCHEME = "http://";
/** The origin of a request whose `Host` is absent or invalid; for these, Bun's `url` is only the path. */
const LOCAL = `${SCHEME}localhost`;
/** A URL that matches no route, because of its empty segment. */
const UNROUTABLE = `${LOCAL}//`;

/**
 * Gives `request` an absolute `url` for routing. If the path was not sent in its normal form, the URL matches no route.
 * `segments` is null for a path that Bun's router does not match.
 */
const routable = (request: Request, segments: readonly string[] | null): Request => {
  const { url } = request;
  const start = url.startsWith("/") ? 0 : url.indexOf("/", SCHEME.length);
  const isNormal = start !== -1 && segments !== null && normalPath(url.slice(start), segments) !== null;
  if (isNormal && start > 0) return request;
  return Object.defineProperty(request, "url", { value: isNormal ? LOCAL + url : UNROUTABLE });
};

export type Timeouts = {
  /** How long a connection may be idle, in milliseconds. */
  keepAliveMs: number;
  /** The maximum time for a request, in milliseconds. */
  requestMs: number;
};

/**
 * Serves `fetch` at an address. Throws when it cannot listen there. Idle connections are closed; Bun closes a
 * connection without a first request after twelve seconds. For a path that is not in its normal form, `url` matches no
 * route. `onFailure` creates the response when `fetch` throws, which means that the application's error handling
 * failed.
 */
export const serve = (
  address: Address,
  { keepAliveMs, requestMs }: Timeouts,
  fetch: (request: Request) => Response | Promise<Response>,
  onFailure: (error: unknown) => Response = () => new Response(null, { status: 500 }),
) => {
  const routed = (request: Bun.BunRequest<string>): Response | Promise<Response> =>
    fetch(routable(request, Object.values(request.params)));
  try {
    return Bun.serve({
      hostname: address.host,
      port: address.port,
      development: false,
      // Without this, two processes could share a port unnoticed, and one would receive the API keys for the other.
      reusePort: false,
      // Bun also counts a request that waits for its response as idle.
      idleTimeout: Math.ceil(Math.max(keepAliveMs, requestMs) / 1000),
      maxRequestBodySize: NO_BODY_LIMIT,
      // Only Bun's router exposes the path as sent. It serves no other purpose: the application does the routing.
      routes: {
        ...Object.fromEntries(PATTERNS.map((pattern) => [pattern, routed])),
        // Pages accept a slash at the end, because people type it. No page has a deeper path.
        "/:s0/": (request) => fetch(routable(request, [request.params.s0, ""])),
        "/:s0/:s1/": (request) => fetch(routable(request, [request.params.s0, request.params.s1, ""])),
      },
      fetch: (request) => fetch(routable(request, null)),
      error: onFailure,
    });
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? error.code : "unknown reason";
    const { host, port, portVariable } = address;
    throw new Error(`Cannot listen on ${host}:${port} (${reason}). Set ${portVariable} to another port, or HOST.`);
  }
};

/** Attempts to find a port that is free at every address. */
const PORT_ATTEMPTS = 10;

/** The addresses of `hosts` at which the machine can listen. The IPv6 loopback is left out if the machine lacks it. */
const availableHosts = (hosts: readonly string[]): string[] => {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  return hosts.filter((host) => host !== "::1" || addresses.includes(host));
};

/**
 * Serves `fetch` at the same port of several addresses, as `serve` does at one. By default these are both loopback
 * addresses: a browser may resolve `localhost` to either, and another user could listen at an unused one.
 */
export const serveAll = (
  { hosts, port, portVariable }: Omit<Address, "host"> & { hosts: readonly string[] },
  ...rest: [timeouts: Timeouts, fetch: Parameters<typeof serve>[2], onFailure?: Parameters<typeof serve>[3]]
) => {
  const [first = "127.0.0.1", ...others] = availableHosts(hosts);
  for (let attempt = 1; ; attempt++) {
    const servers = [serve({ host: first, port, portVariable }, ...rest)];
    try {
      for (const host of others) servers.push(serve({ host, port: servers[0]?.port ?? port, portVariable }, ...rest));
      return servers;
    } catch (error) {
      for (const server of servers) void server.stop(true);
      // The port that the system has chosen for the first address can be in use at another address.
      if (port !== 0 || attempt === PORT_ATTEMPTS) throw error;
    }
  }
};
