/** A caller of the API that repeats each request until a response says whether it was executed. */

export type Answer = { status: number; body: Record<string, unknown> };

/** Statuses that leave the outcome of the request open: it was not executed, or may have been. */
const isUnclear = (status: number): boolean => status === 429 || status >= 500;
/** The limit for a request on a connection that a killed process has left open. */
const ATTEMPT_MS = 10_000;

/**
 * Repeats a request with the same `Idempotency-Key` until its response is clear. `url` is called for each attempt,
 * because the service may be started again elsewhere.
 */
export const callUntilClear = async (
  url: () => string,
  key: string,
  [method, path, body]: [method: string, path: string, body?: object | FormData],
  idempotencyKey?: string,
): Promise<Answer> => {
  const isForm = body instanceof FormData;
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body === undefined || isForm ? {} : { "content-type": "application/json" }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
  };
  for (;;) {
    try {
      const response = await fetch(url() + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
        signal: AbortSignal.timeout(ATTEMPT_MS),
      });
      if (!isUnclear(response.status))
        return { status: response.status, body: (await response.json()) as Answer["body"] };
    } catch {
      // The connection was cut.
    }
    await Bun.sleep(20 + 60 * Math.random());
  }
};
