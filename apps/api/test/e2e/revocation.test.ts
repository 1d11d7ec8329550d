/** A caller that changes between its look-up and its write: a key without the right no longer writes. */
import { describe, expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { connectTo, IS_ONE_DATABASE, session } from "@realtime-avatar/testing/database";
import { untilBlocked, watchLookUps, whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { type Answer, callAnew, startApi } from "../support/api.ts";

const api = await startApi();

/** Every write, on an existing avatar or key of the tenant. */
const writes = {
  "POST /api/v1/avatars": { displayName: "Ada", sourceKind: "image" },
  "PATCH /api/v1/avatars/:avatar": { displayName: "Grace" },
  "DELETE /api/v1/avatars/:avatar": undefined,
  "POST /api/v1/api-keys": { name: "child", scopes: ["avatars:write" as const] },
  "PATCH /api/v1/api-keys/:key": { name: "changed" },
  "POST /api/v1/api-keys/:key/rotate": {},
  "DELETE /api/v1/api-keys/:key": undefined,
};
type Write = keyof typeof writes;
const all = Object.keys(writes) as Write[];

/**
 * A request that `caller` may make. The target of a rotation is a descendant. Other changes have another key as their
 * target, which covers more checks.
 */
const requestOf = async (write: Write, caller: ApiKeyRecord): Promise<[method: string, path: string]> => {
  const [method = "", path = ""] = write.split(" ");
  const body = writes["POST /api/v1/avatars"];
  const test = await api.key({ scopes: ["*"] });
  const avatar = await api.call("POST", "/api/v1/avatars", { key: test, body });
  const parent = path.endsWith("/rotate") ? caller : undefined;
  const target = await seedKey(api.database.db, api.tenantId, writes["POST /api/v1/api-keys"], parent);
  return [method, path.replace(":avatar", avatar.body.id).replace(":key", target.record.id)];
};

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
  renamed: [200, undefined],
};
/**
 * Each write with a revoked key. Every other change of a key has only the first write, because the check is the same
 * for all writes.
 */
const cases = all.flatMap((write, at) =>
  (Object.keys(changes) as Change[])
    .filter((change) => at === 0 || change === "revoked")
    .map((change) => [write, change] as const),
);

/** All rows that a write can have changed, without those of the caller. */
const rowsAt = async (path: string): Promise<string> => {
  const id = path.split("/")[4] ?? "";
  const { client } = api.database.db;
  return JSON.stringify([
    await client`select * from api_keys where id = ${id}`,
    await client`select * from api_key_credentials where api_key_id = ${id} order by key_id`,
    await client`select * from avatars where id = ${id}`,
  ]);
};

const expectOutcome = async (
  answer: Answer,
  change: Change,
  actor: ApiKeyRecord,
  path: string,
  before: string,
): Promise<void> => {
  expect([answer.status === 201 ? 200 : answer.status, answer.body.code]).toEqual(answers[change]);
  if (change !== "renamed") expect(await rowsAt(path)).toBe(before);
  const written = await api.database.db.client`select 1 from audit_events where actor_id = ${actor.id}`;
  expect(written).toHaveLength(change === "renamed" ? 1 : 0);
};

test.each(cases.filter(([write]) => writes[write]))(
  "a write whose body arrives while its key changes, checked with the new state: %s by a key that is %s",
  async (write, change) => {
    const { client } = api.database.db;
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { scopes: ["*"] });
    const [method, path] = await requestOf(write, record);
    const before = await rowsAt(path);
    const untilLookedUp = await watchLookUps(api.database);
    const text = JSON.stringify(writes[write]);
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.from(text.slice(0, 1)));
        await untilLookedUp();
        await client.unsafe(changes[change](record.id));
        controller.enqueue(Buffer.from(text.slice(1)));
        controller.close();
      },
    });
    await expectOutcome(await api.call(method, path, { key: secret.reveal(), body }), change, record, path, before);
  },
);

