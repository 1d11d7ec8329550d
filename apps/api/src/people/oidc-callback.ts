/** The end of an OIDC attempt. Every outcome is a redirect to a page of the dashboard. */

import type { PersonCaller } from "@realtime-avatar/db/callers/callers";
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { findIdentity, insertIdentity } from "@realtime-avatar/db/people/identities";
import { acceptInvitation } from "@realtime-avatar/db/people/invitations";
import {
  findUserSession,
  inEnvironment,
  insertUserSession,
  verifyUserSession,
} from "@realtime-avatar/db/people/user-sessions";
import { retryWhileStale } from "@realtime-avatar/db/query/retry-while-stale";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import {
  hasState,
  isForSession,
  type OidcAttempt,
  type OidcPurpose,
  type OidcSession,
  openOidcAttempt,
  spentAttempt,
} from "@realtime-avatar/domain/people/oidc-attempt";
import type { OidcFailure } from "@realtime-avatar/domain/people/oidc-pages";
import {
  type IdentityRecord,
  newUserSession,
  PEOPLE_ENVIRONMENT,
  type UserRecord,
  verifiedUntil,
} from "@realtime-avatar/domain/people/people";
import type { SessionToken } from "@realtime-avatar/domain/people/tokens";
import { Problem } from "@realtime-avatar/domain/problem";
import type { Dependencies } from "../dependencies.ts";
import { clearedAttemptCookie, presentedAttempt, sessionCookie } from "../http/cookie.ts";
import { requirePasskey } from "../http/person.ts";
import { runWrite, toProblem } from "../http/problem.ts";
import { type RequestContext, requestOrigin, untimed } from "../http/request-context.ts";
import type { ResponseHead } from "../http/response.ts";
import { findValidInvitation, invitedUserId } from "./invitations.ts";
import { OidcError, type OidcPerson } from "./oidc-provider.ts";
import { readUserAgent } from "./sign-in.ts";

/** A request from the provider that ends the attempt of its browser. */
type Callback<Purpose extends OidcPurpose = OidcPurpose> = {
  dependencies: Dependencies;
  db: Db;
  attempt: OidcAttempt & { purpose: Purpose };
  person: OidcPerson;
  request: Request;
  context: RequestContext;
};
type CallbackOf<Kind extends OidcPurpose["kind"]> = Callback<Extract<OidcPurpose, { kind: Kind }>>;

/** The page to which a successful attempt redirects, below `/dashboard`, and the new session, if any. */
/** The home page of the dashboard. */
const HOME = "";

type Success = { page: string; session: SessionToken | null };

/**
 * When the verification of a session ends. The provider may have prompted the person long before, or may send no time
 * of the prompt. Operations that need the passkey then ask for a new verification.
 */
const verifiedBy = ({ authenticatedAt }: OidcPerson, now: Date): Date =>
  authenticatedAt === null ? now : verifiedUntil(authenticatedAt < now ? authenticatedAt : now);

const endSignIn = async ({
  dependencies,
  db,
  attempt,
  person,
  request,
  context,
}: CallbackOf<"sign_in">): Promise<Success> => {
  const { tenantId } = attempt;
  const identity = await findIdentity(db, tenantId, person);
  if (!identity) throw new OidcError("unknown_identity");
  const { id: identityId, userId } = identity;
  context.userId = userId;
  const origin = requestOrigin(dependencies, null, context);
  const { now } = origin;
  const signedIn = newUserSession(
    {
      tenantId,
      userId,
      passkeyId: null,
      identityId,
      userAgent: readUserAgent(request),
      verifiedUntil: verifiedBy(person, now),
    },
    origin,
  );
  const use = { tenantId, identityId, userId, usedAt: now };
  const isWritten = await runWrite(() => insertUserSession(db, signedIn, use, spentAttempt(attempt), origin));
  if (!isWritten) throw new OidcError("expired", "spent");
  return { page: HOME, session: signedIn.token };
};

