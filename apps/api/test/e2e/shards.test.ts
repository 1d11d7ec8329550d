/** The API on shards, on Citus: see `packages/testing/src/postgres/citus.ts`. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { grantService } from "@realtime-avatar/db/grant";
import { moveShard } from "@realtime-avatar/db/shards/manage";
import { placementOf } from "@realtime-avatar/db/shards/placement";
import { migrateShards } from "@realtime-avatar/db/shards/split";
import { client } from "@realtime-avatar/testing/database";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { CITUS_BIN, type Citus, type CitusNode, startNodes } from "@realtime-avatar/testing/postgres/citus";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { callAnew, type TestApi } from "../support/api.ts";
import { assetCalls } from "../support/assets.ts";
import { startCallApi } from "../support/calls/calls.ts";
import { seedPerson, signInAgain } from "../support/people/people.ts";
import { openDatabases, shardOf } from "../support/shards/open.ts";

const SHARDS = 4;
const WHOLE = { environment: "live", scopes: ["*", "usage:write"] } as const;
const AVATAR = { displayName: "Ada", sourceKind: "image" };

const citus = CITUS_BIN === undefined ? null : await startNodes(CITUS_BIN);
if (citus) await migrateShards(citus.coordinator, SHARDS);
const { coordinator, nodes } = citus ?? ({ coordinator: "", nodes: [] as unknown } as Citus);

/** The API, beside one that looks for moves often, for the requests of a test. */
const start = async () => {
  const databases = await openDatabases(coordinator, { refreshMs: 500 });
  return startCallApi({ databases }, {}, shardOf(coordinator, databases, 3));
};
const calls = citus ? await start() : (null as unknown as Awaited<ReturnType<typeof start>>);
const api: TestApi = calls?.api;
setDefaultTimeout(600_000);

/** The port of the node of each shard. */
const placement = async (): Promise<number[]> => {
  const admin = client(coordinator);
  const places = await placementOf((text) => admin.unsafe(text));
  await admin.end();
  return Array.from({ length: SHARDS }, (_, shard) => places.get(shard)?.port ?? 0);
};
const nodeAt = (port: number): CitusNode => nodes.find(({ url }) => new URL(url).port === String(port)) as CitusNode;
const otherPort = (port: number): number =>
  Number(new URL(nodes.slice(1).find(({ url }) => new URL(url).port !== String(port))?.url ?? "").port);

/** A new key of a new tenant in a shard. */
const keyIn = async (shard: number): Promise<string> => {
  const databases = await openDatabases(coordinator);
  const db = databases.ofShard(shard);
  const { secret } = await seedKey(db, await seedTenant(db, { live: 1e12 }), { ...WHOLE, scopes: [...WHOLE.scopes] });
  await databases.close();
  return secret.reveal();
};
const create = (key: string, call = api.call, headers: Record<string, string> = {}) =>
  call("POST", "/api/v1/avatars", { key, body: AVATAR, headers });

