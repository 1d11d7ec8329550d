/** People for tests. They register and sign in through the API, with a software authenticator. */
import { insertInvitation } from "@realtime-avatar/db/people/invitations";
import type { Environment } from "@realtime-avatar/domain/environment";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { newInvitation } from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import type { TestDb } from "@realtime-avatar/testing/database";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { type Answer, PUBLIC_URL, type TestApi } from "../api.ts";
import { type Authenticator, createAuthenticator } from "./authenticator.ts";

export const COOKIE = "__Host-realtime-avatar-session";

/** The headers of a page of the service. */
export const pageHeaders = (cookie: string, environment: Environment = "live"): Record<string, string> => ({
  cookie: `${COOKIE}=${cookie}`,
  origin: PUBLIC_URL,
  "sec-fetch-site": "same-origin",
  "realtime-avatar-environment": environment,
});

/** The value of the cookie that a response sets. */
export const readCookie = ({ headers }: Answer): string =>
  new RegExp(`^${COOKIE}=([^;]*);`).exec(headers.get("set-cookie") ?? "")?.[1] ?? "";

export type Person = {
  id: string;
  tenantId: TenantId;
  sessionId: string;
  email: string;
  cookie: string;
  authenticator: Authenticator;
  /** Sends a request like a page of the service. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
    environment?: Environment,
  ): Promise<Answer>;
};

/** The token of a new invitation by the operator. */
export const inviteByOperator = async (
  { database, tenantId }: TestApi,
  { email, role, tenant = tenantId }: { email: string; role: Role; tenant?: TenantId },
): Promise<string> => {
  const fields = { tenantId: tenant, email, role, userId: null, createdBy: null };
  const created = newInvitation(fields, { now: new Date(), random });
  const { kind } = await insertInvitation(database.db, created, null, operatorOrigin());
  if (kind !== "written") throw new Error(`the invitation was not written: ${kind}`);
  return created.token.reveal();
};

/** Accepts an invitation. Returns the last response. */
export const accept = async (
  api: TestApi,
  token: string,
  authenticator = createAuthenticator(PUBLIC_URL),
  name = "Ada",
): Promise<Answer> => {
  const options = await api.call("POST", "/api/v1/invitations/options", { body: { token } });
  if (options.status !== 200) return options;
  const credential = authenticator.create(options.body.publicKey);
  return api.call("POST", "/api/v1/invitations/acceptance", { body: { token, name, credential } });
};

/** Signs in with a passkey. Returns the last response. */
export const signIn = async (api: TestApi, authenticator: Authenticator): Promise<Answer> => {
  const options = await api.call("POST", "/api/v1/user-sessions/options", { body: {} });
  const credential = authenticator.get(options.body.publicKey);
  return api.call("POST", "/api/v1/user-sessions", { body: { credential } });
};

/** The person of a sign-in's response. */
export const signedInPerson = (api: TestApi, answer: Answer, authenticator: Authenticator): Person => {
  if (answer.status !== 201) throw new Error(`not signed in: ${answer.text}`);
  const { id: sessionId, user } = answer.body;
  const cookie = readCookie(answer);
  return {
    id: user.id,
    tenantId: user.tenantId,
    sessionId,
    email: user.email,
    cookie,
    authenticator,
    call: (method, path, body, headers = {}, environment = "live") =>
      api.call(method, path, { body, headers: { ...pageHeaders(cookie, environment), ...headers } }),
  };
};

/** Another session of the person. */
export const signInAgain = async (api: TestApi, { authenticator }: Person): Promise<Person> =>
  signedInPerson(api, await signIn(api, authenticator), authenticator);

/** The token of a link in a response. */
export const linkToken = ({ body: { url } }: Answer): string => url.slice(url.indexOf("#") + 1);

/** A passkey that another authenticator creates for the person. It is not registered yet. */
export const newCredential = async (
  person: Person,
  authenticator = createAuthenticator(PUBLIC_URL),
): Promise<ReturnType<Authenticator["create"]>> => {
  const { body } = await person.call("POST", "/api/v1/passkeys/options", {});
  return authenticator.create(body.publicKey);
};

/** Ends the verification of a person's sessions. */
export const expireVerification = ({ db: { client } }: { db: TestDb }, { id }: Pick<Person, "id">) =>
  client`update user_sessions set verified_until = now() - interval '1 second' where user_id = ${id}`;

let people = 0;
/** A person of the tenant who has registered and is signed in. */
export const seedPerson = async (api: TestApi, role: Role, tenant?: TenantId): Promise<Person> => {
  people++;
  const email = `person-${people}@example.com`;
  const token = await inviteByOperator(api, { email, role, ...(tenant && { tenant }) });
  const authenticator = createAuthenticator(PUBLIC_URL);
  return signedInPerson(api, await accept(api, token, authenticator), authenticator);
};

/** Links an account to a person. Returns the id of the identity. */
export const seedIdentity = async (
  { database }: TestApi,
  { id: userId, tenantId }: Pick<Person, "id" | "tenantId">,
): Promise<string> => {
  const id = newId("idn", new Date(), random);
  await database.db.client`
    insert into user_identities (tenant_id, id, user_id, issuer, subject, created_at)
    values (${tenantId}, ${id}, ${userId}, 'https://login.example.com', ${id}, now())`;
  return id;
};
