/** The request and response schemas of people: users, invitations, passkeys and their sessions. */

import { type Static, Type } from "@sinclair/typebox";
import { defineList, Page } from "../page.ts";
import { ClosedObject, Count, DateTime, Email, JsonObject, Name, Nullable, OneOf, Text } from "../schema.ts";
import { MAX_NAME_LENGTH } from "../text.ts";
import { RETURN_PATHS } from "./oidc-pages.ts";
import { ROLES } from "./roles.ts";

const Id = Text({ minLength: 1, maxLength: 64 });
const email = Email({
  description:
    "The address is a name: the service sends no mail. Stored in lower case and in its compatibility form (NFKC), so that look-alikes such as fullwidth letters are one address. White space, and characters that are not seen, are refused.",
});
/** For responses, because stored values may be older than a rule. */
const storedEmail = Text({ minLength: email.minLength, maxLength: email.maxLength });
const role = OneOf(ROLES, {
  description: "`viewer` reads; `developer` also writes keys, assets and avatars; `owner` also manages people.",
});
const NAME_BOUNDS = { minLength: 1, maxLength: MAX_NAME_LENGTH, description: "Human-readable name." };
const name = Name(NAME_BOUNDS);
const storedName = Text(NAME_BOUNDS);
const Url = Text({ minLength: 1, maxLength: 2048 });
const Token = Text({ minLength: 1, maxLength: 512, description: "The part of the link after `#`." });

/** The response of an authenticator. Its members are read one by one, because browsers add new ones. */
const credential = JsonObject({
  "x-maxBytes": 32 * 1024,
  description:
    "The response of the authenticator, as WebAuthn writes it (`RegistrationResponseJSON` or `AuthenticationResponseJSON`).",
});
const publicKey = JsonObject({
  description: "Options for `navigator.credentials` in the JSON form of WebAuthn.",
});

export const User = ClosedObject({
  id: Id,
  tenantId: Id,
  email: storedEmail,
  name: storedName,
  role,
  createdAt: DateTime(),
  lastSeenAt: Nullable(DateTime(), { description: "Time of the last request, to the minute." }),
});
export type User = Static<typeof User>;

export const UpdateUser = ClosedObject({ name: Type.Optional(name), role: Type.Optional(role) }, { minProperties: 1 });
export type UpdateUser = Static<typeof UpdateUser>;

export const USER_LIST = defineList("usr", {});
export const UserPage = Page(User);

const TenantName = ClosedObject({ id: Id, name: Text({ minLength: 1, maxLength: MAX_NAME_LENGTH }) });

/** The ways in which people sign in. */
const SIGN_IN_METHODS = ["passkey", "oidc"] as const;

export const UserSession = ClosedObject({
  id: Id,
  userId: Id,
  signInMethod: OneOf(SIGN_IN_METHODS, {
    description: "The credential that opened the session: a passkey, or the account at the provider (OpenID Connect).",
  }),
  userAgent: Nullable(Text({ minLength: 0, maxLength: 512 }), {
    description: "The `User-Agent` of the browser at sign-in.",
  }),
  createdAt: DateTime(),
  lastSeenAt: DateTime({ description: "Time of the last request, to the minute." }),
  expiresAt: DateTime(),
  isCurrent: Type.Boolean({ description: "Whether it is the session of this request." }),
});
export type UserSession = Static<typeof UserSession>;

export const USER_SESSION_LIST = defineList("uss", {});
export const UserSessionPage = Page(UserSession);

export const CurrentSession = ClosedObject({
  id: Id,
  expiresAt: DateTime({ description: "The session ends at this time." }),
  idleExpiresAt: DateTime({ description: "The session ends at this time, unless there is another request before." }),
  verifiedUntil: DateTime({ description: "Until this time, operations that ask for the passkey again are allowed." }),
  user: User,
  tenant: TenantName,
});
export type CurrentSession = Static<typeof CurrentSession>;

export const PublicKeyOptions = ClosedObject({ publicKey });
export type PublicKeyOptions = Static<typeof PublicKeyOptions>;

const Provider = ClosedObject({
  name: Text({ minLength: 1, maxLength: 64, description: "The name of the provider, for people." }),
});
const oidc = Nullable(Provider, {
  description: "The provider with which people sign in by OpenID Connect; null without one.",
});

export const SignInOptions = ClosedObject({ publicKey, oidc });
export type SignInOptions = Static<typeof SignInOptions>;

export const VerificationOptions = ClosedObject({
  publicKey,
  hasPasskey: Type.Boolean({ description: "Whether the person has a passkey." }),
  oidc: Nullable(Provider, { description: "The provider at which the person has an identity; null without one." }),
});
export type VerificationOptions = Static<typeof VerificationOptions>;

/** A request without fields. */
export const Nothing = ClosedObject({});

