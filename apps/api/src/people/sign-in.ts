/** The common part of the routes that sign people in. */
import { findUserSession } from "@realtime-avatar/db/people/user-sessions";
import { presentCurrentSession } from "@realtime-avatar/domain/people/people";
import { CurrentSession } from "@realtime-avatar/domain/people/schemas";
import type { SessionToken } from "@realtime-avatar/domain/people/tokens";
import { Problem } from "@realtime-avatar/domain/problem";
import type { Dependencies } from "../dependencies.ts";
import { entityTag } from "../http/conditional.ts";
import { isForeign, sessionCookie } from "../http/cookie.ts";
import { createNetworkLimit } from "../http/limits/rate-limit.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type ResponseHead, responseText, sendText } from "../http/response.ts";

/** Maximum number of requests without credentials of one client in a minute. A sign-in takes two requests. */
const REQUESTS_PER_MINUTE = 60;
const MAX_USER_AGENT = 512;

export const CURRENT_SESSION = { schema: CurrentSession, toText: JSON.stringify };

/** The `User-Agent` of the browser, shortened. It is only displayed to people. */
export const readUserAgent = ({ headers }: Request): string | null => {
  const text = headers.get("user-agent");
  return text === null ? null : [...text.slice(0, MAX_USER_AGENT)].join("").toWellFormed();
};

/**
 * Checks a request without credentials. Limits the rate by the address. Refuses requests from pages of other origins,
 * which could otherwise sign the browser in as another person.
 */
export const createAnonymousCheck = (dependencies: Dependencies): ((request: Request) => Promise<void>) => {
  const what = `make ${REQUESTS_PER_MINUTE} requests without credentials`;
  const checkRate = createNetworkLimit("sign-in", REQUESTS_PER_MINUTE, what, dependencies);
  return async (request) => {
    await checkRate(request);
    if (isForeign(request, dependencies.publicUrl())) {
      throw new Problem("foreign_origin", "The request comes from a page of another origin.");
    }
  };
};

/** The OIDC provider as the API shows it; null without one. */
export const shownProvider = ({ oidc }: Dependencies): { name: string } | null => oidc && { name: oidc.name };

/** Sends the new session and its cookie. */
export const sendNewSession = async (
  { databases, publicUrl }: Dependencies,
  token: SessionToken,
  context: RequestContext,
  set: ResponseHead,
): Promise<string> => {
  const stored = await findUserSession(databases.ofTenant(token.tenantId).until(context), token);
  // The session was ended meanwhile.
  if (!stored) throw new Problem("invalid_session", "The session has ended. Sign in again.");
  const { session, user, tenantName, checkedAt } = stored.person;
  const text = responseText(CURRENT_SESSION, presentCurrentSession(session, user, tenantName, checkedAt));
  set.headers["set-cookie"] = sessionCookie(publicUrl(), token);
  return sendText(text, { status: 201, location: "/api/v1/user-sessions/current", etag: entityTag(session) }, set);
};
