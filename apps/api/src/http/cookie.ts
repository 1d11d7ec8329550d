/**
 * The cookies of sessions and of OIDC attempts. A browser also sends cookies with requests from pages of other origins,
 * so the cookie alone is not enough (OWASP ASVS 5.0 §3.5). A request must come from a page of this service, according
 * to its headers, and must have a header that no form can send.
 */
import { ENVIRONMENTS, type Environment } from "@realtime-avatar/domain/environment";
import { OIDC_ATTEMPT_MS } from "@realtime-avatar/domain/people/oidc-attempt";
import { SESSION_MS } from "@realtime-avatar/domain/people/people";
import { parseToken, type SessionToken } from "@realtime-avatar/domain/people/tokens";

/** The header that selects the environment of a person's request. */
export const ENVIRONMENT_HEADER = "realtime-avatar-environment";

/**
 * The name of the cookie. A browser accepts the prefix `__Host-` only over https, from this host and for every path,
 * and no other host can set such a cookie. Without https, only localhost is possible. There, the name contains the
 * port, because cookies ignore ports. So a service on another port of localhost also receives this cookie, and can set
 * it (docs/people.md).
 */
export const cookieName = (publicUrl: string, kind: "session" | "oidc" = "session"): string => {
  const { protocol, port } = new URL(publicUrl);
  return protocol === "https:" ? `__Host-realtime-avatar-${kind}` : `realtime-avatar-${kind}-${port || "80"}`;
};

const attributes = (publicUrl: string, sameSite: "Strict" | "Lax" = "Strict"): string =>
  `Path=/; HttpOnly; SameSite=${sameSite}${publicUrl.startsWith("https:") ? "; Secure" : ""}`;

/** The `Set-Cookie` of a new session. */
export const sessionCookie = (publicUrl: string, token: SessionToken): string =>
  `${cookieName(publicUrl)}=${token.reveal()}; ${attributes(publicUrl)}; Max-Age=${SESSION_MS / 1000}`;

/** The `Set-Cookie` that deletes the cookie. */
export const clearedCookie = (publicUrl: string): string =>
  `${cookieName(publicUrl)}=; ${attributes(publicUrl)}; Max-Age=0`;

/**
 * The white space around a cookie (RFC 6265 §5.4). `trim` would also remove the byte A0. To a browser, a name that
 * begins with this byte has no `__Host-` prefix, so another host of the site can set it.
 */
const WHITE_SPACE = /^[ \t]+|[ \t]+$/g;

/** The value of the cookie of this name; null when it is missing or repeated. */
const cookieOf = (header: string | null, name: string): string | null => {
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.replace(WHITE_SPACE, ""))
    .filter((pair) => pair.startsWith(`${name}=`));
  return values.length === 1 ? (values[0] as string).slice(name.length + 1) : null;
};

/**
 * The `Set-Cookie` of an OIDC attempt. It is Lax, because a browser does not send a Strict cookie when the provider
 * redirects it back. Only the callback reads it.
 */
export const attemptCookie = (publicUrl: string, sealed: string): string =>
  `${cookieName(publicUrl, "oidc")}=${sealed}; ${attributes(publicUrl, "Lax")}; Max-Age=${OIDC_ATTEMPT_MS / 1000}`;

/** The `Set-Cookie` that deletes the cookie of an OIDC attempt. */
export const clearedAttemptCookie = (publicUrl: string): string =>
  `${cookieName(publicUrl, "oidc")}=; ${attributes(publicUrl, "Lax")}; Max-Age=0`;

/** The sealed attempt of a request; null when the cookie is missing or repeated. */
export const presentedAttempt = ({ headers }: Request, publicUrl: string): string | null =>
  cookieOf(headers.get("cookie"), cookieName(publicUrl, "oidc"));

const isEnvironment = (text: string | null): text is Environment => ENVIRONMENTS.some((one) => one === text);

/** Whether a page of another origin has sent the request, as far as its headers show. */
export const isForeign = ({ headers }: Request, publicUrl: string): boolean => {
  const [origin, site] = [headers.get("origin"), headers.get("sec-fetch-site")];
  return (origin !== null && origin !== publicUrl) || (site !== null && site !== "same-origin");
};

/**
 * The session that a request presents, and its environment; null without a usable cookie. A browser sends `Origin` with
 * every request that can write.
 */
export const presentedSession = (
  request: Request,
  publicUrl: string,
): { token: SessionToken; environment: Environment } | null => {
  const { headers, method } = request;
  const environment = headers.get(ENVIRONMENT_HEADER);
  const isRead = method === "GET" || method === "HEAD";
  if (headers.get("sec-fetch-site") !== "same-origin" || isForeign(request, publicUrl)) return null;
  if (!isRead && headers.get("origin") === null) return null;
  if (!isEnvironment(environment)) return null;
  const token = parseToken("session", cookieOf(headers.get("cookie"), cookieName(publicUrl)) ?? "");
  return token && { token, environment };
};