/** The write of an accepted invitation. */
const acceptanceOf = (
  { dependencies, attempt, person, request, context }: CallbackOf<"acceptance">,
  invitation: Invited,
) => {
  const { tenantId, email, role } = invitation;
  const origin = requestOrigin(dependencies, null, context);
  const { now, random } = origin;
  const userId = invitedUserId(invitation);
  const { issuer, subject } = person;
  const { name } = attempt.purpose;
  const user: UserRecord = { tenantId, id: userId, email, name, role, version: 1, createdAt: now, lastSeenAt: null };
  const identity: IdentityRecord = {
    tenantId,
    id: newId("idn", now, random),
    userId,
    issuer,
    subject,
    createdAt: now,
    lastUsedAt: now,
  };
  const of = { tenantId, userId, passkeyId: null, identityId: identity.id, userAgent: readUserAgent(request) };
  const signedIn = newUserSession({ ...of, verifiedUntil: verifiedBy(person, now) }, origin);
  const isNew = invitation.userId === null;
  const challenge = spentAttempt(attempt);
  return { origin, acceptance: { ...signedIn, user: isNew ? user : null, passkey: null, identity, challenge } };
};
type Invited = Awaited<ReturnType<typeof findValidInvitation>>["invitation"];

const endAcceptance = async (callback: CallbackOf<"acceptance">): Promise<Success> => {
  const { dependencies, db, attempt, context } = callback;
  const { invitation } = await findValidInvitation(dependencies, attempt.purpose.token, context);
  // The attempt is sealed. Its token contains the tenant. A difference is a defect.
  if (invitation.tenantId !== attempt.tenantId) throw new OidcError("invalid_invitation");
  const { acceptance, origin } = acceptanceOf(callback, invitation);
  context.userId = invitedUserId(invitation);
  const { kind } = await runWrite(() => acceptInvitation(db, invitation, acceptance, origin));
  switch (kind) {
    case "written":
      return { page: HOME, session: acceptance.token };
    case "invalid_invitation":
    case "already_member":
      throw new OidcError(kind);
    case "over_quota":
      throw new OidcError("quota_exceeded");
    case "taken":
      throw new OidcError("identity_taken");
    case "refused":
      throw new OidcError("expired", "spent");
  }
};

/** A callback of an attempt that began in a session. */
type OfSession = Pick<Callback, "db" | "context"> & { attempt: { tenantId: TenantId; purpose: OidcSession } };

/**
 * The person of the session in which the attempt began. The session cookie is Strict, so the browser does not send it
 * with a redirect from the provider. The sealed attempt names the session instead.
 */
const callerOf = async ({ db, attempt, context }: OfSession): Promise<PersonCaller> => {
  const stored = await findUserSession(db, { tenantId: attempt.tenantId, id: attempt.purpose.sessionId });
  if (!stored?.isLive || !isForSession(attempt.purpose, stored.digest)) throw new OidcError("session_ended");
  context.userId = stored.person.id;
  return inEnvironment(stored.person, PEOPLE_ENVIRONMENT);
};

const endIdentity = async (callback: CallbackOf<"identity">): Promise<Success> => {
  const { dependencies, db, attempt, person, context } = callback;
  const { kind } = await retryWhileStale(async () => {
    // Checked again, because an attempt can last longer than a verification.
    const caller = requirePasskey(await callerOf(callback));
    const origin = requestOrigin(dependencies, caller, context);
    const identity: IdentityRecord = {
      tenantId: caller.tenantId,
      id: newId("idn", origin.now, origin.random),
      userId: caller.id,
      issuer: person.issuer,
      subject: person.subject,
      createdAt: origin.now,
      lastUsedAt: null,
    };
    return runWrite(() => insertIdentity(db, identity, spentAttempt(attempt), caller, origin));
  });
  switch (kind) {
    case "written":
      return { page: "/people", session: null };
    case "over_quota":
      throw new OidcError("quota_exceeded");
    case "taken":
      throw new OidcError("identity_taken");
    case "refused":
      throw new OidcError("expired", "spent");
  }
};

const endVerification = async (callback: CallbackOf<"verification">): Promise<Success> => {
  const { dependencies, db, attempt, person, context } = callback;
  const { returnTo, environment } = attempt.purpose;
  const { kind } = await retryWhileStale(async () => {
    const caller = await callerOf(callback);
    const identity = await findIdentity(db, caller.tenantId, person);
    if (identity?.userId !== caller.id) throw new OidcError("unknown_identity");
    const origin = requestOrigin(dependencies, caller, context);
    const { tenantId, id: userId } = caller;
    const use = { tenantId, identityId: identity.id, userId, usedAt: origin.now };
    // Measured by the clock of the database, which the look-up has read.
    const until = verifiedBy(person, caller.checkedAt);
    return runWrite(() => verifyUserSession(db, caller, use, spentAttempt(attempt), until, origin));
  });
  if (kind === "refused") throw new OidcError("expired", "spent");
  const page = returnTo === "/" ? HOME : returnTo;
  return { page: `${page}${environment === "test" ? "?environment=test" : ""}`, session: null };
};

