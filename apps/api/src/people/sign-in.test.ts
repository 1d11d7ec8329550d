/** Registration and sign-in with passkeys, and attacks on them. */
import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, sign, X509Certificate } from "node:crypto";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { type Answer, PUBLIC_URL, startApi } from "../../test/support/api.ts";
import { type Cbor, cbor, createAuthenticator, type Deviation } from "../../test/support/people/authenticator.ts";
import { attestationCertificate } from "../../test/support/people/certificate.ts";
import {
  accept,
  COOKIE,
  inviteByOperator,
  linkToken,
  pageHeaders,
  readCookie,
  seedPerson,
  signedInPerson,
  signIn,
} from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const api = await startApi();

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  api.call("POST", `/api/v1/${path}`, { body, headers });

describe("an invitation", () => {
  test("an invitation, opened and accepted: shows its purpose, registers the passkey, signs in", async () => {
    const token = await inviteByOperator(api, { email: "Ada@Example.com", role: "owner" });
    const options = await post("invitations/options", { token });
    expect(options.status).toBe(200);
    expect(options.body).toMatchObject({ email: "ada@example.com", role: "owner", tenant: { id: api.tenantId } });
    expect(options.body.publicKey).toMatchObject({
      rp: { id: "avatars.test" },
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      attestation: "none",
    });

    const authenticator = createAuthenticator(PUBLIC_URL);
    const accepted = await accept(api, token, authenticator);
    expect(accepted.status).toBe(201);
    expect(accepted.body.user).toMatchObject({ email: "ada@example.com", name: "Ada", role: "owner" });
    const [cookie = "", ...attributes] = (accepted.headers.get("set-cookie") ?? "").split("; ");
    expect(cookie).toStartWith(`${COOKIE}=rta_session_`);
    expect(attributes).toEqual(["Path=/", "HttpOnly", "SameSite=Strict", "Secure", "Max-Age=43200"]);
    // The token is only in the cookie.
    expect(accepted.text).not.toContain("rta_session_");

    const person = signedInPerson(api, accepted, authenticator);
    const current = await person.call("GET", "/api/v1/user-sessions/current");
    expect(current.body).toMatchObject({ id: person.sessionId, user: { id: person.id } });
    expect((await person.call("GET", "/api/v1/avatars")).status).toBe(200);
  });

  test("an invitation, accepted four times at once: one person", async () => {
    const token = await inviteByOperator(api, { email: "once@example.com", role: "viewer" });
    const answers = await Promise.all(Array.from({ length: 4 }, () => accept(api, token)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) expectProblem(answer, "invalid_invitation");
    expectProblem(await accept(api, token), "invalid_invitation");
    const users = await api.database.db.client`select 1 from users where email = 'once@example.com'`;
    expect(users).toHaveLength(1);
  });

  test("an invitation, malformed, unknown, changed, expired or replaced: the same 422", async () => {
    const email = "gone@example.com";
    const replaced = await inviteByOperator(api, { email, role: "viewer" });
    const expired = await inviteByOperator(api, { email, role: "viewer" });
    await api.database.db
      .client`update invitations set expires_at = now() - interval '1 second' where email = ${email}`;
    const changed = `${expired.slice(0, -1)}${expired.endsWith("0") ? "1" : "0"}`;
    const details = new Set<string>();
    for (const token of ["x", replaced, expired, changed, replaced.replace("invitation", "session")]) {
      const answer = await post("invitations/options", { token });
      expectProblem(answer, "invalid_invitation");
      details.add(answer.body.detail);
    }
    expect(details.size).toBe(1);
  });

  test("an invitation, with a lifetime: 5 minutes to 7 days, and 30 minutes without one", async () => {
    const owner = await seedPerson(api, "owner");
    const invite = (lifetime: object) =>
      owner.call("POST", "/api/v1/invitations", { email: "late@example.com", role: "viewer", ...lifetime });
    for (const [lifetime, seconds] of [
      [{}, 1800],
      [{ lifetimeSeconds: 300 }, 300],
      [{ lifetimeSeconds: 604_800 }, 604_800],
    ] as const) {
      const { status, body } = await invite(lifetime);
      expect([status, (Date.parse(body.expiresAt) - Date.parse(body.createdAt)) / 1000]).toEqual([201, seconds]);
    }
    for (const lifetimeSeconds of [299, 604_801, null, "300"]) {
      expectProblem(await invite({ lifetimeSeconds }), "validation_failed");
    }
  });

  test("an invitation by a demoted or removed owner: refused", async () => {
    const [owner, other] = [await seedPerson(api, "owner"), await seedPerson(api, "owner")];
    const invite = async (email: string): Promise<string> =>
      linkToken(await owner.call("POST", "/api/v1/invitations", { email, role: "owner" }));
    const demoted = await invite("after-demotion@example.com");
    const change = await other.call("PATCH", `/api/v1/users/${owner.id}`, { role: "viewer" });
    expect(change.status).toBe(200);
    expectProblem(await accept(api, demoted), "invalid_invitation");
    await other.call("PATCH", `/api/v1/users/${owner.id}`, { role: "owner" });
    const removed = await invite("after-removal@example.com");
    await other.call("DELETE", `/api/v1/users/${owner.id}`);
    expectProblem(await accept(api, removed), "invalid_invitation");
  });

  test("an invitation for an existing person's address: no passkey for that person", async () => {
    const [owner, victim] = [await seedPerson(api, "owner"), await seedPerson(api, "developer")];
    const body = { email: victim.email.toUpperCase(), role: "owner" };
    expectProblem(await owner.call("POST", "/api/v1/invitations", body), "already_member");
    const fullwidth = { email: victim.email.replace("person", "\uff30\uff45\uff52son"), role: "owner" };
    expectProblem(await owner.call("POST", "/api/v1/invitations", fullwidth), "already_member");
    // The address was invited before its person joined.
    const [first, second] = ["first", "second"].map((name) => `${name}@example.com`);
    const invited = await owner.call("POST", "/api/v1/invitations", { email: first, role: "viewer" });
    await api.database.db.client`update users set email = ${first as string} where id = ${victim.id}`;
    expectProblem(await accept(api, linkToken(invited)), "already_member");
    await api.database.db.client`update users set email = ${second as string} where id = ${victim.id}`;
  });
});

describe("a registration", () => {
  const attempt = async (deviation: Deviation, authenticator = createAuthenticator(PUBLIC_URL)): Promise<Answer> => {
    const token = await inviteByOperator(api, { email: `${crypto.randomUUID()}@example.com`, role: "owner" });
    const { body } = await post("invitations/options", { token });
    const credential = authenticator.create(body.publicKey, deviation);
    return post("invitations/acceptance", { token, name: "x", credential });
  };

  test("a registration, of another origin, party, challenge or ceremony: refused", async () => {
    const signInOptions = await post("user-sessions/options", {});
    const deviations: Deviation[] = [
      { origin: "https://evil.test" },
      { rpId: "evil.test" },
      { challenge: "AAAA" },
      { challenge: signInOptions.body.publicKey.challenge },
      { type: "webauthn.get" },
      { crossOrigin: true },
      { isUserVerified: false },
    ];
    for (const deviation of deviations) {
      const answer = await attempt(deviation);
      expectProblem(answer, "invalid_passkey");
      expect(answer.body.detail.includes("did not verify the user")).toBe("isUserVerified" in deviation);
    }
  });

  test("a registration, with a certificate: refused before a revocation list is fetched", async () => {
    // An address that a certificate names as its list, as an attacker would name an address inside the network of the
    // service.
    let fetched = 0;
    const list = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(`${++fetched}`) });
    const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const certificate = attestationCertificate(keys, list.url.href);
    expect(new X509Certificate(certificate).verify(keys.publicKey)).toBe(true);
    const statementOf = (signed: Uint8Array): Map<string, Cbor> =>
      new Map<string, Cbor>([
        ["alg", -7],
        ["sig", sign("sha256", signed, keys.privateKey)],
        ["x5c", [certificate]],
      ]);
    try {
      for (const format of ["packed", "fido-u2f", "tpm", "android-key", "android-safetynet", "apple", "none"]) {
        const attestation: Deviation["attestation"] = (signed) => [format, statementOf(signed)];
        expectProblem(await attempt({ attestation }), "invalid_passkey");
      }
      expect(fetched).toBe(0);
    } finally {
      await list.stop(true);
    }
  });

  test("a registration, self-signed without a certificate: accepted", async () => {
    // Self attestation: no certificate, so no list to fetch.
    const authenticator = createAuthenticator(PUBLIC_URL);
    const attestation: Deviation["attestation"] = (signed) => [
      "packed",
      new Map<string, Cbor>([
        ["alg", -7],
        ["sig", authenticator.sign(signed)],
      ]),
    ];
    expect((await attempt({ attestation }, authenticator)).status).toBe(201);
  });

  test("a registration, with another invitation's challenge: refused", async () => {
    const [one, other] = [
      await inviteByOperator(api, { email: "one@example.com", role: "viewer" }),
      await inviteByOperator(api, { email: "other@example.com", role: "owner" }),
    ];
    const { body } = await post("invitations/options", { token: one });
    const credential = createAuthenticator(PUBLIC_URL).create(body.publicKey);
    expectProblem(await post("invitations/acceptance", { token: other, name: "x", credential }), "invalid_passkey");
  });

  test("a registration, malformed: 422, not 500", async () => {
    const token = await inviteByOperator(api, { email: "malformed@example.com", role: "viewer" });
    const { body } = await post("invitations/options", { token });
    const good = createAuthenticator(PUBLIC_URL).create(body.publicKey) as Record<string, unknown>;
    const response = good["response"] as object;
    const credentials = [
      {},
      { ...good, id: 5 },
      { ...good, rawId: "x" },
      { ...good, type: "password" },
      { ...good, response: null },
      { ...good, response: [] },
      { ...good, response: { ...response, clientDataJSON: "bnVsbA" } },
      { ...good, response: { ...response, clientDataJSON: "e30" } },
      { ...good, response: { ...response, attestationObject: "oA" } },
      { ...good, response: { ...response, attestationObject: "_____" } },
      // CBOR that is not a map, and a map without a statement.
      ...[cbor(5), cbor("x"), Buffer.from([0xf6]), cbor(new Map([["fmt", "packed"]]))].map((bytes) => ({
        ...good,
        response: { ...response, attestationObject: bytes.toString("base64url") },
      })),
    ];
    for (const credential of credentials) {
      expectProblem(await post("invitations/acceptance", { token, name: "x", credential }), "invalid_passkey");
    }
    expect((await accept(api, token)).status).toBe(201);
  });
});

