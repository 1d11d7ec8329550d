/**
 * A client of the Realtime Avatar Service. The types of paths, parameters, bodies and responses come from the service's
 * OpenAPI document (`api.ts`). The client adds an Idempotency-Key to each POST, retries what is safe to retry, applies
 * timeouts, and throws everything that is not a success. It uses only web APIs.
 */
import type { components, paths } from "./api.ts";
import { readNextCursor } from "./csv.ts";
import { backoffMs, PREPARATION, RENDERING, retryAfterMs, sleep, untilSettled, type Wait } from "./wait.ts";

export type { components, operations, paths, webhooks } from "./api.ts";
export { StillPreparing, StillRendering } from "./wait.ts";

type Schemas = components["schemas"];
export type ApiKey = Schemas["ApiKey"];
export type ApiKeyWithCreator = Schemas["ApiKeyWithCreator"];
export type ApiKeyWithSecret = Schemas["ApiKeyWithSecret"];
export type Asset = Schemas["Asset"];
export type AuditEvent = Schemas["AuditEvent"];
export type Avatar = Schemas["Avatar"];
export type CreditBalance = Schemas["CreditBalance"];
export type Transcript = Schemas["Transcript"];
export type Recording = Schemas["Recording"];
export type CreditEntry = Schemas["CreditEntry"];
export type UsageSession = Schemas["UsageSession"];
export type UsageSessionWithNames = Schemas["UsageSessionWithNames"];
export type UsageSum = Schemas["UsageSum"];
export type Video = Schemas["Video"];
export type WebhookDelivery = Schemas["WebhookDelivery"];
export type WebhookEndpoint = Schemas["WebhookEndpoint"];
export type WebhookEndpointWithSecret = Schemas["WebhookEndpointWithSecret"];

/** An error response of the service (RFC 9457); `code` discriminates the types. */
export type Problem = Extract<Schemas[keyof Schemas], { requestId: string; retryable: boolean }>;
export type ProblemCode = Problem["code"];

/** A thrown problem: an `Error` with the members of the problem. `error.code` narrows its type. */
export type ApiProblem = Error & Problem;

/** The known members of problems. Others are not copied: they could overwrite those of `Error`. */
const MEMBERS =
  "type title status detail code requestId retryable errors requiredScope grantedScopes currentStatus allowedStatuses requiredCreditMicros limitedBy maxConcurrentSessions activeSessions pendingSessions connectingSessions liveSessions requiredRole role".split(
    " ",
  );

/** `error instanceof ApiProblem` holds for every problem that the service returns. */
export const ApiProblem = class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail} (request ${problem.requestId})`);
    Object.assign(this, Object.fromEntries(Object.entries(problem).filter(([name]) => MEMBERS.includes(name))));
  }
} as unknown as { new (problem: Problem): ApiProblem; readonly prototype: ApiProblem };

/**
 * The `X-Request-Id` of a request, and the `Idempotency-Key` of a POST. The request may have been executed; if it is sent
 * again with the same `Idempotency-Key`, it is not executed twice.
 */
export type Sent = { readonly requestId: string; readonly idempotencyKey: string | null };

/** The error of a call whose outcome is not known. */
class SentError extends Error implements Sent {
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  constructor(message: string, { requestId, idempotencyKey }: Sent, options?: ErrorOptions) {
    super(message, options);
    this.requestId = requestId;
    this.idempotencyKey = idempotencyKey;
  }
}

/** A response that is neither a success nor a problem of the service: 304, or a response of a proxy. */
export class UnexpectedResponse extends SentError {
  override readonly name = "UnexpectedResponse";
  constructor(
    readonly response: Response,
    sent: Sent,
  ) {
    const status =
      response.status === 413 ? "413: the proxy in front of it allows only smaller bodies" : response.status;
    super(`The response to request ${sent.requestId} is not one of the service (status ${status}).`, sent);
  }
}

/** No response, or no complete response in time. */
export class NoResponse extends SentError {
  override readonly name = "NoResponse";
  constructor(cause: unknown, sent: Sent) {
    super(`No response to request ${sent.requestId}.`, sent, { cause });
  }
}

export type ClientOptions = ConnectionOptions & Credentials;

/** An API key, or the session of a person in the dashboard. */
type Credentials =
  | {
      /** The full secret. A live key is rejected in a browser, where every visitor could read it. */
      apiKey: string;
    }
  | {
      /**
       * Requests carry the cookie of the page's own origin, and this environment. Only for a page that the service itself
       * serves: the service ignores the cookie in requests of any other page.
       */
      cookieEnvironment: "live" | "test";
    };

type ConnectionOptions = {
  /** Base URL of the service, for example `https://avatars.example.org`. */
  baseUrl: string;
  /** Timeout of a call with all its attempts, in milliseconds. */
  timeoutMs?: number;
  /** Timeout of one attempt, in milliseconds. */
  attemptTimeoutMs?: number;
  /** Maximum number of attempts of a call. */
  maxAttempts?: number;
  fetch?: (request: Request) => Promise<Response>;
};

