/** Examples of the bodies of people. The values of WebAuthn ceremonies are shortened, and not from an authenticator. */
import type * as people from "@realtime-avatar/domain/people/schemas";

const suffix = "01h455vb4pex5vsknk084sn02q";
const time = "2026-11-20T12:00:00.000Z";
/** Well-formed, but not the token of an invitation. */
const token = `rta_invitation_${suffix}_${suffix}_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg`;
const url = `https://avatars.example.com/dashboard/register#${token}`;

const user: people.User = {
  id: `usr_${suffix}`,
  tenantId: `ten_${suffix}`,
  email: "ada@example.com",
  name: "Ada",
  role: "owner",
  createdAt: time,
  lastSeenAt: time,
};
const tenant = { id: user.tenantId, name: "Example" };
const session: people.UserSession = {
  id: `uss_${suffix}`,
  userId: user.id,
  signInMethod: "passkey",
  userAgent: "Mozilla/5.0",
  createdAt: time,
  lastSeenAt: time,
  expiresAt: "2026-11-21T00:00:00.000Z",
  isCurrent: true,
};
const current: people.CurrentSession = {
  id: session.id,
  expiresAt: session.expiresAt,
  idleExpiresAt: "2026-11-20T12:30:00.000Z",
  verifiedUntil: "2026-11-20T12:05:00.000Z",
  user,
  tenant,
};
const invitation: people.Invitation = {
  id: `inv_${suffix}`,
  email: "grace@example.com",
  role: "developer",
  expiresAt: "2026-11-20T12:30:00.000Z",
  createdAt: time,
};
const passkey: people.Passkey = {
  id: `psk_${suffix}`,
  name: "Phone",
  createdAt: time,
  lastUsedAt: time,
  isBackedUp: true,
};

const identity: people.Identity = {
  id: `idn_${suffix}`,
  issuer: "https://login.example.com",
  subject: "248289761001",
  createdAt: time,
  lastUsedAt: time,
};
const oidc = { name: "Example Login" };

const clientDataJSON = "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0";
const registered = {
  id: "AAECAwQFBgc",
  rawId: "AAECAwQFBgc",
  type: "public-key",
  clientExtensionResults: {},
  response: { clientDataJSON, attestationObject: "o2NmbXRkbm9uZQ", transports: ["internal"] },
};
const asserted = {
  ...registered,
  response: { clientDataJSON, authenticatorData: "SZYN5YgOjGh0NBcP", signature: "MEUCIQDK", userHandle: "MDFoNDU1" },
};
const publicKey = { challenge: "AAECAwQFBgcICQ", rpId: "avatars.example.com", userVerification: "required" };

const page = <Item>(item: Item) => ({ data: [item], nextCursor: null });

export const PEOPLE_EXAMPLES = {
  AcceptInvitation: { token, name: "Grace", credential: registered } satisfies people.AcceptInvitation,
  BeginOidcAcceptance: { token, name: "Grace" } satisfies people.BeginOidcAcceptance,
  BeginOidcSignIn: { tenantId: tenant.id } satisfies people.BeginOidcSignIn,
  BeginOidcVerification: { returnTo: "/keys" } satisfies people.BeginOidcVerification,
  CreateInvitation: { email: invitation.email, role: invitation.role } satisfies people.CreateInvitation,
  CreatePasskey: { credential: registered, name: "Phone" } satisfies people.CreatePasskey,
  CurrentSession: current,
  Identity: identity,
  IdentityPage: page(identity),
  Invitation: invitation,
  InvitationOptions: {
    tenant,
    email: invitation.email,
    role: invitation.role,
    isNewUser: true,
    publicKey,
    oidc,
  } satisfies people.InvitationOptions,
  InvitationOptionsRequest: { token },
  InvitationPage: page(invitation),
  InvitationWithUrl: { ...invitation, url } satisfies people.InvitationWithUrl,
  Nothing: {},
  OidcRedirect: {
    url: "https://login.example.com/authorize?client_id=realtime-avatar&state=…",
  } satisfies people.OidcRedirect,
  Passkey: passkey,
  PasskeyInvitation: { url, expiresAt: invitation.expiresAt } satisfies people.PasskeyInvitation,
  PasskeyPage: page(passkey),
  PublicKeyOptions: { publicKey } satisfies people.PublicKeyOptions,
  SignInOptions: { publicKey, oidc } satisfies people.SignInOptions,
  SignIn: { credential: asserted } satisfies people.SignIn,
  UpdatePasskey: { name: "Old phone" } satisfies people.UpdatePasskey,
  UpdateUser: { role: "viewer" } satisfies people.UpdateUser,
  User: user,
  UserPage: page(user),
  UserSession: session,
  UserSessionPage: page(session),
  VerificationOptions: { publicKey, hasPasskey: true, oidc } satisfies people.VerificationOptions,
};
