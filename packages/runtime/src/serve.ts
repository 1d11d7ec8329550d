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

export type Patience = {
  /** How long a connection may be idle, in milliseconds. */
  keepAliveMs: number;
  /** How long a request may take at most, in milliseconds. */
  requestMs: number;
};

/**
 * Serves `fetch` at an address. Throws when the address cannot be had. A connection is closed when it has been idle for
 * too long; one on which nothing has been asked yet, after twelve seconds, which Bun sees to.
 */
export const serve = (
  address: Address,
  { keepAliveMs, requestMs }: Patience,
  fetch: (request: Request) => Response | Promise<Response>,
) => {
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
      fetch,
      // Reached only if the application's own error handling fails.
      error: () => new Response(null, { status: 500 }),
    });
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? error.code : "unknown reason";
    const { host, port, portVariable } = address;
    throw new Error(`Cannot listen on ${host}:${port} (${reason}). Set ${portVariable} to another port, or HOST.`);
  }
};
