/** Support for tests: all kinds of requests to one shard. Their responses are recorded and compared with the rows. */
import { expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { client } from "@realtime-avatar/testing/database";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import type { Answer } from "../api.ts";
import { assetCalls } from "../assets.ts";
import type { Installation } from "./installation.ts";

type Send = () => Promise<Answer>;
/** Repeats a request until the shard responds. */
type Answered = (send: Send) => Promise<Answer>;

/** 503 means that the shard did not respond, and 429 that its queue was full. */
const answeredWith =
  (statuses: Set<number>): Answered =>
  (send) =>
    until(
      async () => {
        const answer = await send();
        statuses.add(answer.status);
        return ![429, 503].includes(answer.status) && answer;
      },
      // A shard can be moved or restored meanwhile.
      { limitMs: 300_000, pollMs: 50, state: () => statuses },
    );

/** The parts of each lane. `isStopping`: the lane ends after its turn. `name(turn)`: an Idempotency-Key. */
type Lane = {
  installation: Installation;
  shard: number;
  key: string;
  answered: Answered;
  isStopping: () => boolean;
  name: (turn: number) => string;
};

const USED_MICROS = 7;

/** Opens usage sessions, reports and releases them. Returns their number. */
const useSessions = async ({ installation, key, answered, isStopping, name }: Lane): Promise<number> => {
  const { call } = installation.api;
  let turn = 0;
  for (; !isStopping(); turn++) {
    const headers = { "idempotency-key": name(turn) };
    const post = (path: string, body: object) =>
      answered(() => call("POST", `/api/v1/usage/sessions${path}`, { key, body, headers }));
    const opened = await post("", { maxSessionSeconds: 60 });
    expect(opened.status).toBe(201);
    const { sessionId } = opened.body;
    expect((await post(`/${sessionId}/usage`, { usedCreditMicros: 5 })).status).toBe(200);
    expect((await post(`/${sessionId}/release`, { usedCreditMicros: USED_MICROS })).status).toBe(200);
  }
  return turn;
};

/** Starts calls. The worker of the shard takes each of them, and ends it. */
const makeCalls = async ({ installation, shard, key, answered, isStopping, name }: Lane): Promise<void> => {
  const { calls, coordinator, create } = installation;
  const avatar = await answered(() => create(key));
  const admin = client(coordinator);
  await admin.unsafe(`update s0${shard}.avatars set status = 'ready' where id = '${avatar.body.id}'`);
  await admin.end();
  const worker = `wrk_load-s${shard}`;
  const sync = async (ended: object[] = []) =>
    (await answered(() => calls.sync(worker, { features: ["voice"], calls: ended as never }))).body;
  for (let turn = 0; !isStopping(); turn++) {
    await sync();
    const headers = { "idempotency-key": name(turn) };
    const started = await answered(() => calls.start({ avatar_id: avatar.body.id }, key, headers));
    expect(started.status).toBe(200);
    const id = started.body.session_id;
    const assigned = await until(async () => {
      const { start } = await sync();
      return start.find(({ session_id }: { session_id: string }) => session_id === id);
    });
    await sync([
      { session_id: id, generation: assigned.generation, state: "ended", used_seconds: 1, reason: "user_ended" },
    ]);
    const released = await answered(() => installation.api.call("GET", `/api/v1/usage/sessions/${id}`, { key }));
    expect(released.body.status).toBe("released");
  }
};

/** Uploads pictures, and waits until a worker has processed each. */
const processFiles = async ({ installation, key, answered, isStopping }: Lane): Promise<void> => {
  const { upload, call } = assetCalls(installation.api, key);
  while (!isStopping()) {
    const { body } = await answered(() => upload());
    await until(async () => (await answered(() => call("GET", `/${body.id}`))).body.status === "ready", {
      limitMs: 300_000,
      pollMs: 200,
    });
  }
};

/**
 * Revokes keys while they create avatars. Returns the keys that were accepted after the response to their revocation.
 */
const revokeKeys = async ({ installation, key, answered, isStopping }: Lane) => {
  const { api, create } = installation;
  const revoked: string[] = [];
  const accepted: string[] = [];
  const expectRefused = async (secret: string): Promise<void> => {
    const { status } = await answered(() => create(secret));
    if (status !== 401) accepted.push(`${status} ${secret.slice(0, 20)}`);
  };
  for (let turn = 0; !isStopping(); turn++) {
    const body = { name: `short ${turn}`, environment: "live", scopes: ["avatars:write"] };
    const child = await answered(() => api.call("POST", "/api/v1/api-keys", { key, body }));
    const writes = Array.from({ length: 4 }, () => create(child.body.apiKey));
    const answer = await answered(() => api.call("DELETE", `/api/v1/api-keys/${child.body.id}`, { key }));
    expect(answer.status).toBe(200);
    revoked.push(child.body.apiKey);
    await expectRefused(child.body.apiKey);
    await Promise.all(writes);
  }
  // The keys are checked again much later, and possibly on another node.
  for (const secret of revoked) await expectRefused(secret);
  return accepted;
};

/**
 * Runs until stopped: creates avatars with Idempotency-Keys, whose events a webhook endpoint selects; revokes keys;
 * opens usage sessions; starts calls; and uploads files for a worker.
 */
export const startLoad = async (installation: Installation, shard: number) => {
  const { api, coordinator, create, keyIn } = installation;
  let isEnding = false;
  const statuses = new Set<number>();
  const answered = answeredWith(statuses);
  const run = randomBytes(6).toString("hex");
  const isStopping = (): boolean => isEnding;
  /** The id of each avatar, by its name, which is also its Idempotency-Key. */
  const created = new Map<string, string>();

  const lane = (number: number, key: string): Lane => ({
    ...{ installation, shard, key, answered, isStopping },
    name: (turn) => `${run}-${number}-${turn}`,
  });
  const createAvatars = async ({ key, name }: Lane): Promise<void> => {
    for (let turn = 0; !isEnding; turn++) {
      const send = () => create(key, api.call, name(turn));
      const answer = await answered(send);
      expect(answer.status).toBe(201);
      created.set(name(turn), answer.body.id);
      if (turn % 5 === 0) expect((await answered(send)).text).toBe(answer.text);
    }
  };
  const keys = [await keyIn(shard), await keyIn(shard)];
  for (const key of keys) {
    const body = { url: "https://hooks.realtime-avatar.example/x", events: ["avatar.created"] };
    expect((await answered(() => api.call("POST", "/api/v1/webhook-endpoints", { key, body }))).status).toBe(201);
  }
  const worker = startProcess(bun("apps/worker/src/main.ts"), {
    ...{ DATABASE_URL: coordinator, DATA_DIR: api.files.folder, REQUEST_TIMEOUT_MS: "30000", WORKER_PORT: "0" },
  });
  const [manager, user, caller, owner] = [
    await keyIn(shard),
    await keyIn(shard),
    await keyIn(shard),
    await keyIn(shard),
  ];
  const creating = Promise.all(Array.from({ length: 6 }, (_, at) => createAvatars(lane(at, keys[at % 2] as string))));
  const revoking = revokeKeys(lane(6, manager));
  const using = Promise.all([7, 8, 9, 10].map((number) => useSessions(lane(number, user))));
  const others = Promise.all([makeCalls(lane(11, caller)), processFiles(lane(12, owner))]);

  return {
    /** Waits for this number of further responses. */
    more: async (count: number): Promise<void> => {
      const before = created.size;
      await until(() => created.size >= before + count);
    },
    /** Ends the load. Returns the statuses of all responses except 401, and the violations, which must be empty. */
    stop: async () => {
      isEnding = true;
      await Promise.all([creating, others]);
      const [accepted, counts] = [await revoking, await using];
      const charged = USED_MICROS * counts.reduce((sum, count) => sum + count, 0);
      worker.kill("SIGTERM");
      await worker.exited;
      const { body: balance } = await api.call("GET", "/api/v1/credits/balance", { key: user });
      const admin = client(coordinator);
      const rows = await admin.unsafe<{ id: string; name: string; deliveries: number }[]>(
        `select id, display_name as name, (
           select count(*)::integer from s0${shard}.webhook_deliveries delivery
           where delivery.tenant_id = avatar.tenant_id and delivery.target_id = avatar.id
         ) as deliveries
         from s0${shard}.avatars avatar where display_name like '${run}-%'`,
      );
      await admin.end();
      const written = new Set(rows.map(({ id }) => id));
      statuses.delete(401);
      return {
        statuses: [...statuses].toSorted(),
        lost: [...created.values()].filter((id) => !written.has(id)),
        // Each create was repeated until it had a response, so any further row was created twice.
        doubled: rows.filter(({ id, name }) => created.get(name) !== id),
        unsent: rows.filter(({ deliveries }) => deliveries !== 1),
        accepted,
        charged: [balance.reservedCreditMicros, balance.lifetimeUsedCreditMicros - charged],
      };
    },
  };
};
