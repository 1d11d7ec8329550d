/** Sign-in by OpenID Connect against a real provider: from the page to the provider and back. */
import { afterAll, expect, test } from "bun:test";
import { OidcCallback } from "@realtime-avatar/domain/people/schemas";
import { createOidcBrowser, startOidcServer } from "@realtime-avatar/testing/oidc/provider";
import { type Answer, PUBLIC_URL } from "../../test/support/api.ts";
import {
  ATTEMPT_COOKIE,
  type Begun,
  beginAcceptance,
  beginIdentity,
  beginSignIn,
  beginVerification,
  CALLBACK,
  comeBack,
  dashboardPage,
  personWith,
  readFailure,
  readSetCookie,
  startApiWith,
} from "../../test/support/people/oidc.ts";
import { expireVerification, inviteByOperator, seedPerson } from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const provider = await startOidcServer();
provider.register(PUBLIC_URL + CALLBACK);
const api = await startApiWith(provider.issuer);
afterAll(() => provider.close());

/** Signs in at the provider, and returns to the callback. */
const go = async (begun: Begun, login: string, browser = createOidcBrowser()): Promise<Answer> => {
  const location = await browser.authorize(begun.url.href, login);
  expect(location).toStartWith(`${PUBLIC_URL}${CALLBACK}?`);
  return comeBack(api, location.slice(location.indexOf("?") + 1), begun.cookie);
};

test("a person, invited: joins with an account of the provider and signs in with it", async () => {
  const token = await inviteByOperator(api, { email: "grace@example.com", role: "developer" });
  const begun = await beginAcceptance(api, token, "Grace");
  const joined = await go(begun, "grace-1");
  expect(dashboardPage(joined)).toBe("");
  expect(readSetCookie(joined, ATTEMPT_COOKIE)).toBe("");
  const person = personWith(api, joined);
  const current = await person.call("GET", "/api/v1/user-sessions/current");
  expect(current.body.user).toMatchObject({ email: "grace@example.com", name: "Grace", role: "developer" });

  const again = await go(await beginSignIn(api), "grace-1");
  expect(dashboardPage(again)).toBe("");
  const sessions = (await personWith(api, again).call("GET", "/api/v1/user-sessions")).body.data;
  expect(sessions.map(({ signInMethod }: { signInMethod: string }) => signInMethod)).toEqual(["oidc", "oidc"]);
  const [identity] = (await person.call("GET", "/api/v1/identities")).body.data;
  expect(identity).toMatchObject({ issuer: provider.issuer, subject: "grace-1" });
  // The link is spent.
  expectProblem(
    await api.call("POST", "/api/v1/oidc/acceptance", { body: { token, name: "x" } }),
    "invalid_invitation",
  );
});

test("a provider that has rotated its key: the next sign-in works", async () => {
  const person = await seedPerson(api, "owner");
  expect(dashboardPage(await go(await beginIdentity(person), "rotated-1"))).toBe("/people");
  provider.rotateKey();
  expect(dashboardPage(await go(await beginSignIn(api), "rotated-1"))).toBe("");
});

test("the authorization request of a sign-in: PKCE, nonce, state, and only the scope openid", async () => {
  const { url, cookie } = await beginSignIn(api);
  const { code_challenge, state, nonce, ...rest } = Object.fromEntries(url.searchParams);
  expect(rest).toEqual({
    client_id: "realtime-avatar",
    redirect_uri: PUBLIC_URL + CALLBACK,
    response_type: "code",
    scope: "openid",
    code_challenge_method: "S256",
  });
  for (const text of [code_challenge, state, nonce]) expect(text).toMatch(/^[\w-]{43}$/);
  // The cookie reveals none of them.
  for (const text of [state, nonce, api.tenantId]) {
    expect(cookie).not.toContain(text as string);
    expect(Buffer.from(cookie, "base64url").toString("latin1")).not.toContain(text as string);
  }
});

