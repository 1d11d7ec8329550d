/** Every error that the API answers with, by its code (RFC 9457: `type` is `/problems/<code>`). */

/** Of each: its status, its title, when it is given, and what whoever gets it can do. */
export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: "The body is not well-formed JSON",
    meaning: "The body is empty, not UTF-8, not JSON, or nested more than 64 deep.",
    remedy: "Send a JSON value in UTF-8 without a byte order mark. A library that writes JSON does.",
  },
  malformed_request: {
    status: 400,
    title: "The request is malformed",
    meaning:
      "The body ended before it was complete or took too long, the `Host` is empty or malformed, or the `Idempotency-Key` is not 1 to 255 visible ASCII characters, or holds an API key.",
    remedy:
      "Look at `detail`, which says what is malformed. When `retryable` is true, the same request may be sent again.",
  },
  missing_api_key: {
    status: 401,
    title: "No API key was sent",
    meaning: "No bearer credentials were sent.",
    remedy: "Send the header `Authorization: Bearer <API key>`.",
  },
  invalid_api_key: {
    status: 401,
    title: "The API key is not valid",
    meaning: "The API key is malformed or unknown.",
    remedy:
      "Check that the whole key was copied, and that it belongs to this service: it begins with `rta_live_` or `rta_test_`.",
  },
  revoked_api_key: {
    status: 401,
    title: "The API key has been revoked",
    meaning: "The key, or one that it descends from, has been revoked; or a rotation has replaced this secret.",
    remedy: "Use the secret that the rotation has shown, or create another key. A revoked key never works again.",
  },
  expired_api_key: {
    status: 401,
    title: "The API key has expired",
    meaning: "The key, or one that it descends from, has expired.",
    remedy: "Create another key. An expired key never works again.",
  },
  insufficient_scope: {
    status: 403,
    title: "The API key lacks the scope for this operation",
    meaning: "The key lacks the scope of the operation.",
    remedy: "Use a key that holds `requiredScope`. `grantedScopes` are those that this key holds.",
  },
  grant_exceeds_caller: {
    status: 403,
    title: "An API key cannot grant more than it has",
    meaning:
      "The key can do more than the calling key, or would; or the calling key descends from it; or the operation is only for descendants of the calling key.",
    remedy:
      "Ask for no more than `allowed` says in each of the `errors`, or call with a key that can do as much, or with an ancestor of the key.",
  },
  not_found: {
    status: 404,
    title: "Not found",
    meaning: "There is nothing at this address that the caller may know of.",
    remedy:
      "Check the address and the id. A test key sees what is of the test environment alone; a key of another tenant sees nothing of yours.",
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    meaning: "The resource does not answer to this method; the header `Allow` lists those that work.",
    remedy: "Use one of the methods of `Allow`.",
  },
  invalid_transition: {
    status: 409,
    title: "The resource cannot make this move from its present state",
    meaning: "The resource cannot make this move from its present state.",
    remedy: "`currentStatus` is the state in which it was found, `allowedStatuses` what can be made of it from there.",
  },
  rotation_in_progress: {
    status: 409,
    title: "A rotation of the key is in progress",
    meaning:
      "The key was rotated, and the overlap in which its older secret still works has not ended; the header `Retry-After` says when it ends.",
    remedy:
      "Use the newest secret. If it was never received, rotate again with the older secret before the newest is used, or have an ancestor of the key or the operator rotate it.",
  },
  quota_exceeded: {
    status: 409,
    title: "The tenant has reached a quota",
    meaning: "The tenant has as many active API keys as it may have.",
    remedy: "Revoke keys that are not used any more, or ask the operator for a higher quota.",
  },
  replay_unavailable: {
    status: 409,
    title: "The first answer can no longer be replayed",
    meaning:
      "The request was made before, with another secret of the calling key, which alone opens its answer; the header `Location`, where there is one, says what was made.",
    remedy: "What was made is there, but its secret is not shown again: rotate it to get a new one.",
  },
  precondition_failed: {
    status: 412,
    title: "The resource has changed",
    meaning: "The resource is not in the version that `If-Match` names.",
    remedy: "Read it again, look at what has changed, and send the change with its new `ETag`.",
  },
  body_too_large: {
    status: 413,
    title: "The body is too large",
    meaning: "The body has more than 128 KiB.",
    remedy: "Send less. `settings` and `metadata` hold at most 32 KiB each.",
  },
  unsupported_media_type: {
    status: 415,
    title: "The body must be application/json",
    meaning: "The body is not announced as `application/json`, or has a `Content-Encoding`.",
    remedy: "Send `Content-Type: application/json`, with no parameter but `charset=utf-8`, and no compression.",
  },
  validation_failed: {
    status: 422,
    title: "The request does not meet its constraints",
    meaning: "Fields, parameters or headers do not meet their constraints; `errors` lists all that is wrong.",
    remedy:
      "Correct what each of the `errors` points at: `pointer` into the body, `parameter` of the query, or `header`.",
  },
  idempotency_key_reused: {
    status: 422,
    title: "The Idempotency-Key was used with another body",
    meaning: "The `Idempotency-Key` belongs to a request with another body.",
    remedy: "Use a new `Idempotency-Key` for a new request, and the same one only to send the same request again.",
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    meaning:
      "Too many requests of a key and its descendants, of a tenant, or reports of leaked keys; the header `Retry-After` says when to try again.",
    remedy: "Wait as long as `Retry-After` says, and longer each time.",
  },
  internal_error: {
    status: 500,
    title: "Internal error",
    meaning: "A defect of the service.",
    remedy: "Tell whoever runs the service the `requestId`, which identifies it in the log.",
  },
  unavailable: {
    status: 503,
    title: "The service is unavailable; the request was not executed",
    meaning:
      "Certainly not executed: too many requests, or no database; the header `Retry-After` says when to try again.",
    remedy: "Send the same request again, after `Retry-After`, and longer each time.",
  },
  outcome_unknown: {
    status: 503,
    title: "The request may or may not have been executed",
    meaning: "Perhaps executed: the database did not answer in time, or the connection to it was lost.",
    remedy: "With an `Idempotency-Key`, send the same request again; without one, look whether it took effect.",
  },
} as const satisfies Record<string, { status: number; title: string; meaning: string; remedy: string }>;
export type ProblemCode = keyof typeof PROBLEMS;