test.each(cases)(
  "a write that waits for a change of its key, checked with the new state: %s by a key that is %s",
  async (write, change) => {
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { scopes: ["*"] });
    const [method, path] = await requestOf(write, record);
    const before = await rowsAt(path);
    const answer = await whileHeld(
      api.database,
      ({ client }) => client.unsafe(changes[change](record.id)),
      () => api.call(method, path, { key: secret.reveal(), body: writes[write] }),
    );
    await expectOutcome(answer, change, record, path, before);
  },
);

describe("a write that waits for a change of its target", () => {
  const onKeys = all.filter((write) => write.includes(":key"));

  test.each(onKeys)("a write whose target is revoked while it waits: refused: %s", async (write) => {
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["*"] });
    const [method, path] = await requestOf(write, record);
    const { status, body } = await whileHeld(
      api.database,
      ({ client }) => client.unsafe(changes.revoked(path.split("/")[4] ?? "")),
      () => api.call(method, path, { key: secret.reveal(), body: writes[write] }),
    );
    // Revoking a revoked key is no error. All other writes are refused.
    expect([status, body.code ?? body.status]).toEqual(
      method === "DELETE" ? [200, "revoked"] : [409, "invalid_transition"],
    );
    expect(await api.database.db.client`select 1 from audit_events where actor_id = ${record.id}`).toHaveLength(0);
  });

  test.each(onKeys)(
    "a write whose target gets more rights than the caller while it waits: refused, except a revocation: %s",
    async (write) => {
      const narrow = { environment: "live" as const, scopes: ["api_keys:write" as const, "avatars:write" as const] };
      const { record, secret } = await seedKey(api.database.db, api.tenantId, narrow);
      const [method, path] = await requestOf(write, record);
      const { status, body } = await whileHeld(
        api.database,
        ({ client }) => client`
          update api_keys set scopes = '{*}', version = version + 1 where id = ${path.split("/")[4] ?? ""}`,
        () => api.call(method, path, { key: secret.reveal(), body: writes[write] }),
      );
      // The state of the key at its look-up decides about a revocation. Otherwise a key that is widened without a pause
      // could never be revoked.
      const isRevocation = method === "DELETE";
      expect([status, body.code]).toEqual(isRevocation ? [200, undefined] : [403, "grant_exceeds_caller"]);
      const events = await api.database.db.client`select 1 from audit_events where actor_id = ${record.id}`;
      expect(events).toHaveLength(isRevocation ? 1 : 0);
    },
  );
});

test.each(["PATCH", "DELETE"])("%s with If-Match whose target is renamed while it waits: 412", async (method) => {
  const { record, secret } = await seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["*"] });
  const [, path] = await requestOf("DELETE /api/v1/api-keys/:key", record);
  const key = secret.reveal();
  const body = method === "PATCH" ? { name: "mine" } : undefined;
  const { status, body: problem } = await whileHeld(
    api.database,
    ({ client }) => client.unsafe(changes.renamed(path.split("/")[4] ?? "")),
    () => api.call(method, path, { key, body, headers: { "if-match": '"1"' } }),
  );
  expect([status, problem.code]).toEqual([412, "precondition_failed"]);
  expect((await api.call("GET", path, { key })).body).toMatchObject({ name: "renamed", status: "active" });
});

