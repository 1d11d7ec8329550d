/** Attacks on sign-in by OpenID Connect. The provider of these tests signs any token. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { newOidcAttempt, sealOidcAttempt } from "@realtime-avatar/domain/people/oidc-attempt";
import { Secret } from "@realtime-avatar/storage/secret";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { callAnew, PUBLIC_URL } from "../../test/support/api.ts";
import { startFakeProvider } from "../../test/support/people/fake-provider.ts";
import {
  ATTEMPT_COOKIE,
  beginAcceptance,
  beginIdentity,
  beginSignIn,
  beginVerification,
  begunBy,
  CALLBACK,
  callbackQuery,
  comeBack,
  dashboardPage,
  endAs,
  oidcConfig,
  personWith,
  readFailure,
  readSession,
  readSetCookie,
  startApiWith,
} from "../../test/support/people/oidc.ts";
import {
  COOKIE,
  expireVerification,
  inviteByOperator,
  pageHeaders,
  seedPerson,
} from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

let clockAheadMs = 0;
const fake = startFakeProvider();
const api = await startApiWith(fake.issuer, () => new Date(Date.now() + clockAheadMs));
afterAll(() => fake.stop());
beforeEach(() => {
  fake.reset();
  clockAheadMs = 0;
});

let accounts = 0;
/** A person with an account of the provider. */
const seedMember = async (role: "owner" | "viewer" = "viewer", tenant = api.tenantId) => {
  accounts++;
  const sub = `account-${accounts}`;
  const token = await inviteByOperator(api, { email: `${sub}@example.com`, role, tenant });
  const answer = await endAs(api, fake, await beginAcceptance(api, token), sub);
  expect(dashboardPage(answer)).toBe("");
  const cookie = readSession(answer) as string;
  return { sub, cookie, ...personWith(api, answer) };
};

const sessions = async (): Promise<number> => (await api.database.db.client`select 1 from user_sessions`).length;
/** Expects that an attempt has failed with this code, and opened no session. */
const expectFailure = (answer: Awaited<ReturnType<typeof comeBack>>, code: string): void => {
  expect(readFailure(answer)).toBe(code);
  expect(readSession(answer)).toBeNull();
};

