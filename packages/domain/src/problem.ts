/** Every error that the API answers with, by its code (RFC 9457: `type` is `/problems/<code>`). */

export const PROBLEMS = {
  malformed_json: { status: 400, title: "The body is not well-formed JSON" },
  malformed_request: { status: 400, title: "The request is malformed" },
  missing_api_key: { status: 401, title: "No API key was sent" },
  invalid_api_key: { status: 401, title: "The API key is not valid" },
  revoked_api_key: { status: 401, title: "The API key has been revoked" },
  expired_api_key: { status: 401, title: "The API key has expired" },
  insufficient_scope: { status: 403, title: "The API key lacks the scope for this operation" },
  grant_exceeds_caller: { status: 403, title: "An API key cannot grant more than it has" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  invalid_transition: { status: 409, title: "The resource cannot make this move from its present state" },
  replay_unavailable: { status: 409, title: "The first answer can no longer be replayed" },
  precondition_failed: { status: 412, title: "The resource has changed" },
  body_too_large: { status: 413, title: "The body is too large" },
  unsupported_media_type: { status: 415, title: "The body must be application/json" },
  validation_failed: { status: 422, title: "The request does not meet its constraints" },
  idempotency_key_reused: { status: 422, title: "The Idempotency-Key was used with another body" },
  rate_limited: { status: 429, title: "Too many requests" },
  internal_error: { status: 500, title: "Internal error" },
  unavailable: { status: 503, title: "The service is unavailable; the request was not executed" },
  outcome_unknown: { status: 503, title: "The request may or may not have been executed" },
} as const satisfies Record<string, { status: number; title: string }>;
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
