/** Waiting: before another attempt, and for the end of a preparation or of a rendering. */

/** The avatar was still being prepared when the time to wait ended. */
export class StillPreparing extends Error {
  override readonly name = "StillPreparing";
  constructor(readonly avatarId: string) {
    super(`The avatar ${avatarId} is still being prepared.`);
  }
}

/** The video was still queued or rendering when the time to wait ended. */
export class StillRendering extends Error {
  override readonly name = "StillRendering";
  constructor(readonly videoId: string) {
    super(`The video ${videoId} is still being rendered.`);
  }
}

/** Waits for a time, in milliseconds. Rejects with the reason of `signal` when it is aborted. */
export const sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });

/** The base of the exponential backoff, which doubles with each attempt, and its maximum. */
const BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5_000;

/** `Retry-After` (seconds or a date, RFC 9110 §10.2.3) in milliseconds; 0 without one. */
export const retryAfterMs = ({ headers }: Response): number => {
  const text = headers.get("retry-after") ?? "";
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Math.max(0, milliseconds || 0);
};

/** Exponential backoff with jitter, so that clients that failed together do not retry together. */
export const backoffMs = (attempt: number): number =>
  Math.random() * Math.min(MAX_BACKOFF_MS, BACKOFF_MS * 2 ** attempt);

/** The first interval between two reads. Each interval is 1.5 times the previous one, up to the maximum. */
const INTERVAL_MS = 250;
const MAX_INTERVAL_MS = 2_000;

type Read = { data: { id: string; status: string; pendingSourceAssetId?: string | null }; response: Response };

/** A kind of wait: the test for an unfinished resource, the default time limit, and the error after it. */
export type Wait = {
  isUnderWay(found: Read["data"]): boolean;
  timeoutMs: number;
  late(id: string): Error;
};

/** Until an avatar is neither `preprocessing` nor has a pending source. */
export const PREPARATION: Wait = {
  isUnderWay: ({ status, pendingSourceAssetId }) => status === "preprocessing" || pendingSourceAssetId !== null,
  timeoutMs: 60_000,
  late: (id) => new StillPreparing(id),
};

/** Until a video is neither `queued` nor `rendering`. */
export const RENDERING: Wait = {
  isUnderWay: ({ status }) => status === "queued" || status === "rendering",
  timeoutMs: 600_000,
  late: (id) => new StillRendering(id),
};

/**
 * Reads a resource until it is finished, and returns the last response. `read`: sends the headers. `isUnchanged`:
 * whether an error of `read` means that the resource has not changed. `late`: the error after `timeoutMs`.
 */
export const untilSettled = async <Found extends Read>(
  { isUnderWay, late, ...defaults }: Wait,
  read: (headers: Record<string, string>, signal: AbortSignal) => Promise<Found>,
  isUnchanged: (error: unknown) => boolean,
  timeoutMs = defaults.timeoutMs,
  signal: AbortSignal = new AbortController().signal,
): Promise<Found> => {
  const end = Date.now() + timeoutMs;
  let found = await read({}, signal);
  for (let waitMs = INTERVAL_MS; ; waitMs = Math.min(MAX_INTERVAL_MS, waitMs * 1.5)) {
    if (!isUnderWay(found.data)) return found;
    const leftMs = end - Date.now();
    if (leftMs <= 0) throw late(found.data.id);
    await sleep(Math.min(waitMs, leftMs), signal);
    const headers = { "if-none-match": found.response.headers.get("etag") ?? "" };
    try {
      found = await read(headers, signal);
    } catch (error) {
      if (!isUnchanged(error)) throw error;
    }
  }
};
