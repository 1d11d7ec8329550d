/** Serves an application over HTTP. */
import { PROBLEMS } from "@realtime-avatar/domain/problem";
import type { createApp } from "./app.ts";

/**
 * Bun's own limit would answer a large body with a bare 413 before anyone asked for credentials: it is set out of the
 * way, and `body.ts` counts the bytes. A body that nobody reads is thrown away as it comes.
 */
const NO_BODY_LIMIT = Number.MAX_SAFE_INTEGER;

export const serve = (app: Pick<ReturnType<typeof createApp>, "fetch">, at: { host: string; port: number }) => {
  try {
    return Bun.serve({
      hostname: at.host,
      port: at.port,
      development: false,
      maxRequestBodySize: NO_BODY_LIMIT,
      fetch: app.fetch,
      // Reached only if the application's own error handling fails.
      error: () => new Response(null, { status: PROBLEMS.internal_error.status }),
    });
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? error.code : "unknown reason";
    throw new Error(`Cannot listen on HOST and PORT (${reason}).`);
  }
};
