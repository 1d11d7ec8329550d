/* Generated from docs/openapi.json by `bun run openapi`. Do not edit. */
export interface paths {
  "/api/v1/api-keys": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List API keys
     * @description Lists the keys that the calling key may see, newest first.
     *
     *     Requires the scope `api_keys:write`.
     */
    get: operations["listApiKeys"];
    put?: never;
    /**
     * Create an API key
     * @description Creates a key that can do no more than the calling key. Only this response contains its secret.
     *
     *     Requires the scope `api_keys:write`.
     */
    post: operations["createApiKey"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/api-keys/self": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read the calling key
     * @description Returns the calling key, with its scopes and limits. Useful as the first call of an integration.
     *
     *     Requires any valid key.
     */
    get: operations["getCallingApiKey"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/api-keys/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read an API key
     * @description Returns a key without its secret.
     *
     *     Requires the scope `api_keys:write`.
     */
    get: operations["getApiKey"];
    put?: never;
    post?: never;
    /**
     * Revoke an API key
     * @description Revokes the key and its descendant keys permanently. Takes effect on every replica before the response is sent.
     *
     *     Requires the scope `api_keys:write`.
     */
    delete: operations["revokeApiKey"];
    options?: never;
    head?: never;
    /**
     * Change an API key
     * @description Changes the given fields. A key can widen only its descendants, and only up to what it can do itself. It can narrow its descendants and any key that it could create, except its ancestors.
     *
     *     Requires the scope `api_keys:write`.
     */
    patch: operations["updateApiKey"];
    trace?: never;
  };
  "/api/v1/api-keys/{id}/rotate": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Rotate an API key
     * @description Gives the calling key or one of its descendants a new secret. Only this response contains it. The old secret remains valid until the overlap ends. Until then the key cannot rotate itself again, except with the old secret while the new one has never been used.
     *
     *     Requires the scope `api_keys:write`.
     */
    post: operations["rotateApiKey"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/avatars": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List avatars
     * @description Lists the avatars in the environment of the calling key, newest first. Deleted avatars are included only with `status=deleted`.
     *
     *     Requires the scope `avatars:read`.
     */
    get: operations["listAvatars"];
    put?: never;
    /**
     * Create an avatar
     * @description Creates an avatar in the environment of the calling key. A new avatar is a draft.
     *
     *     Requires the scope `avatars:write`.
     */
    post: operations["createAvatar"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/avatars/{id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read an avatar
     * @description Returns an avatar in any status, including `deleted`.
     *
     *     Requires the scope `avatars:read`.
     */
    get: operations["getAvatar"];
    put?: never;
    post?: never;
    /**
     * Delete an avatar
     * @description Sets the status to `deleted`. The avatar can still be read, but lists omit it by default. Deleting it again has no effect.
     *
     *     Requires the scope `avatars:write`.
     */
    delete: operations["deleteAvatar"];
    options?: never;
    head?: never;
    /**
     * Change an avatar
     * @description Changes the given fields. `settings` and `metadata` are replaced as a whole, not merged.
     *
     *     Requires the scope `avatars:write`.
     */
    patch: operations["updateAvatar"];
    trace?: never;
  };
  "/api/v1/audit-events": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read the audit trail
     * @description Lists the changes to keys and avatars that the calling key may see, newest first.
     *
     *     Requires the scope `api_keys:write`.
     */
    get: operations["listAuditEvents"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/leaked-keys": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Report a leaked key
     * @description Revokes the key to which a full secret belongs. Requires no credentials. For seven days, this also works with a secret that the key itself replaced by a rotation. The response is the same for every secret.
     */
    post: operations["reportLeakedKey"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/problems/{code}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Explain a problem
     * @description Explains a problem: when it occurs and what the caller can do. Its address is the `type` of the problem. Browsers get HTML.
     */
    get: operations["getProblemType"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    ApiKey: {
      /** @description Id of the key. A rotation does not change it. */
      id: string;
      /** @description Public identifier of the newest credential; safe to log. */
      keyId: string;
      tenantId: string;
      /** @description Human-readable name. */
      name: string;
      /**
       * @description Live and test resources are separate: a test key cannot see live resources.
       * @enum {string}
       */
      environment: "live" | "test";
      /** @description The key without its secret; safe to show. */
      redactedKey: string;
      /** @description The operations that the key may perform. `*` includes every scope; no other scope implies another. Duplicates are stored once. */
      scopes: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
      /**
       * @description A key is also `revoked` or `expired` when one of its ancestors is.
       * @enum {string}
       */
      status: "active" | "revoked" | "expired";
      /** @description Hard spend cap of the key and its descendants, in credit micros; null means no cap. */
      spendLimitCreditMicros: number | null;
      /** @description The lowest spend cap of the key and its ancestors in the same environment, in credit micros; null means no cap. */
      effectiveSpendLimitCreditMicros: number | null;
      /** @description Time at which the key expires; null means never. */
      expiresAt: string | null;
      /** @description The earliest expiry of the key and its ancestors; null means never. */
      effectiveExpiresAt: string | null;
      /** @description Time of the last use, to the minute; null before the first use. */
      lastUsedAt: string | null;
      /** Format: date-time */
      createdAt: string;
    };
    ApiKeyPage: {
      data: components["schemas"]["ApiKey"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    ApiKeyWithSecret: {
      /** @description Id of the key. A rotation does not change it. */
      id: string;
      /** @description Public identifier of the newest credential; safe to log. */
      keyId: string;
      tenantId: string;
      /** @description Human-readable name. */
      name: string;
      /**
       * @description Live and test resources are separate: a test key cannot see live resources.
       * @enum {string}
       */
      environment: "live" | "test";
      /** @description The key without its secret; safe to show. */
      redactedKey: string;
      /** @description The operations that the key may perform. `*` includes every scope; no other scope implies another. Duplicates are stored once. */
      scopes: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
      /**
       * @description A key is also `revoked` or `expired` when one of its ancestors is.
       * @enum {string}
       */
      status: "active" | "revoked" | "expired";
      /** @description Hard spend cap of the key and its descendants, in credit micros; null means no cap. */
      spendLimitCreditMicros: number | null;
      /** @description The lowest spend cap of the key and its ancestors in the same environment, in credit micros; null means no cap. */
      effectiveSpendLimitCreditMicros: number | null;
      /** @description Time at which the key expires; null means never. */
      expiresAt: string | null;
      /** @description The earliest expiry of the key and its ancestors; null means never. */
      effectiveExpiresAt: string | null;
      /** @description Time of the last use, to the minute; null before the first use. */
      lastUsedAt: string | null;
      /** Format: date-time */
      createdAt: string;
      /** @description The full secret. Only this response contains it: store it now. */
      apiKey: string;
    };
    AuditEvent: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @enum {string} */
      action:
        | "api_key.created"
        | "api_key.updated"
        | "api_key.rotated"
        | "api_key.revoked"
        | "api_key.reported_leaked"
        | "avatar.created"
        | "avatar.updated"
        | "avatar.deleted";
      targetId: string;
      /** @description Names of the fields that an update changed; never their values. */
      changedFields: string[];
      /** @description Id of the key that acted; null if the actor was not a key. */
      actorId: string | null;
      /** @description `keyId` of the credential that the actor used; null if the actor was not a key. */
      actorKeyId: string | null;
      /** @description The `X-Request-Id` of the response. */
      requestId: string;
      /** Format: date-time */
      createdAt: string;
    };
    AuditEventPage: {
      data: components["schemas"]["AuditEvent"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    Avatar: {
      id: string;
      tenantId: string;
      /** @enum {string} */
      environment: "live" | "test";
      /** @description Human-readable name. */
      displayName: string;
      /**
       * @description Kind of the source from which the avatar is built.
       * @enum {string}
       */
      sourceKind: "image" | "video";
      /** @description Id of the model that renders the avatar. */
      modelId: string;
      /**
       * @description A new avatar is a `draft`.
       * @enum {string}
       */
      status: "draft" | "preprocessing" | "ready" | "failed" | "disabled" | "deleted";
      sourceAssetId: string | null;
      defaultVoiceId: string | null;
      /** @description Id of the data that was prepared for calls; null before the first preparation. */
      cacheManifestId: string | null;
      /** @description Incremented by each preparation; 0 before the first. */
      cacheVersion: number;
      /** @description Settings for the platform, at most 32768 bytes as compact JSON in UTF-8. */
      settings: {
        [key: string]: unknown;
      };
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata: {
        [key: string]: unknown;
      };
      /** Format: date-time */
      createdAt: string;
      /** Format: date-time */
      updatedAt: string;
    };
    AvatarPage: {
      data: components["schemas"]["Avatar"][];
      /** @description The `cursor` for the next page; null on the last page. */
      nextCursor: string | null;
    };
    CreateApiKey: {
      /** @description Human-readable name. */
      name: string;
      /**
       * @description Live and test resources are separate: a test key cannot see live resources.
       * @enum {string}
       */
      environment?: "live" | "test";
      /** @description The operations that the key may perform. `*` includes every scope; no other scope implies another. Duplicates are stored once. */
      scopes?: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
      /** @description Hard spend cap of the key and its descendants, in credit micros; null means no cap. */
      spendLimitCreditMicros?: number | null;
      /** @description Time at which the key expires; null means never. */
      expiresAt?: string | null;
    };
    CreateAvatar: {
      /** @description Human-readable name. */
      displayName: string;
      /**
       * @description Kind of the source from which the avatar is built.
       * @enum {string}
       */
      sourceKind: "image" | "video";
      /** @description Id of the model that renders the avatar. */
      modelId?: string;
      /** @description Id of the source image or video. */
      sourceAssetId?: string;
      /** @description Id of the voice for calls that specify none. */
      defaultVoiceId?: string;
      /** @description Settings for the platform, at most 32768 bytes as compact JSON in UTF-8. */
      settings?: {
        [key: string]: unknown;
      };
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata?: {
        [key: string]: unknown;
      };
    };
    LeakedKeyReport: {
      /** @constant */
      status: "accepted";
    };
    ProblemType: {
      /** @description The `type` of the problem. */
      type: string;
      code:
        | "malformed_json"
        | "malformed_request"
        | "missing_api_key"
        | "invalid_api_key"
        | "revoked_api_key"
        | "expired_api_key"
        | "insufficient_scope"
        | "grant_exceeds_caller"
        | "not_found"
        | "method_not_allowed"
        | "invalid_transition"
        | "rotation_in_progress"
        | "quota_exceeded"
        | "replay_unavailable"
        | "precondition_failed"
        | "body_too_large"
        | "unsupported_media_type"
        | "validation_failed"
        | "idempotency_key_reused"
        | "rate_limited"
        | "internal_error"
        | "unavailable"
        | "outcome_unknown";
      status: number;
      title: string;
      /** @description When the problem occurs. */
      meaning: string;
      /** @description What the caller can do. */
      remedy: string;
    };
    ReportLeakedKey: {
      /** @description The full secret that was found. */
      apiKey: string;
    };
    RotateApiKey: {
      /** @description How many seconds the old secret remains valid. At least 60 when a key rotates itself. */
      overlapSeconds?: number;
    };
    UpdateApiKey: {
      /** @description Human-readable name. */
      name?: string;
      /** @description The operations that the key may perform. `*` includes every scope; no other scope implies another. Duplicates are stored once. */
      scopes?: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
      /** @description Hard spend cap of the key and its descendants, in credit micros; null means no cap. */
      spendLimitCreditMicros?: number | null;
      /** @description Time at which the key expires; null means never. */
      expiresAt?: string | null;
    };
    UpdateAvatar: {
      /** @description Human-readable name. */
      displayName?: string;
      /** @description Id of the model that renders the avatar. */
      modelId?: string;
      sourceAssetId?: string | null;
      defaultVoiceId?: string | null;
      /** @description Settings for the platform, at most 32768 bytes as compact JSON in UTF-8. */
      settings?: {
        [key: string]: unknown;
      };
      /** @description Your own data, at most 32768 bytes as compact JSON in UTF-8. */
      metadata?: {
        [key: string]: unknown;
      };
      /** @enum {string} */
      status?: "ready" | "disabled";
    };
    /** @description The body is larger than 128 KiB. */
    BodyTooLargeProblem: {
      /** @constant */
      type: "/problems/body_too_large";
      /** @constant */
      title: "The body is too large";
      /** @constant */
      status: 413;
      /** @description What is wrong, in words for people. */
      detail: string;
      /** @constant */
      code: "body_too_large";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The key or one of its ancestors has expired. */
    ExpiredApiKeyProblem: {
      /** @constant */
      type: "/problems/expired_api_key";
      /** @constant */
      title: "The API key has expired";
      /** @constant */
      status: 401;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "expired_api_key";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The target key has, or would have, more permissions than the calling key; or it is an ancestor of the calling key; or the operation is allowed only for descendants of the calling key. */
    GrantExceedsCallerProblem: {
      /** @constant */
      type: "/problems/grant_exceeds_caller";
      /** @constant */
      title: "An API key cannot grant more than it has";
      /** @constant */
      status: 403;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "grant_exceeds_caller";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      errors: {
        /** @description A JSON Pointer into the body, in fragment form. */
        pointer?: string;
        /** @description The name of a query parameter. */
        parameter?: string;
        /** @description The name of a header. */
        header?: string;
        code: string;
        detail: string;
        /** @description What the calling key may give; null when nothing will do. */
        allowed: unknown;
      }[];
    };
    /** @description The `Idempotency-Key` was used before, for a request with another body. */
    IdempotencyKeyReusedProblem: {
      /** @constant */
      type: "/problems/idempotency_key_reused";
      /** @constant */
      title: "The Idempotency-Key was used with another body";
      /** @constant */
      status: 422;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "idempotency_key_reused";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The key does not hold the scope that the operation requires. */
    InsufficientScopeProblem: {
      /** @constant */
      type: "/problems/insufficient_scope";
      /** @constant */
      title: "The API key lacks the scope for this operation";
      /** @constant */
      status: 403;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "insufficient_scope";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      requiredScope:
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write";
      grantedScopes: (
        | "*"
        | "api_keys:write"
        | "credits:read"
        | "avatars:read"
        | "avatars:write"
        | "realtime:write"
        | "usage:read"
        | "usage:write"
      )[];
    };
    /** @description A defect in the service. */
    InternalErrorProblem: {
      /** @constant */
      type: "/problems/internal_error";
      /** @constant */
      title: "Internal error";
      /** @constant */
      status: 500;
      /** @description What is wrong, in words for people. */
      detail: string;
      /** @constant */
      code: "internal_error";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The API key is malformed or unknown. */
    InvalidApiKeyProblem: {
      /** @constant */
      type: "/problems/invalid_api_key";
      /** @constant */
      title: "The API key is not valid";
      /** @constant */
      status: 401;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "invalid_api_key";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The current status of the resource does not allow this change. */
    InvalidTransitionProblem: {
      /** @constant */
      type: "/problems/invalid_transition";
      /** @constant */
      title: "The resource cannot make this move from its present state";
      /** @constant */
      status: 409;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "invalid_transition";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      currentStatus: string;
      allowedStatuses: string[];
    };
    /** @description The body is empty, not UTF-8, not JSON, or nested more than 64 levels deep. */
    MalformedJsonProblem: {
      /** @constant */
      type: "/problems/malformed_json";
      /** @constant */
      title: "The body is not well-formed JSON";
      /** @constant */
      status: 400;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "malformed_json";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The body was incomplete or arrived too slowly, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters. */
    MalformedRequestProblem: {
      /** @constant */
      type: "/problems/malformed_request";
      /** @constant */
      title: "The request is malformed";
      /** @constant */
      status: 400;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "malformed_request";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description No bearer credentials were sent. */
    MissingApiKeyProblem: {
      /** @constant */
      type: "/problems/missing_api_key";
      /** @constant */
      title: "No API key was sent";
      /** @constant */
      status: 401;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "missing_api_key";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The resource does not exist, or the caller is not allowed to see it. */
    NotFoundProblem: {
      /** @constant */
      type: "/problems/not_found";
      /** @constant */
      title: "Not found";
      /** @constant */
      status: 404;
      /** @description What is wrong, in words for people. */
      detail: string;
      /** @constant */
      code: "not_found";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The request may have been executed: the database did not respond in time, or the connection to it was lost. */
    OutcomeUnknownProblem: {
      /** @constant */
      type: "/problems/outcome_unknown";
      /** @constant */
      title: "The request may or may not have been executed";
      /** @constant */
      status: 503;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "outcome_unknown";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The version of the resource does not match `If-Match`. */
    PreconditionFailedProblem: {
      /** @constant */
      type: "/problems/precondition_failed";
      /** @constant */
      title: "The resource has changed";
      /** @constant */
      status: 412;
      /** @description What is wrong, in words for people. */
      detail: string;
      /** @constant */
      code: "precondition_failed";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The tenant has the maximum number of active API keys. */
    QuotaExceededProblem: {
      /** @constant */
      type: "/problems/quota_exceeded";
      /** @constant */
      title: "The tenant has reached a quota";
      /** @constant */
      status: 409;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "quota_exceeded";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description Too many requests from a key and its descendants or from a tenant, or too many reports of leaked keys; the `Retry-After` header says when to try again. */
    RateLimitedProblem: {
      /** @constant */
      type: "/problems/rate_limited";
      /** @constant */
      title: "Too many requests";
      /** @constant */
      status: 429;
      /** @description What is wrong, in words for people. */
      detail: string;
      /** @constant */
      code: "rate_limited";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource. */
    ReplayUnavailableProblem: {
      /** @constant */
      type: "/problems/replay_unavailable";
      /** @constant */
      title: "The first answer can no longer be replayed";
      /** @constant */
      status: 409;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "replay_unavailable";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The key or one of its ancestors was revoked, or a rotation replaced this secret. */
    RevokedApiKeyProblem: {
      /** @constant */
      type: "/problems/revoked_api_key";
      /** @constant */
      title: "The API key has been revoked";
      /** @constant */
      status: 401;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "revoked_api_key";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The key was rotated, and its older secret is valid until the overlap ends; the `Retry-After` header says when that is. */
    RotationInProgressProblem: {
      /** @constant */
      type: "/problems/rotation_in_progress";
      /** @constant */
      title: "A rotation of the key is in progress";
      /** @constant */
      status: 409;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "rotation_in_progress";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The request was not executed, because there were too many requests or the database was unavailable; the `Retry-After` header says when to try again. */
    UnavailableProblem: {
      /** @constant */
      type: "/problems/unavailable";
      /** @constant */
      title: "The service is unavailable; the request was not executed";
      /** @constant */
      status: 503;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "unavailable";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description The `Content-Type` is not `application/json`, or the request has a `Content-Encoding`. */
    UnsupportedMediaTypeProblem: {
      /** @constant */
      type: "/problems/unsupported_media_type";
      /** @constant */
      title: "The body must be application/json";
      /** @constant */
      status: 415;
      /** @description What is wrong, in words for people. */
      detail: string;
      /** @constant */
      code: "unsupported_media_type";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
    };
    /** @description Fields, query parameters or headers do not meet their constraints; `errors` lists every failure. */
    ValidationFailedProblem: {
      /** @constant */
      type: "/problems/validation_failed";
      /** @constant */
      title: "The request does not meet its constraints";
      /** @constant */
      status: 422;
      /** @description What is wrong, in words for people. */
      detail: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      code: "validation_failed";
      /** @description As in `X-Request-Id`. */
      requestId: string;
      /** @description Whether the same request may be sent again without being executed twice. */
      retryable: boolean;
      errors: {
        /** @description A JSON Pointer into the body, in fragment form. */
        pointer?: string;
        /** @description The name of a query parameter. */
        parameter?: string;
        /** @description The name of a header. */
        header?: string;
        code: string;
        detail: string;
      }[];
    };
  };
  responses: {
    /** @description `body_too_large`: The body is larger than 128 KiB. */
    BodyTooLarge: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["BodyTooLargeProblem"];
      };
    };
    /** @description `body_too_large`: The body is larger than 128 KiB. */
    BodyTooLargeWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["BodyTooLargeProblem"];
      };
    };
    /** @description `insufficient_scope`: The key does not hold the scope that the operation requires. */
    InsufficientScope: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["ScopeChallenge"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InsufficientScopeProblem"];
      };
    };
    /**
     * @description `insufficient_scope`: The key does not hold the scope that the operation requires.
     *
     *     `grant_exceeds_caller`: The target key has, or would have, more permissions than the calling key; or it is an ancestor of the calling key; or the operation is allowed only for descendants of the calling key.
     */
    InsufficientScopeOrGrantExceedsCaller: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["ScopeChallenge"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["InsufficientScopeProblem"]
          | components["schemas"]["GrantExceedsCallerProblem"];
      };
    };
    /** @description `internal_error`: A defect in the service. */
    InternalError: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InternalErrorProblem"];
      };
    };
    /** @description `internal_error`: A defect in the service. */
    InternalErrorWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InternalErrorProblem"];
      };
    };
    /** @description `invalid_transition`: The current status of the resource does not allow this change. */
    InvalidTransition: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["InvalidTransitionProblem"];
      };
    };
    /**
     * @description `invalid_transition`: The current status of the resource does not allow this change.
     *
     *     `rotation_in_progress`: The key was rotated, and its older secret is valid until the overlap ends; the `Retry-After` header says when that is.
     *
     *     `replay_unavailable`: The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource.
     */
    InvalidTransitionOrRotationInProgressOrReplayUnavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        Location: components["headers"]["LocationOfReplay"];
        "Retry-After": components["headers"]["OverlapRetryAfter"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["InvalidTransitionProblem"]
          | components["schemas"]["RotationInProgressProblem"]
          | components["schemas"]["ReplayUnavailableProblem"];
      };
    };
    /**
     * @description `malformed_json`: The body is empty, not UTF-8, not JSON, or nested more than 64 levels deep.
     *
     *     `malformed_request`: The body was incomplete or arrived too slowly, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters.
     */
    MalformedJsonOrMalformedRequest: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["MalformedJsonProblem"]
          | components["schemas"]["MalformedRequestProblem"];
      };
    };
    /**
     * @description `malformed_json`: The body is empty, not UTF-8, not JSON, or nested more than 64 levels deep.
     *
     *     `malformed_request`: The body was incomplete or arrived too slowly, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters.
     */
    MalformedJsonOrMalformedRequestWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["MalformedJsonProblem"]
          | components["schemas"]["MalformedRequestProblem"];
      };
    };
    /** @description `malformed_request`: The body was incomplete or arrived too slowly, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters. */
    MalformedRequest: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["MalformedRequestProblem"];
      };
    };
    /** @description `malformed_request`: The body was incomplete or arrived too slowly, the `Host` header is empty or malformed, or the `Idempotency-Key` contains an API key or is not 1 to 255 visible ASCII characters. */
    MalformedRequestWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["MalformedRequestProblem"];
      };
    };
    /**
     * @description `missing_api_key`: No bearer credentials were sent.
     *
     *     `invalid_api_key`: The API key is malformed or unknown.
     *
     *     `revoked_api_key`: The key or one of its ancestors was revoked, or a rotation replaced this secret.
     *
     *     `expired_api_key`: The key or one of its ancestors has expired.
     */
    MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["MissingApiKeyProblem"]
          | components["schemas"]["InvalidApiKeyProblem"]
          | components["schemas"]["RevokedApiKeyProblem"]
          | components["schemas"]["ExpiredApiKeyProblem"];
      };
    };
    /** @description `not_found`: The resource does not exist, or the caller is not allowed to see it. */
    NotFound: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["NotFoundProblem"];
      };
    };
    /** @description `not_found`: The resource does not exist, or the caller is not allowed to see it. */
    NotFoundWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["NotFoundProblem"];
      };
    };
    /** @description `precondition_failed`: The version of the resource does not match `If-Match`. */
    PreconditionFailed: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["PreconditionFailedProblem"];
      };
    };
    /**
     * @description `quota_exceeded`: The tenant has the maximum number of active API keys.
     *
     *     `replay_unavailable`: The request was executed before, with another secret of the calling key, and only that secret can decrypt the stored response; the `Location` header, if present, names the resource.
     */
    QuotaExceededOrReplayUnavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        Location: components["headers"]["LocationOfReplay"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["QuotaExceededProblem"]
          | components["schemas"]["ReplayUnavailableProblem"];
      };
    };
    /** @description `rate_limited`: Too many requests from a key and its descendants or from a tenant, or too many reports of leaked keys; the `Retry-After` header says when to try again. */
    RateLimited: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["RateLimitedProblem"];
      };
    };
    /** @description `rate_limited`: Too many requests from a key and its descendants or from a tenant, or too many reports of leaked keys; the `Retry-After` header says when to try again. */
    RateLimitedWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["RateLimitedProblem"];
      };
    };
    /** @description `unavailable`: The request was not executed, because there were too many requests or the database was unavailable; the `Retry-After` header says when to try again. */
    Unavailable: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["UnavailableProblem"];
      };
    };
    /**
     * @description `unavailable`: The request was not executed, because there were too many requests or the database was unavailable; the `Retry-After` header says when to try again.
     *
     *     `outcome_unknown`: The request may have been executed: the database did not respond in time, or the connection to it was lost.
     */
    UnavailableOrOutcomeUnknown: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["UnavailableProblem"]
          | components["schemas"]["OutcomeUnknownProblem"];
      };
    };
    /**
     * @description `unavailable`: The request was not executed, because there were too many requests or the database was unavailable; the `Retry-After` header says when to try again.
     *
     *     `outcome_unknown`: The request may have been executed: the database did not respond in time, or the connection to it was lost.
     */
    UnavailableOrOutcomeUnknownWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["UnavailableProblem"]
          | components["schemas"]["OutcomeUnknownProblem"];
      };
    };
    /** @description `unsupported_media_type`: The `Content-Type` is not `application/json`, or the request has a `Content-Encoding`. */
    UnsupportedMediaType: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["UnsupportedMediaTypeProblem"];
      };
    };
    /** @description `unsupported_media_type`: The `Content-Type` is not `application/json`, or the request has a `Content-Encoding`. */
    UnsupportedMediaTypeWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["UnsupportedMediaTypeProblem"];
      };
    };
    /** @description `validation_failed`: Fields, query parameters or headers do not meet their constraints; `errors` lists every failure. */
    ValidationFailed: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["ValidationFailedProblem"];
      };
    };
    /**
     * @description `validation_failed`: Fields, query parameters or headers do not meet their constraints; `errors` lists every failure.
     *
     *     `idempotency_key_reused`: The `Idempotency-Key` was used before, for a request with another body.
     */
    ValidationFailedOrIdempotencyKeyReused: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
        RateLimit: components["headers"]["RateLimit"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json":
          | components["schemas"]["ValidationFailedProblem"]
          | components["schemas"]["IdempotencyKeyReusedProblem"];
      };
    };
    /** @description `validation_failed`: Fields, query parameters or headers do not meet their constraints; `errors` lists every failure. */
    ValidationFailedWithoutKey: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        traceparent: components["headers"]["traceparent"];
        "Cache-Control": components["headers"]["Cache-Control"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/problem+json": components["schemas"]["ValidationFailedProblem"];
      };
    };
  };
  parameters: {
    /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
    RequestId: string;
    /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
    Traceparent: string;
    /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
    IdempotencyKey: string;
    /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
    IfMatch: string;
    /** @description The versions that you already have, such as `"1"`. If the resource has one of them, the response is 304. A malformed value is ignored. */
    IfNoneMatch: string;
  };
  requestBodies: never;
  headers: {
    /**
     * @description Id of the request: the one that you sent if it is well-formed, otherwise a new UUIDv7.
     * @example 01890a5d-ac96-774b-bcce-b302099a8057
     */
    "X-Request-Id": string;
    /**
     * @description The trace of the request, if tracing is enabled (W3C Trace Context).
     * @example 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
     */
    traceparent: string;
    /**
     * @description Caches must not store the response.
     * @example no-store
     */
    "Cache-Control": "no-store";
    /**
     * @description Clients must not guess the media type.
     * @example nosniff
     */
    "X-Content-Type-Options": "nosniff";
    /**
     * @description The request headers on which the response depends.
     * @example Accept
     */
    Vary: "Accept";
    /**
     * @description The resources that the HTML page may load.
     * @example default-src 'none'
     */
    "Content-Security-Policy": string;
    /**
     * @description Isolates the HTML page from other origins.
     * @example same-origin
     */
    "Cross-Origin-Opener-Policy": "same-origin";
    /**
     * @description The HTML page sends no `Referer`.
     * @example no-referrer
     */
    "Referrer-Policy": "no-referrer";
    /**
     * @description The version of the resource, for `If-Match` and `If-None-Match`.
     * @example "1"
     */
    ETag: string;
    /**
     * @description Path of the created resource.
     * @example /api/v1/avatars/ava_01h455vb4pex5vsknk084sn02q
     */
    Location: string;
    /**
     * @description Path of the created or changed resource; on `replay_unavailable`.
     * @example /
     */
    LocationOfReplay: string;
    /**
     * @description The response is a replay of an earlier one.
     * @example true
     */
    "Idempotent-Replayed": "true";
    /**
     * @description Seconds to wait before the next attempt.
     * @example 1
     */
    "Retry-After": string;
    /**
     * @description Seconds until the overlap ends; on `rotation_in_progress`.
     * @example 60
     */
    OverlapRetryAfter: string;
    /**
     * @description How to authenticate (RFC 6750).
     * @example Bearer realm="realtime-avatar"
     */
    "WWW-Authenticate": string;
    /**
     * @description The missing scope (RFC 6750); on `insufficient_scope`.
     * @example Bearer realm="realtime-avatar", error="insufficient_scope", scope="avatars:write"
     */
    ScopeChallenge: string;
    /**
     * @description The rate limits of the key and of its tenant, if any.
     * @example "rate";q=50;w=1
     */
    "RateLimit-Policy": string;
    /**
     * @description The remaining requests and the seconds until the limit resets.
     * @example "rate";r=49;t=1
     */
    RateLimit: string;
  };
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  listApiKeys: {
    parameters: {
      query?: {
        /** @description Include only items with this status. */
        status?: "active" | "revoked" | "expired";
        /** @description Live and test resources are separate: a test key cannot see live resources. */
        environment?: "live" | "test";
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of keys. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "data": [
           *         {
           *           "id": "key_01h455vb4pex5vsknk084sn02q",
           *           "keyId": "0123456789ABCDEF",
           *           "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *           "name": "Website",
           *           "environment": "live",
           *           "redactedKey": "rta_live_0123456789ABCDEF_****",
           *           "scopes": [
           *             "avatars:read",
           *             "realtime:write"
           *           ],
           *           "status": "active",
           *           "spendLimitCreditMicros": 5000000,
           *           "effectiveSpendLimitCreditMicros": 5000000,
           *           "expiresAt": null,
           *           "effectiveExpiresAt": null,
           *           "lastUsedAt": null,
           *           "createdAt": "2026-11-20T12:00:00.000Z"
           *         }
           *       ],
           *       "nextCursor": null
           *     }
           */
          "application/json": components["schemas"]["ApiKeyPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScope"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  createApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "Website",
         *       "environment": "live",
         *       "scopes": [
         *         "avatars:read",
         *         "realtime:write"
         *       ],
         *       "spendLimitCreditMicros": 5000000
         *     }
         */
        "application/json": components["schemas"]["CreateApiKey"];
      };
    };
    responses: {
      /** @description The key, with its secret. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "key_01h455vb4pex5vsknk084sn02q",
           *       "keyId": "0123456789ABCDEF",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "name": "Website",
           *       "environment": "live",
           *       "redactedKey": "rta_live_0123456789ABCDEF_****",
           *       "scopes": [
           *         "avatars:read",
           *         "realtime:write"
           *       ],
           *       "status": "active",
           *       "spendLimitCreditMicros": 5000000,
           *       "effectiveSpendLimitCreditMicros": 5000000,
           *       "expiresAt": null,
           *       "effectiveExpiresAt": null,
           *       "lastUsedAt": null,
           *       "createdAt": "2026-11-20T12:00:00.000Z",
           *       "apiKey": "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV"
           *     }
           */
          "application/json": components["schemas"]["ApiKeyWithSecret"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScopeOrGrantExceedsCaller"];
      409: components["responses"]["QuotaExceededOrReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getCallingApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The calling key. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "key_01h455vb4pex5vsknk084sn02q",
           *       "keyId": "0123456789ABCDEF",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "name": "Website",
           *       "environment": "live",
           *       "redactedKey": "rta_live_0123456789ABCDEF_****",
           *       "scopes": [
           *         "avatars:read",
           *         "realtime:write"
           *       ],
           *       "status": "active",
           *       "spendLimitCreditMicros": 5000000,
           *       "effectiveSpendLimitCreditMicros": 5000000,
           *       "expiresAt": null,
           *       "effectiveExpiresAt": null,
           *       "lastUsedAt": null,
           *       "createdAt": "2026-11-20T12:00:00.000Z"
           *     }
           */
          "application/json": components["schemas"]["ApiKey"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  getApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `key_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The key. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "key_01h455vb4pex5vsknk084sn02q",
           *       "keyId": "0123456789ABCDEF",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "name": "Website",
           *       "environment": "live",
           *       "redactedKey": "rta_live_0123456789ABCDEF_****",
           *       "scopes": [
           *         "avatars:read",
           *         "realtime:write"
           *       ],
           *       "status": "active",
           *       "spendLimitCreditMicros": 5000000,
           *       "effectiveSpendLimitCreditMicros": 5000000,
           *       "expiresAt": null,
           *       "effectiveExpiresAt": null,
           *       "lastUsedAt": null,
           *       "createdAt": "2026-11-20T12:00:00.000Z"
           *     }
           */
          "application/json": components["schemas"]["ApiKey"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  revokeApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `key_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The key after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "key_01h455vb4pex5vsknk084sn02q",
           *       "keyId": "0123456789ABCDEF",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "name": "Website",
           *       "environment": "live",
           *       "redactedKey": "rta_live_0123456789ABCDEF_****",
           *       "scopes": [
           *         "avatars:read",
           *         "realtime:write"
           *       ],
           *       "status": "active",
           *       "spendLimitCreditMicros": 5000000,
           *       "effectiveSpendLimitCreditMicros": 5000000,
           *       "expiresAt": null,
           *       "effectiveExpiresAt": null,
           *       "lastUsedAt": null,
           *       "createdAt": "2026-11-20T12:00:00.000Z"
           *     }
           */
          "application/json": components["schemas"]["ApiKey"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScopeOrGrantExceedsCaller"];
      404: components["responses"]["NotFound"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  updateApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `key_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "Shop",
         *       "spendLimitCreditMicros": null
         *     }
         */
        "application/json": components["schemas"]["UpdateApiKey"];
      };
    };
    responses: {
      /** @description The key after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "key_01h455vb4pex5vsknk084sn02q",
           *       "keyId": "0123456789ABCDEF",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "name": "Website",
           *       "environment": "live",
           *       "redactedKey": "rta_live_0123456789ABCDEF_****",
           *       "scopes": [
           *         "avatars:read",
           *         "realtime:write"
           *       ],
           *       "status": "active",
           *       "spendLimitCreditMicros": 5000000,
           *       "effectiveSpendLimitCreditMicros": 5000000,
           *       "expiresAt": null,
           *       "effectiveExpiresAt": null,
           *       "lastUsedAt": null,
           *       "createdAt": "2026-11-20T12:00:00.000Z"
           *     }
           */
          "application/json": components["schemas"]["ApiKey"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScopeOrGrantExceedsCaller"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransition"];
      412: components["responses"]["PreconditionFailed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  rotateApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `key_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "overlapSeconds": 86400
         *     }
         */
        "application/json": components["schemas"]["RotateApiKey"];
      };
    };
    responses: {
      /** @description The key, with its new secret. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "key_01h455vb4pex5vsknk084sn02q",
           *       "keyId": "0123456789ABCDEF",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "name": "Website",
           *       "environment": "live",
           *       "redactedKey": "rta_live_0123456789ABCDEF_****",
           *       "scopes": [
           *         "avatars:read",
           *         "realtime:write"
           *       ],
           *       "status": "active",
           *       "spendLimitCreditMicros": 5000000,
           *       "effectiveSpendLimitCreditMicros": 5000000,
           *       "expiresAt": null,
           *       "effectiveExpiresAt": null,
           *       "lastUsedAt": null,
           *       "createdAt": "2026-11-20T12:00:00.000Z",
           *       "apiKey": "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV"
           *     }
           */
          "application/json": components["schemas"]["ApiKeyWithSecret"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScopeOrGrantExceedsCaller"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransitionOrRotationInProgressOrReplayUnavailable"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listAvatars: {
    parameters: {
      query?: {
        /** @description Include only items with this status. */
        status?: "draft" | "preprocessing" | "ready" | "failed" | "disabled" | "deleted";
        /** @description Kind of the source from which the avatar is built. */
        sourceKind?: "image" | "video";
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of avatars. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "data": [
           *         {
           *           "id": "ava_01h455vb4pex5vsknk084sn02q",
           *           "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *           "environment": "live",
           *           "displayName": "Ada",
           *           "sourceKind": "image",
           *           "modelId": "realtime-avatar-live-v1",
           *           "status": "draft",
           *           "sourceAssetId": null,
           *           "defaultVoiceId": "voice-en-01",
           *           "cacheManifestId": null,
           *           "cacheVersion": 0,
           *           "settings": {
           *             "background": "#ffffff"
           *           },
           *           "metadata": {
           *             "team": "support"
           *           },
           *           "createdAt": "2026-11-20T12:00:00.000Z",
           *           "updatedAt": "2026-11-20T12:00:00.000Z"
           *         }
           *       ],
           *       "nextCursor": null
           *     }
           */
          "application/json": components["schemas"]["AvatarPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScope"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  createAvatar: {
    parameters: {
      query?: never;
      header?: {
        /** @description A key of your choice, such as `order-1734`. For 24 hours, a repeated request with the same key is not executed again but gets the first response. It must not contain an API key. */
        "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "displayName": "Ada",
         *       "sourceKind": "image",
         *       "defaultVoiceId": "voice-en-01",
         *       "settings": {
         *         "background": "#ffffff"
         *       },
         *       "metadata": {
         *         "team": "support"
         *       }
         *     }
         */
        "application/json": components["schemas"]["CreateAvatar"];
      };
    };
    responses: {
      /** @description The avatar. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "ava_01h455vb4pex5vsknk084sn02q",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "environment": "live",
           *       "displayName": "Ada",
           *       "sourceKind": "image",
           *       "modelId": "realtime-avatar-live-v1",
           *       "status": "draft",
           *       "sourceAssetId": null,
           *       "defaultVoiceId": "voice-en-01",
           *       "cacheManifestId": null,
           *       "cacheVersion": 0,
           *       "settings": {
           *         "background": "#ffffff"
           *       },
           *       "metadata": {
           *         "team": "support"
           *       },
           *       "createdAt": "2026-11-20T12:00:00.000Z",
           *       "updatedAt": "2026-11-20T12:00:00.000Z"
           *     }
           */
          "application/json": components["schemas"]["Avatar"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScope"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailedOrIdempotencyKeyReused"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  getAvatar: {
    parameters: {
      query?: never;
      header?: {
        /** @description The versions that you already have, such as `"1"`. If the resource has one of them, the response is 304. A malformed value is ignored. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ava_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The avatar. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "ava_01h455vb4pex5vsknk084sn02q",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "environment": "live",
           *       "displayName": "Ada",
           *       "sourceKind": "image",
           *       "modelId": "realtime-avatar-live-v1",
           *       "status": "draft",
           *       "sourceAssetId": null,
           *       "defaultVoiceId": "voice-en-01",
           *       "cacheManifestId": null,
           *       "cacheVersion": 0,
           *       "settings": {
           *         "background": "#ffffff"
           *       },
           *       "metadata": {
           *         "team": "support"
           *       },
           *       "createdAt": "2026-11-20T12:00:00.000Z",
           *       "updatedAt": "2026-11-20T12:00:00.000Z"
           *     }
           */
          "application/json": components["schemas"]["Avatar"];
        };
      };
      /** @description You already have this version. */
      304: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  deleteAvatar: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ava_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The avatar after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "ava_01h455vb4pex5vsknk084sn02q",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "environment": "live",
           *       "displayName": "Ada",
           *       "sourceKind": "image",
           *       "modelId": "realtime-avatar-live-v1",
           *       "status": "draft",
           *       "sourceAssetId": null,
           *       "defaultVoiceId": "voice-en-01",
           *       "cacheManifestId": null,
           *       "cacheVersion": 0,
           *       "settings": {
           *         "background": "#ffffff"
           *       },
           *       "metadata": {
           *         "team": "support"
           *       },
           *       "createdAt": "2026-11-20T12:00:00.000Z",
           *       "updatedAt": "2026-11-20T12:00:00.000Z"
           *     }
           */
          "application/json": components["schemas"]["Avatar"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      412: components["responses"]["PreconditionFailed"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  updateAvatar: {
    parameters: {
      query?: never;
      header?: {
        /** @description The request is executed only if the version of the resource is listed here, such as `"1"`, or if the value is `*`. A malformed value is rejected. */
        "If-Match"?: components["parameters"]["IfMatch"];
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The id of the resource, such as `ava_01h455vb4pex5vsknk084sn02q`. A malformed id gets 404. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "displayName": "Ada Lovelace",
         *       "metadata": {
         *         "team": "sales"
         *       }
         *     }
         */
        "application/json": components["schemas"]["UpdateAvatar"];
      };
    };
    responses: {
      /** @description The avatar after the request. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "id": "ava_01h455vb4pex5vsknk084sn02q",
           *       "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *       "environment": "live",
           *       "displayName": "Ada",
           *       "sourceKind": "image",
           *       "modelId": "realtime-avatar-live-v1",
           *       "status": "draft",
           *       "sourceAssetId": null,
           *       "defaultVoiceId": "voice-en-01",
           *       "cacheManifestId": null,
           *       "cacheVersion": 0,
           *       "settings": {
           *         "background": "#ffffff"
           *       },
           *       "metadata": {
           *         "team": "support"
           *       },
           *       "createdAt": "2026-11-20T12:00:00.000Z",
           *       "updatedAt": "2026-11-20T12:00:00.000Z"
           *     }
           */
          "application/json": components["schemas"]["Avatar"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScope"];
      404: components["responses"]["NotFound"];
      409: components["responses"]["InvalidTransition"];
      412: components["responses"]["PreconditionFailed"];
      413: components["responses"]["BodyTooLarge"];
      415: components["responses"]["UnsupportedMediaType"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["UnavailableOrOutcomeUnknown"];
    };
  };
  listAuditEvents: {
    parameters: {
      query?: {
        /** @description Include only items with this action. */
        action?:
          | "api_key.created"
          | "api_key.updated"
          | "api_key.rotated"
          | "api_key.revoked"
          | "api_key.reported_leaked"
          | "avatar.created"
          | "avatar.updated"
          | "avatar.deleted";
        /** @description Include only items with this targetId. */
        targetId?: string;
        /** @description Include only items with this actorKeyId. */
        actorKeyId?: string;
        /** @description Maximum number of items in the page; default 50. */
        limit?: number;
        /** @description The `nextCursor` of the previous page. */
        cursor?: string;
      };
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of events. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
          RateLimit: components["headers"]["RateLimit"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "data": [
           *         {
           *           "id": "aud_01h455vb4pex5vsknk084sn02q",
           *           "tenantId": "ten_01h455vb4pex5vsknk084sn02q",
           *           "environment": "live",
           *           "action": "avatar.updated",
           *           "targetId": "ava_01h455vb4pex5vsknk084sn02q",
           *           "changedFields": [
           *             "displayName"
           *           ],
           *           "actorId": "key_01h455vb4pex5vsknk084sn02q",
           *           "actorKeyId": "0123456789ABCDEF",
           *           "requestId": "01890a5d-ac96-774b-bcce-b302099a8057",
           *           "createdAt": "2026-11-20T12:00:00.000Z"
           *         }
           *       ],
           *       "nextCursor": null
           *     }
           */
          "application/json": components["schemas"]["AuditEventPage"];
        };
      };
      400: components["responses"]["MalformedRequest"];
      401: components["responses"]["MissingApiKeyOrInvalidApiKeyOrRevokedApiKeyOrExpiredApiKey"];
      403: components["responses"]["InsufficientScope"];
      422: components["responses"]["ValidationFailed"];
      429: components["responses"]["RateLimited"];
      500: components["responses"]["InternalError"];
      503: components["responses"]["Unavailable"];
    };
  };
  reportLeakedKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "apiKey": "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV"
         *     }
         */
        "application/json": components["schemas"]["ReportLeakedKey"];
      };
    };
    responses: {
      /** @description The report was received. The response does not show whether a key was revoked. */
      202: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "status": "accepted"
           *     }
           */
          "application/json": components["schemas"]["LeakedKeyReport"];
        };
      };
      400: components["responses"]["MalformedJsonOrMalformedRequestWithoutKey"];
      413: components["responses"]["BodyTooLargeWithoutKey"];
      415: components["responses"]["UnsupportedMediaTypeWithoutKey"];
      422: components["responses"]["ValidationFailedWithoutKey"];
      429: components["responses"]["RateLimitedWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
      503: components["responses"]["UnavailableOrOutcomeUnknownWithoutKey"];
    };
  };
  getProblemType: {
    parameters: {
      query?: never;
      header?: {
        /** @description Your own id for the request, such as `checkout-1734`. An id that is malformed or looks like an API key is replaced. */
        "X-Request-Id"?: components["parameters"]["RequestId"];
        /** @description The trace to which the request belongs (W3C Trace Context). A malformed value is ignored. */
        traceparent?: components["parameters"]["Traceparent"];
      };
      path: {
        /** @description The code of the problem. */
        code:
          | "malformed_json"
          | "malformed_request"
          | "missing_api_key"
          | "invalid_api_key"
          | "revoked_api_key"
          | "expired_api_key"
          | "insufficient_scope"
          | "grant_exceeds_caller"
          | "not_found"
          | "method_not_allowed"
          | "invalid_transition"
          | "rotation_in_progress"
          | "quota_exceeded"
          | "replay_unavailable"
          | "precondition_failed"
          | "body_too_large"
          | "unsupported_media_type"
          | "validation_failed"
          | "idempotency_key_reused"
          | "rate_limited"
          | "internal_error"
          | "unavailable"
          | "outcome_unknown";
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The explanation of the problem. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          traceparent: components["headers"]["traceparent"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          Vary: components["headers"]["Vary"];
          "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
          "Cross-Origin-Opener-Policy": components["headers"]["Cross-Origin-Opener-Policy"];
          "Referrer-Policy": components["headers"]["Referrer-Policy"];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "type": "/problems/not_found",
           *       "code": "not_found",
           *       "status": 404,
           *       "title": "Not found",
           *       "meaning": "The resource does not exist, or the caller is not allowed to see it.",
           *       "remedy": "Check the address and the id. A test key sees only the test environment. No key sees resources of another tenant."
           *     }
           */
          "application/json": components["schemas"]["ProblemType"];
          "text/html": string;
        };
      };
      400: components["responses"]["MalformedRequestWithoutKey"];
      404: components["responses"]["NotFoundWithoutKey"];
      500: components["responses"]["InternalErrorWithoutKey"];
    };
  };
}