describe("a key that writes without a pause", () => {
  /** Makes commits slow, like a wait for a remote replica. */
  const slow = [
    "create or replace function dawdle() returns trigger language plpgsql as $$ begin perform pg_sleep(0.02); return new; end $$",
    "drop trigger if exists dawdle on avatars",
    "create trigger dawdle before insert on avatars for each row when (new.display_name = 'slow') execute function dawdle()",
  ];

  test.each(["PATCH", "rotate", "DELETE", "leaked-keys"])(
    "a key that writes without a pause, with its descendants: its %s is not delayed",
    async (how) => {
      for (const text of slow) await api.database.db.client.unsafe(text);
      const ancestor = await seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["*"] });
      const live = { environment: "live" as const, scopes: ["*" as const] };
      const parent = await seedKey(api.database.db, api.tenantId, live, ancestor.record);
      const child = await seedKey(api.database.db, api.tenantId, live, parent.record);
      let stop = false;
      let written = 0;
      const lanes = Array.from({ length: 20 }, async (_, lane) => {
        const key = (lane % 2 ? parent : child).secret.reveal();
        while (!stop) {
          const body = { displayName: "slow", sourceKind: "image" };
          if ((await api.call("POST", "/api/v1/avatars", { key, body })).status === 201) written++;
        }
      });
      // Another replica, with free connections.
      const db = connectTo(api.database, { connections: 4, deadlineMs: 30_000 });
      try {
        await until(() => written >= 20, { pollMs: 1 });
        const key = ancestor.secret.reveal();
        const path = `/api/v1/api-keys/${parent.record.id}`;
        const [method, url, body] = {
          PATCH: ["PATCH", path, { name: "changed" }] as const,
          rotate: ["POST", `${path}/rotate`, {}] as const,
          DELETE: ["DELETE", path, undefined] as const,
          "leaked-keys": ["POST", "/api/v1/leaked-keys", { apiKey: parent.secret.reveal() }] as const,
        }[how] ?? ["GET", path, undefined];
        const answer = await callAnew(db)(method, url, { key, body });
        expect([200, 202]).toContain(answer.status);
        // The keys continue to write, or try to, until the response. The pending change is withdrawn shortly after it.
        await until(async () => (await api.database.db.client`select 1 from pending_changes`).length === 0, {
          pollMs: 5,
        });
      } finally {
        stop = true;
        await Promise.all(lanes);
        await db.close();
      }
    },
  );
});

describe("a pending change", () => {
  test("a pending change that is never withdrawn: a look-up waits a bounded time", async () => {
    const { record, secret } = await seedKey(api.database.db, api.tenantId, { scopes: ["*"] });
    await api.database.db.client`
      insert into pending_changes values (${record.tenantId}, ${record.id}, now() + interval '1 hour')`;
    expect((await api.call("GET", "/api/v1/api-keys/self", { key: secret.reveal() })).status).toBe(200);
  });

  test("a pending change, during a long wait: renewed; without its table: the change is made", async () => {
    const { db, url } = api.database;
    const { record } = await seedKey(db, api.tenantId, { environment: "live", scopes: ["*"] });
    const key = await api.key();
    const announced = async (): Promise<number | undefined> => {
      const [row] = await db.client`
        select announced_at from pending_changes where subject_id = ${record.id}`;
      return row?.["announced_at"].getTime();
    };
    const changeUnder = async (whileHeld: () => Promise<void>): Promise<void> => {
      const holder = session(url);
      await holder.client`begin`;
      await holder.client`select 1 from api_keys where id = ${record.id} for share`;
      const pending = api.call("PATCH", `/api/v1/api-keys/${record.id}`, { key, body: { name: "held" } });
      await whileHeld();
      await holder.client`commit`;
      expect((await pending).status).toBe(200);
      await holder.close();
    };
    await changeUnder(async () => {
      await until(async () => (await announced()) !== undefined, { pollMs: 5 });
      const first = await announced();
      await until(async () => (await announced()) !== first, { pollMs: 5 });
    });
    await until(async () => (await announced()) === undefined, { pollMs: 5 });
    // The look-up runs while the table exists, and is blocked while it does not.
    const kind = IS_ONE_DATABASE ? "view" : "table";
    await changeUnder(async () => {
      await untilBlocked(db);
      await db.client.unsafe(`alter ${kind} pending_changes rename to elsewhere`);
      await Bun.sleep(500);
    });
    await db.client.unsafe(`alter ${kind} elsewhere rename to pending_changes`);
    expect((await api.call("GET", `/api/v1/api-keys/${record.id}`, { key })).body.name).toBe("held");
  });
});
