/** Limits of a person: the number of sessions, and the rate of their requests. */
import { describe, expect, test } from "bun:test";
import { PUBLIC_URL, startApi, TEST_CONFIG, testStorage } from "../../test/support/api.ts";
import { createAuthenticator } from "../../test/support/people/authenticator.ts";
import {
  accept,
  inviteByOperator,
  linkToken,
  type Person,
  seedPerson,
  signedInPerson,
  signInAgain,
} from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const CURRENT = "/api/v1/user-sessions/current";
const api = await startApi();
/** An API with a limit of one request a second. */
const limited = await startApi(testStorage, { config: { ...TEST_CONFIG, rateLimit: { perSecond: 1, burst: 0 } } });

const again = (person: Person, to = api): Promise<Person> => signInAgain(to, person);
const sessionsOf = (person: Person) =>
  api.database.db.client`select id from user_sessions where user_id = ${person.id} order by created_at, id`;
const endedOf = async (person: Person): Promise<string[]> => {
  const rows = await api.database.db.client`
    select target_id from audit_events where actor_id = ${person.id} and action = 'user_session.ended' order by id`;
  return rows.map(({ target_id }) => target_id as string);
};
let inserted = 0;
/** Adds older sessions of the person. */
const insertSessions = (person: Person, count: number, ago: string) => api.database.db.client`
  with copy as materialized (
    select tenant_id, 'uss_' || lpad((${100 * ++inserted}::integer + at)::text, 26, '0'), user_id, passkey_id, digest, null, 1,
      verified_until, created_at - make_interval(secs => at) - ${ago}::interval, expires_at
    from user_sessions, generate_series(1, ${count}::integer) at where id = ${person.sessionId}
  )
  insert into user_sessions select * from copy`;

describe("the bound of 20 sessions of a person", () => {
  test("a sign-in, beyond 20 sessions: ends the oldest on every replica, with an audit event", async () => {
    const person = await seedPerson(api, "viewer");
    const second = await again(person);
    await insertSessions(person, 17, "1 minute");
    await api.database.db.client`
      update user_sessions set created_at = created_at - interval '5 minutes' where id = ${person.sessionId}`;
    await again(person);
    expect([(await sessionsOf(person)).length, await endedOf(person)]).toEqual([20, []]);

    const newest = await again(person);
    expect([(await sessionsOf(person)).length, await endedOf(person)]).toEqual([20, [person.sessionId]]);
    expectProblem(await person.call("GET", CURRENT), "invalid_session");
    for (const other of [second, newest]) expect((await other.call("GET", CURRENT)).status).toBe(200);
  });

  test("sign-ins, eight at once near the bound: 20 sessions stay", async () => {
    // An authenticator with a counter would have to sign in order.
    const authenticator = createAuthenticator(PUBLIC_URL, { hasCounter: false });
    const token = await inviteByOperator(api, { email: "at-once@example.com", role: "viewer" });
    const person = signedInPerson(api, await accept(api, token, authenticator), authenticator);
    await insertSessions(person, 17, "1 minute");
    await Promise.all(Array.from({ length: 8 }, () => again(person)));
    expect([(await sessionsOf(person)).length, (await endedOf(person)).length]).toEqual([20, 6]);
  });

  test("expired and idle sessions, at a sign-in: not counted", async () => {
    const person = await seedPerson(api, "viewer");
    await insertSessions(person, 25, "31 minutes");
    await again(person);
    expect(await endedOf(person)).toEqual([]);
    expect((await person.call("GET", CURRENT)).status).toBe(200);
    // Idle sessions above the bound are deleted.
    expect((await sessionsOf(person)).length).toBe(20);
  });

  test("sessions of other people, at a sign-in: not counted", async () => {
    const [person, other] = [await seedPerson(api, "viewer"), await seedPerson(api, "viewer")];
    await insertSessions(person, 19, "1 minute");
    await again(other);
    expect([(await sessionsOf(person)).length, await endedOf(person)]).toEqual([20, []]);
  });

  test("a link for another device, beyond 20 sessions: ends the oldest", async () => {
    const person = await seedPerson(api, "viewer");
    await insertSessions(person, 19, "1 minute");
    const link = await person.call("POST", "/api/v1/passkeys/invitations", {});
    expect((await accept(api, linkToken(link))).status).toBe(201);
    expect([(await sessionsOf(person)).length, (await endedOf(person)).length]).toEqual([20, 1]);
  });
});

test("two sessions of a person that send requests: one shared budget", async () => {
  // A window can end between two requests, so several attempts are made. With separate budgets, no request would ever
  // be refused.
  for (let attempt = 1; ; attempt++) {
    const person = await seedPerson(limited, "viewer");
    const sessions = [person, await again(person, limited)];
    const answers = await Promise.all(sessions.map((session) => session.call("GET", CURRENT)));
    const refused = answers.find(({ status }) => status === 429);
    if (refused === undefined && attempt < 20) continue;
    if (refused === undefined) throw new Error("no request was refused");
    expectProblem(refused, "rate_limited");
    expect(refused.body.detail).toStartWith("The sessions of a person together can make 1 requests in each second");
    const other = await seedPerson(limited, "viewer");
    expect((await other.call("GET", CURRENT)).status).toBe(200);
    return;
  }
});