test.each([
  [1023, 201],
  [1024, 422],
])("a credential id, of %i bytes: %i", async (length, status) => {
  const token = await inviteByOperator(api, { email: `long-${length}@example.com`, role: "viewer" });
  const authenticator = createAuthenticator(PUBLIC_URL, { idLength: length });
  expect((await accept(api, token, authenticator)).status).toBe(status);
});

describe("a sign-in", () => {
  test("a sign-in response that is sent three times at once and again later: one session", async () => {
    const { authenticator } = await seedPerson(api, "viewer");
    const { body } = await post("user-sessions/options", {});
    const credential = authenticator.get(body.publicKey);
    const answers = await Promise.all([1, 2, 3].map(() => post("user-sessions", { credential })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) expectProblem(answer, "invalid_passkey");
    expectProblem(await post("user-sessions", { credential }), "invalid_passkey");
  });

  test("a sign-in, a spent challenge signed anew: refused", async () => {
    const { authenticator } = await seedPerson(api, "viewer");
    const { body } = await post("user-sessions/options", {});
    expect((await post("user-sessions", { credential: authenticator.get(body.publicKey) })).status).toBe(201);
    expectProblem(await post("user-sessions", { credential: authenticator.get(body.publicKey) }), "invalid_passkey");
  });

  test("a sign-in whose signature counter has not increased: refused", async () => {
    const { authenticator } = await seedPerson(api, "viewer");
    const attempt = async (deviation: Deviation): Promise<Answer> => {
      const { body } = await post("user-sessions/options", {});
      return post("user-sessions", { credential: authenticator.get(body.publicKey, deviation) });
    };
    expect((await attempt({ counter: 10 })).status).toBe(201);
    for (const counter of [0, 1, 10]) expectProblem(await attempt({ counter }), "invalid_passkey");
    expect((await attempt({ counter: 11 })).status).toBe(201);
  });

  test("two sign-ins, the same counter at once: one accepted", async () => {
    const { authenticator } = await seedPerson(api, "viewer");
    const options = await Promise.all([1, 2].map(() => post("user-sessions/options", {})));
    const id = Buffer.from(authenticator.credentialId, "base64url");
    const attempts = await whileHeld(
      api.database,
      ({ client }) => client`select from passkeys where credential_id = ${id} for update`,
      () =>
        Promise.all(
          options.map(({ body }) =>
            post("user-sessions", { credential: authenticator.get(body.publicKey, { counter: 30 }) }),
          ),
        ),
    );
    expect(attempts.map(({ status }) => status).sort()).toEqual([201, 422]);
  });

  test("a sign-in, of another origin, party, challenge or ceremony: refused", async () => {
    const { authenticator } = await seedPerson(api, "viewer");
    const token = await inviteByOperator(api, { email: "challenge@example.com", role: "viewer" });
    const registration = (await post("invitations/options", { token })).body.publicKey;
    const deviations: Deviation[] = [
      { origin: "https://evil.test" },
      { origin: `${PUBLIC_URL}:8443` },
      { rpId: "evil.test" },
      { challenge: registration.challenge },
      { type: "webauthn.create" },
      { crossOrigin: true },
      { isUserVerified: false },
    ];
    for (const deviation of deviations) {
      const { body } = await post("user-sessions/options", {});
      const credential = authenticator.get(body.publicKey, deviation);
      const answer = await post("user-sessions", { credential });
      expectProblem(answer, "invalid_passkey");
      expect(answer.body.detail.includes("did not verify the user")).toBe("isUserVerified" in deviation);
    }
  });

  test("a sign-in with the user handle of another or an unknown person: refused", async () => {
    const [one, other] = [await seedPerson(api, "viewer"), await seedPerson(api, "owner")];
    const { body } = await post("user-sessions/options", {});
    const handleOf = (id: string): string =>
      Buffer.from(`${api.tenantId.slice(4)}${id.slice(4)}`).toString("base64url");
    for (const handle of [handleOf(other.id), "", "AAAA", handleOf(`usr_${"7".repeat(26)}`)]) {
      one.authenticator.claimUser(handle);
      expectProblem(
        await post("user-sessions", { credential: one.authenticator.get(body.publicKey) }),
        "invalid_passkey",
      );
    }
    one.authenticator.claimUser(handleOf(one.id));
    expect((await signIn(api, one.authenticator)).status).toBe(201);
  });

  test("a sign-in, from a page of another origin: refused", async () => {
    const { authenticator } = await seedPerson(api, "viewer");
    const { body } = await post("user-sessions/options", {});
    const credential = authenticator.get(body.publicKey);
    for (const headers of [
      { origin: "https://evil.test" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "null" },
    ]) {
      expectProblem(await post("user-sessions", { credential }, headers as never), "foreign_origin");
    }
    const allowed = { origin: PUBLIC_URL, "sec-fetch-site": "same-origin" };
    expect((await post("user-sessions", { credential }, allowed)).status).toBe(201);
  });

  test("a sign-in, with an old session cookie: a new session", async () => {
    const { authenticator } = await seedPerson(api, "viewer");
    const fixed = (await seedPerson(api, "viewer")).cookie;
    const { body } = await post("user-sessions/options", {});
    const credential = authenticator.get(body.publicKey);
    const answer = await post("user-sessions", { credential }, pageHeaders(fixed));
    expect(answer.status).toBe(201);
    expect(readCookie(answer)).not.toBe(fixed);
  });
});
