/**
 * A client of the Realtime Avatar Service. Paths, parameters, bodies and answers are typed by the service's own document
 * (`api.ts`); what is added here is what every caller needs: each POST is made once, what is safe to try again is tried
 * again, everything has a deadline, and whatever is no success is thrown. It needs nothing but web APIs.
 */
import createFetchClient, { type MaybeOptionalInit } from "openapi-fetch";
import type { HttpMethod, PathsWithMethod, RequiredKeysOf, SuccessResponseJSON } from "openapi-typescript-helpers";
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

/** `error instanceof ApiProblem` is true of every problem that the service answers with. */
export const ApiProblem = class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail} (request ${problem.requestId})`);
    Object.assign(this, problem);
  }
} as unknown as { new (problem: Problem): ApiProblem; readonly prototype: ApiProblem };

/** An answer that is neither a success nor a problem of the service: 304, or whatever stands between has to say. */
export class UnexpectedAnswer extends Error {
  override readonly name = "UnexpectedAnswer";
  constructor(readonly response: Response) {
    super(`The answer has the status ${response.status}, and is no problem of the service.`);
  }
}

/**
 * No answer came: not in time, or not at all. A POST may have been executed; sent again with this `idempotencyKey`, it is
 * not executed twice.
 */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  constructor(
    cause: unknown,
    readonly requestId: string,
    readonly idempotencyKey: string | null,
  ) {
    super(`No answer came to request ${requestId}.`, { cause });
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

const problemOf = ({ headers }: Response, body: ArrayBuffer): ApiProblem | null => {
  if (!headers.get("content-type")?.startsWith("application/problem+json")) return null;
  try {
    return new ApiProblem(JSON.parse(new TextDecoder().decode(body)) as Problem);
  } catch {
    return null;
  }
};

/** Makes attempts until one succeeds; throws what the last one came to. */
const trying = (options: ClientOptions) => {
  const { timeoutMs = 30_000, attemptTimeoutMs = 12_000, maxAttempts = 5 } = options;
  const { fetch = (request: Request): Promise<Response> => globalThis.fetch(request) } = options;
  return async (request: Request): Promise<Response> => {
    const { headers, method } = request;
    if (method === "POST" && !headers.has("idempotency-key")) headers.set("idempotency-key", crypto.randomUUID());
    if (!headers.has("x-request-id")) headers.set("x-request-id", crypto.randomUUID());
    const requestId = headers.get("x-request-id") ?? "";
    const idempotencyKey = method === "POST" ? headers.get("idempotency-key") : null;
    // Whatever became of the first attempt, another does nothing twice.
    const isRepeatable = method === "GET" || idempotencyKey !== null;
    const end = Date.now() + timeoutMs;
    const overall = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);

    for (let attempt = 1; ; attempt++) {
      let failure: Error;
      let mayTryAgain: boolean;
      let waitMs = backoffMs(attempt);
      try {
        const signal = AbortSignal.any([overall, AbortSignal.timeout(attemptTimeoutMs)]);
        // A redirection is not followed: it would take the key to somebody else.
        const response = await fetch(new Request(request.clone() as Request, { signal, redirect: "manual" }));
        // The body belongs to the attempt: what breaks off half-way was no answer.
        const body = await response.arrayBuffer();
        const { headers, status } = response;
        // A browser hides a redirection behind the status 0.
        const whole = new Response(body.byteLength === 0 ? null : body, { headers, status: status || 302 });
        if (whole.ok) return whole;
        const problem = problemOf(response, body);
        failure = problem ?? new UnexpectedAnswer(whole);
        mayTryAgain = problem ? problem.retryable : isRepeatable && [502, 503, 504].includes(response.status);
        waitMs += retryAfterMs(response);
      } catch (error) {
        // Who called has given up.
        if (request.signal.aborted) throw request.signal.reason;
        failure = new NoAnswer(error, requestId, idempotencyKey);
        mayTryAgain = isRepeatable && !overall.aborted;
      }
      if (!mayTryAgain || attempt >= maxAttempts || Date.now() + waitMs >= end) throw failure;
      await sleep(waitMs, request.signal);
    }
  };
};

type Operation<Path extends keyof paths, Method extends HttpMethod> = paths[Path][Method & keyof paths[Path]];

/** A success: the body, and the response with its headers. */
export type Answer<Success> = { data: Success; response: Response };

type Call<Method extends HttpMethod> = <
  Path extends PathsWithMethod<paths, Method>,
  Init extends MaybeOptionalInit<paths[Path], Method & keyof paths[Path]>,
>(
  path: Path,
  ...init: RequiredKeysOf<Init> extends never ? [Init?] : [Init]
) => Promise<Answer<SuccessResponseJSON<Responses<Operation<Path, Method>>>>>;

/** The helper looks for `responses`; an operation that is not there has none. */
type Responses<Of> = Of extends { responses: Record<string | number, unknown> } ? Of : never;

/** The lists: what is read page by page. */
type ListPath = {
  [Path in keyof paths]: paths[Path] extends {
    get: { responses: { 200: { content: { "application/json": { data: unknown[]; nextCursor: string | null } } } } };
  }
    ? Path
    : never;
}[keyof paths];
type ListOf<Path extends ListPath> = paths[Path]["get"];
type Item<Path extends ListPath> = ListOf<Path>["responses"][200]["content"]["application/json"]["data"][number];
type Query<Path extends ListPath> = NonNullable<ListOf<Path>["parameters"]["query"]>;

export type RealtimeAvatarClient = {
  GET: Call<"get">;
  POST: Call<"post">;
  PATCH: Call<"patch">;
  DELETE: Call<"delete">;
  /** Everything in a list, newest first; pages are asked for as they are needed, `limit` at a time. */
  list<Path extends ListPath>(path: Path, query?: Omit<Query<Path>, "cursor">): AsyncGenerator<Item<Path>, void>;
};

/**
 * Makes a client. Its calls throw an `ApiProblem`, an `UnexpectedAnswer` or a `NoAnswer`, or the reason of the `signal`
 * that they were given. Throws a `TypeError` when `apiKey` is no key, or is a live one in a browser; it never says which.
 */
export const createClient = (options: ClientOptions): RealtimeAvatarClient => {
  const [, environment] = API_KEY.exec(options.apiKey) ?? [];
  if (environment === undefined) throw new TypeError("apiKey must be a full API key: rta_live_… or rta_test_….");
  if (environment === "live" && isBrowser()) {
    throw new TypeError("A live API key must not be used in a browser, where everybody can read it.");
  }
  const calls = createFetchClient<paths>({
    baseUrl: options.baseUrl,
    headers: { authorization: `Bearer ${options.apiKey}` },
    fetch: trying(options),
  });
  const { GET, POST, PATCH, DELETE } = calls as unknown as RealtimeAvatarClient;
  return {
    GET,
    POST,
    PATCH,
    DELETE,
    async *list(path, query) {
      const get = GET as (
        path: ListPath,
        init: object,
      ) => Promise<Answer<{ data: never[]; nextCursor: string | null }>>;
      let cursor: string | null | undefined;
      do {
        const { data: page } = await get(path, { params: { query: { ...query, cursor } } });
        yield* page.data;
        cursor = page.nextCursor;
      } while (cursor !== null);
    },
  };
};