test("the attempt cookie, set: HttpOnly, Lax, Secure, ten minutes", async () => {
  const answer = await api.call("POST", "/api/v1/oidc/sign-in", { body: { tenantId: api.tenantId } });
  const [header = ""] = answer.headers.getSetCookie();
  const [pair, ...attributes] = header.split("; ");
  expect(pair).toStartWith(`${ATTEMPT_COOKIE}=`);
  expect(attributes).toEqual(["Path=/", "HttpOnly", "SameSite=Lax", "Secure", "Max-Age=600"]);
});

test("a person, after linking an account: verifies with it; the provider prompts again", async () => {
  const person = await seedPerson(api, "owner");
  const browser = createOidcBrowser();
  expect(dashboardPage(await go(await beginIdentity(person), "linked-1", browser))).toBe("/people");
  await expireVerification(api.database, person);
  const invite = () => person.call("POST", "/api/v1/invitations", { email: "new@example.com", role: "viewer" });
  expectProblem(await invite(), "passkey_required");

  const options = await person.call("POST", "/api/v1/user-sessions/current/verification/options");
  expect(options.body).toMatchObject({ hasPasskey: true, oidc: { name: "Example Login" } });
  const begun = await beginVerification(person, "/usage");
  expect(Object.fromEntries(begun.url.searchParams)).toMatchObject({ prompt: "login", max_age: "0" });
  // The browser has a session of the provider, but the provider prompts again.
  expect(dashboardPage(await go(begun, "linked-1", browser))).toBe("/usage");
  expect(dashboardPage(await go(await beginVerification(person, "/"), "linked-1", browser))).toBe("");
  expect((await invite()).status).toBe(201);
});

test("a verification, as another account: refused", async () => {
  const person = await seedPerson(api, "owner");
  await go(await beginIdentity(person), "mine");
  const other = await seedPerson(api, "owner");
  await go(await beginIdentity(other), "theirs");
  for (const login of ["theirs", "unknown"]) {
    expect(readFailure(await go(await beginVerification(person), login))).toBe("unknown_identity");
  }
});

test("an unlinked account with a person's e-mail address: no sign-in", async () => {
  await inviteByOperator(api, { email: "victim@example.com", role: "owner" });
  const person = await seedPerson(api, "owner");
  const login = person.email.split("@")[0] as string;
  const before = (await api.database.db.client`select 1 from user_sessions`).length;
  // At the provider, this account has the person's e-mail address, which is verified there.
  expect(readFailure(await go(await beginSignIn(api), login))).toBe("unknown_identity");
  expect(readFailure(await go(await beginSignIn(api), "victim"))).toBe("unknown_identity");
  expect((await api.database.db.client`select 1 from user_sessions`).length).toBe(before);
});

test("the log, after a sign-in: no code, token, state or secret", async () => {
  api.log.length = 0;
  const begun = await beginSignIn(api);
  const location = await createOidcBrowser().authorize(begun.url.href, "grace-1");
  const answer = await comeBack(api, location.slice(location.indexOf("?") + 1), begun.cookie);
  expect(dashboardPage(answer)).toBe("");
  await comeBack(api, location.slice(location.indexOf("?") + 1), begun.cookie);
  const log = api.log.join("");
  expect(log).toContain(CALLBACK);
  const code = new URL(location).searchParams.get("code") as string;
  for (const secret of [
    code,
    begun.state,
    begun.nonce,
    begun.cookie,
    "rta_session_",
    "eyJ",
    "the secret of the tests",
  ]) {
    expect(log).not.toContain(secret);
  }
});

test("a callback with every parameter at its maximum length, percent-encoded: a page instead of a 431", async () => {
  const begun = await beginSignIn(api);
  const query = Object.entries(OidcCallback.properties).map(([name, { maxLength }]) => {
    return `${name}=${encodeURIComponent((name === "state" ? "x" : "%").repeat(Number(maxLength)))}`;
  });
  expect(readFailure(await comeBack(api, query.join("&"), begun.cookie))).toBe("expired");
});