const API_KEY = /^rta_(live|test)_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/;

/** Web workers have no `document`, but the user agent of a browser. */
const isBrowser = (): boolean => {
  const { document, navigator } = globalThis as { document?: object; navigator?: { userAgent?: string } };
  return document !== undefined || /^Mozilla\//.test(navigator?.userAgent ?? "");
};

/** Whether a body is a problem of the service, not an error of a proxy. */
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

/** The parts of a request, created again for each attempt. A form is encoded again, so that it is not kept in memory. */
type RequestParts = {
  url: string;
  init: { method: string; headers: Headers; body?: string | FormData; credentials?: "same-origin" };
  signal: AbortSignal;
};

type Limits = Pick<ConnectionOptions, "timeoutMs" | "attemptTimeoutMs">;

/**
 * Sends a request and reads the whole response, within `milliseconds`; an incomplete response is an error. Does not use
 * `AbortSignal.any` or `AbortSignal.timeout`, which Node 20 can garbage-collect while they are awaited. For the same reason
 * `sent` stays referenced until the end.
 */
const attempt = async (
  { url, init, signal }: RequestParts,
  fetch: (request: Request) => Promise<Response>,
  milliseconds: number,
): Promise<{ response: Response; body: ArrayBuffer }> => {
  const controller = new AbortController();
  // Do not follow redirects: they would send the key to another server.
  const sent = new Request(url, { ...init, signal: controller.signal, redirect: "manual" });
  const giveUp = (): void => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(new Error("The request timed out.")), milliseconds);
  signal.addEventListener("abort", giveUp);
  let stop = (): void => {};
  // Rejects on abort even if `fetch` ignores its signal.
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(controller.signal.reason);
  });
  sent.signal.addEventListener("abort", stop);
  if (signal.aborted) giveUp();
  try {
    const response = await Promise.race([fetch(sent), stopped]);
    return { response, body: await Promise.race([response.arrayBuffer(), stopped]) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
    sent.signal.removeEventListener("abort", stop);
  }
};

/** A successful response: the parsed body, and the response with its headers. */
export type ApiResponse<Success> = { data: Success; response: Response };

