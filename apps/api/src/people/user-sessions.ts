/** `/api/v1/user-sessions`: sign-in, and the sessions of people. */

import type { PersonCaller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Claim } from "@realtime-avatar/db/idempotency/idempotency-keys";
import { findIdentities } from "@realtime-avatar/db/people/identities";
import { type Assertion, findPasskey, findPasskeys } from "@realtime-avatar/db/people/passkeys";
import {
  type EndOutcome,
  endUserSession,
  insertUserSession,
  listUserSessions,
  verifyUserSession,
} from "@realtime-avatar/db/people/user-sessions";
import { isId, type TenantId, type UserId } from "@realtime-avatar/domain/id";
import type { Challenge } from "@realtime-avatar/domain/people/challenge";
import {
  newUserSession,
  type PasskeyRecord,
  presentCurrentSession,
  presentUserSession,
  verifiedUntil,
} from "@realtime-avatar/domain/people/people";
import {
  CurrentSession,
  Nothing,
  SignIn,
  SignInOptions,
  USER_SESSION_LIST,
  UserSession,
  UserSessionPage,
  VerificationOptions,
} from "@realtime-avatar/domain/people/schemas";
import type { SessionToken } from "@realtime-avatar/domain/people/tokens";
import { notFound } from "@realtime-avatar/domain/problem";
import type { JsonObject } from "@realtime-avatar/domain/schema";
import { checkVersion } from "@realtime-avatar/domain/transitions";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readBody, readOptionalBody } from "../http/body.ts";
import { clearedCookie } from "../http/cookie.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { requirePerson } from "../http/person.ts";
import { runWrite } from "../http/problem.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { type RequestContext, requestOrigin, withRequestContext } from "../http/request-context.ts";
import { sendJson, sendResource } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf, type Settled, writtenResource } from "../http/write.ts";
import { CURRENT_SESSION, createAnonymousCheck, readUserAgent, sendNewSession, shownProvider } from "./sign-in.ts";
import { invalidPasskey } from "./webauthn.ts";

const OPERATIONS = operations({
  beginSignIn: {
    summary: "Get options to sign in",
    description:
      "Returns the options to sign in with any passkey of this service, and whether sign-in by OpenID Connect is available. Requires no credentials.",
    body: Nothing,
    isBodyOptional: true,
    success: { status: 200, description: "The options.", schema: SignInOptions },
    problems: ["rate_limited", "foreign_origin"],
  },
  signIn: {
    summary: "Sign in",
    description: "Signs in with the response of a passkey. Requires no credentials. Each response is accepted once.",
    body: SignIn,
    success: { status: 201, description: "The session. `Set-Cookie` contains its cookie.", schema: CurrentSession },
    problems: ["rate_limited", "foreign_origin", "invalid_passkey", "invalid_session"],
    setsCookie: true,
  },
  getCurrentUserSession: {
    summary: "Read the current session",
    description: "Returns the session of the cookie, with its user and tenant.",
    success: { status: 200, description: "The session.", schema: CurrentSession },
  },
  endCurrentUserSession: {
    summary: "Sign out",
    description: "Ends the session of the cookie, on every replica before the response is sent.",
    success: {
      status: 200,
      description: "The session before its end. `Set-Cookie` deletes its cookie.",
      schema: UserSession,
    },
    setsCookie: true,
  },
  beginVerification: {
    summary: "Get options to use the passkey again",
    description:
      "Returns the options to verify the session with a passkey of the caller, and the other ways to verify it.",
    createsNothing: true,
    body: Nothing,
    isBodyOptional: true,
    success: { status: 200, description: "The options.", schema: VerificationOptions },
  },
  verifyUserSession: {
    summary: "Use the passkey again",
    description: "For five minutes, the session may call operations that need the passkey.",
    body: SignIn,
    success: { status: 200, description: "The session.", schema: CurrentSession },
    problems: ["invalid_passkey"],
  },
  listUserSessions: {
    summary: "List sessions of people",
    description: "Lists the sessions of the caller, newest first; for an owner, those of the tenant.",
    query: USER_SESSION_LIST.query,
    success: { status: 200, description: "A page of sessions.", schema: UserSessionPage },
  },
  endUserSession: {
    summary: "End a session",
    description:
      "Ends a session of the caller, or for an owner any session of the tenant, on every replica before the response is sent.",
    success: { status: 200, description: "The session before its end.", schema: UserSession },
    setsCookie: true,
  },
});

