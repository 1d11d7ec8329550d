/** The API on shards, on Citus: see `packages/testing/src/postgres/citus.ts`. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { grantService } from "@realtime-avatar/db/grant";
import { rebalanceShards } from "@realtime-avatar/db/shards/manage";
import { migrateShards } from "@realtime-avatar/db/shards/split";
import { client } from "@realtime-avatar/testing/database";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { CITUS_BIN } from "@realtime-avatar/testing/postgres/citus";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { callAnew } from "../support/api.ts";
import { assetCalls } from "../support/assets.ts";
import { WORKER_SECRET } from "../support/calls/calls.ts";
import { seedPerson, signInAgain } from "../support/people/people.ts";
import { type Installation, startInstallation } from "../support/shards/installation.ts";
import { startLoad } from "../support/shards/load.ts";
import { openDatabases } from "../support/shards/open.ts";

const SHARDS = 4;
const installation = CITUS_BIN === undefined ? null : await startInstallation(CITUS_BIN, SHARDS);
const { coordinator, nodes, calls, api, placement, nodeAt, otherPort, move, keyIn, create } =
  installation ?? ({} as Installation);
setDefaultTimeout(600_000);

describe.skipIf(installation === null)("the API on shards", () => {
  test("keys and avatars of two shards: a whole life each, without data of the other shard", async () => {
    const [one, three] = [await keyIn(1), await keyIn(3)];
    const ids: string[] = [];
    for (const [key, shard] of [
      [one, "01"],
      [three, "03"],
    ] as const) {
      const child = await api.call("POST", "/api/v1/api-keys", { key, body: { name: "child", environment: "live" } });
      expect(child.status).toBe(201);
      expect(child.body.apiKey).toStartWith(`rta_live_${shard}`);
      const rotated = await api.call("POST", `/api/v1/api-keys/${child.body.id}/rotate`, { key, body: {} });
      expect(rotated.body.apiKey).toStartWith(`rta_live_${shard}`);
      expect((await api.call("GET", "/api/v1/api-keys/self", { key: rotated.body.apiKey })).status).toBe(200);
      expect((await api.call("GET", "/api/v1/api-keys/self", { key: child.body.apiKey })).status).toBe(401);
      const created = await create(key, api.call, "once");
      expect(created.status).toBe(201);
      expect((await create(key, api.call, "once")).text).toBe(created.text);
      ids.push(created.body.id);
      const path = `/api/v1/avatars/${created.body.id}`;
      expect((await api.call("PATCH", path, { key, body: { displayName: "Grace" } })).body.displayName).toBe("Grace");
      expect((await api.call("GET", "/api/v1/avatars", { key })).body.data).toHaveLength(1);
      const report = await api.call("POST", "/api/v1/leaked-keys", { body: { apiKey: rotated.body.apiKey } });
      expect(report.status).toBe(202);
      expect((await api.call("GET", "/api/v1/api-keys/self", { key: rotated.body.apiKey })).body.code).toBe(
        "revoked_api_key",
      );
      expect((await api.call("GET", "/api/v1/audit-events", { key })).body.data.length).toBeGreaterThan(4);
    }
    expect((await api.call("GET", `/api/v1/avatars/${ids[0]}`, { key: three })).status).toBe(404);
    for (const prefix of ["01", "04", "zz"]) {
      const foreign = three.replace("rta_live_03", `rta_live_${prefix}`);
      expect((await api.call("GET", "/api/v1/avatars", { key: foreign })).body.code).toBe("invalid_api_key");
    }
  });

  test("a session of usage: held, reported and charged once", async () => {
    const key = await keyIn(2);
    const opened = await api.call("POST", "/api/v1/usage/sessions", { key, body: { maxSessionSeconds: 60 } });
    expect(opened.status).toBe(201);
    const path = `/api/v1/usage/sessions/${opened.body.sessionId}`;
    expect((await api.call("POST", `${path}/usage`, { key, body: { usedCreditMicros: 5 } })).status).toBe(200);
    const released = await api.call("POST", `${path}/release`, { key, body: { usedCreditMicros: 7 } });
    expect(released.status).toBe(200);
    const { body } = await api.call("GET", "/api/v1/credits/balance", { key });
    expect(body).toMatchObject({ reservedCreditMicros: 0, lifetimeUsedCreditMicros: 7 });
  });

  test("people: invited, signed in, and signed in again, in their shard", async () => {
    const person = await seedPerson(api, "owner");
    expect(person.tenantId).toEndWith("03");
    const again = await signInAgain(api, person);
    expect((await again.call("GET", "/api/v1/users")).body.data).toHaveLength(1);
    const key = await again.call("POST", "/api/v1/api-keys", { name: "of a person", environment: "test" });
    expect(key.body.apiKey).toStartWith("rta_test_03");
    const cookie = again.cookie.replace(/^(rta_session_\w{24})03/, "$1zz");
    expect(cookie).not.toBe(again.cookie);
    expect((await api.call("GET", "/api/v1/users", { headers: { cookie } })).status).toBe(401);
  });

  test("a webhook endpoint: added, and events are delivered to it", async () => {
    const key = await keyIn(0);
    const body = { url: "https://hooks.realtime-avatar.example/x" };
    const made = await api.call("POST", "/api/v1/webhook-endpoints", { key, body });
    expect(made.status).toBe(201);
    await create(key);
    const { data } = (await api.call("GET", "/api/v1/webhook-deliveries", { key })).body;
    expect(data.length).toBeGreaterThan(0);
  });

  test("a call: 501 without an avatar worker of its shard; taken only by a worker of its shard, and charged", async () => {
    await calls.syncOf("wrk_other-s2", { features: ["voice"] });
    const refused = await calls.start({ avatar_id: await calls.avatar() });
    expect([refused.status, refused.body.detail]).toEqual([501, expect.stringContaining("AVATAR_WORKER_SHARD=3")]);
    await calls.syncOf("wrk_own-s3", { features: ["voice"] });
    const avatarId = await calls.avatar();
    const started = await calls.start({ avatar_id: avatarId });
    expect(started.status).toBe(200);
    expect((await calls.syncOf("wrk_other-s2", { features: ["voice"] })).start).toEqual([]);
    const { start: assigned } = await calls.syncOf("wrk_own-s3", { features: ["voice"] });
    expect(assigned).toHaveLength(1);
    const [{ session_id, generation } = { session_id: "", generation: 0 }] = assigned;
    const ended = { session_id, generation, state: "ended", used_seconds: 3, reason: "user_ended" };
    await calls.syncOf("wrk_own-s3", { features: ["voice"], calls: [ended as never] });
    expect(await calls.session(session_id)).toMatchObject({ status: "released" });
    expect((await calls.sync("wrk_far-s9", {})).status).toBe(503);
  });

  test("one avatar worker with one slot for all shards: calls of two of them, one after the other", async () => {
    const server = Bun.serve({ port: 0, fetch: (request) => api.app.handle(request) });
    const worker = startProcess(bun("apps/avatar-worker/src/main.ts"), {
      ...{ SERVICE_URL: `http://127.0.0.1:${server.port}`, AVATAR_WORKER_SECRET: WORKER_SECRET },
      ...{ AVATAR_WORKER_SHARD: `0-${SHARDS - 1}`, AVATAR_SLOTS: "1", AVATAR_WORKER_PORT: "0", RENDERER: "portrait" },
    });
    const [, id] = await worker.waitFor(/"workerId":"(wrk_\w+)"/);
    const slots = async () => {
      const rows = await Promise.all(
        Array.from({ length: SHARDS }, (_, shard) =>
          databases
            .ofShard(shard)
            .run<{ taken: boolean }>("select session_id is not null as taken from avatar_slots where worker_id = $1", [
              shard === 0 ? id : `${id}-s${shard}`,
            ]),
        ),
      );
      return rows.flatMap((taken, shard) => taken.map((row) => ({ ...row, shard })));
    };
    const databases = await openDatabases(coordinator);
    for (const shard of [2, 1]) {
      const key = await keyIn(shard);
      const { id: avatarId } = (await create(key)).body;
      await databases.ofShard(shard).run("update avatars set status = 'ready' where id = $1", [avatarId]);
      // The call waits until the worker has moved its slot to this shard.
      const started = await until(async () => {
        expect((await slots()).length).toBeLessThanOrEqual(1);
        const answer = await calls.start({ avatar_id: avatarId }, key);
        expect([200, 429, 501]).toContain(answer.status);
        return answer.status === 200 && answer;
      });
      expect(await slots()).toEqual([{ taken: true, shard }]);
      const { session_id } = (started as { body: { session_id: string } }).body;
      expect((await calls.release({ session_id }, key)).status).toBe(200);
    }
    worker.kill("SIGTERM");
    expect(await worker.exited).toBe(0);
    await Promise.all([databases.close(), server.stop(true)]);
  });

  test("the last uses of keys of several shards: each written in its own shard", async () => {
    const keys = [await keyIn(1), await keyIn(2)];
    for (const key of keys) await api.call("GET", "/api/v1/api-keys/self", { key });
    await api.uses.flush();
    for (const key of keys) {
      const { body } = await api.call("GET", "/api/v1/api-keys/self", { key });
      expect(body.lastUsedAt).not.toBeNull();
    }
  });

  test("files of two shards, and a worker: processed, and public under their tokens", async () => {
    const worker = startProcess(bun("apps/worker/src/main.ts"), {
      DATABASE_URL: coordinator,
      DATA_DIR: api.files.folder,
      REQUEST_TIMEOUT_MS: "30000",
      WORKER_PORT: "0",
    });
    for (const shard of [0, 2]) {
      const key = await keyIn(shard);
      const { id } = await assetCalls(api, key).make({}, await readFile(portraitPath()));
      const read = async () => (await api.call("GET", `/api/v1/assets/${id}`, { key })).body;
      await until(async () => ["ready", "failed"].includes((await read()).status), { pollMs: 100 });
      expect((await read()).status).toBe("ready");
      const { publicUrl } = await read();
      expect(new URL(publicUrl).pathname).toStartWith(`/public/assets/A${"ABCD"[shard]}`);
      expect((await fetch(publicUrl)).status).toBe(200);
      const lost = publicUrl.replace(/assets\/../, "assets/AD");
      expect((await fetch(lost)).status).toBe(404);
    }
    worker.kill("SIGTERM");
    expect(await worker.exited).toBe(0);
  });

  test("a role with only the rights of the service: serves every shard, and has no further rights", async () => {
    const [role, password] = ["service_of_shards", "a password of the tests"];
    const admin = client(coordinator);
    await admin.unsafe(`create role ${role} login password '${password}'`);
    await admin.end();
    for (const { url } of nodes) {
      const own = client(url);
      await own`insert into pg_dist_authinfo values (0, ${role}, ${`password='${password}'`})`;
      await own.end();
    }
    await grantService(coordinator, role, { shards: [0, 1, 2, 3] });
    const url = Object.assign(new URL(coordinator), { username: role, password }).href;
    const databases = await openDatabases(url);
    const call = callAnew(databases.ofShard(0), { databases });
    for (let shard = 0; shard < SHARDS; shard++) expect((await create(await keyIn(shard), call)).status).toBe(201);
    await expect(databases.ofShard(1).run("delete from audit_events", [])).rejects.toThrow();
    await expect(databases.ofShard(1).run("update tenants set name = ''", [])).rejects.toThrow();
    const [{ id } = { id: "" }] = await databases
      .ofShard(1)
      .run<{ id: string }>("select min(tenant_id) as id from avatars", []);
    // Citus turns INSERT … SELECT into a COPY, which ignores policies of the table.
    for (const text of [
      `insert into credit_entries (tenant_id, id, environment, kind, amount, request_id, created_at)
       select tenant_id, 'ent_01h455vb4pex5vsknk084sn02q', 'live', 'grant', 1, 'r', now() from unnest($1::text[]) tenant_id`,
      "update credit_accounts set settled = settled - 1 where tenant_id = any ($1)",
    ]) {
      await expect(databases.ofShard(1).run(text, [[id]])).rejects.toMatchObject({ code: "42501" });
    }
    await databases.close();
  });

  test("creates of two shards, all through the coordinator: 201", async () => {
    const databases = await openDatabases(coordinator, { isByNode: false });
    const call = callAnew(databases.ofShard(0), { databases });
    for (const shard of [0, 2]) expect((await create(await keyIn(shard), call)).status).toBe(201);
    await databases.close();
  });
});

const NOTHING_WRONG = { statuses: [200, 201], lost: [], doubled: [], unsent: [], accepted: [], charged: [0, 0] };

describe.skipIf(installation === null)("moves under load", () => {
  test("a shard that moves, twice: no failed request, no lost or doubled row, no revoked key accepted", async () => {
    const load = await startLoad(installation as Installation, 1);
    const [, from = 0] = await placement();
    await move(1, otherPort(from));
    expect((await placement())[1]).toBe(otherPort(from));
    await Bun.sleep(1000);
    await move(1, from);
    expect(await load.stop()).toEqual(NOTHING_WRONG);
  });

  test("shards that are rebalanced: no failed request, no lost or doubled row, no revoked key accepted", async () => {
    const [home = 0, ...others] = await placement();
    for (const [index, node] of others.entries()) if (node !== home) await move(index + 1, home);
    const loads = [await startLoad(installation as Installation, 1), await startLoad(installation as Installation, 2)];
    expect(await rebalanceShards(coordinator)).toBe(SHARDS / 2);
    expect(new Set(await placement()).size).toBe(2);
    for (const load of loads) expect(await load.stop()).toEqual(NOTHING_WRONG);
  });

  test("a move that is cancelled: no request fails, and the next move succeeds", async () => {
    const load = await startLoad(installation as Installation, 2);
    const [, , from = 0] = await placement();
    const outcome = move(2, otherPort(from)).then(
      () => "moved",
      () => "cancelled",
    );
    const admin = client(coordinator);
    const cancel = () => admin`
      select pg_cancel_backend(pid) from pg_stat_activity
      where query like '%citus_schema_move%' and pid <> pg_backend_pid() and state = 'active'`;
    await until(async () => (await cancel()).length > 0);
    await admin.end();
    await move(2, (await outcome) === "moved" ? from : otherPort(from));
    expect(await load.stop()).toEqual(NOTHING_WRONG);
  });

  test("an added shard: its new keys are valid at once in a process that does not know it; without the coordinator 503, not 401", async () => {
    const [seeing, blind] = [await openDatabases(coordinator), await openDatabases(coordinator, { deadlineMs: 5000 })];
    await migrateShards(coordinator, SHARDS + 1);
    const key = await keyIn(SHARDS);
    const call = callAnew(seeing.ofShard(0), { databases: seeing });
    expect((await create(key, call)).status).toBe(201);
    const callBlind = callAnew(blind.ofShard(0), { databases: blind });
    await nodes[0].server.freeze();
    try {
      const refused = await create(key, callBlind);
      expect([refused.status, refused.body.code]).toEqual([503, "unavailable"]);
    } finally {
      await nodes[0].server.thaw();
    }
    expect(await until(async () => ((await create(key, callBlind)).status === 201 ? 201 : 0))).toBe(201);
    const invalid = key.replace(/^rta_live_../, "rta_live_0z");
    expect((await create(invalid, callBlind)).body.code).toBe("invalid_api_key");
    await Promise.all([seeing.close(), blind.close()]);
  });

  test("a placement that is never read again: requests succeed through the old node", async () => {
    const databases = await openDatabases(coordinator);
    const call = callAnew(databases.ofShard(0), { databases });
    const key = await keyIn(0);
    expect((await create(key, call)).status).toBe(201);
    const [from = 0] = await placement();
    await move(0, otherPort(from));
    for (let turn = 0; turn < 5; turn++) expect((await create(key, call)).status).toBe(201);
    expect((await call("GET", "/api/v1/avatars", { key })).body.data).toHaveLength(6);
    await databases.close();
  });
});

describe.skipIf(installation === null)("faults of nodes", () => {
  afterAll(async () => {
    for (const { server } of nodes) await server.close();
  });

  test("a node without functions: only its tenants are refused, and verify reports it", async () => {
    await move(1, otherPort((await placement())[0] as number));
    const [port = 0] = await placement();
    const other = 1;
    const [mine, foreign] = [await keyIn(0), await keyIn(other)];
    const admin = client(nodeAt(port).url);
    await admin.unsafe("set citus.enable_ddl_propagation = off");
    const [schema] = await admin<{ name: string }[]>`
      select nspname as name from pg_namespace where nspname ~ '^rta_[0-9a-f]{12}_s00$'`;
    await admin.unsafe(`alter schema ${schema?.name} rename to hidden`);
    expect((await create(mine)).status).toBeGreaterThanOrEqual(500);
    expect((await create(foreign)).status).toBe(201);
    await admin.unsafe(`alter schema hidden rename to ${schema?.name}`);
    await admin.end();
    expect((await create(mine)).status).toBe(201);
  });

  test("a node that is frozen, then killed: 503 only for its tenants; without the coordinator, other tenants are served", async () => {
    const places = await placement();
    const victim = places[0] as number;
    const others = places.flatMap((port, shard) => (port === victim ? [] : [shard]));
    const dead = places.flatMap((port, shard) => (port === victim ? [shard] : []));
    const keys = await Promise.all(places.map((_, shard) => keyIn(shard)));
    const databases = await openDatabases(coordinator, { deadlineMs: 10_000, refreshMs: 1000 });
    const call = callAnew(databases.ofShard(0), { databases });
    for (const key of keys) expect((await create(key, call)).status).toBe(201);
    const check = async (): Promise<void> => {
      const failing = Promise.all(dead.map((shard) => create(keys[shard] as string, call)));
      for (let turn = 0; turn < 5; turn++) {
        for (const shard of others) expect((await create(keys[shard] as string, call)).status).toBe(201);
      }
      for (const { status, body } of await failing) {
        expect(status).toBe(503);
        expect(["unavailable", "outcome_unknown"]).toContain(body.code);
      }
      expect((await call("GET", "/readyz")).status).toBe(200);
    };
    await nodeAt(victim).server.freeze();
    await check();
    await nodeAt(victim).server.kill();
    await check();
    // A process that starts meanwhile also serves the other shards.
    const late = startProcess(bun("apps/api/src/main.ts"), {
      DATABASE_URL: coordinator,
      DATA_DIR: api.files.folder,
      PORT: "0",
    });
    const [, url] = await late.waitFor(/"url":"(http:[^"]+)"/);
    const headers = { authorization: `Bearer ${keys[others[0] as number]}` };
    expect((await fetch(`${url}/api/v1/avatars`, { headers })).status).toBe(200);
    late.kill("SIGTERM");
    expect(await late.exited).toBe(0);
    await nodes[0].server.kill();
    await check();
    await databases.close();
  });
});