/** Returns a function that retries a request until it succeeds, and throws the error of the last attempt. */
const createSender = (options: ConnectionOptions) => {
  const { timeoutMs = 30_000, attemptTimeoutMs = 12_000, maxAttempts = 5 } = options;
  const { fetch = (request: Request): Promise<Response> => globalThis.fetch(request) } = options;
  for (const [name, value] of Object.entries({ timeoutMs, attemptTimeoutMs, maxAttempts })) {
    if (!(Number.isInteger(value) && value > 0 && value < 2 ** 31))
      throw new TypeError(`${name} must be a positive whole number.`);
  }
  return async (request: RequestParts, limits: Limits = {}): Promise<ApiResponse<unknown>> => {
    const { headers, method } = request.init;
    if (method === "POST" && !headers.has("idempotency-key")) headers.set("idempotency-key", crypto.randomUUID());
    if (!headers.has("x-request-id")) headers.set("x-request-id", crypto.randomUUID());
    const idempotencyKey = method === "POST" ? headers.get("idempotency-key") : null;
    const sent: Sent = { requestId: headers.get("x-request-id") ?? "", idempotencyKey };
    // Whether another attempt is safe, even if an earlier one was executed.
    const isRetrySafe = method === "GET" || idempotencyKey !== null;
    const end = Date.now() + (limits.timeoutMs ?? timeoutMs);

    for (let attempts = 1; ; attempts++) {
      let failure: Error;
      let isRetryable: boolean;
      let waitMs = backoffMs(attempts);
      try {
        const { response, body } = await attempt(
          request,
          fetch,
          Math.min(limits.attemptTimeoutMs ?? attemptTimeoutMs, end - Date.now()),
        );
        // For a redirect, a browser shows the status 0.
        const { headers, status } = response;
        const completeResponse = new Response(body.byteLength === 0 ? null : body, { headers, status: status || 302 });
        const [, type] = /^(text\/csv|audio\/wav)\b/.exec(headers.get("content-type") ?? "") ?? [];
        const data = type ? new Blob([body], { type }) : readJson("application/json", response, body);
        if (completeResponse.ok && data !== undefined) return { data, response: completeResponse };
        const problem = readJson("application/problem+json", response, body);
        const isFromService = isProblem(problem, response);
        failure = isFromService ? new ApiProblem(problem) : new UnexpectedResponse(completeResponse, sent);
        isRetryable = isFromService ? problem.retryable : isRetrySafe && [502, 503, 504].includes(status);
        waitMs += retryAfterMs(response);
      } catch (error) {
        // The caller aborted the request.
        if (request.signal.aborted) throw request.signal.reason;
        failure = new NoResponse(error, sent);
        isRetryable = isRetrySafe;
      }
      if (!isRetryable || attempts >= maxAttempts || Date.now() + waitMs >= end) throw failure;
      await sleep(waitMs, request.signal);
    }
  };
};

type Method = "get" | "post" | "patch" | "delete";
type PathsWith<Of extends Method> = {
  [Path in keyof paths]: paths[Path] extends Record<Of, object> ? Path : never;
}[keyof paths];
type Operation<Path extends keyof paths, Of extends Method> = paths[Path][Of & keyof paths[Path]];

type Csv = { responses: { 200: { content: { "text/csv": string } } } };
/** The paths of lists as files. */
type CsvPath = {
  [Path in PathsWith<"get">]: Operation<Path, "get"> extends Csv ? Path : never;
}[PathsWith<"get">];

type Params<Of> = Of extends { parameters: infer Parameters } ? Omit<Parameters, "cookie"> : never;
/** The options of a call. They cannot change the address or the transport of the request. */
type Init<Of> = { headers?: Record<string, string>; signal?: AbortSignal } & (Of extends {
  parameters: { path: object };
}
  ? { params: Params<Of> }
  : { params?: Params<Of> }) &
  (Of extends { requestBody: { content: { "application/json": infer Body } } }
    ? { body: Body }
    : Of extends { requestBody: { content: { "multipart/form-data": object } } }
      ? { body: FormData }
      : { body?: OptionalBody<Of> });
/** The body of an operation that takes one or none; `never` for an operation without a body. */
type OptionalBody<Of> = Of extends { requestBody?: infer Described } ? JsonOf<NonNullable<Described>> : never;

type SuccessOf<Of> = Of extends { responses: infer All }
  ? { [Status in keyof All & (200 | 201 | 202)]: BodyOf<All[Status]> }[keyof All & (200 | 201 | 202)]
  : never;
type BodyOf<Described> = Described extends { content: { "audio/wav": Blob } } ? Blob : JsonOf<Described>;
type JsonOf<Described> = Described extends { content: { "application/json": infer Body } } ? Body : never;

