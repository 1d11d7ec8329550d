/** Examples of the bodies of people. Ceremonies of WebAuthn are shortened: the values are those of no authenticator. */
import type {
  AcceptInvitation,
  BeginOidcAcceptance,
  BeginOidcSignIn,
  BeginOidcVerification,
  CreateInvitation,
  CreatePasskey,
  CurrentSession,
  Identity,
  Invitation,
  InvitationOptions,
  InvitationWithUrl,
  OidcRedirect,
  Passkey,
  PasskeyInvitation,
  PublicKeyOptions,
  SignIn,
  SignInOptions,
  UpdatePasskey,
  UpdateUser,
  User,
  UserSession,
  VerificationOptions,
} from "@realtime-avatar/domain/people/schemas";

const suffix = "01h455vb4pex5vsknk084sn02q";
const time = "2026-11-20T12:00:00.000Z";
/** Well-formed, but the token of no invitation. */
const token = `rta_invitation_${suffix}_${suffix}_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg`;
const url = `https://avatars.example.com/dashboard/register#${token}`;

const user: User = {
  id: `usr_${suffix}`,
  tenantId: `ten_${suffix}`,
  email: "ada@example.com",
  name: "Ada",
  role: "owner",
  createdAt: time,
  lastSeenAt: time,
};
const tenant = { id: user.tenantId, name: "Example" };
const session: UserSession = {
  id: `uss_${suffix}`,
  userId: user.id,
  signInMethod: "passkey",
  userAgent: "Mozilla/5.0",
  createdAt: time,
  lastSeenAt: time,
  expiresAt: "2026-11-21T00:00:00.000Z",
  isCurrent: true,
};
const current: CurrentSession = {
  id: session.id,
  expiresAt: session.expiresAt,
  idleExpiresAt: "2026-11-20T12:30:00.000Z",
  verifiedUntil: "2026-11-20T12:05:00.000Z",
  user,
  tenant,
};
const invitation: Invitation = {
  id: `inv_${suffix}`,
  email: "grace@example.com",
  role: "developer",
  expiresAt: "2026-11-20T12:30:00.000Z",
  createdAt: time,
};
const passkey: Passkey = {
  id: `psk_${suffix}`,
  name: "Phone",
  createdAt: time,
  lastUsedAt: time,
  isBackedUp: true,
};

const identity: Identity = {
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
  AcceptInvitation: { token, name: "Grace", credential: registered } satisfies AcceptInvitation,
  BeginOidcAcceptance: { token, name: "Grace" } satisfies BeginOidcAcceptance,
  BeginOidcSignIn: { tenantId: tenant.id } satisfies BeginOidcSignIn,
  BeginOidcVerification: { returnTo: "/keys" } satisfies BeginOidcVerification,
  CreateInvitation: { email: invitation.email, role: invitation.role } satisfies CreateInvitation,
  CreatePasskey: { credential: registered, name: "Phone" } satisfies CreatePasskey,
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
  } satisfies InvitationOptions,
  InvitationOptionsRequest: { token },
  InvitationPage: page(invitation),
  InvitationWithUrl: { ...invitation, url } satisfies InvitationWithUrl,
  Nothing: {},
  OidcRedirect: { url: "https://login.example.com/authorize?client_id=realtime-avatar&state=…" } satisfies OidcRedirect,
  Passkey: passkey,
  PasskeyInvitation: { url, expiresAt: invitation.expiresAt } satisfies PasskeyInvitation,
  PasskeyPage: page(passkey),
  PublicKeyOptions: { publicKey } satisfies PublicKeyOptions,
  SignInOptions: { publicKey, oidc } satisfies SignInOptions,
  SignIn: { credential: asserted } satisfies SignIn,
  UpdatePasskey: { name: "Old phone" } satisfies UpdatePasskey,
  UpdateUser: { role: "viewer" } satisfies UpdateUser,
  User: user,
  UserPage: page(user),
  UserSession: session,
  UserSessionPage: page(session),
  VerificationOptions: { publicKey, hasPasskey: true, oidc } satisfies VerificationOptions,
};
