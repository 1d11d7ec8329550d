/**
 * A request to a server with OpenAI's API. The server is not trusted: its time and its bytes are bounded, redirects are
 * not followed, and errors contain nothing of its response.
 */
import type { Endpoint } from "@realtime-avatar/runtime/providers/endpoints";
import { type Failure, type Provider, ProviderError } from "./errors.ts";

export type RequestLimits = {
  /** How long the server may take until the first byte, and between two bytes. */
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
    // A redirect becomes a normal response, which can be told from an unreachable server.
    redirect: "manual",
    headers: {
      "accept-encoding": "identity",
      ...(typeof body === "string" && { "content-type": "application/json" }),
      ...(apiKey && { authorization: `Bearer ${apiKey.reveal()}` }),
    },
    body,
    // An option of Bun: a compressed body, which was not requested, is refused instead of unpacked.
    decompress: false,
    signal,
  } as RequestInit);
  const { status } = response;
  if (status !== 200) throw new ProviderError(provider, statusFailure(status), status === 400 || status === 422);
  if (response.headers.get("content-encoding")) throw new ProviderError(provider, "malformed");
  return response;
};

/** Ends a request when the server is late or the caller aborts it, even if the runtime does not. */
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
    /** Waits for the server, at most `waitMs`. */
    next: async <Result>(result: Promise<Result>): Promise<Result> => {
      wait = setTimeout(expire, waitMs);
      try {
        return await Promise.race([result, aborted]);
      } finally {
        clearTimeout(wait);
      }
    },
    /** Also closes the connection of a running request. */
    end: (): void => {
      clearTimeout(wait);
      clearTimeout(total);
      caller.removeEventListener("abort", cancel);
      controller.abort();
    },
  };
};

/**
 * The body of the response, as it arrives. The request ends when the caller stops iterating. Throws a `ProviderError`,
 * or the reason of `signal` when it is aborted.
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
    // The text of the original error can contain the address.
    throw new ProviderError(provider, hasResponse ? "malformed" : "busy");
  } finally {
    guard.end();
  }
}
