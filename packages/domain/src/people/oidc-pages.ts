/** Shared by the sign-in with OpenID Connect and the dashboard. Without imports: browsers load it. */

/** The only pages to which a sign-in or a verification returns. */
export const RETURN_PATHS = ["/", "/keys", "/avatars", "/videos", "/usage", "/webhooks", "/audit", "/people"] as const;
export type ReturnPath = (typeof RETURN_PATHS)[number];

/**
 * The failures of a sign-in by OpenID Connect. The callback has no page. It redirects to the sign-in page with one of
 * these codes, which that page explains. The provider's texts are never shown.
 */
export const OIDC_FAILURES = [
  /** The attempt took too long, was used before, or began in another browser. */
  "expired",
  /** The person refused at the provider. */
  "denied",
  /** The response of the provider does not belong to the attempt, or is not valid. */
  "not_accepted",
  /** The provider did not authenticate the person again. */
  "not_fresh",
  /** No person of the tenant has this identity. */
  "unknown_identity",
  /** The identity already belongs to a person. */
  "identity_taken",
  "invalid_invitation",
  "already_member",
  "quota_exceeded",
  /** The session for which the attempt began has ended. */
  "session_ended",
  /** The session was verified too long ago to link an account. */
  "not_verified",
  "rate_limited",
  "provider_unavailable",
  /** The service failed because of an overload or a defect. */
  "unavailable",
] as const;
export type OidcFailure = (typeof OIDC_FAILURES)[number];