const SESSION = { schema: UserSession, toText: JSON.stringify };
const SIGN_IN_OPTIONS = { schema: SignInOptions, toText: JSON.stringify };
const VERIFICATION_OPTIONS = { schema: VerificationOptions, toText: JSON.stringify };
const SIGN_IN = { purpose: "sign_in", subject: "" } as const;

/** The passkey of this user that the response of an authenticator names. Throws the problem `invalid_passkey`. */
const findNamedPasskey = async (
  db: Db,
  { tenantId, userId }: { tenantId: TenantId; userId: UserId },
  credentialId: Uint8Array,
): Promise<PasskeyRecord> => {
  const passkey = await findPasskey(db, tenantId, credentialId);
  if (passkey?.userId !== userId) throw invalidPasskey();
  return passkey;
};

/** Signs in with the response of a passkey. */
const signIn = async (
  dependencies: Dependencies,
  credential: JsonObject,
  request: Request,
  context: RequestContext,
): Promise<SessionToken> => {
  const { passkeys, databases } = dependencies;
  const { credentialId, user } = passkeys.readAssertion(credential);
  if (!user) throw invalidPasskey();
  const db = databases.ofTenant(user.tenantId).until(context);
  const passkey = await findNamedPasskey(db, user, credentialId);
  const { assertion, challenge } = await passkeys.verifyAssertion(credential, passkey, SIGN_IN);
  const origin = requestOrigin(dependencies, null, context);
  const signedIn = newUserSession({ ...user, passkeyId: passkey.id, userAgent: readUserAgent(request) }, origin);
  if (!(await runWrite(() => insertUserSession(db, signedIn, assertion, challenge, origin)))) throw invalidPasskey();
  return signedIn.token;
};

/** The routes without credentials. */
export const signInRoutes = (dependencies: Dependencies) => {
  const check = createAnonymousCheck(dependencies);
  return new Elysia({ name: "sign-in", prefix: "/api/v1/user-sessions" })
    .use(withRequestContext)
    .post(
      "/options",
      async ({ request, set, requestContext }) => {
        await check(request);
        await readOptionalBody(request, requestContext, Nothing);
        const publicKey = await dependencies.passkeys.authenticationOptions([], SIGN_IN);
        return sendJson(SIGN_IN_OPTIONS, { publicKey, oidc: shownProvider(dependencies) }, set);
      },
      { detail: OPERATIONS.beginSignIn },
    )
    .post(
      "",
      async ({ request, set, requestContext }) => {
        await check(request);
        const { credential } = await readBody(request, requestContext, SignIn);
        const token = await signIn(dependencies, credential, request, requestContext);
        return sendNewSession(dependencies, token, requestContext, set);
      },
      { detail: OPERATIONS.signIn },
    );
};

/**
 * Ends the session that the path names, or else the caller's session. The response contains the session before its end.
 */
const END_SESSION = {
  body: null,
  representation: SESSION,
  plan: ({ db, id, caller: anyCaller, origin, expectation: { versions } }: Attempt<unknown>) => {
    const caller = requirePerson(anyCaller);
    const target = id || caller.sessionId;
    if (!isId("uss", target)) throw notFound();
    const ofOthers = caller.role === "owner";
    return {
      response: null,
      write: () => endUserSession(db, target, { ofOthers, versions }, caller, origin),
    };
  },
  settle: (outcome: EndOutcome, attempt: Attempt<unknown>): Settled<UserSession> => {
    switch (outcome.kind) {
      case "not_found":
        throw notFound();
      case "unchanged":
        checkVersion(outcome.session, attempt.expectation.matches);
        throw notFound();
      case "written": {
        const { session } = outcome;
        const caller = requirePerson(attempt.caller);
        const isCurrent = session.id === caller.sessionId;
        if (isCurrent) attempt.set.headers["set-cookie"] = clearedCookie(attempt.dependencies.publicUrl());
        // For another session, the last use is not read. Its sign-in is the last known time.
        const lastSeenAt = isCurrent ? caller.checkedAt : session.createdAt;
        return writtenResource(session, presentUserSession(session, { lastSeenAt, isCurrent }));
      }
      case "stale":
        return outcome;
    }
  },
};

