/**
 * The outcomes of a fetch. Details never contain text of the origin, because a tenant could read a foreign response by
 * it.
 */

export type RefusalCode =
  | "invalid_url"
  | "https_required"
  | "credentials_not_allowed"
  | "port_not_allowed"
  | "ip_address_not_allowed"
  | "host_not_public"
  | "too_many_redirects"
  | "certificate_not_valid"
  | "invalid_response"
  | "unexpected_status"
  | "encoding_not_allowed"
  | "too_large"
  | "empty";

export type UnavailableCode =
  | "host_not_found"
  | "connection_failed"
  | "connection_lost"
  | "timed_out"
  | "canceled"
  | "unexpected_status";

/** The same request would be refused again. */
export type Refused = { kind: "refused"; code: RefusalCode; detail: string };
/** The same request can succeed later. */
export type Unavailable = { kind: "unavailable"; code: UnavailableCode; detail: string };

export const refused = (code: RefusalCode, detail: string): Refused => ({ kind: "refused", code, detail });
export const unavailable = (code: UnavailableCode, detail: string): Unavailable => ({
  kind: "unavailable",
  code,
  detail,
});