type Call<Of extends Method> = <Path extends Exclude<PathsWith<Of>, CsvPath>>(
  path: Path,
  ...init: Record<string, never> extends Init<Operation<Path, Of>>
    ? [Init<Operation<Path, Of>>?]
    : [Init<Operation<Path, Of>>]
) => Promise<ApiResponse<SuccessOf<Operation<Path, Of>>>>;

type Page = { data: unknown[]; nextCursor: string | null };
/** The paths of lists, which are read page by page. */
type ListPath = {
  [Path in Exclude<PathsWith<"get">, CsvPath>]: SuccessOf<Operation<Path, "get">> extends Page ? Path : never;
}[Exclude<PathsWith<"get">, CsvPath>];
type Item<Path extends ListPath> = SuccessOf<Operation<Path, "get">>["data"][number];
type Query<Path extends ListPath | CsvPath> = NonNullable<Params<Operation<Path, "get">>["query"]>;

export type RealtimeAvatarClient = {
  GET: Call<"get">;
  POST: Call<"post">;
  PATCH: Call<"patch">;
  DELETE: Call<"delete">;
  /** All items of a list, newest first. Pages of `limit` items are requested as needed. */
  list<Path extends ListPath>(path: Path, query?: Omit<Query<Path>, "cursor">): AsyncGenerator<Item<Path>, void>;
  /** A list as a CSV file of at most 64 MiB, which may take 10 minutes. */
  csv<Path extends CsvPath>(path: Path, query?: Query<Path>, options?: { signal?: AbortSignal }): Promise<CsvFile>;
  /** Uploads a file, which may take 10 minutes. */
  uploadAsset(file: Blob, options?: UploadOptions): Promise<ApiResponse<Asset>>;
  /** Waits until an avatar is neither `preprocessing` nor has a pending source. Throws a `StillPreparing` after `timeoutMs`. */
  waitForAvatar(id: string, options?: WaitOptions): Promise<ApiResponse<Avatar>>;
  /** Waits until a video is neither `queued` nor `rendering`. Throws a `StillRendering` after `timeoutMs`. */
  waitForVideo(id: string, options?: WaitOptions): Promise<ApiResponse<Video>>;
};

/** `timeoutMs`: how long to wait; 60,000 by default, of a video 600,000. */
export type WaitOptions = { timeoutMs?: number; signal?: AbortSignal };

