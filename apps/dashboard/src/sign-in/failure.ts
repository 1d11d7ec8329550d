/** Why a sign-in at the provider has failed. */
import { OIDC_FAILURES, type OidcFailure } from "@realtime-avatar/domain/people/oidc-pages";

/** The meanings of the callback's codes, and the next steps. */
export const FAILURE_TEXTS: Record<OidcFailure, string> = {
  expired: "The sign-in took too long, was used before, or began in another browser. Start again.",
  denied: "The provider reports that you said no. Start again, or use a passkey.",
  not_accepted: "The response of the provider was not valid. Start again. If it goes on, tell the operator.",
  not_fresh: "The provider did not ask you to sign in again. Tell the operator, or use a passkey.",
  unknown_identity:
    "No member has linked this account of the provider. Use the invitation that you were sent, or sign in with a passkey and link it on the People page.",
  identity_taken: "This account of the provider is linked already, to you or to another member.",
  invalid_invitation: "The link is not valid: it was used, withdrawn or has expired. Ask for another one.",
  already_member: "A member has the address of this invitation already.",
  quota_exceeded: "You have linked as many accounts as the service allows. Unlink one first.",
  session_ended: "Your session has ended in the meantime. Sign in again.",
  not_verified:
    "The account was not linked: you confirmed it was you more than five minutes ago. Link it again on the People page.",
  rate_limited: "There were too many attempts from your network. Wait a minute, and start again.",
  provider_unavailable: "The provider does not respond. Use a passkey, or try again shortly.",
  unavailable: "The service could not finish the sign-in. Start again.",
};

/** The code of a failure in an address; undefined for any other text. */
export const failureIn = (value: unknown): OidcFailure | undefined => OIDC_FAILURES.find((code) => code === value);