describe("the callback of the provider", () => {
  test("a callback, sent three times at once: one session", async () => {
    const { sub } = await seedMember();
    const before = await sessions();
    const begun = await beginSignIn(api);
    fake.claims = { sub };
    const query = callbackQuery(fake, begun);
    const answers = await Promise.all([1, 2, 3].map(() => comeBack(api, query, begun.cookie)));
    expect(answers.filter((answer) => readSession(answer) !== null)).toHaveLength(1);
    expectFailure(await comeBack(api, query, begun.cookie), "expired");
    // A new code does not renew the attempt.
    expectFailure(await comeBack(api, callbackQuery(fake, begun, { code: "other" }), begun.cookie), "expired");
    expect(await sessions()).toBe(before + 1);
  });

  test("a callback, in another browser: refused without a request to the provider", async () => {
    const { sub } = await seedMember();
    const [mine, theirs] = [await beginSignIn(api), await beginSignIn(api)];
    fake.exchanges.length = 0;
    fake.claims = { sub };
    const query = callbackQuery(fake, mine);
    for (const cookie of [null, theirs.cookie, "", "x"]) expectFailure(await comeBack(api, query, cookie), "expired");
    expect(fake.exchanges).toHaveLength(0);
    // The attempt of the first browser is still valid.
    expect(readSetCookie(await comeBack(api, query, theirs.cookie), ATTEMPT_COOKIE)).toBeNull();
  });

  test("a callback, with two attempt cookies: refused", async () => {
    const { sub } = await seedMember();
    const begun = await beginSignIn(api);
    fake.claims = { sub };
    const other = (await beginSignIn(api)).cookie;
    expectFailure(
      await comeBack(api, callbackQuery(fake, begun), `${begun.cookie}; ${ATTEMPT_COOKIE}=${other}`),
      "expired",
    );
  });

  test.each(["", "x", null])("a callback, with the state %p: refused", async (state) => {
    const { sub } = await seedMember();
    const begun = await beginSignIn(api);
    fake.claims = { sub };
    expectFailure(await comeBack(api, callbackQuery(fake, begun, { state }), begun.cookie), "expired");
  });

  test("a callback, after ten minutes: refused", async () => {
    const { sub } = await seedMember();
    const begun = await beginSignIn(api);
    clockAheadMs = 10 * 60_000 + 1;
    expectFailure(await endAs(api, fake, begun, sub), "expired");
  });

  test("a callback whose cookie is changed or sealed by another secret: refused", async () => {
    const { sub } = await seedMember();
    const begun = await beginSignIn(api);
    fake.claims = { sub };
    const query = callbackQuery(fake, begun);
    const bytes = Buffer.from(begun.cookie, "base64url");
    for (const at of [0, 12, 40, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      expectFailure(await comeBack(api, query, changed.toString("base64url")), "expired");
    }
    const attempt = newOidcAttempt(api.tenantId, { kind: "sign_in" }, { now: new Date(), random });
    const forged = sealOidcAttempt(attempt, new Secret("a secret that is not the one of the service"), random);
    expectFailure(await comeBack(api, callbackQuery(fake, begun, { state: attempt.state }), forged), "expired");
    // The key is derived for attempts only, so no other sealed text of the service is accepted.
    expectFailure(await comeBack(api, query, (await seedMember()).cookie), "expired");
  });

  test("a callback, begun for one tenant: no sign-in to another tenant with the same account", async () => {
    const tenant = await seedTenant(api.database.db);
    const { sub } = await seedMember();
    expectFailure(await endAs(api, fake, await beginSignIn(api, tenant), sub), "unknown_identity");
    const token = await inviteByOperator(api, { email: "both@example.com", role: "owner", tenant });
    await endAs(api, fake, await beginAcceptance(api, token), sub);
    for (const tenantId of [api.tenantId, tenant]) {
      const answer = await endAs(api, fake, await beginSignIn(api, tenantId), sub);
      const { body } = await personWith(api, answer).call("GET", "/api/v1/user-sessions/current");
      expect(body.tenant.id).toBe(tenantId);
    }
    // The response of one attempt with the cookie of the other.
    const [one, other] = [await beginSignIn(api), await beginSignIn(api, tenant)];
    expectFailure(await comeBack(api, callbackQuery(fake, one), other.cookie), "expired");
  });

  test.each([
    ["of another provider", { iss: "https://evil.example.com" }],
    ["without the issuer, which this provider always sends", { iss: null }],
    ["without a code", { code: null }],
    ["with an empty code", { code: "" }],
  ])("a callback, %s: refused", async (_, changes) => {
    const { sub } = await seedMember();
    const begun = await beginSignIn(api);
    fake.exchanges.length = 0;
    fake.claims = { sub };
    expectFailure(await comeBack(api, callbackQuery(fake, begun, changes), begun.cookie), "not_accepted");
    expect(fake.exchanges).toHaveLength(0);
  });

  test("a callback, with unknown parameters: accepted; with a repeated one: refused", async () => {
    const { sub } = await seedMember();
    for (const extra of ["&code=other", "&state=x", "&iss=https%3A%2F%2Fevil.test", "&error=x&error=y", "&hd=1&hd=1"]) {
      const begun = await beginSignIn(api);
      fake.claims = { sub };
      expectFailure(await comeBack(api, callbackQuery(fake, begun) + extra, begun.cookie), "not_accepted");
    }
    const begun = await beginSignIn(api);
    const extra = "&session_state=abc&scope=openid&__proto__=x&returnTo=https%3A%2F%2Fevil.test&tenant=ten_x";
    const answer = await comeBack(api, callbackQuery(fake, begun) + extra, begun.cookie);
    expect([dashboardPage(answer), readSession(answer) !== null]).toEqual(["", true]);
  });

  test("a callback, with an error of the provider: a page with a code, without the provider's text", async () => {
    for (const [error, code] of [
      ["access_denied", "denied"],
      ["server_error", "not_accepted"],
      ["<script>alert(1)</script>", "not_accepted"],
    ] as const) {
      const begun = await beginSignIn(api);
      const words = { error, error_description: "Visit https://evil.test", code: null };
      const answer = await comeBack(api, callbackQuery(fake, begun, words), begun.cookie);
      expect(dashboardPage(answer)).toBe(`/sign-in?tenant=${api.tenantId}&problem=${code}`);
      // The attempt is over: the cookie is no longer valid in this browser.
      expect(readSetCookie(answer, ATTEMPT_COOKIE)).toBe("");
    }
  });

  test("a HEAD request for a callback: the attempt stays usable", async () => {
    const { sub } = await seedMember();
    const begun = await beginSignIn(api);
    fake.claims = { sub };
    const query = callbackQuery(fake, begun);
    const headers = { cookie: `${ATTEMPT_COOKIE}=${begun.cookie}` };
    const head = await fetch(`${api.url}${CALLBACK}?${query}`, { method: "HEAD", redirect: "manual", headers });
    expect([head.status, head.headers.getSetCookie()]).toEqual([303, []]);
    expect(readSession(await comeBack(api, query, begun.cookie))).not.toBeNull();
  });

  test("a callback, with any outcome: the next page gets no Referer with its code", async () => {
    const begun = await beginSignIn(api);
    fake.claims = { sub: (await seedMember()).sub };
    for (const sent of [callbackQuery(fake, begun), "error=access_denied", ""]) {
      const answer = await comeBack(api, sent, begun.cookie);
      expect([answer.status, answer.headers.get("referrer-policy")]).toEqual([303, "no-referrer"]);
    }
  });

  test("a callback, another Host header: redirects to the configured origin", async () => {
    const begun = await beginSignIn(api);
    const headers = { cookie: `${ATTEMPT_COOKIE}=${begun.cookie}`, host: "evil.test" };
    const { headers: sent } = await fetch(`${api.url}${CALLBACK}?error=x`, { redirect: "manual", headers });
    expect(sent.get("location")).toStartWith(`${PUBLIC_URL}/dashboard/sign-in?`);
  });

  test("callbacks, 70 from one address: 10 limited", async () => {
    const headers = { "x-forwarded-for": "192.0.2.99" };
    const call = callAnew(api.database.db, { config: oidcConfig(fake.issuer) });
    const answers = await Promise.all(Array.from({ length: 70 }, () => call("GET", `${CALLBACK}?code=x`, { headers })));
    const limited = answers.filter((answer) => answer.headers.get("location")?.endsWith("problem=rate_limited"));
    expect(limited).toHaveLength(10);
  });
});

describe("an ID token", () => {
  test.each([
    ["for another nonce", { nonce: "x" }],
    ["without a nonce", { nonce: undefined }],
    ["of another issuer", { iss: "https://evil.example.com" }],
    ["for another client", { aud: "other" }],
    ["that another client has requested", { azp: "other" }],
    ["for several clients, requested by another one", { aud: ["realtime-avatar", "other"], azp: "other" }],
    ["that has expired", { exp: Math.floor(Date.now() / 1000) - 120 }],
    ["without an expiry", { exp: undefined }],
    ["without a subject", { sub: undefined }],
    ["with an empty subject", { sub: "" }],
    ["with a subject that is a number", { sub: 1 }],
    ["with a subject of 256 characters", { sub: "x".repeat(256) }],
    ["with a subject that is not ASCII", { sub: "ä" }],
    ["with a zero byte in its subject", { sub: "account-1\u0000" }],
  ])("an ID token, %s: refused", async (_, claims) => {
    const { sub } = await seedMember();
    const begun = await beginSignIn(api);
    fake.claims = { sub, ...claims };
    expectFailure(await comeBack(api, callbackQuery(fake, begun), begun.cookie), "not_accepted");
  });

  test("an ID token, a wrong signature or none: refused", async () => {
    const { sub } = await seedMember();
    fake.breaksSignature = true;
    expectFailure(await endAs(api, fake, await beginSignIn(api), sub), "not_accepted");
    fake.breaksSignature = false;
    const begun = await beginSignIn(api);
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: fake.issuer, aud: "realtime-avatar", sub, iat: now, exp: now + 60, nonce: begun.nonce };
    const text = [{ alg: "none" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
    const tokens = { access_token: "a", token_type: "bearer", id_token: `${text.join(".")}.` };
    fake.answers.set("/token", () => Response.json(tokens));
    expectFailure(await comeBack(api, callbackQuery(fake, begun), begun.cookie), "not_accepted");
  });

  test("a code, exchanged: sends the verifier of this browser's attempt", async () => {
    const begun = await beginSignIn(api);
    fake.exchanges.length = 0;
    await endAs(api, fake, begun, "x");
    const challenge = begun.url.searchParams.get("code_challenge");
    const verifier = fake.exchanges[0]?.get("code_verifier") ?? "";
    expect(new Bun.CryptoHasher("sha256").update(verifier).digest("base64url")).toBe(challenge as string);
    expect(fake.exchanges[0]?.get("redirect_uri")).toBe(PUBLIC_URL + CALLBACK);
  });
});

describe("the person of an account", () => {
  test("a person, removed during an attempt: no sign-in", async () => {
    const owner = await seedPerson(api, "owner");
    const { sub, call } = await seedMember();
    const { id } = (await call("GET", "/api/v1/user-sessions/current")).body.user;
    const begun = await beginSignIn(api);
    expect((await owner.call("DELETE", `/api/v1/users/${id}`)).status).toBe(200);
    expectFailure(await endAs(api, fake, begun, sub), "unknown_identity");
  });

  test("a person who signs in with an old cookie in the browser: a new session", async () => {
    const member = await seedMember();
    const begun = await beginSignIn(api);
    fake.claims = { sub: member.sub };
    const cookie = `${begun.cookie}; ${COOKIE}=${member.cookie}`;
    const session = readSession(await comeBack(api, callbackQuery(fake, begun), cookie));
    expect(session).toStartWith("rta_session_");
    expect(session).not.toBe(member.cookie);
  });

  test("an unknown account with a person's e-mail address: no sign-in", async () => {
    const { email } = await seedPerson(api, "owner");
    const begun = await beginSignIn(api);
    fake.claims = { email, email_verified: true, preferred_username: email };
    expectFailure(await endAs(api, fake, begun, "stranger"), "unknown_identity");
  });

  test("a person, the session ended during an attempt: nothing linked, nothing verified", async () => {
    const person = await seedPerson(api, "owner");
    const attempts = [await beginIdentity(person), await beginVerification(person)];
    await person.call("DELETE", "/api/v1/user-sessions/current");
    fake.claims = { auth_time: Math.floor(Date.now() / 1000) };
    for (const begun of attempts) expectFailure(await endAs(api, fake, begun, "late"), "session_ended");
    expect(await api.database.db.client`select 1 from user_identities where subject = 'late'`).toHaveLength(0);
  });

  test("an attempt, forged with SESSION_SECRET alone: refused without the session's token", async () => {
    const person = await seedPerson(api, "owner");
    const { id: sessionId } = (await person.call("GET", "/api/v1/user-sessions/current")).body;
    const secret = new Secret("the secret of the tests, which signs challenges");
    for (const digest of ["", Buffer.alloc(32).toString("base64url")]) {
      const attempt = newOidcAttempt(
        api.tenantId,
        { kind: "identity", sessionId, digest },
        { now: new Date(), random },
      );
      const { state, nonce } = attempt;
      const forged = { url: new URL(fake.issuer), cookie: sealOidcAttempt(attempt, secret, random), state, nonce };
      expectFailure(await endAs(api, fake, forged, "forged"), "session_ended");
    }
  });

  test("an account that is already linked: not linked again or to another person", async () => {
    const { sub } = await seedMember();
    const person = await seedPerson(api, "viewer");
    expectFailure(await endAs(api, fake, await beginIdentity(person), sub), "identity_taken");
    const begun = await beginIdentity(person);
    expect(dashboardPage(await endAs(api, fake, begun, "mine-alone"))).toBe("/people");
    expectFailure(await endAs(api, fake, begun, "mine-too"), "expired");
    expectFailure(await endAs(api, fake, await beginIdentity(person), "mine-alone"), "identity_taken");
  });
});

describe("the start of an attempt", () => {
  const body = { tenantId: "ten_01h455vb4pex5vsknk084sn02q" };

  test("a start, for an unknown tenant: like a known one; for a malformed id: 422", async () => {
    const answer = await api.call("POST", "/api/v1/oidc/sign-in", { body });
    expectFailure(await endAs(api, fake, begunBy(answer), "x"), "unknown_identity");
    for (const tenantId of ["x", "usr_01h455vb4pex5vsknk084sn02q", "ten_"]) {
      expectProblem(await api.call("POST", "/api/v1/oidc/sign-in", { body: { tenantId } }), "validation_failed");
    }
  });

  test("a start, by GET or from another origin: refused", async () => {
    for (const name of ["sign-in", "acceptance", "identity", "verification"]) {
      expectProblem(await api.call("GET", `/api/v1/oidc/${name}`), "method_not_allowed");
    }
    for (const headers of [
      { origin: "https://evil.test" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "null" },
    ] as Record<string, string>[]) {
      const answer = await api.call("POST", "/api/v1/oidc/sign-in", { body, headers });
      expectProblem(answer, "foreign_origin");
      expect(answer.headers.getSetCookie()).toEqual([]);
      const token = { token: "x", name: "x" };
      expectProblem(await api.call("POST", "/api/v1/oidc/acceptance", { body: token, headers }), "foreign_origin");
    }
  });

  test("a start of a verification, returning outside the dashboard: 422", async () => {
    const person = await seedPerson(api, "viewer");
    for (const returnTo of [
      "https://evil.test",
      "//evil.test",
      "/keys/../..",
      "/keys?x",
      "keys",
      "/sign-in",
      "",
      "//",
    ]) {
      const answer = await person.call("POST", "/api/v1/oidc/verification", { returnTo });
      expectProblem(answer, "validation_failed");
    }
  });

  test("a start of a link, the passkey used too long ago: 403", async () => {
    const person = await seedPerson(api, "owner");
    await expireVerification(api.database, person);
    expectProblem(await person.call("POST", "/api/v1/oidc/identity"), "passkey_required");
  });
});

test("the attempt cookie and the session cookie, exchanged: not accepted in place of the other", async () => {
  const { sub, cookie } = await seedMember();
  const begun = await beginSignIn(api);
  const answer = await api.call("GET", "/api/v1/user-sessions/current", { headers: pageHeaders(begun.cookie) });
  expectProblem(answer, "missing_api_key");
  fake.claims = { sub };
  expectFailure(await comeBack(api, callbackQuery(fake, begun), cookie), "expired");
});