const endAttempt = (callback: Callback): Promise<Success> => {
  const { purpose } = callback.attempt;
  switch (purpose.kind) {
    case "sign_in":
      return endSignIn({ ...callback, attempt: { ...callback.attempt, purpose } });
    case "acceptance":
      return endAcceptance({ ...callback, attempt: { ...callback.attempt, purpose } });
    case "identity":
      return endIdentity({ ...callback, attempt: { ...callback.attempt, purpose } });
    case "verification":
      return endVerification({ ...callback, attempt: { ...callback.attempt, purpose } });
  }
};

/**
 * The parameters of the response. A repeated parameter is a failure (RFC 6749 §3.1), because two readers could use
 * different values.
 */
const parametersOf = ({ url }: Request): URLSearchParams => {
  const start = url.indexOf("?");
  const parameters = new URLSearchParams(start === -1 ? "" : url.slice(start));
  const names = [...parameters.keys()];
  if (new Set(names).size !== names.length) throw new OidcError("not_accepted", "repeated_parameter");
  return parameters;
};

/** The attempt in the cookie, if the response belongs to it. */
const attemptOf = (
  { publicUrl, sessionSecret, clock }: Dependencies,
  request: Request,
  parameters: URLSearchParams,
): OidcAttempt => {
  const sealed = presentedAttempt(request, publicUrl());
  if (sealed === null) throw new OidcError("expired", "no_cookie");
  const attempt = openOidcAttempt(sealed, sessionSecret, clock());
  if (!attempt) throw new OidcError("expired", "cookie");
  if (!hasState(attempt, parameters.get("state") ?? "")) throw new OidcError("expired", "state");
  return attempt;
};

/** The problems that the page explains. All others are failures of the service. */
const FAILURES: Partial<Record<Problem["code"], OidcFailure>> = {
  invalid_invitation: "invalid_invitation",
  passkey_required: "not_verified",
  rate_limited: "rate_limited",
};

/** The failure behind an error. It is logged without the parameters of the request and without text of the provider. */
const failureOf = (error: unknown, { log }: Dependencies, { requestId }: RequestContext): OidcFailure => {
  const failure =
    error instanceof OidcError ? error.failure : (error instanceof Problem && FAILURES[error.code]) || "unavailable";
  const line = { requestId, failure, reason: error instanceof OidcError ? error.reason : undefined };
  if (failure !== "unavailable") log.info(line, "a sign-in by OIDC failed");
  else log.error({ ...line, error: describeError(error), problem: toProblem(error).code }, "a sign-in by OIDC failed");
  return failure;
};

const pageOfFailure = (failure: OidcFailure, attempt: OidcAttempt | null): string =>
  `/sign-in?${new URLSearchParams({ ...(attempt && { tenant: attempt.tenantId }), problem: failure })}`;

/** Ends an attempt, and redirects. */
export const endOidcAttempt = async (
  dependencies: Dependencies,
  checkRate: (request: Request) => Promise<void>,
  request: Request,
  context: RequestContext,
  set: ResponseHead,
): Promise<string> => {
  const { oidc, publicUrl } = dependencies;
  const cookies: string[] = [];
  let attempt: OidcAttempt | null = null;
  let page: string;
  try {
    await checkRate(request);
    // A HEAD request, which programs send to check an address, must not spend the attempt.
    if (!oidc || request.method !== "GET") throw new OidcError("expired", "method");
    const parameters = parametersOf(request);
    const begun = attemptOf(dependencies, request, parameters);
    attempt = begun;
    context.tenantId = begun.tenantId;
    // The response belongs to the attempt, so the attempt is over with any outcome.
    cookies.push(clearedAttemptCookie(publicUrl()));
    if (parameters.get("error") === "access_denied") throw new OidcError("denied");
    const person = await untimed(context, () => oidc.exchange(begun, parameters));
    const db = dependencies.databases.ofTenant(begun.tenantId).until(context);
    const success = await endAttempt({ dependencies, db, attempt: begun, person, request, context });
    if (success.session) cookies.push(sessionCookie(publicUrl(), success.session));
    page = success.page;
  } catch (error) {
    page = pageOfFailure(failureOf(error, dependencies, context), attempt);
  }
  set.status = 303;
  set.headers["location"] = `${publicUrl()}/dashboard${page}`;
  set.headers["referrer-policy"] = "no-referrer";
  // Elysia sends a list as one header for each item, but its type of `set` has no lists.
  if (cookies.length > 0) (set.headers as Record<string, unknown>)["set-cookie"] = cookies;
  return "";
};
