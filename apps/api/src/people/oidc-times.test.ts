/** The time at which a provider prompted the person (`auth_time`), and its effect on each kind of attempt. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider } from "../../test/support/people/fake-provider.ts";
import {
  beginAcceptance,
  beginIdentity,
  beginSignIn,
  beginVerification,
  endAs,
  personWith,
  readFailure,
  startApiWith,
} from "../../test/support/people/oidc.ts";
import { expireVerification, inviteByOperator, seedPerson } from "../../test/support/people/people.ts";

const fake = startFakeProvider();
/** The clock of the service stands still at a whole second, because `auth_time` counts seconds. */
const now = Math.floor(Date.now() / 1000) * 1000;
const api = await startApiWith(fake.issuer, () => new Date(now));
afterAll(() => fake.stop());
beforeEach(() => fake.reset());

const MINUTE = 60_000;
let accounts = 0;
const newAccount = (): string => `account-${++accounts}`;

/** The length of the verification of the newest session, from the start of the session. */
const verifiedForMs = async (): Promise<number> => {
  const [row] = await api.database.db.client`
    select (extract(epoch from verified_until - created_at) * 1000)::float8 as "ms" from user_sessions order by created_at desc limit 1`;
  return row?.["ms"];
};

describe.each<[string, unknown, number]>([
  ["ten minutes ago", now / 1000 - 600, -5 * MINUTE],
  ["two minutes ago", now / 1000 - 120, 3 * MINUTE],
  ["just now", now / 1000, 5 * MINUTE],
  ["in the future, within the tolerance", now / 1000 + 20, 5 * MINUTE],
  ["in ten minutes", now / 1000 + 600, 5 * MINUTE],
  ["in a century", now / 1000 + 100 * 365 * 86_400, 5 * MINUTE],
  ["never", undefined, 0],
  ["at the time 0", 0, 0],
  ["at a time that no date can represent", 2 ** 40, 0],
])("a person whom the provider prompted %s", (_, time, expectedMs) => {
  test("a sign-in and an acceptance: verified for five minutes from that time, at most from now", async () => {
    fake.claims = { auth_time: time };
    const sub = newAccount();
    const token = await inviteByOperator(api, { email: `${sub}@example.com`, role: "owner" });
    const joined = await endAs(api, fake, await beginAcceptance(api, token), sub);
    expect([readFailure(joined), await verifiedForMs()]).toEqual([null, expectedMs]);
    const answer = await endAs(api, fake, await beginSignIn(api), sub);
    expect([readFailure(answer), await verifiedForMs()]).toEqual([null, expectedMs]);
    // Operations with the passkey are refused, unless the provider has prompted the person within five minutes.
    const { call } = personWith(api, answer);
    const invited = await call("POST", "/api/v1/invitations", { email: `by-${sub}@example.com`, role: "viewer" });
    expect(invited.status).toBe(expectedMs > 0 ? 201 : 403);
  });
});

test.each([-1, String(now / 1000), null, true])(
  "a sign-in, with the prompt of the provider at %p: refused",
  async (time) => {
    const person = await seedPerson(api, "owner");
    const sub = newAccount();
    expect(readFailure(await endAs(api, fake, await beginIdentity(person), sub))).toBeNull();
    fake.claims = { auth_time: time };
    expect(readFailure(await endAs(api, fake, await beginSignIn(api), sub))).toBe("not_accepted");
  },
);

/** Allowed difference of the clocks, in seconds. */
const TOLERANCE = 30;

test.each<[number, string | null]>([
  [-TOLERANCE - 1, "not_fresh"],
  [-TOLERANCE, null],
  [TOLERANCE, null],
  [TOLERANCE + 1, "not_fresh"],
])("a verification, prompted %d seconds after its start by the clock of the provider: %p", async (seconds, failure) => {
  const person = await seedPerson(api, "owner");
  const sub = newAccount();
  expect(readFailure(await endAs(api, fake, await beginIdentity(person), sub))).toBeNull();
  await expireVerification(api.database, person);
  fake.claims = { auth_time: now / 1000 + seconds };
  const answer = await endAs(api, fake, await beginVerification(person), sub);
  expect(readFailure(answer)).toBe(failure);
  const { body } = await person.call("GET", "/api/v1/user-sessions/current");
  expect(Date.parse(body.verifiedUntil) > Date.now()).toBe(failure === null);
  expect(Date.parse(body.verifiedUntil)).toBeLessThanOrEqual(Date.now() + 5 * MINUTE);
});
