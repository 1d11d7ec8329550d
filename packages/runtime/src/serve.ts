/** Listens for HTTP. */

/**
 * Bun's own limit would answer a large body with a bare 413 before anyone asked for credentials: it is set out of the
 * way, and the application counts the bytes. A body that nobody reads is thrown away as it comes.
 */
const NO_BODY_LIMIT = Number.MAX_SAFE_INTEGER;

export type Address = {
  host: string;
  port: number;
  /** The variable that names the port, for the error when it cannot be had. */
  portVariable: string;
};

/** A path with more segments than this is handed on as one that no route has. */
const MAX_SEGMENTS = 10;

/** One pattern for each number of segments: `/`, `/:s0`, `/:s0/:s1` and so on. An empty segment matches none of them. */
const PATTERNS = Array.from({ length: MAX_SEGMENTS + 1 }, (_, count) =>
  count === 0 ? "/" : Array.from({ length: count }, (_, index) => `/:s${index}`).join(""),
);

/** The characters of a segment (`pchar` of RFC 3986 §3.3) without percent-escapes, and none that is `.` or `..`. */
const NORMAL_PATH = /^(?:\/|(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~!$&'()*+,;=:@-]+)+)$/;

/**
 * The path of a request target when it is in its normal form; null otherwise: with dot segments, empty segments,
 * backslashes or percent-escapes. No path of ours needs an escape. `target` is the path with its query, in which Bun has
 * resolved dot segments and backslashes already; `segments` are those of the target as it was sent, percent-decoded, from
 * Bun's router, which does not resolve anything. Where the two differ, something was resolved or escaped.
 */
export const normalPath = (target: string, segments: readonly string[]): string | null => {
  const query = target.indexOf("?");
  const path = query === -1 ? target : target.slice(0, query);
  return NORMAL_PATH.test(path) && path === `/${segments.join("/")}` ? path : null;
};

const SCHEME = "http://";
/** Where a request goes whose `Host` is absent or unusable: Bun gives only the path then. */
const LOCAL = `${SCHEME}localhost`;
/** An address whose path no route has: an empty segment. */
const NOWHERE = `${LOCAL}//`;

/**
 * Gives `request` an absolute `url`, by which an application can route: one that no route has when the path was not sent
 * in its normal form. `segments` is null for a path that Bun's router does not know.
 */
const routable = (request: Request, segments: readonly string[] | null): Request => {
  const { url } = request;
  const start = url.startsWith("/") ? 0 : url.indexOf("/", SCHEME.length);
  const isNormal = start !== -1 && segments !== null && normalPath(url.slice(start), segments) !== null;
  if (isNormal && start > 0) return request;
  return Object.defineProperty(request, "url", { value: isNormal ? LOCAL + url : NOWHERE });
};

export type Patience = {
  /** How long a connection may be idle, in milliseconds. */
  keepAliveMs: number;
  /** How long a request may take at most, in milliseconds. */
  requestMs: number;
};

/**
 * Serves `fetch` at an address. Throws when the address cannot be had. A connection is closed when it has been idle for
 * too long; one on which nothing has been asked yet, after twelve seconds, which Bun sees to. A request whose path is not
 * in its normal form comes with a `url` that no route has. `onFailure` answers when `fetch` itself fails, that is when
 * the error handling of the application does.
 */
export const serve = (
  address: Address,
  { keepAliveMs, requestMs }: Patience,
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
      // Otherwise two processes could share a port without knowing, and a key of one would be tried on the other.
      reusePort: false,
      // To Bun, a request that waits for its answer is idle as well.
      idleTimeout: Math.ceil(Math.max(keepAliveMs, requestMs) / 1000),
      maxRequestBodySize: NO_BODY_LIMIT,
      // Bun's router alone shows the path as it was sent. All that it decides is which of the two is called.
      routes: Object.fromEntries(PATTERNS.map((pattern) => [pattern, routed])),
      fetch: (request) => fetch(routable(request, null)),
      error: onFailure,
    });
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? error.code : "unknown reason";
    const { host, port, portVariable } = address;
    throw new Error(`Cannot listen on ${host}:${port} (${reason}). Set ${portVariable} to another port, or HOST.`);
  }
};
