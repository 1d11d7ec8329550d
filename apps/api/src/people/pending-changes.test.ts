/** A person who writes without a pause, with slow commits, cannot delay a change of themselves. */
import { afterAll, describe, expect, test } from "bun:test";
import { connectTo, session } from "@realtime-avatar/testing/database";
import { until } from "@realtime-avatar/testing/until";
import { callAnew, PUBLIC_URL, startApi } from "../../test/support/api.ts";
import { createAuthenticator } from "../../test/support/people/authenticator.ts";
import { startFakeProvider } from "../../test/support/people/fake-provider.ts";
import {
  ATTEMPT_COOKIE,
  beginIdentity,
  CALLBACK,
  callbackQuery,
  dashboardPage,
  oidcConfig,
} from "../../test/support/people/oidc.ts";
import {
  accept,
  newCredential,
  type Person,
  pageHeaders,
  seedIdentity,
  seedPerson,
  signIn,
} from "../../test/support/people/people.ts";

/** Makes commits slow, like a wait for a remote replica. */
const SLOW = [
  "create function dawdle() returns trigger language plpgsql as $$ begin perform pg_sleep(0.02); return new; end $$",
  "create trigger dawdle before update on avatars for each row when (new.display_name = 'slow') execute function dawdle()",
];
const LANES = 20;

const api = await startApi();
for (const text of SLOW) await api.database.db.client.unsafe(text);
/** Another replica, with free connections. */
const db = connectTo(api.database, { connections: 4, deadlineMs: 30_000 });
const provider = startFakeProvider();
const replica = { ...api, call: callAnew(db, { config: oidcConfig(provider.issuer) }) };
afterAll(async () => {
  await db.close();
  await provider.stop();
});

type Sender = Person & { sends(method: string, path: string, body?: object): Send };
const onReplica = (person: Person): Sender => {
  const call: Person["call"] = (method, path, body, headers = {}, environment = "live") =>
    replica.call(method, path, { body, headers: { ...pageHeaders(person.cookie, environment), ...headers } });
  return { ...person, call, sends: (method, path, body) => () => call(method, `/api/v1/${path}`, body) };
};
const writtenBy = async ({ id }: Person): Promise<number> => {
  const [row] = await api.database.db.client`
    select count(*)::integer as count from audit_events where actor_id = ${id} and action = 'avatar.updated'`;
  return row?.["count"];
};
const announced = async (): Promise<string[]> =>
  (await api.database.db.client`select subject_id as id from pending_changes`).map(({ id }) => id);

type Send = () => Promise<{ status: number }>;
/**
 * A change that waits for writes of a person: its name, its preparation, its request, and the subject of the pending
 * change.
 */
type Change = [name: string, prepare: (person: Person, owner: Sender) => Send | Promise<Send>, announced: keyof Person];

const VERIFICATION = "user-sessions/current/verification";
/** Changes that end the rights of the person: no write follows the response. */
const ENDS: Change[] = [
  [
    "the end of the session",
    ({ sessionId }, owner) => owner.sends("DELETE", `user-sessions/${sessionId}`),
    "sessionId",
  ],
  ["a sign-out", (person) => onReplica(person).sends("DELETE", "user-sessions/current"), "sessionId"],
  ["the removal of the user", ({ id }, owner) => owner.sends("DELETE", `users/${id}`), "tenantId"],
  ["another role", ({ id }, owner) => owner.sends("PATCH", `users/${id}`, { role: "viewer" }), "tenantId"],
];
const OTHERS: Change[] = [
  ["another name", ({ id }, owner) => owner.sends("PATCH", `users/${id}`, { name: "Grace" }), "id"],
  ["a sign-in", (person) => () => signIn(replica, person.authenticator), "id"],
  [
    "a verification",
    async (person) => {
      const credential = person.authenticator.get(
        (await person.call("POST", `/api/v1/${VERIFICATION}/options`, {})).body.publicKey,
      );
      return onReplica(person).sends("POST", VERIFICATION, { credential });
    },
    "sessionId",
  ],
  [
    "a further passkey",
    async (person) => {
      const credential = await newCredential(person);
      return onReplica(person).sends("POST", "passkeys", { credential, name: "Phone" });
    },
    "id",
  ],
  [
    "a passkey by a link",
    async (person) => {
      const { url } = (await person.call("POST", "/api/v1/passkeys/invitations", {})).body;
      return () => accept(replica, url.slice(url.indexOf("#") + 1), createAuthenticator(PUBLIC_URL));
    },
    "id",
  ],
  [
    "the end of a passkey",
    async (person) => {
      const credential = await newCredential(person);
      const { id } = (await person.call("POST", "/api/v1/passkeys", { credential, name: "Phone" })).body;
      return onReplica(person).sends("DELETE", `passkeys/${id}`);
    },
    "id",
  ],
  [
    "a further identity",
    async (person) => {
      const begun = await beginIdentity(onReplica(person));
      return async () => {
        const query = callbackQuery(provider, begun);
        const headers = { cookie: `${ATTEMPT_COOKIE}=${begun.cookie}` };
        expect(dashboardPage(await replica.call("GET", `${CALLBACK}?${query}`, { headers }))).toBe("/people");
        return { status: 201 };
      };
    },
    "id",
  ],
  [
    "the end of an identity",
    async (person) => {
      const id = await seedIdentity(api, person);
      return onReplica(person).sends("DELETE", `identities/${id}`);
    },
    "id",
  ],
];

