/**
 * A request to a server with OpenAI's API. What the server sends is not trusted: its time and its bytes are bounded, no redirect is
 * followed, and nothing of it is in an error.
 */
import type { Endpoint } from "@realtime-avatar/runtime/providers/endpoints";
import { type Failure, type Provider, ProviderError } from "./errors.ts";

export type RequestLimits = {
  /** How long the server may take until the first byte, and for each one after it. */
  waitMs: number;
  totalMs: number;
  maxBytes: number;
};

export type ProviderRequest = {
  provider: Provider;
  endpoint: Endpoint;
  path: string;
  body: string | FormData;
  limits: RequestLimits;
  signal: AbortSignal;
};

const statusFailure = (status: number): Failure => {
  if (status === 408 || status === 504) return "timeout";
  if (status === 429 || status >= 500) return "busy";
  return status >= 300 ? "refused" : "malformed";
};

const send = async ({ provider, endpoint, path, body }: ProviderRequest, signal: AbortSignal): Promise<Response> => {
  const { url, apiKey } = endpoint;
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    // A redirect is a response like others then, which tells it from a server that cannot be reached.
    redirect: "manual",
    headers: {
      "accept-encoding": "identity",
      ...(typeof body === "string" && { "content-type": "application/json" }),
      ...(apiKey && { authorization: `Bearer ${apiKey.reveal()}` }),
    },
    body,
    // Of Bun: what is compressed against our will is refused, not unpacked.
    decompress: false,
    signal,
  } as RequestInit);
  const { status } = response;
  if (status !== 200) throw new ProviderError(provider, statusFailure(status), status === 400 || status === 422);
  if (response.headers.get("content-encoding")) throw new ProviderError(provider, "malformed");
  return response;
};

/** Ends a request when the server is late or the caller aborts it, whatever the runtime does then. */
const createGuard = ({ provider, limits: { waitMs, totalMs }, signal: caller }: ProviderRequest) => {
  const controller = new AbortController();
  const { signal } = controller;
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => {});
  const expire = (): void => controller.abort(new ProviderError(provider, "timeout"));
  const cancel = (): void => controller.abort(caller.reason);
  caller.addEventListener("abort", cancel, { once: true });
  if (caller.aborted) cancel();
  const total = setTimeout(expire, totalMs);
  let wait: NodeJS.Timeout | undefined;
  return {
    signal,
    /** Waits for the server: at most `waitMs`. */
    next: async <Result>(result: Promise<Result>): Promise<Result> => {
      wait = setTimeout(expire, waitMs);
      try {
        return await Promise.race([result, aborted]);
      } finally {
        clearTimeout(wait);
      }
    },
    /** Closes the connection as well, if the request runs. */
    end: (): void => {
      clearTimeout(wait);
      clearTimeout(total);
      caller.removeEventListener("abort", cancel);
      controller.abort();
    },
  };
};

/**
 * The body of the response, as it arrives. The request ends when the caller stops to iterate. Throws a `ProviderError`, or the reason
 * of `signal` when it is aborted.
 */
export async function* requestBytes(request: ProviderRequest): AsyncGenerator<Uint8Array> {
  const { provider, limits, signal } = request;
  const guard = createGuard(request);
  let bytesLeft = limits.maxBytes;
  let hasResponse = false;
  try {
    const sending = send(request, guard.signal);
    sending.catch(() => {});
    const { body } = await guard.next(sending);
    hasResponse = true;
    const reader = body?.getReader();
    for (;;) {
      const reading = reader?.read() ?? Promise.resolve({ done: true, value: undefined } as const);
      reading.catch(() => {});
      const { done, value } = await guard.next(reading);
      if (done) return;
      bytesLeft -= value.length;
      if (bytesLeft < 0) throw new ProviderError(provider, "malformed");
      yield value;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ProviderError) throw error;
    // The text of such an error can contain the address.
    throw new ProviderError(provider, hasResponse ? "malformed" : "busy");
  } finally {
    guard.end();
  }
}