describe.skipIf(citus === null)("the API on shards", () => {
  test("keys and avatars of two shards: a whole life each, and nothing of one in the other", async () => {
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
      const headers = { "idempotency-key": "once" };
      const created = await create(key, api.call, headers);
      expect(created.status).toBe(201);
      expect((await create(key, api.call, headers)).text).toBe(created.text);
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

  test("an endpoint of webhooks: made, and events are delivered to it", async () => {
    const key = await keyIn(0);
    const body = { url: "https://hooks.realtime-avatar.example/x" };
    const made = await api.call("POST", "/api/v1/webhook-endpoints", { key, body });
    expect(made.status).toBe(201);
    await create(key);
    const { data } = (await api.call("GET", "/api/v1/webhook-deliveries", { key })).body;
    expect(data.length).toBeGreaterThan(0);
  });

  test("a call: an avatar worker of its shard takes it, one of another does not, and it is charged", async () => {
    await calls.syncOf("wrk_other-s2", { features: ["voice"] });
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

  test("the last uses of keys of several shards: each is written in its own", async () => {
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
      while (!["ready", "failed"].includes((await read()).status)) await Bun.sleep(100);
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

  test("a role with the rights of the service alone: serves every shard, and can do no more", async () => {
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
    await databases.close();
  });

  test("all through the coordinator: the same", async () => {
    const databases = await openDatabases(coordinator, { isByNode: false });
    const call = callAnew(databases.ofShard(0), { databases });
    for (const shard of [0, 2]) expect((await create(await keyIn(shard), call)).status).toBe(201);
    await databases.close();
  });
});

/** Creates and revocations of a shard, until it is stopped. Each answer is kept. */
const load = (keys: readonly string[], managers: readonly string[]) => {
  let isStopping = false;
  const statuses = new Map<number, number>();
  const created: string[] = [];
  const late: string[] = [];
  let turn = 0;
  const one = async (lane: number): Promise<void> => {
    const key = keys[lane % keys.length] as string;
    for (let number = 0; !isStopping; number++) {
      const headers = { "idempotency-key": `lane-${lane}-${number}` };
      const answer = await create(key, api.call, headers);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status === 201) created.push(answer.body.id);
      // The same request again: nothing is doubled.
      if (number % 5 === 0) expect((await create(key, api.call, headers)).text).toBe(answer.text);
    }
  };
  const revoke = async (manager: string): Promise<void> => {
    while (!isStopping) {
      const body = { name: `short ${turn++}`, environment: "live", scopes: ["avatars:write"] };
      const child = await api.call("POST", "/api/v1/api-keys", { key: manager, body });
      const writes = Array.from({ length: 4 }, () => create(child.body.apiKey));
      const revoked = await api.call("DELETE", `/api/v1/api-keys/${child.body.id}`, { key: manager });
      statuses.set(revoked.status, (statuses.get(revoked.status) ?? 0) + 1);
      const after = await create(child.body.apiKey);
      if (after.status !== 401) late.push(child.body.id);
      await Promise.all(writes);
    }
  };
  const running = [...Array.from({ length: 6 }, (_, lane) => one(lane)), ...managers.map(revoke)];
  return {
    statuses,
    created,
    late,
    stop: async (): Promise<void> => {
      isStopping = true;
      await Promise.all(running);
    },
  };
};

describe.skipIf(citus === null)("moves under load", () => {
  test("a shard that moves, twice: no request fails, nothing is lost, doubled or accepted after its revocation", async () => {
    const keys = [await keyIn(1), await keyIn(1)];
    const traffic = load(keys, [await keyIn(1)]);
    const [, from = 0] = await placement();
    await moveShard(coordinator, 1, { host: "127.0.0.1", port: otherPort(from) });
    expect((await placement())[1]).toBe(otherPort(from));
    await Bun.sleep(1000);
    await moveShard(coordinator, 1, { host: "127.0.0.1", port: from });
    await traffic.stop();
    expect([...traffic.statuses.keys()].toSorted()).toEqual([200, 201]);
    expect(traffic.late).toEqual([]);
    const rows = await shardRows(1);
    for (const id of traffic.created) expect(rows.has(id)).toBe(true);
    expect(new Set(traffic.created).size).toBe(traffic.created.length);
  });

  test("a move that is cancelled: no request fails, and the next move succeeds", async () => {
    const traffic = load([await keyIn(2)], [await keyIn(2)]);
    const [, , from = 0] = await placement();
    const moving = moveShard(coordinator, 2, { host: "127.0.0.1", port: otherPort(from) });
    const outcome = moving.then(
      () => "moved",
      () => "cancelled",
    );
    const admin = client(coordinator);
    const cancel = () => admin`
      select pg_cancel_backend(pid) from pg_stat_activity
      where query like '%citus_schema_move%' and pid <> pg_backend_pid() and state = 'active'`;
    while ((await cancel()).length === 0) await Bun.sleep(20);
    await admin.end();
    const first = await outcome;
    await moveShard(coordinator, 2, { host: "127.0.0.1", port: first === "moved" ? from : otherPort(from) });
    await traffic.stop();
    expect([...traffic.statuses.keys()].toSorted()).toEqual([200, 201]);
    expect(traffic.late).toEqual([]);
    const rows = await shardRows(2);
    for (const id of traffic.created) expect(rows.has(id)).toBe(true);
  });

  test("a placement that is never read again: requests go on at the old node, with a hop", async () => {
    const databases = await openDatabases(coordinator);
    const call = callAnew(databases.ofShard(0), { databases });
    const key = await keyIn(0);
    expect((await create(key, call)).status).toBe(201);
    const [from = 0] = await placement();
    await moveShard(coordinator, 0, { host: "127.0.0.1", port: otherPort(from) });
    for (let turn = 0; turn < 5; turn++) expect((await create(key, call)).status).toBe(201);
    expect((await call("GET", "/api/v1/avatars", { key })).body.data).toHaveLength(6);
    await databases.close();
  });
});

/** The ids of all avatars of a shard. */
const shardRows = async (shard: number): Promise<Set<string>> => {
  const admin = client(coordinator);
  const rows = await admin.unsafe<{ id: string }[]>(`select id from s0${shard}.avatars`);
  await admin.end();
  return new Set(rows.map(({ id }) => id));
};

describe.skipIf(citus === null)("faults of nodes", () => {
  afterAll(async () => {
    for (const { pid } of nodes) {
      try {
        process.kill(pid, "SIGCONT");
      } catch {}
    }
  });

  test("a node whose functions are missing: its tenants are refused, others not, and verify says so", async () => {
    await moveShard(coordinator, 1, { host: "127.0.0.1", port: otherPort((await placement())[0] as number) });
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

  test("a node that is frozen, then killed: 503 for its tenants alone; without the coordinator the rest goes on", async () => {
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
    process.kill(nodeAt(victim).pid, "SIGSTOP");
    const admin = client(nodeAt(victim).url, 1, { connect_timeout: 2 });
    // The backends of connections that are open must stop too.
    await stopBackends(victim);
    await check();
    await killNode(victim);
    await check();
    await killNode(Number(new URL(coordinator).port));
    await check();
    void admin.end({ timeout: 0 });
    await databases.close();
  });
});

/** The processes of a server on this machine, its first one included. */
const processesOf = async (port: number): Promise<number[]> => {
  const { pid } = nodeAt(port);
  const listed = await new Response(Bun.spawn(["ps", "-eo", "pid=,ppid="]).stdout).text();
  const children = listed.split("\n").flatMap((line) => {
    const [own = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    return parent === pid ? [own] : [];
  });
  return [pid, ...children];
};
const signalAll = async (port: number, signal: NodeJS.Signals): Promise<void> => {
  for (const pid of await processesOf(port)) {
    try {
      process.kill(pid, signal);
    } catch {}
  }
};
const stopBackends = (port: number): Promise<void> => signalAll(port, "SIGSTOP");
const killNode = (port: number): Promise<void> => signalAll(port, "SIGKILL");
