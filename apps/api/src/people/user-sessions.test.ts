/** Sessions of people: conditions for the cookie, ends of sessions, and attacks. */

import { describe, expect, test } from "bun:test";
import { sweepChallenges } from "@realtime-avatar/db/people/passkeys";
import { sweepPeopleSeen } from "@realtime-avatar/db/people/seen";
import { sweepUserSessions } from "@realtime-avatar/db/people/user-sessions";
import { connectTo } from "@realtime-avatar/testing/database";
import { type Answer, callAnew, createTestApp, PUBLIC_URL, readAnswer, startApi } from "../../test/support/api.ts";
import { createAuthenticator } from "../../test/support/people/authenticator.ts";
import {
  COOKIE,
  expireVerification,
  type Person,
  pageHeaders,
  seedPerson,
  signInAgain,
} from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const api = await startApi();
const owner = await seedPerson(api, "owner");

const CURRENT = "/api/v1/user-sessions/current";
const without = (headers: Record<string, string>, name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));

describe("a cookie outside a page of the service", () => {
  const avatarCount = async () =>
    (await api.database.db.client`select count(*)::integer as count from avatars`)[0]?.["count"];
  const body = { displayName: "x", sourceKind: "image" };
  const good = () => pageHeaders(owner.cookie);
  const attacks: [string, () => Record<string, string>][] = [
    ["without Sec-Fetch-Site, as from an old browser or a program", () => without(good(), "sec-fetch-site")],
    ["from another site", () => ({ ...good(), "sec-fetch-site": "cross-site" })],
    ["from another host of the same site", () => ({ ...good(), "sec-fetch-site": "same-site" })],
    ["from the address bar", () => ({ ...good(), "sec-fetch-site": "none" })],
    ["with a foreign Origin", () => ({ ...good(), origin: "https://evil.test" })],
    ["with the Origin of a page without one", () => ({ ...good(), origin: "null" })],
    ["with the Origin of another port", () => ({ ...good(), origin: `${PUBLIC_URL}:8443` })],
    ["with the Origin over http", () => ({ ...good(), origin: "http://avatars.test" })],
    [
      "without the header for environments, which no form can send",
      () => without(good(), "realtime-avatar-environment"),
    ],
    ["with another value of the header for environments", () => ({ ...good(), "realtime-avatar-environment": "LIVE" })],
    [
      "with two values of the header for environments",
      () => ({ ...good(), "realtime-avatar-environment": "live, test" }),
    ],
    ["with the cookie under another name", () => ({ ...good(), cookie: `realtime-avatar-session=${owner.cookie}` })],
    ["with two cookies", () => ({ ...good(), cookie: `${COOKIE}=${owner.cookie}; ${COOKIE}=${owner.cookie}` })],
    // Browsers do not treat this byte as white space. A name that begins with it has no `__Host-` prefix, so another
    // host of the site can set the cookie.
    [
      "with the cookie under a name without the prefix",
      () => ({ ...good(), cookie: `a=b; \xa0${COOKIE}=${owner.cookie}` }),
    ],
    ["with a malformed cookie", () => ({ ...good(), cookie: `${COOKIE}="${owner.cookie}"` })],
  ];

  test.each(attacks)("a cookie, %s: treated as no credentials", async (_, headers) => {
    const before = await avatarCount();
    expectProblem(await api.call("POST", "/api/v1/avatars", { body, headers: headers() }), "missing_api_key");
    expectProblem(await api.call("GET", CURRENT, { headers: headers() }), "missing_api_key");
    expectProblem(await api.call("DELETE", CURRENT, { headers: headers() }), "missing_api_key");
    expect(await avatarCount()).toBe(before);
  });

  test("a cookie, without Origin: a write is refused, a read allowed", async () => {
    const headers = without(good(), "origin");
    for (const [method, path] of [
      ["POST", "/api/v1/avatars"],
      ["PATCH", `/api/v1/users/${owner.id}`],
      ["DELETE", CURRENT],
    ] as const) {
      expectProblem(await api.call(method, path, { body, headers }), "missing_api_key");
    }
    expect((await api.call("GET", CURRENT, { headers })).status).toBe(200);
  });

  test("a cookie, in a form or fetch of another site: refused", async () => {
    const before = await avatarCount();
    for (const type of ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"]) {
      const headers = {
        cookie: `${COOKIE}=${owner.cookie}`,
        origin: "https://evil.test",
        "sec-fetch-site": "cross-site",
        "content-type": type,
      };
      const sent = { body: JSON.stringify(body), headers };
      expectProblem(await api.call("POST", "/api/v1/avatars", sent), "missing_api_key");
    }
    expect(await avatarCount()).toBe(before);
  });

  test("a response, to another origin: no CORS header", async () => {
    for (const method of ["GET", "OPTIONS"]) {
      const headers = { origin: "https://evil.test", "access-control-request-method": "POST" };
      const { headers: answered } = await api.call(method, CURRENT, { headers });
      expect([...answered.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
  });

  test("a session token, as a bearer key: 401", async () => {
    for (const headers of [{}, good()]) {
      expectProblem(await api.call("GET", CURRENT, { key: owner.cookie, headers }), "invalid_api_key");
    }
  });
});

describe("localhost without https", () => {
  test("the cookie, on localhost: no prefix, and the port in its name", async () => {
    const publicUrl = "http://localhost:3123";
    const app = createTestApp(api.database.db, { publicUrl: () => publicUrl });
    const send = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
      const init = {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json", ...headers },
      };
      return readAnswer(await app.handle(new Request(`${publicUrl}/api/v1/${path}`, init)));
    };
    const { email } = await seedPerson(api, "viewer");
    // The same person, with a new passkey, because the relying party differs.
    const [invited] = [await owner.call("POST", "/api/v1/invitations", { email: `local-${email}`, role: "viewer" })];
    const token = invited?.body.url.split("#")[1];
    const options = await send("invitations/options", { token });
    expect(options.body.publicKey.rp.id).toBe("localhost");
    const credential = createAuthenticator(publicUrl).create(options.body.publicKey);
    const accepted = await send("invitations/acceptance", { token, name: "x", credential });
    const cookie = accepted.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(
      /^realtime-avatar-session-3123=rta_session_\w+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    const headers = { ...pageHeaders("x"), cookie: cookie.split(";")[0] ?? "", origin: publicUrl };
    const current = await app.handle(new Request(`${publicUrl}${CURRENT}`, { headers }));
    expect(current.status).toBe(200);
  });

  test("a cookie set by a page on another port: 200 alone (docs/people.md), 401 together with the person's own", async () => {
    const publicUrl = "http://localhost:3123";
    const app = createTestApp(api.database.db, { publicUrl: () => publicUrl });
    const statusWith = async (...tokens: string[]): Promise<number> => {
      const cookie = tokens.map((token) => `realtime-avatar-session-3123=${token}`).join("; ");
      const headers = { ...pageHeaders(""), cookie, origin: publicUrl };
      return (await app.handle(new Request(`${publicUrl}${CURRENT}`, { headers }))).status;
    };
    const [victim, attacker] = [await seedPerson(api, "owner"), await seedPerson(api, "owner")];
    expect(await statusWith(attacker.cookie)).toBe(200);
    expect(await statusWith(attacker.cookie, victim.cookie)).toBe(401);
    expect(await statusWith(victim.cookie, attacker.cookie)).toBe(401);
  });
});

describe("the end of a session", () => {
  /** Uses another replica. Another process would not differ, because sessions are not kept in memory. */
  const askReplica = async (person: Person): Promise<Answer> => {
    const db = connectTo(api.database);
    try {
      return await callAnew(db)("GET", CURRENT, { headers: pageHeaders(person.cookie) });
    } finally {
      await db.close();
    }
  };

  test("a session, signed out: its cookie is refused on every replica", async () => {
    const person = await seedPerson(api, "owner");
    expect((await askReplica(person)).status).toBe(200);
    const ended = await person.call("DELETE", CURRENT);
    expect(ended.body).toMatchObject({ id: person.sessionId, userId: person.id, isCurrent: true });
    expect(ended.headers.get("set-cookie")).toBe(`${COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0`);
    expectProblem(await person.call("GET", CURRENT), "invalid_session");
    expectProblem(
      await person.call("POST", "/api/v1/avatars", { displayName: "x", sourceKind: "image" }),
      "invalid_session",
    );
    expectProblem(await askReplica(person), "invalid_session");
  });

  test("a session, ended from another session or by an owner: 200; by others: 404", async () => {
    const [person, other] = [await seedPerson(api, "viewer"), await seedPerson(api, "developer")];
    const second = await signInAgain(api, person);
    expectProblem(await other.call("DELETE", `/api/v1/user-sessions/${person.sessionId}`), "not_found");
    expect((await second.call("DELETE", `/api/v1/user-sessions/${person.sessionId}`)).body.isCurrent).toBe(false);
    expectProblem(await person.call("GET", CURRENT), "invalid_session");
    expect((await owner.call("DELETE", `/api/v1/user-sessions/${second.sessionId}`)).status).toBe(200);
    expectProblem(await second.call("GET", CURRENT), "invalid_session");
    expectProblem(await owner.call("DELETE", `/api/v1/user-sessions/${second.sessionId}`), "not_found");
  });

  test("a session, expired or idle for 30 minutes: refused and swept", async () => {
    const { client } = api.database.db;
    const [expired, idle, used] = [
      await seedPerson(api, "viewer"),
      await seedPerson(api, "viewer"),
      await seedPerson(api, "viewer"),
    ];
    await client`update user_sessions set expires_at = now() - interval '1 second' where id = ${expired.sessionId}`;
    await client`
      update user_sessions set created_at = now() - interval '31 minutes' where id in ${client([idle.sessionId, used.sessionId])}`;
    await client`
      insert into people_seen (tenant_id, id, last_seen_at)
      values (${used.tenantId}, ${used.sessionId}, now() - interval '29 minutes')`;
    expectProblem(await expired.call("GET", CURRENT), "invalid_session");
    expectProblem(await idle.call("GET", CURRENT), "invalid_session");
    expect((await used.call("GET", CURRENT)).status).toBe(200);
    expect(await sweepUserSessions(api.database.db)).toBe(1);
    expect(await client`select 1 from user_sessions where id = ${expired.sessionId}`).toHaveLength(0);
    await client`update people_seen set last_seen_at = now() - interval '2 days' where id = ${used.sessionId}`;
    expect(await sweepPeopleSeen(api.database.db)).toBe(1);
    await client`update spent_challenges set expires_at = now() - interval '2 hours'`;
    expect(await sweepChallenges(api.database.db)).toBeGreaterThan(0);
  });

  test("a session token, a wrong secret or tenant: refused", async () => {
    const person = await seedPerson(api, "owner");
    const flip = (text: string, at: number): string =>
      text.slice(0, at) + (text[at] === "1" ? "2" : "1") + text.slice(at + 1);
    const { cookie } = person;
    for (const forged of [flip(cookie, cookie.length - 1), flip(cookie, 40), flip(cookie, 15), flip(cookie, 70)]) {
      const answer = await api.call("GET", CURRENT, { headers: pageHeaders(forged) });
      expect(["invalid_session", "missing_api_key"]).toContain(answer.body.code);
    }
  });
});

describe("the list of sessions", () => {
  test("the sessions, listed: a person's own; for an owner, the tenant's", async () => {
    const person = await seedPerson(api, "developer");
    const second = await signInAgain(api, person);
    const own = (await person.call("GET", "/api/v1/user-sessions")).body.data;
    expect(own.map(({ id, isCurrent }: { id: string; isCurrent: boolean }) => [id, isCurrent])).toEqual([
      [second.sessionId, false],
      [person.sessionId, true],
    ]);
    const all = (await owner.call("GET", "/api/v1/user-sessions")).body.data.map(({ id }: { id: string }) => id);
    expect(all).toContain(person.sessionId);
    const page = (await owner.call("GET", "/api/v1/user-sessions?limit=1")).body;
    expect(page.data).toHaveLength(1);
    const next = await owner.call("GET", `/api/v1/user-sessions?limit=100&cursor=${page.nextCursor}`);
    expect([...page.data, ...next.body.data].map(({ id }: { id: string }) => id)).toEqual(all);
  });

  test("the sessions, after a request: include when they were last seen", async () => {
    const person = await seedPerson(api, "viewer");
    await person.call("GET", CURRENT);
    await api.seen.flush();
    const { client } = api.database.db;
    const seen = await client`select id from people_seen where id in ${client([person.id, person.sessionId])}`;
    expect(seen).toHaveLength(2);
    const [session] = (await person.call("GET", "/api/v1/user-sessions")).body.data;
    expect(Date.parse(session.lastSeenAt)).toBeGreaterThanOrEqual(Date.parse(session.createdAt));
    expect((await person.call("GET", `/api/v1/users/${person.id}`)).body.lastSeenAt).toMatch(/:00\.000Z$/);
  });
});

describe("the verification of a session", () => {
  const verify = async (person: Person, signer = person.authenticator): Promise<Answer> => {
    const options = await person.call("POST", `${CURRENT}/verification/options`, {});
    const credential = signer.get(options.body.publicKey);
    return person.call("POST", `${CURRENT}/verification`, { credential });
  };
  const invitation = { email: "new@example.com", role: "viewer" };

  test("a verification, five minutes old: needed again, then the operation succeeds", async () => {
    const person = await seedPerson(api, "owner");
    expect((await person.call("POST", "/api/v1/invitations", invitation)).status).toBe(201);
    await expireVerification(api.database, person);
    expectProblem(await person.call("POST", "/api/v1/invitations", invitation), "passkey_required");
    const verified = await verify(person);
    expect(verified.status).toBe(200);
    expect(Date.parse(verified.body.verifiedUntil)).toBeGreaterThan(Date.now());
    expect((await person.call("POST", "/api/v1/invitations", invitation)).status).toBe(201);
  });

  test("a verification, of another person, session or ceremony, or repeated: refused", async () => {
    const [person, other] = [await seedPerson(api, "owner"), await seedPerson(api, "owner")];
    await expireVerification(api.database, person);
    expectProblem(await verify(person, other.authenticator), "invalid_passkey");
    const ofOther = await other.call("POST", `${CURRENT}/verification/options`, {});
    const ofSignIn = await api.call("POST", "/api/v1/user-sessions/options", { body: {} });
    for (const { body } of [ofOther, ofSignIn]) {
      const credential = person.authenticator.get(body.publicKey);
      expectProblem(await person.call("POST", `${CURRENT}/verification`, { credential }), "invalid_passkey");
    }
    const own = await person.call("POST", `${CURRENT}/verification/options`, {});
    const credential = person.authenticator.get(own.body.publicKey);
    // A verification of a session cannot be used for a sign-in.
    expectProblem(await api.call("POST", "/api/v1/user-sessions", { body: { credential } }), "invalid_passkey");
    expect((await person.call("POST", `${CURRENT}/verification`, { credential })).status).toBe(200);
    expectProblem(await person.call("POST", `${CURRENT}/verification`, { credential }), "invalid_passkey");
  });

  test("a verification, in one session: not valid in another", async () => {
    const person = await seedPerson(api, "owner");
    const second = await signInAgain(api, person);
    await expireVerification(api.database, person);
    expect((await verify(second)).status).toBe(200);
    expectProblem(await person.call("POST", "/api/v1/invitations", invitation), "passkey_required");
  });
});