export type UploadOptions = {
  /** The kind that the file must have; by default, the file decides. */
  kind?: Asset["kind"];
  filename?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

const FILE_LIMITS = { timeoutMs: 600_000, attemptTimeoutMs: 600_000 };

/** `nextCursor`: the `cursor` of the next file; null when the file is complete. */
export type CsvFile = ApiResponse<Blob> & { nextCursor: string | null };

/** The untyped options of any call. */
type AnyInit = {
  params?: { path?: object; query?: object; header?: Record<string, string | undefined> };
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

/** The URL of a call. Neither the path nor its parameters can lead to another host or path. */
const addressOf = (
  baseUrl: string,
  path: string,
  { path: parts = {}, query = {} }: NonNullable<AnyInit["params"]>,
): URL => {
  if (!path.startsWith("/")) throw new TypeError("A path must start with a slash.");
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String((parts as Record<string, unknown>)[name] ?? "");
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must not be empty, "." or "..".`);
    return encodeURIComponent(value);
  });
  const url = new URL(baseUrl.replace(/\/$/, "") + filledPath);
  for (const [name, value] of Object.entries(query)) if (value != null) url.searchParams.set(name, String(value));
  return url;
};

/** The header with the identity of the caller: the key, or the environment in which a person acts. */
const credentialOf = (credentials: Credentials): [name: string, value: string] => {
  if ("cookieEnvironment" in credentials) return ["realtime-avatar-environment", credentials.cookieEnvironment];
  const { apiKey } = credentials;
  const [, environment] = API_KEY.exec(apiKey) ?? [];
  if (environment === undefined) throw new TypeError("apiKey must be a full API key: rta_live_… or rta_test_….");
  if (environment === "live" && isBrowser()) {
    throw new TypeError("A live API key must not be used in a browser, where every visitor can read it.");
  }
  return ["authorization", `Bearer ${apiKey}`];
};

/**
 * Creates a client. Its calls throw an `ApiProblem`, an `UnexpectedResponse`, a `NoResponse`, or the reason of the caller's
 * `signal`. Throws a `TypeError` when `apiKey` is malformed, or is a live key in a browser; the message never contains the key.
 */
export const createClient = (options: ClientOptions): RealtimeAvatarClient => {
  const { baseUrl } = options;
  const [credentialHeader, credential] = credentialOf(options);
  // Set only for a client with a cookie, because some edge runtimes refuse requests with this option.
  const cookies = "cookieEnvironment" in options && { credentials: "same-origin" as const };
  const send = createSender(options);
  const call =
    (method: string) =>
    async (path: string, init: AnyInit = {}, limits?: Limits): Promise<ApiResponse<unknown>> => {
      const { params = {}, body, headers, signal = new AbortController().signal } = init;
      const all = new Headers(headers);
      for (const [name, value] of Object.entries(params.header ?? {})) if (value != null) all.set(name, value);
      all.set(credentialHeader, credential);
      const encoded = body instanceof FormData ? body : JSON.stringify(body);
      if (typeof encoded === "string") all.set("content-type", "application/json");
      const request = { method, headers: all, ...cookies, ...(encoded !== undefined && { body: encoded }) };
      return send({ url: addressOf(baseUrl, path, params).href, init: request, signal }, limits);
    };
  const GET = call("GET");
  async function* list(path: string, query?: object): AsyncGenerator<unknown, void> {
    for (let cursor: string | null | undefined; ; ) {
      const { data, response } = await GET(path, { params: { query: { ...query, cursor } } });
      const { data: items, nextCursor } = data as Page;
      yield* items;
      if (typeof nextCursor !== "string") return;
      if (nextCursor === cursor) throw new UnexpectedResponse(response, { requestId: "", idempotencyKey: null });
      cursor = nextCursor;
    }
  }
  const csv = async (path: string, query: object = {}, init: Pick<AnyInit, "signal"> = {}): Promise<CsvFile> => {
    const { data, response } = await GET(path, { ...init, params: { query } }, FILE_LIMITS);
    if (!(data instanceof Blob)) throw new UnexpectedResponse(response, { requestId: "", idempotencyKey: null });
    return { data, response, nextCursor: await readNextCursor(data) };
  };
  const POST = call("POST");
  const uploadAsset = (file: Blob, { kind, filename = "upload", ...init }: UploadOptions = {}) => {
    const body = new FormData();
    if (kind !== undefined) body.set("kind", kind);
    body.set("file", file, filename);
    return POST("/api/v1/assets", { ...init, body }, FILE_LIMITS);
  };
  const waitFor =
    (path: string, wait: Wait) =>
    (id: string, options: WaitOptions = {}) => {
      const read = (headers: Record<string, string>, signal: AbortSignal) =>
        GET(path, { params: { path: { id } }, headers, signal }) as Promise<ApiResponse<Avatar | Video>>;
      const isUnchanged = (error: unknown) => error instanceof UnexpectedResponse && error.response.status === 304;
      return untilSettled(wait, read, isUnchanged, options.timeoutMs, options.signal);
    };
  const waitForAvatar = waitFor("/api/v1/avatars/{id}", PREPARATION);
  const waitForVideo = waitFor("/api/v1/videos/{id}", RENDERING);
  const [PATCH, DELETE] = [call("PATCH"), call("DELETE")];
  const calls = { GET, POST, PATCH, DELETE, list, csv, uploadAsset, waitForAvatar, waitForVideo };
  return calls as unknown as RealtimeAvatarClient;
};
