/**
 * A client of the Realtime Avatar Service. Paths, parameters, bodies and answers are typed by the service's own document
 * (`api.ts`); what is added here is what every caller needs: each POST is made once, what is safe to try again is tried
 * again, everything has a deadline, and whatever is no success is thrown. It needs nothing but web APIs.
 */
import type { components, paths } from "./api.ts";

export type { components, operations, paths } from "./api.ts";

type Schemas = components["schemas"];
export type ApiKey = Schemas["ApiKey"];
export type ApiKeyWithSecret = Schemas["ApiKeyWithSecret"];
export type AuditEvent = Schemas["AuditEvent"];
export type Avatar = Schemas["Avatar"];

/** What the service says of a request that has not succeeded (RFC 9457), told apart by its `code`. */
export type Problem = Extract<Schemas[keyof Schemas], { requestId: string; retryable: boolean }>;
export type ProblemCode = Problem["code"];

/** A problem that was thrown: an `Error` with the members of the problem. `error.code` narrows it. */
export type ApiProblem = Error & Problem;

/** The members that problems have; an answer's others could be those of an `Error`. */
const MEMBERS =
  "type title status detail code requestId retryable errors requiredScope grantedScopes currentStatus allowedStatuses".split(
    " ",
  );

/** `error instanceof ApiProblem` is true of every problem that the service answers with. */
export const ApiProblem = class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail} (request ${problem.requestId})`);
    Object.assign(this, Object.fromEntries(Object.entries(problem).filter(([name]) => MEMBERS.includes(name))));
  }
} as unknown as { new (problem: Problem): ApiProblem; readonly prototype: ApiProblem };

/**
 * What was sent: by which `X-Request-Id`, and by which `Idempotency-Key` if it was a POST. It may have been executed; sent
 * again with this key, it is not executed twice.
 */
export type Sent = { readonly requestId: string; readonly idempotencyKey: string | null };

/** An answer that is neither a success nor a problem of the service: 304, or whatever stands between has to say. */
export class UnexpectedAnswer extends Error implements Sent {
  override readonly name = "UnexpectedAnswer";
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  constructor(
    readonly response: Response,
    { requestId, idempotencyKey }: Sent,
  ) {
    super(`The answer to request ${requestId} has the status ${response.status}, and is none of the service.`);
    this.requestId = requestId;
    this.idempotencyKey = idempotencyKey;
  }
}

/** No answer came: not in time, or not at all. */
export class NoAnswer extends Error implements Sent {
  override readonly name = "NoAnswer";
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  constructor(cause: unknown, { requestId, idempotencyKey }: Sent) {
    super(`No answer came to request ${requestId}.`, { cause });
    this.requestId = requestId;
    this.idempotencyKey = idempotencyKey;
  }
}

export type ClientOptions = {
  /** Where the service is, for example `https://avatars.example.org`. */
  baseUrl: string;
  /** The full secret. A live key is refused in a browser, where everybody could read it. */
  apiKey: string;
  /** How long a call may take, with all of its attempts, in milliseconds. */
  timeoutMs?: number;
  /** How long one attempt may take, in milliseconds. */
  attemptTimeoutMs?: number;
  /** How often a call is tried at most. */
  maxAttempts?: number;
  fetch?: (request: Request) => Promise<Response>;
};

/** The wait before the second attempt, which each further one doubles, and at most; in milliseconds. */
const BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5_000;

const API_KEY = /^rta_(live|test)_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/;

/** Workers of a browser have no document, but say that they are of one. */
const isBrowser = (): boolean => {
  const { document, navigator } = globalThis as { document?: object; navigator?: { userAgent?: string } };
  return document !== undefined || /^Mozilla\//.test(navigator?.userAgent ?? "");
};

const sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
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

/** What `Retry-After` asks for, in milliseconds: seconds, or a date (RFC 9110 §10.2.3). */
const retryAfterMs = ({ headers }: Response): number => {
  const text = headers.get("retry-after") ?? "";
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Math.max(0, milliseconds || 0);
};

/** Random, so that those who failed together do not come back together; more after each attempt. */
const backoffMs = (attempt: number): number => Math.random() * Math.min(MAX_BACKOFF_MS, BACKOFF_MS * 2 ** attempt);

/** Whether a body is a problem of the service, as opposed to one of whatever stands between. */
const isProblem = (body: unknown, response: Response): body is Problem => {
  const { code, detail, requestId, retryable, status } = Object(body);
  const isText = [code, detail, requestId].every((member) => typeof member === "string");
  return isText && typeof retryable === "boolean" && status === response.status;
};

const readJson = (type: string, { headers }: Response, body: ArrayBuffer): unknown => {
  if (!headers.get("content-type")?.startsWith(type)) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
};