/** Whether the person has an identity of this issuer. */
const isLinked = async (db: Db, { tenantId, id }: PersonCaller, issuer: string): Promise<boolean> =>
  (await findIdentities(db, tenantId, id)).some((identity) => identity.issuer === issuer);

const verificationOf = ({ sessionId }: PersonCaller) => ({ purpose: "verification" as const, subject: sessionId });

type Verification = { assertion: Assertion; challenge: Challenge };
type VerifyAttempt = Attempt<SignIn, Verification>;

/** Verifies the session of the caller by a passkey. */
const VERIFY_SESSION = {
  body: SignIn,
  representation: CURRENT_SESSION,
  lookUp: async ({ body: { credential }, db, caller, dependencies: { passkeys } }: VerifyAttempt) => {
    const person = requirePerson(caller);
    const { credentialId } = passkeys.readAssertion(credential);
    const passkey = await findNamedPasskey(db, { tenantId: person.tenantId, userId: person.id }, credentialId);
    return passkeys.verifyAssertion(credential, passkey, verificationOf(person));
  },
  plan: ({ db, caller: anyCaller, origin }: VerifyAttempt, { assertion, challenge }: Verification) => {
    const caller = requirePerson(anyCaller);
    const { user, tenantName, checkedAt } = caller;
    // Measured by the clock of the database, which the look-up has read.
    const until = verifiedUntil(checkedAt);
    const session = { ...caller.session, verifiedUntil: until, version: caller.session.version + 1 };
    return {
      response: {
        version: session.version,
        body: presentCurrentSession(session, user, tenantName, checkedAt),
      },
      write: (claim: Claim | null) => verifyUserSession(db, caller, assertion, challenge, until, origin, claim),
    };
  },
  settle: (outcome: OutcomeOf<typeof verifyUserSession>) => {
    if (outcome.kind === "refused") throw invalidPasskey();
    return outcome;
  },
};

export const userSessionRoutes = (dependencies: Dependencies) => {
  const { passkeys, oidc } = dependencies;
  return new Elysia({ name: "user-sessions", prefix: "/api/v1/user-sessions" })
    .use(authentication(dependencies))
    .get(
      "/current",
      ({ caller, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const { session, user, tenantName, checkedAt } = requirePerson(caller);
        const body = presentCurrentSession(session, user, tenantName, checkedAt);
        return sendResource(CURRENT_SESSION, body, session, set);
      },
      { scope: "person", detail: OPERATIONS.getCurrentUserSession },
    )
    .delete("/current", ({ write }) => execute(write, END_SESSION), {
      scope: "person",
      detail: OPERATIONS.endCurrentUserSession,
    })
    .post(
      "/current/verification/options",
      async ({ caller, db, request, set, requestContext }) => {
        await readOptionalBody(request, requestContext, Nothing);
        const person = requirePerson(caller);
        const own = await findPasskeys(db, person.tenantId, person.id);
        const publicKey = await passkeys.authenticationOptions(own, verificationOf(person));
        const hasIdentity = oidc !== null && (await isLinked(db, person, oidc.issuer));
        const body = { publicKey, hasPasskey: own.length > 0, oidc: hasIdentity ? shownProvider(dependencies) : null };
        return sendJson(VERIFICATION_OPTIONS, body, set);
      },
      { scope: "person", detail: OPERATIONS.beginVerification },
    )
    .post(
      "/current/verification",
      ({ write, caller }) => {
        // The response belongs to this session. Another session of the person does not get it.
        const path = `/api/v1/user-sessions/${requirePerson(caller).sessionId}/verification`;
        return execute({ ...write, path }, VERIFY_SESSION);
      },
      { scope: "person", detail: OPERATIONS.verifyUserSession },
    )
    .get(
      "",
      listHandler(dependencies, USER_SESSION_LIST, ({ caller, db }, page) => {
        const person = requirePerson(caller);
        return listUserSessions(db, person, person.role === "owner", page);
      }),
      { scope: "person", detail: OPERATIONS.listUserSessions },
    )
    .delete("/:id", ({ write }) => execute(write, END_SESSION), {
      scope: "person",
      detail: OPERATIONS.endUserSession,
    });
};
