/** The codes of the entries of `errors`, by subject. A test compares docs/api.md and the OpenAPI document with them. */
export const FIELD_ERROR_CODES = {
  value: [
    "wrong_type",
    "required",
    "unknown_field",
    "repeated_field",
    "too_short",
    "too_long",
    "too_few",
    "too_many",
    "too_large",
    "out_of_range",
    "not_allowed",
    "malformed",
    "invalid_text",
    "invalid_name",
    "invalid_email",
    "invalid_date_time",
    "not_in_future",
    "too_old",
    "too_short_for_own_key",
    "unsupported_url",
    "not_supported",
    "token_too_powerful",
    "unsupported_voice",
    "unsupported_model",
    "nothing_to_say",
  ],
  file: ["unsupported_file", "asset_kind_mismatch", "wrong_size"],
  source: ["asset_not_found", "asset_kind_mismatch", "asset_not_usable"],
  parameter: ["unknown_parameter", "repeated_parameter", "invalid_cursor", "empty_window", "window_too_long"],
  header: ["malformed", "not_as_signed"],
  grant: ["exceeds_caller", "lineage_too_deep", "is_ancestor", "not_descendant"],
} as const;
export type FieldErrorCode = (typeof FIELD_ERROR_CODES)[keyof typeof FIELD_ERROR_CODES][number];

/** One validation error and its location. For a refused grant, `allowed` has the values that the caller may grant. */
export type FieldError = {
  /** JSON Pointer into the body, in fragment form (RFC 6901 §6), for example `#/scopes/2`. */
  pointer?: string;
  /** Name of a query parameter. */
  parameter?: string;
  /** Name of a header. */
  header?: string;
  code: FieldErrorCode;
  detail: string;
  allowed?: unknown;
};