/**
 * Sends a request, for so many milliseconds, and reads all of the answer: what breaks off half-way was none. Nothing here
 * leans on `AbortSignal.any` or `AbortSignal.timeout`: on Node 20 the garbage collector takes them away while they are
 * waited for. The request that was sent is held to the end, for the same reason.
 */
const attempt = async (
  request: Request,
  fetch: (request: Request) => Promise<Response>,
  milliseconds: number,
): Promise<{ response: Response; body: ArrayBuffer }> => {
  const controller = new AbortController();
  // A redirection is not followed: it would take the key to somebody else.
  const sent = new Request(request.clone() as Request, { signal: controller.signal, redirect: "manual" });
  const giveUp = (): void => controller.abort(request.signal.reason);
  const timer = setTimeout(() => controller.abort(new Error("There was no time left.")), milliseconds);
  request.signal.addEventListener("abort", giveUp);
  let stop = (): void => {};
  // Whatever `fetch` does about its signal.
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(controller.signal.reason);
  });
  sent.signal.addEventListener("abort", stop);
  if (request.signal.aborted) giveUp();
  try {
    const response = await Promise.race([fetch(sent), stopped]);
    return { response, body: await Promise.race([response.arrayBuffer(), stopped]) };
  } finally {
    clearTimeout(timer);
    request.signal.removeEventListener("abort", giveUp);
    sent.signal.removeEventListener("abort", stop);
  }
};

/** A success: the body, and the response with its headers. */
export type Answer<Success> = { data: Success; response: Response };

/** Makes attempts until one succeeds; throws what the last one came to. */
const trying = (options: ClientOptions) => {
  const { timeoutMs = 30_000, attemptTimeoutMs = 12_000, maxAttempts = 5 } = options;
  const { fetch = (request: Request): Promise<Response> => globalThis.fetch(request) } = options;
  for (const [name, value] of Object.entries({ timeoutMs, attemptTimeoutMs, maxAttempts })) {
    if (!(Number.isInteger(value) && value > 0 && value < 2 ** 31))
      throw new TypeError(`${name} must be a whole number.`);
  }
  return async (request: Request): Promise<Answer<unknown>> => {
    const { headers, method } = request;
    if (method === "POST" && !headers.has("idempotency-key")) headers.set("idempotency-key", crypto.randomUUID());
    if (!headers.has("x-request-id")) headers.set("x-request-id", crypto.randomUUID());
    const idempotencyKey = method === "POST" ? headers.get("idempotency-key") : null;
    const sent: Sent = { requestId: headers.get("x-request-id") ?? "", idempotencyKey };
    // Whatever became of the first attempt, another does nothing twice.
    const isRepeatable = method === "GET" || idempotencyKey !== null;
    const end = Date.now() + timeoutMs;

    for (let attempts = 1; ; attempts++) {
      let failure: Error;
      let mayTryAgain: boolean;
      let waitMs = backoffMs(attempts);
      try {
        const { response, body } = await attempt(request, fetch, Math.min(attemptTimeoutMs, end - Date.now()));
        // A browser hides a redirection behind the status 0.
        const { headers, status } = response;
        const whole = new Response(body.byteLength === 0 ? null : body, { headers, status: status || 302 });
        const data = readJson("application/json", response, body);
        if (whole.ok && data !== undefined) return { data, response: whole };
        const problem = readJson("application/problem+json", response, body);
        const isOurs = isProblem(problem, response);
        failure = isOurs ? new ApiProblem(problem) : new UnexpectedAnswer(whole, sent);
        mayTryAgain = isOurs ? problem.retryable : isRepeatable && [502, 503, 504].includes(status);
        waitMs += retryAfterMs(response);
      } catch (error) {
        // Who called has given up.
        if (request.signal.aborted) throw request.signal.reason;
        failure = new NoAnswer(error, sent);
        mayTryAgain = isRepeatable;
      }
      if (!mayTryAgain || attempts >= maxAttempts || Date.now() + waitMs >= end) throw failure;
      await sleep(waitMs, request.signal);
    }
  };
};

type Method = "get" | "post" | "patch" | "delete";
type PathsWith<Of extends Method> = {
  [Path in keyof paths]: paths[Path] extends Record<Of, object> ? Path : never;
}[keyof paths];
type Operation<Path extends keyof paths, Of extends Method> = paths[Path][Of & keyof paths[Path]];