export const InvitationOptionsRequest = ClosedObject({ token: Token });
export const InvitationOptions = ClosedObject({
  tenant: TenantName,
  email: storedEmail,
  role,
  isNewUser: Type.Boolean({ description: "Whether it creates a user; otherwise it is for a user who exists." }),
  publicKey,
  oidc,
});
export type InvitationOptions = Static<typeof InvitationOptions>;

export const AcceptInvitation = ClosedObject({ token: Token, name, credential });
export type AcceptInvitation = Static<typeof AcceptInvitation>;

export const SignIn = ClosedObject({ credential });
export type SignIn = Static<typeof SignIn>;

/** The default time, in seconds, for which the link of an invitation is valid. */
export const INVITATION_SECONDS = 1800;
export const CreateInvitation = ClosedObject({
  email,
  role,
  lifetimeSeconds: Type.Optional(
    Count({
      minimum: 300,
      maximum: 604_800,
      description: `How many seconds the link is valid. Without it: ${INVITATION_SECONDS}.`,
    }),
  ),
});
export type CreateInvitation = Static<typeof CreateInvitation>;

export const Invitation = ClosedObject({
  id: Id,
  email: storedEmail,
  role,
  expiresAt: DateTime(),
  createdAt: DateTime(),
});
export type Invitation = Static<typeof Invitation>;

export const InvitationWithUrl = ClosedObject({
  ...Invitation.properties,
  url: Text({ ...Url, description: "The link. Only this response contains it. It can be used once." }),
});
export type InvitationWithUrl = Static<typeof InvitationWithUrl>;

export const INVITATION_LIST = defineList("inv", {});
export const InvitationPage = Page(Invitation);

export const PasskeyInvitation = ClosedObject({
  url: Text({ ...Url, description: "The link, to be opened on the other device. It can be used once." }),
  expiresAt: DateTime(),
});
export type PasskeyInvitation = Static<typeof PasskeyInvitation>;

/** The longest credential id and public key of a passkey, in bytes. WebAuthn allows 1023 for the first. */
export const MAX_CREDENTIAL_ID_BYTES = 1023;
export const MAX_PUBLIC_KEY_BYTES = 2048;

export const Passkey = ClosedObject({
  id: Id,
  name: storedName,
  createdAt: DateTime(),
  lastUsedAt: Nullable(DateTime(), { description: "Time of the last sign-in or verification with it." }),
  isBackedUp: Type.Boolean({ description: "Whether its provider keeps it on several devices." }),
});
export type Passkey = Static<typeof Passkey>;

export const CreatePasskey = ClosedObject({ credential, name });
export type CreatePasskey = Static<typeof CreatePasskey>;

export const UpdatePasskey = ClosedObject({ name });
export type UpdatePasskey = Static<typeof UpdatePasskey>;

export const PASSKEY_LIST = defineList("psk", {});
export const PasskeyPage = Page(Passkey);

export const BeginOidcSignIn = ClosedObject({ tenantId: Id });
export type BeginOidcSignIn = Static<typeof BeginOidcSignIn>;

export const BeginOidcAcceptance = ClosedObject({ token: Token, name });
export type BeginOidcAcceptance = Static<typeof BeginOidcAcceptance>;

export const BeginOidcVerification = ClosedObject({
  returnTo: OneOf(RETURN_PATHS, { description: "The page of the dashboard to which the browser returns." }),
});
export type BeginOidcVerification = Static<typeof BeginOidcVerification>;

export const OidcRedirect = ClosedObject({
  url: Text({ minLength: 1, maxLength: 8192, description: "The address of the provider, to which the page leads." }),
});
export type OidcRedirect = Static<typeof OidcRedirect>;

/**
 * A parameter of the callback, in ASCII (RFC 6749, appendix A). All parameters at their maximum lengths,
 * percent-encoded, fit into the head of one request.
 */
const parameter = (maxLength: number, description: string) =>
  Type.Optional(Type.Unsafe<string>({ ...Text({ minLength: 0, maxLength, description }), pattern: "^[ -~]*$" }));
/** The parameters that the callback reads. Other parameters, which providers add, are ignored (RFC 6749 §4.1.2). */
export const OidcCallback = ClosedObject({
  code: parameter(3072, "The authorization code."),
  state: parameter(64, "The state with which the attempt began."),
  iss: parameter(512, "The issuer (RFC 9207)."),
  error: parameter(128, "Why the provider refused (RFC 6749 §4.1.2.1)."),
});

export const Identity = ClosedObject({
  id: Id,
  issuer: Text({ minLength: 1, maxLength: 512, description: "The provider." }),
  subject: Text({ minLength: 1, maxLength: 255, description: "The provider's id of the account." }),
  createdAt: DateTime(),
  lastUsedAt: Nullable(DateTime(), { description: "Time of the last sign-in or verification with it." }),
});
export type Identity = Static<typeof Identity>;

export const IDENTITY_LIST = defineList("idn", {});
export const IdentityPage = Page(Identity);