/** One thing that is wrong with a request, and where. `allowed` is what the caller may give, on a refused grant. */
export type FieldError = {
  /** JSON Pointer into the body, in fragment form (RFC 6901 §6), for example `#/scopes/2`. */
  pointer?: string;
  /** Name of a query parameter. */
  parameter?: string;
  /** Name of a header. */
  header?: string;
  code: string;
  detail: string;
  allowed?: unknown;
};

export type ProblemExtras = {
  errors?: readonly FieldError[];
  requiredScope?: string;
  grantedScopes?: readonly string[];
  /** The state in which the resource was found, and those to which it can move from there. */
  currentStatus?: string;
  allowedStatuses?: readonly string[];
  retryable?: boolean;
  /** Where the resource is that was made: the header `Location`. */
  location?: string;
  /** When to try again: the header `Retry-After`. */
  retryAfterSeconds?: number;
  /** Whether the connection is of no use any more: the header `Connection: close`. */
  hangUp?: boolean;
};

/**
 * The one error that means an answer. `detail` and `extras` reach the client: nothing internal goes in. The `cause`, what
 * went wrong on our side, reaches only the log.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly extras: ProblemExtras;

  constructor(code: ProblemCode, detail: string, extras: ProblemExtras = {}, options: { cause?: unknown } = {}) {
    super(code, options);
    this.name = "Problem";
    this.code = code;
    this.detail = detail;
    this.extras = extras;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** The problem of a request with these errors. */
export const validationFailed = (errors: readonly FieldError[]): Problem =>
  new Problem("validation_failed", "The request does not meet its constraints.", { errors });

/** The same words for what does not exist and for what the caller may not know of. */
export const notFound = (): Problem => new Problem("not_found", "There is nothing here.");

/** Whether a version is one that the caller expects; without an expectation, each is. */
export type MatchesVersion = (version: number) => boolean;

/** Throws the problem `precondition_failed` when the resource is not in a version that the caller expects. */
export const checkVersion = ({ version }: { version: number }, matches: MatchesVersion): void => {
  if (!matches(version)) {
    throw new Problem("precondition_failed", "The resource is no longer in the version that If-Match names.");
  }
};
