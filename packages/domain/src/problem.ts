/** The errors of the API, by code (RFC 9457: `type` is `/problems/<code>`). */

import type { ProblemExtras } from "./problems/extras.ts";
import type { FieldError } from "./problems/field-error-codes.ts";

export type { FieldError };

/** For each code: HTTP status, title, cause (`meaning`) and the caller's next step (`remedy`). */
export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: "The body is not well-formed JSON",
    meaning: "The body is empty, not UTF-8, not JSON, or nested more than 64 levels deep.",
    remedy: "Send a JSON value encoded in UTF-8, without a byte order mark.",
  },
  malformed_request: {
    status: 400,
    title: "The request is malformed",
    meaning:
      "The body was incomplete, arrived too slowly or is a malformed form, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters.",
    remedy: "See `detail` for the cause. If `retryable` is true, the same request can be sent again.",
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
      "Check that the whole key was copied and that it belongs to this service. A key starts with `rta_live_` or `rta_test_`.",
  },
  revoked_api_key: {
    status: 401,
    title: "The API key has been revoked",
    meaning: "The key or one of its ancestors was revoked, or a rotation replaced this secret.",
    remedy:
      "Use the secret that the rotation returned, or create another key. A revoked key never becomes valid again.",
  },
  expired_api_key: {
    status: 401,
    title: "The API key has expired",
    meaning: "The key or one of its ancestors has expired.",
    remedy: "Create another key. An expired key never becomes valid again.",
  },
  invalid_session: {
    status: 401,
    title: "The session has ended",
    meaning: "The session of the cookie has ended or expired, or is unknown.",
    remedy: "Sign in again.",
  },
  invalid_credentials: {
    status: 401,
    title: "The credentials are not valid",
    meaning: "The secret of an avatar worker, or the signature of an event of LiveKit, is missing or wrong.",
    remedy:
      "Only the operator's own programs call this operation. Compare their `AVATAR_WORKER_SECRET` or `LIVEKIT_API_SECRET` with that of the service.",
  },
  spend_limit_exceeded: {
    status: 402,
    title: "The session does not fit under a spend cap",
    meaning:
      "The spend cap of the calling key (`limitedBy` is `self`), or of an ancestor of it (`ancestor`), leaves less than `requiredCreditMicros`. Nothing was held.",
    remedy:
      "Wait until open sessions have ended, ask for fewer seconds, or have the cap raised. The same request succeeds once enough is free.",
  },
  insufficient_credits: {
    status: 402,
    title: "The tenant has too few credits",
    meaning:
      "The available balance of the tenant, in the environment of the calling key, is less than `requiredCreditMicros`. Nothing was held.",
    remedy:
      "Wait until open sessions have ended, ask for fewer seconds, or have the operator grant credits. The same request succeeds once enough is available.",
  },
  insufficient_scope: {
    status: 403,
    title: "The API key lacks the scope for this operation",
    meaning: "The key does not hold the scope that the operation requires.",
    remedy: "Use a key that holds `requiredScope`. `grantedScopes` lists the scopes of the calling key.",
  },
  grant_exceeds_caller: {
    status: 403,
    title: "An API key cannot grant more than it has",
    meaning:
      "The target key has, or would have, more permissions than the calling key; or it is an ancestor of the calling key; or the operation is allowed only for descendants of the calling key.",
    remedy:
      "Request no more than `allowed` in each entry of `errors`, or use a key with enough permissions, or an ancestor of the target key.",
  },
  insufficient_role: {
    status: 403,
    title: "The role does not allow this operation",
    meaning:
      "The operation needs a greater role, or it is only for API keys (`requiredRole` is null), or only for people (`role` is null).",
    remedy: "Ask an owner of the tenant for `requiredRole`, or use credentials of the other kind.",
  },
  passkey_required: {
    status: 403,
    title: "The passkey must be used again",
    meaning: "The operation is allowed only within five minutes after the passkey was used.",
    remedy: "Verify the session with the passkey (`POST /api/v1/user-sessions/current/verification`), then try again.",
  },
  foreign_origin: {
    status: 403,
    title: "The request comes from a page of another origin",
    meaning: "The `Origin` or `Sec-Fetch-Site` header shows that a page of another origin sent the request.",
    remedy: "Open the dashboard at the public URL of the service.",
  },
  not_found: {
    status: 404,
    title: "Not found",
    meaning: "The resource does not exist, or the caller is not allowed to see it.",
    remedy:
      "Check the address and the id. A test key sees only the test environment. No key sees resources of another tenant.",
  },
  transcript_not_kept: {
    status: 404,
    title: "No transcript of the call is kept",
    meaning:
      "The session exists, and no transcript of it is kept: it is no call, or the tenant did not keep transcripts when the call began, or the transcript was deleted, by a request or because of its age.",
    remedy: "Turn on `keepTranscripts` (`PATCH /api/v1/settings`) before the calls whose transcripts you want to read.",
  },
  invalid_invitation: {
    status: 404,
    title: "The link is not valid",
    meaning:
      "The link is malformed, was used before, has expired or was withdrawn, or its creator may no longer invite.",
    remedy: "Ask for another link. A link can be used once, within 30 minutes.",
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    meaning: "The resource does not support this method; the `Allow` header lists the supported methods.",
    remedy: "Use one of the methods in `Allow`.",
  },
  invalid_transition: {
    status: 409,
    title: "The resource cannot make this move from its present state",
    meaning: "The current status of the resource does not allow this change.",
    remedy:
      "`currentStatus` is the status of the resource; `allowedStatuses` lists the statuses to which it can change.",
  },
  session_closed: {
    status: 409,
    title: "The session has ended",
    meaning:
      "The usage session has ended, or its lease has expired; or it was released before with another `usedCreditMicros`. Nothing was changed.",
    remedy: "End the call. The session shows its charge. A session that has ended never opens again: open another one.",
  },
  avatar_not_ready: {
    status: 409,
    title: "The avatar is not ready",
    meaning: "The avatar exists, but its status is not `ready`, so no call can be held with it.",
    remedy: "Wait until the status of the avatar is `ready`, or name another avatar.",
  },
  call_not_resumable: {
    status: 409,
    title: "The call cannot be resumed",
    meaning:
      "The call is open, but cannot go on in another room: the person has not joined, the avatar speaks for an agent, or the avatar worker is of an earlier release.",
    remedy: "See `detail` for the cause. Join with the grant of the start, or start another call.",
  },
  call_not_running: {
    status: 409,
    title: "The call has ended",
    meaning: "The call has ended, or must end. Nothing was said.",
    remedy: "Start another call.",
  },
  too_many_turns: {
    status: 409,
    title: "Too many turns wait in the call",
    meaning: "Eight turns of the call are `queued`. Nothing was added.",
    remedy: "Wait until one of them was said, or interrupt the call, which drops them.",
  },
  recording_not_ready: {
    status: 409,
    title: "The recording has no file",
    meaning: "The recording is not `ready`: its call goes on, its file is made, or it has failed or expired.",
    remedy:
      "Read the recording. While it is `pending`, `recording` or `processing`, wait for the event `recording.ready`.",
  },
  asset_in_use: {
    status: 409,
    title: "The asset is in use",
    meaning: "An avatar that is not deleted is built from the asset.",
    remedy: "Delete the avatar, or give it another source, and then delete the asset.",
  },
  rotation_in_progress: {
    status: 409,
    title: "A rotation is in progress",
    meaning:
      "The key, or the secret of the webhook endpoint, was rotated, and its older secret is valid until the overlap ends; the `Retry-After` header says when that is.",
    remedy:
      "Use the newest secret. If it was lost, rotate again with the older secret before the newest is used, or have an ancestor of the key or the operator rotate it. A webhook endpoint can be deleted and added anew.",
  },
  quota_exceeded: {
    status: 409,
    title: "The tenant has reached a quota",
    meaning:
      "The tenant has the maximum number of active API keys, of assets, of their bytes, of webhook endpoints, or of transcripts that wait for another attempt.",
    remedy: "Revoke unused keys, delete unused assets or webhook endpoints, or ask the operator for a higher quota.",
  },
  last_owner: {
    status: 409,
    title: "A tenant keeps an owner",
    meaning: "The user is the last owner of the tenant. Nothing was changed.",
    remedy: "Give another user the role `owner` first.",
  },
  last_passkey: {
    status: 409,
    title: "A person keeps a passkey",
    meaning: "The person could not sign in without this last passkey or identity. Nothing was changed.",
    remedy: "Add another passkey, or link an identity, first.",
  },
  already_member: {
    status: 409,
    title: "A user has this address",
    meaning: "A user of the tenant has the email address already.",
    remedy: "A further passkey of a person is added by that person, or by the operator.",
  },
  replay_unavailable: {
    status: 409,
    title: "The first answer can no longer be replayed",
    meaning:
      "The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource.",
    remedy: "The resource exists, but its secret is not shown again. Rotate the key to get a new secret.",
  },
  precondition_failed: {
    status: 412,
    title: "The resource has changed",
    meaning: "The version of the resource does not match `If-Match`.",
    remedy: "Read the resource again, check what has changed, and send the request with the new `ETag`.",
  },
  body_too_large: {
    status: 413,
    title: "The body is too large",
    meaning: "The body is larger than 128 KiB, or the file of an upload is larger than its kind allows.",
    remedy: "Send a smaller body; `detail` names the limit. `settings` and `metadata` can each have at most 32 KiB.",
  },
  unsupported_media_type: {
    status: 415,
    title: "The media type of the body is not supported",
    meaning:
      "The `Content-Type` is not the one that the operation takes, which is `application/json` except for uploads by a form (`multipart/form-data`), or the request has a `Content-Encoding`.",
    remedy:
      "Send `Content-Type: application/json` with no parameter except `charset=utf-8`, or a form to upload a file, and do not compress the body.",
  },
  expectation_failed: {
    status: 417,
    title: "The expectation is not supported",
    meaning:
      "The request has a body and an `Expect` header other than `100-continue` in lower-case letters. The body was not read. This response has no body.",
    remedy: "Send the request again without `Expect`, or with `Expect: 100-continue`. Java: `expectContinue(false)`.",
  },
  validation_failed: {
    status: 422,
    title: "The request does not meet its constraints",
    meaning: "Fields, query parameters or headers do not meet their constraints; `errors` lists every failure.",
    remedy: "Correct each entry of `errors`. It names a `pointer` into the body, a query `parameter` or a `header`.",
  },
  invalid_passkey: {
    status: 422,
    title: "The passkey was not accepted",
    meaning:
      "The response of the authenticator is malformed, was not made for this service, has a wrong signature, was used before or came too late; or the passkey is unknown.",
    remedy: "Get new options and use the passkey again.",
  },
  idempotency_key_reused: {
    status: 422,
    title: "The Idempotency-Key was used with another body",
    meaning: "The `Idempotency-Key` was used before, for a request with another body.",
    remedy: "Use a new `Idempotency-Key` for each new request. Reuse one only to send the same request again.",
  },
  rate_limited: {
    status: 429,
    title: "Too many requests",
    meaning:
      "A key with its descendants, or a tenant, has sent too many requests. Or too many of these are in progress: uploads of a tenant or a client, files that are sent to a client, reports of leaked keys, or tests, resends and recoveries of webhooks. Or all slots are in use, and a call in a room of your own waits for its turn. The `Retry-After` header says when to try again.",
    remedy: "Wait as long as `Retry-After` says, and longer after each further attempt.",
  },
  concurrency_limit_reached: {
    status: 429,
    title: "Too many sessions are open",
    meaning:
      "The calling key (`limitedBy` is `self`), an ancestor (`ancestor`) or the tenant (`tenant`) has `maxConcurrentSessions` open sessions. For the key's own limit, the problem also has `liveSessions`, `activeSessions`, `connectingSessions` and `pendingSessions`. Or too many videos of the tenant are queued or rendered. Nothing was held.",
    remedy:
      "End open sessions, or wait until some have ended. A key with `api_keys:write` or an owner raises the limit of a key, the operator that of the tenant.",
  },
  internal_error: {
    status: 500,
    title: "Internal error",
    meaning: "A defect in the service.",
    remedy: "Report the `requestId` to the operator. It identifies the request in the log.",
  },
  realtime_not_configured: {
    status: 501,
    title: "Realtime calls are not configured",
    meaning: "The service has no LiveKit server, or no secret for avatar workers, so it cannot hold calls.",
    remedy:
      "The operator installs `livekit-server`, or sets `LIVEKIT_URL`, `LIVEKIT_API_KEY`, `LIVEKIT_API_SECRET` and `AVATAR_WORKER_SECRET`.",
  },
  conversation_not_configured: {
    status: 501,
    title: "The call cannot take this turn",
    meaning:
      "The avatar worker of the call has no language model to answer a turn, or is of a release that takes no turns.",
    remedy:
      "The operator sets `OPENAI_API_KEY` or `LLM_URL` of the avatar worker, or upgrades it. A turn of the kind `say` needs no language model.",
  },
  recording_unsupported: {
    status: 501,
    title: "The service cannot record this call",
    meaning: "The start has `recording`, while an agent speaks with the person (`CALL_AGENT_NAME`).",
    remedy: "Leave `recording` out, or have the agent record.",
  },
  recording_unavailable: {
    status: 503,
    title: "No avatar worker can record",
    meaning:
      "The start has `recording`, and no avatar worker that runs can record; the `Retry-After` header says when to try again.",
    remedy: "Send the same request again after `Retry-After`. The operator upgrades the avatar workers.",
  },
  unavailable: {
    status: 503,
    title: "The service is unavailable; the request was not executed",
    meaning:
      "The request was not executed, because there were too many requests, or because the database, the store of files or the LiveKit server was unavailable; the `Retry-After` header says when to try again.",
    remedy: "Send the same request again after `Retry-After`, and wait longer after each further attempt.",
  },
  provider_unavailable: {
    status: 503,
    title: "The provider of the sign-in is unavailable",
    meaning:
      "The provider of OpenID Connect did not respond in time, or its response is not valid; the `Retry-After` header says when to try again. Passkeys do not need it.",
    remedy: "Sign in with a passkey, or try again after `Retry-After`. If it goes on, tell the operator.",
  },
  outcome_unknown: {
    status: 503,
    title: "The request may or may not have been executed",
    meaning:
      "The request may have been executed: the database did not respond in time, or the connection to it was lost.",
    remedy:
      "With an `Idempotency-Key`, send the same request again. Without one, first check whether the request took effect.",
  },
} as const satisfies Record<string, { status: number; title: string; meaning: string; remedy: string }>;
export type ProblemCode = keyof typeof PROBLEMS;

/**
 * The only error class that maps to a response. `detail` and `extras` are sent to the client and must not contain
 * internal information. `cause`, the internal error, is written only to the log.
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

/** The problem `validation_failed` with `errors`. */
export const validationFailed = (errors: readonly FieldError[]): Problem =>
  new Problem("validation_failed", "The request does not meet its constraints.", { errors });

/** One text for a missing resource and for one hidden from the caller: the response reveals neither. */
export const notFound = (): Problem =>
  new Problem("not_found", "The resource does not exist, or the caller is not allowed to see it.");