type Params<Of> = Of extends { parameters: infer Given } ? Omit<Given, "cookie"> : never;
/** What a call is given: what it is about, and nothing that would change where or how it is sent. */
type Init<Of> = { headers?: Record<string, string>; signal?: AbortSignal } & (Of extends {
  parameters: { path: object };
}
  ? { params: Params<Of> }
  : { params?: Params<Of> }) &
  (Of extends { requestBody: { content: { "application/json": infer Body } } } ? { body: Body } : { body?: never });

type SuccessOf<Of> = Of extends { responses: infer All }
  ? { [Status in keyof All & (200 | 201 | 202)]: JsonOf<All[Status]> }[keyof All & (200 | 201 | 202)]
  : never;
type JsonOf<Described> = Described extends { content: { "application/json": infer Body } } ? Body : never;

type Call<Of extends Method> = <Path extends PathsWith<Of>>(
  path: Path,
  ...init: Record<string, never> extends Init<Operation<Path, Of>>
    ? [Init<Operation<Path, Of>>?]
    : [Init<Operation<Path, Of>>]
) => Promise<Answer<SuccessOf<Operation<Path, Of>>>>;

type Page = { data: unknown[]; nextCursor: string | null };
/** The lists: what is read page by page. */
type ListPath = {
  [Path in PathsWith<"get">]: SuccessOf<Operation<Path, "get">> extends Page ? Path : never;
}[PathsWith<"get">];
type Item<Path extends ListPath> = SuccessOf<Operation<Path, "get">>["data"][number];
type Query<Path extends ListPath> = NonNullable<Params<Operation<Path, "get">>["query"]>;

export type RealtimeAvatarClient = {
  GET: Call<"get">;
  POST: Call<"post">;
  PATCH: Call<"patch">;
  DELETE: Call<"delete">;
  /** Everything in a list, newest first; pages are asked for as they are needed, `limit` at a time. */
  list<Path extends ListPath>(path: Path, query?: Omit<Query<Path>, "cursor">): AsyncGenerator<Item<Path>, void>;
};

/** Any call, as it is made. */
type Plain = {
  params?: { path?: object; query?: object; header?: Record<string, string | undefined> };
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

/** The address of a call; neither its path nor what is filled into it leads elsewhere. */
const addressOf = (
  baseUrl: string,
  path: string,
  { path: parts = {}, query = {} }: NonNullable<Plain["params"]>,
): URL => {
  if (!path.startsWith("/")) throw new TypeError("A path begins with a slash.");
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String((parts as Record<string, unknown>)[name] ?? "");
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be more than dots.`);
    return encodeURIComponent(value);
  });
  const url = new URL(baseUrl.replace(/\/$/, "") + filled);
  for (const [name, value] of Object.entries(query)) if (value != null) url.searchParams.set(name, String(value));
  return url;
};

/**
 * Makes a client. Its calls throw an `ApiProblem`, an `UnexpectedAnswer` or a `NoAnswer`, or the reason of the `signal`
 * that they were given. Throws a `TypeError` when `apiKey` is no key, or is a live one in a browser; it never says which.
 */
export const createClient = (options: ClientOptions): RealtimeAvatarClient => {
  const { apiKey, baseUrl } = options;
  const [, environment] = API_KEY.exec(apiKey) ?? [];
  if (environment === undefined) throw new TypeError("apiKey must be a full API key: rta_live_… or rta_test_….");
  if (environment === "live" && isBrowser()) {
    throw new TypeError("A live API key must not be used in a browser, where everybody can read it.");
  }
  const send = trying(options);
  const call =
    (method: string) =>
    async (path: string, { params = {}, body, headers, signal }: Plain = {}): Promise<Answer<unknown>> => {
      const all = new Headers(headers);
      for (const [name, value] of Object.entries(params.header ?? {})) if (value != null) all.set(name, value);
      all.set("authorization", `Bearer ${apiKey}`);
      const text = JSON.stringify(body);
      if (text !== undefined) all.set("content-type", "application/json");
      const init = { method, headers: all, ...(text !== undefined && { body: text }), ...(signal && { signal }) };
      return send(new Request(addressOf(baseUrl, path, params).href, init));
    };
  const GET = call("GET");
  async function* list(path: string, query?: object): AsyncGenerator<unknown, void> {
    for (let cursor: string | null | undefined; ; ) {
      const { data, response } = await GET(path, { params: { query: { ...query, cursor } } });
      const { data: items, nextCursor } = data as Page;
      yield* items;
      if (typeof nextCursor !== "string") return;
      if (nextCursor === cursor) throw new UnexpectedAnswer(response, { requestId: "", idempotencyKey: null });
      cursor = nextCursor;
    }
  }
  const calls = { GET, POST: call("POST"), PATCH: call("PATCH"), DELETE: call("DELETE"), list };
  return calls as unknown as RealtimeAvatarClient;
};