/** Runs `work` while the person changes avatars, in several lanes of sequential requests. Changes are not batched. */
const whileWriting = async <Result>(flooder: Person, work: () => Promise<Result>): Promise<Result> => {
  const draft = { displayName: "x", sourceKind: "image" };
  const avatars = Array.from({ length: LANES }, () => flooder.call("POST", "/api/v1/avatars", draft));
  const urls = (await Promise.all(avatars)).map(({ body }) => `/api/v1/avatars/${body.id}`);
  let isOver = false;
  let written = 0;
  const lanes = urls.map(async (url) => {
    while (!isOver) if ((await flooder.call("PATCH", url, { displayName: "slow" })).status === 200) written++;
  });
  try {
    await until(() => written >= LANES, { pollMs: 1 });
    return await work();
  } finally {
    isOver = true;
    await Promise.all(lanes);
  }
};

describe("a change of a person who writes without a pause", () => {
  test.each(ENDS)("%s: 200, and no write follows", async (_, prepare) => {
    const owner = onReplica(await seedPerson(api, "owner"));
    const person = await seedPerson(api, "developer");
    const send = await prepare(person, owner);
    const atResponse = await whileWriting(person, async () => {
      expect((await send()).status).toBe(200);
      // The person continues to write, or tries to. The pending change is withdrawn shortly after the response.
      const written = await writtenBy(person);
      await until(async () => (await announced()).length === 0, { state: announced });
      return written;
    });
    expect(await writtenBy(person)).toBe(atResponse);
  });

  test("a change of the role of a person who writes without a pause: 200", async () => {
    const subject = await seedPerson(api, "viewer");
    const [person, owner] = [await seedPerson(api, "owner"), onReplica(await seedPerson(api, "owner"))];
    const change = () => owner.call("PATCH", `/api/v1/users/${subject.id}`, { role: "developer" });
    expect((await whileWriting(person, change)).status).toBe(200);
  });
});

test.each([...ENDS, ...OTHERS])("%s, waiting for writes: a pending change", async (_, prepare, whose) => {
  const owner = onReplica(await seedPerson(api, "owner"));
  const person = await seedPerson(api, "developer");
  const send = await prepare(person, owner);
  const holder = session(api.database.url);
  // Locks like a write of the person.
  await holder.client`begin`;
  await holder.client`select 1 from users where id = ${person.id} for share`;
  await holder.client`select 1 from user_sessions where id = ${person.sessionId} for share`;
  const pending = send();
  await until(async () => (await announced()).includes(person[whose] as string), { pollMs: 5 });
  await holder.client`commit`;
  expect([200, 201]).toContain((await pending).status);
  await holder.close();
  await until(async () => (await announced()).length === 0, { state: announced });
});

test("an owner's own change of name, another owner locked: not blocked", async () => {
  const [person, other] = [await seedPerson(api, "owner"), await seedPerson(api, "owner")];
  const holder = session(api.database.url);
  await holder.client`begin`;
  await holder.client`select 1 from users where id = ${other.id} for share`;
  expect((await person.call("PATCH", `/api/v1/users/${person.id}`, { name: "Grace" })).status).toBe(200);
  await holder.close();
});
