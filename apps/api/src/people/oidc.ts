/**
 * `/api/v1/oidc`: sign-in by OpenID Connect. A page begins an attempt, which is sealed into a cookie, and redirects the
 * browser to the provider. The provider redirects it back to the callback, which ends the attempt and redirects to a
 * page.
 */
import type { AnyCaller } from "@realtime-avatar/db/callers/callers";
import { isId, type TenantId } from "@realtime-avatar/domain/id";
import {
  newOidcAttempt,
  type OidcPurpose,
  type OidcSession,
  sealOidcAttempt,
} from "@realtime-avatar/domain/people/oidc-attempt";
import {
  BeginOidcAcceptance,
  BeginOidcSignIn,
  BeginOidcVerification,
  Nothing,
  OidcCallback,
  OidcRedirect,
} from "@realtime-avatar/domain/people/schemas";
import { digestToken, PersonToken } from "@realtime-avatar/domain/people/tokens";
import { Problem, validationFailed } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readBody, readOptionalBody } from "../http/body.ts";
import { attemptCookie } from "../http/cookie.ts";
import type { CallerSecret } from "../http/idempotency.ts";
import { createNetworkLimit } from "../http/limits/rate-limit.ts";
import { operations } from "../http/operation.ts";
import { requirePasskey, requirePerson } from "../http/person.ts";
import { type RequestContext, untimed, withRequestContext } from "../http/request-context.ts";
import { type ResponseHead, sendJson } from "../http/response.ts";
import { findValidInvitation } from "./invitations.ts";
import { endOidcAttempt } from "./oidc-callback.ts";
import { createAnonymousCheck } from "./sign-in.ts";

/** The common part of the operations that begin an attempt. */
const begin = (summary: string, description: string) => ({
  summary,
  description: `${description} The response contains the address of the provider, to which the page redirects the browser. Its cookie binds the attempt to the browser for ten minutes. Without a provider, the response is 404.`,
  success: {
    status: 200 as const,
    description: "The address. `Set-Cookie` contains the sealed attempt.",
    schema: OidcRedirect,
  },
  setsCookie: true as const,
});

const OPERATIONS = operations({
  beginOidcSignIn: {
    ...begin("Begin to sign in by OpenID Connect", "Begins a sign-in to a tenant. Requires no credentials."),
    body: BeginOidcSignIn,
    problems: ["rate_limited", "foreign_origin", "not_found", "provider_unavailable"],
  },
  beginOidcAcceptance: {
    ...begin(
      "Begin to accept an invitation by OpenID Connect",
      "Begins the acceptance of an invitation with an account at the provider, in place of a passkey. The link stays valid until the provider redirects back. `name` is the name of a new user. Requires no credentials.",
    ),
    body: BeginOidcAcceptance,
    problems: ["rate_limited", "foreign_origin", "not_found", "invalid_invitation", "provider_unavailable"],
  },
  beginOidcIdentity: {
    ...begin("Begin to link an identity", "Begins to link an account at the provider to the caller."),
    body: Nothing,
    isBodyOptional: true,
    createsNothing: true,
    problems: ["passkey_required", "not_found", "provider_unavailable"],
  },
  beginOidcVerification: {
    ...begin(
      "Begin to verify the session by OpenID Connect",
      "Begins a verification of the session: the provider prompts the person again. For five minutes after it, the session may call operations that need the passkey.",
    ),
    body: BeginOidcVerification,
    createsNothing: true,
    problems: ["not_found", "provider_unavailable"],
  },
  endOidcAttempt: {
    summary: "Come back from the provider",
    description:
      "The provider redirects the browser here. Ends the attempt of the cookie, once, and redirects to a page of the dashboard: with a new session after a sign-in, or to the sign-in page with the code of a failure. Unknown parameters are ignored. A repeated parameter is a failure.",
    query: OidcCallback,
    success: { status: 303, description: "The page. `Set-Cookie` deletes the attempt, and may contain a session." },
    setsCookie: true,
  },
});

/** Maximum number of callbacks of one client in a minute. */
const CALLBACKS_PER_MINUTE = 60;
const REDIRECT = { schema: OidcRedirect, toText: JSON.stringify };

