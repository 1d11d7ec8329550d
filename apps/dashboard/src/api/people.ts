/** People: sessions, members, invitations and passkeys. */
import type { components } from "@realtime-avatar/client";
import type { ReturnPath } from "@realtime-avatar/domain/people/oidc-pages";
import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService,
} from "@simplewebauthn/browser";
import { clientFor, clientWithoutRetries, type Environment } from "./client.ts";

type Schemas = components["schemas"];
export type User = Schemas["User"];
export type Role = User["role"];
export type CurrentSession = Schemas["CurrentSession"];
export type UserSession = Schemas["UserSession"];
export type Passkey = Schemas["Passkey"];
export type PasskeyLink = Schemas["PasskeyInvitation"];
export type Invitation = Schemas["Invitation"];
/** Only this response contains the link. */
export type NewInvitation = Schemas["InvitationWithUrl"];
export type Registration = Schemas["InvitationOptions"];
export type Identity = Schemas["Identity"];
export type Provider = NonNullable<Schemas["SignInOptions"]["oidc"]>;
export type VerificationOptions = Schemas["VerificationOptions"];

export const ROLES = ["owner", "developer", "viewer"] as const satisfies Role[];

/** People are the same in both environments. */
const api = () => clientFor("live");

const byId = (id: string) => ({ params: { path: { id } } });

const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const listed: Item[] = [];
  for await (const item of items) listed.push(item);
  return listed;
};

/** The API description has these options as an object. The library knows their members. */
const creationOptions = (publicKey: object) => publicKey as PublicKeyCredentialCreationOptionsJSON;
const requestOptions = (publicKey: object) => publicKey as PublicKeyCredentialRequestOptionsJSON;

export const readSession = async (): Promise<CurrentSession> => (await api().GET("/api/v1/user-sessions/current")).data;

/** Signs in with a passkey of this device. */
export const signIn = async (): Promise<CurrentSession> => {
  const { publicKey } = (await api().POST("/api/v1/user-sessions/options")).data;
  const credential = await startAuthentication({ optionsJSON: requestOptions(publicKey) });
  return (await api().POST("/api/v1/user-sessions", { body: { credential: { ...credential } } })).data;
};

/**
 * Makes the device ask for a passkey. When `signal` aborts, the dialog of the device must close too. The person can
 * also give up before, while the options are read.
 */
const askDevice = async <Credential>(signal: AbortSignal, ask: () => Promise<Credential>): Promise<Credential> => {
  signal.throwIfAborted();
  const cancel = () => WebAuthnAbortService.cancelCeremony();
  signal.addEventListener("abort", cancel);
  try {
    return await ask();
  } finally {
    signal.removeEventListener("abort", cancel);
  }
};

/** Asks for the passkey again. */
export const verify = async (signal: AbortSignal): Promise<CurrentSession> => {
  const { publicKey } = (await api().POST("/api/v1/user-sessions/current/verification/options")).data;
  const credential = await askDevice(signal, () => startAuthentication({ optionsJSON: requestOptions(publicKey) }));
  const body = { credential: { ...credential } };
  return (await api().POST("/api/v1/user-sessions/current/verification", { body })).data;
};

export const signOut = async (): Promise<void> => {
  await api().DELETE("/api/v1/user-sessions/current");
};

export const readInvitation = async (token: string): Promise<Registration> =>
  (await api().POST("/api/v1/invitations/options", { body: { token } })).data;

/** Creates a passkey on this device, and spends the invitation. */
export const acceptInvitation = async (
  token: string,
  name: string,
  { publicKey }: Registration,
): Promise<CurrentSession> => {
  const credential = await startRegistration({ optionsJSON: creationOptions(publicKey) });
  const body = { token, name, credential: { ...credential } };
  return (await api().POST("/api/v1/invitations/acceptance", { body })).data;
};

export const listUsers = (): Promise<User[]> => all(api().list("/api/v1/users"));
export const changeUser = (id: string, body: { name?: string; role?: Role }) =>
  api().PATCH("/api/v1/users/{id}", { ...byId(id), body });
export const removeUser = (id: string) => api().DELETE("/api/v1/users/{id}", byId(id));

export const listInvitations = (): Promise<Invitation[]> => all(api().list("/api/v1/invitations"));
/** Replaces an earlier invitation for the same address, whose link becomes invalid. */
export const invite = async (body: { email: string; role: Role; lifetimeSeconds: number }): Promise<NewInvitation> =>
  (await api().POST("/api/v1/invitations", { body })).data;
export const withdrawInvitation = (id: string) => api().DELETE("/api/v1/invitations/{id}", byId(id));

export const listSessions = (): Promise<UserSession[]> => all(api().list("/api/v1/user-sessions"));
export const endSession = (id: string) => api().DELETE("/api/v1/user-sessions/{id}", byId(id));

export const listPasskeys = (): Promise<Passkey[]> => all(api().list("/api/v1/passkeys"));
export const addPasskey = async (name: string, signal: AbortSignal): Promise<Passkey> => {
  const { publicKey } = (await api().POST("/api/v1/passkeys/options")).data;
  const credential = await askDevice(signal, () => startRegistration({ optionsJSON: creationOptions(publicKey) }));
  return (await api().POST("/api/v1/passkeys", { body: { credential: { ...credential }, name } })).data;
};
export const renamePasskey = (id: string, name: string) =>
  api().PATCH("/api/v1/passkeys/{id}", { ...byId(id), body: { name } });
export const deletePasskey = (id: string) => api().DELETE("/api/v1/passkeys/{id}", byId(id));
export const linkPasskey = async (): Promise<PasskeyLink> => (await api().POST("/api/v1/passkeys/invitations")).data;

/** The OpenID Connect provider for sign-in; null without one. */
export const readProvider = async (): Promise<Provider | null> =>
  (await api().POST("/api/v1/user-sessions/options")).data.oidc;

/** The ways to verify the session. */
export const readVerificationOptions = async (): Promise<VerificationOptions> =>
  (await api().POST("/api/v1/user-sessions/current/verification/options")).data;

/** These functions begin an attempt, and return the address of the provider. */
export const beginSignIn = async (tenantId: string): Promise<string> =>
  (await clientWithoutRetries("live").POST("/api/v1/oidc/sign-in", { body: { tenantId } })).data.url;
export const beginAcceptance = async (token: string, name: string): Promise<string> =>
  (await clientWithoutRetries("live").POST("/api/v1/oidc/acceptance", { body: { token, name } })).data.url;
export const beginIdentity = async (): Promise<string> =>
  (await clientWithoutRetries("live").POST("/api/v1/oidc/identity")).data.url;
/** The provider redirects back to the page `returnTo`, in this environment. */
export const beginVerification = async (returnTo: ReturnPath, environment: Environment): Promise<string> =>
  (await clientWithoutRetries(environment).POST("/api/v1/oidc/verification", { body: { returnTo } })).data.url;

export const listIdentities = (): Promise<Identity[]> => all(api().list("/api/v1/identities"));
export const unlinkIdentity = (id: string) => api().DELETE("/api/v1/identities/{id}", byId(id));
