/** A caller that changes between its look-up and its write: nothing is written by a key that may no longer write it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "@realtime-avatar/db/client";
import { seedKey, untilBlocked, watchLookUps } from "@realtime-avatar/db/testing";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import { type Answer, startApi, type TestApi } from "./testing.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const bodies = {
  "/api/v1/avatars": { displayName: "Ada", sourceKind: "image" },
  "/api/v1/api-keys": { name: "child", scopes: ["avatars:write"] },
};
type Path = keyof typeof bodies;
const paths = Object.keys(bodies) as Path[];

const changes = {
  revoked: (id: string) => `update api_keys set revoked_at = now(), version = version + 1 where id = '${id}'`,
  expired: (id: string) =>
    `update api_keys set expires_at = date_trunc('milliseconds', now()), version = version + 1 where id = '${id}'`,
  retired: (id: string) =>
    `update api_key_credentials set retired_at = date_trunc('milliseconds', now()) where api_key_id = '${id}'`,
  narrowed: (id: string) => `update api_keys set scopes = '{usage:read}', version = version + 1 where id = '${id}'`,
  renamed: (id: string) => `update api_keys set name = 'renamed', version = version + 1 where id = '${id}'`,
};
type Change = keyof typeof changes;

const answers: Record<Change, [number, string | undefined]> = {
  revoked: [401, "revoked_api_key"],
  expired: [401, "expired_api_key"],
  retired: [401, "revoked_api_key"],
  narrowed: [403, "insufficient_scope"],
  renamed: [201, undefined],
};
const cases = paths.flatMap((path) => (Object.keys(changes) as Change[]).map((change) => [path, change] as const));

const expectOutcome = async (answer: Answer, change: Change, actor: ApiKeyRecord): Promise<void> => {
  expect([answer.status, answer.body.code]).toEqual(answers[change]);
  const written = await api.database.db.client`select 1 from audit_events where actor_id = ${actor.id}`;
  expect(written).toHaveLength(change === "renamed" ? 1 : 0);
};

describe("while the body is still on its way", () => {
  test.each(cases)("%s by a key that is %s meanwhile", async (path, change) => {
    const { client } = api.database.db;
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { scopes: ["*"] });
    const untilLookedUp = await watchLookUps(api.database.db);
    const text = JSON.stringify(bodies[path]);
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.from(text.slice(0, 5)));
        await untilLookedUp();
        await client.unsafe(changes[change](record.id));
        controller.enqueue(Buffer.from(text.slice(5)));
        controller.close();
      },
    });
    await expectOutcome(await api.call("POST", path, { key: secret.reveal(), body }), change, record);
  });
});

describe("while the write waits for the change to commit", () => {
  test.each(cases)("%s by a key that is %s meanwhile", async (path, change) => {
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { scopes: ["*"] });
    const other = connect(api.database.url, { connections: 1 });
    await other.client`begin`;
    await other.client.unsafe(changes[change](record.id));
    const pending = api.call("POST", path, { key: secret.reveal(), body: bodies[path] });
    await untilBlocked(api.database.db);
    await other.client`commit`;
    await expectOutcome(await pending, change, record);
    await other.close();
  });
});

test("a write that finds its caller changed every time is given up, having written nothing", async () => {
  const { record, secret } = await seedKey(api.database.db, api.tenantId, { scopes: ["*"] });
  // To the statement, a row that the trigger swallows looks as a caller that has changed does.
  await api.database.db.client.unsafe(`
    create function swallow() returns trigger language plpgsql as
      $$ begin if new.display_name = 'swallowed' then return null; end if; return new; end $$;
    create trigger swallow before insert on avatars for each row execute function swallow()`);
  const body = { displayName: "swallowed", sourceKind: "image" };
  const answer = await api.call("POST", "/api/v1/avatars", { key: secret.reveal(), body });
  expect([answer.status, answer.body.code, answer.body.retryable]).toEqual([503, "unavailable", true]);
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(await api.database.db.client`select 1 from audit_events where actor_id = ${record.id}`).toHaveLength(0);
});
