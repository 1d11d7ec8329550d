/** A caller of the API that repeats each request until it has a response that says what has become of it. */

export type Answer = { status: number; body: Record<string, unknown> };

/** What says nothing about the request: it was not executed, or perhaps. */
const isUnclear = (status: number): boolean => status === 429 || status >= 500;
/** For a request on a connection that a killed process has left open. */
const ATTEMPT_MS = 10_000;

/**
 * Sends a request again and again, with the same `Idempotency-Key`, until its response is clear. `url` is asked anew, because
 * the service may be started again elsewhere.
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