/** Begins an attempt: sets its cookie, and sends the address of the provider. */
const sendBegin = async (
  { oidc, publicUrl, sessionSecret, clock, random }: Dependencies,
  tenantId: TenantId,
  purpose: OidcPurpose,
  context: RequestContext,
  set: ResponseHead,
): Promise<string> => {
  if (!oidc) throw new Problem("not_found", "This service has no sign-in by OpenID Connect.");
  const attempt = newOidcAttempt(tenantId, purpose, { now: clock(), random });
  const url = await untimed(context, () => oidc.authorizationUrl(attempt));
  set.headers["set-cookie"] = attemptCookie(publicUrl(), sealOidcAttempt(attempt, sessionSecret, random));
  return sendJson(REDIRECT, { url }, set);
};

/** An unknown tenant begins an attempt like any other, so that the response does not reveal which tenants exist. */
const readTenantId = (text: string): TenantId => {
  if (isId("ten", text)) return text;
  throw validationFailed([{ pointer: "#/tenantId", code: "not_allowed", detail: "Must be the id of a tenant." }]);
};

/** The routes without credentials. */
export const oidcRoutes = (dependencies: Dependencies) => {
  const check = createAnonymousCheck(dependencies);
  const what = `come back from the provider ${CALLBACKS_PER_MINUTE} times`;
  const checkRate = createNetworkLimit("oidc-callback", CALLBACKS_PER_MINUTE, what, dependencies);
  return new Elysia({ name: "oidc", prefix: "/api/v1/oidc" })
    .use(withRequestContext)
    .post(
      "/sign-in",
      async ({ request, set, requestContext }) => {
        await check(request);
        const body = await readBody(request, requestContext, BeginOidcSignIn);
        const tenantId = readTenantId(body.tenantId);
        return sendBegin(dependencies, tenantId, { kind: "sign_in" }, requestContext, set);
      },
      { detail: OPERATIONS.beginOidcSignIn },
    )
    .post(
      "/acceptance",
      async ({ request, set, requestContext }) => {
        await check(request);
        const { token, name } = await readBody(request, requestContext, BeginOidcAcceptance);
        const { invitation } = await findValidInvitation(dependencies, token, requestContext);
        return sendBegin(dependencies, invitation.tenantId, { kind: "acceptance", token, name }, requestContext, set);
      },
      { detail: OPERATIONS.beginOidcAcceptance },
    )
    .get(
      "/callback",
      async ({ request, set, requestContext }) => endOidcAttempt(dependencies, checkRate, request, requestContext, set),
      { detail: OPERATIONS.endOidcAttempt },
    );
};

/** The session of the request, in which an attempt begins. */
const sessionOf = (caller: AnyCaller, secret: CallerSecret): OidcSession => {
  // Only people have a session, and only session tokens authenticate people.
  const digest = secret instanceof PersonToken ? Buffer.from(digestToken(secret)).toString("base64url") : "";
  return { sessionId: requirePerson(caller).sessionId, digest };
};

/** The routes that need a session. */
export const oidcRoutesOfPeople = (dependencies: Dependencies) =>
  new Elysia({ name: "oidc-of-people", prefix: "/api/v1/oidc" })
    .use(authentication(dependencies))
    .post(
      "/identity",
      async ({ caller, secret, request, set, requestContext }) => {
        await readOptionalBody(request, requestContext, Nothing);
        requirePasskey(caller);
        const purpose = { kind: "identity", ...sessionOf(caller, secret) } as const;
        return sendBegin(dependencies, caller.tenantId, purpose, requestContext, set);
      },
      { scope: "person", detail: OPERATIONS.beginOidcIdentity },
    )
    .post(
      "/verification",
      async ({ caller, secret, request, set, requestContext }) => {
        const { returnTo } = await readBody(request, requestContext, BeginOidcVerification);
        const { environment } = caller;
        const purpose = { kind: "verification", returnTo, environment, ...sessionOf(caller, secret) } as const;
        return sendBegin(dependencies, caller.tenantId, purpose, requestContext, set);
      },
      { scope: "person", detail: OPERATIONS.beginOidcVerification },
    );
