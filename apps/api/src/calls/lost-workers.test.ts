/**
 * Avatar workers whose connection ends. A worker that does not come back within a second is lost, and its calls move.
 */
import { expect, test } from "bun:test";
import { type ReportedCall, WIRE_2 } from "@realtime-avatar/domain/calls/worker-sync";
import { until } from "@realtime-avatar/testing/until";
import { startCallApi, WORKER_SECRET } from "../../test/support/calls/calls.ts";

let isEnding = false;
const { api, start, release, syncOf, avatar } = await startCallApi({ isEnding: () => isEnding });
const { client } = api.database.db;
const ready = await avatar();
const FEATURES = [WIRE_2];

/** A sync that waits at the service. `cut` ends its connection, like the end of the process. */
const waitingSync = (workerId: string, calls: ReportedCall[], features = FEATURES) => {
  const connection = new AbortController();
  const sync = fetch(`${api.url}/internal/avatar-workers/${workerId}/sync`, {
    method: "POST",
    headers: { authorization: `Bearer ${WORKER_SECRET}`, "content-type": "application/json" },
    body: JSON.stringify({ slots: 1, features, calls }),
    signal: connection.signal,
  }).catch(() => null);
  return { cut: () => connection.abort(), sync };
};

const rowOf = async (workerId: string) =>
  (
    await client`select lease_until, lease_until > now() as "hasLease" from fleet.avatar_workers where id = ${workerId}`
  )[0];
const workerOf = async (id: string): Promise<string> =>
  (await client`select worker_id from fleet.avatar_slots where session_id = ${id}`)[0]?.["worker_id"];

/** A worker with a call. It has reported the call as started, and its next sync waits. */
const worldWith = async (workerId: string, features = FEATURES) => {
  isEnding = false;
  await syncOf(workerId, { slots: 1, features });
  const { body: grant } = await start({ avatar_id: ready });
  const id: string = grant.session_id;
  const calls: ReportedCall[] = [{ session_id: grant.session_id, generation: 1, state: "started", used_seconds: 1 }];
  await syncOf(workerId, { slots: 1, features, calls });
  const before = await rowOf(workerId);
  const waiting = waitingSync(workerId, calls, features);
  await until(async () => Number((await rowOf(workerId))?.["lease_until"]) > Number(before?.["lease_until"]));
  const end = async (): Promise<void> => {
    await release({ session_id: id });
    await client`delete from fleet.avatar_slots`;
    await client`delete from fleet.avatar_workers`;
  };
  return { id, calls, waiting, end };
};
/** Longer than a worker may take to sync again. */
const untilDecided = () => Bun.sleep(1500);

test("a worker that is killed while its sync waits: its call moves before the lease ends", async () => {
  const { id, waiting, end } = await worldWith("wrk_killed");
  await syncOf("wrk_other", { slots: 1, features: FEATURES });
  const other = syncOf("wrk_other", { slots: 1, features: FEATURES });
  waiting.cut();
  await until(async () => (await workerOf(id)) === "wrk_other");
  const assigned = [...(await other).start, ...(await syncOf("wrk_other", { slots: 1, features: FEATURES })).start];
  expect(assigned).toContainEqual(
    expect.objectContaining({ session_id: id, generation: 2, used_seconds: expect.any(Number) }),
  );
  expect(api.log.some((line) => line.includes("an avatar worker is lost"))).toBe(true);
  await end();
});

/** Another worker, which is alive until `stop`. */
const keepSyncing = (workerId: string) => {
  let isAlive = true;
  const run = async (): Promise<void> => {
    while (isAlive) await waitingSync(workerId, []).sync;
  };
  const running = run();
  return {
    stop: async (): Promise<void> => {
      isAlive = false;
      await running;
    },
  };
};

test("a worker that is killed between two syncs: its call moves before the lease ends", async () => {
  const { id, waiting, end } = await worldWith("wrk_between");
  await waiting.sync;
  const other = keepSyncing("wrk_other");
  await until(async () => (await workerOf(id)) === "wrk_other", { limitMs: 10_000 });
  await other.stop();
  await end();
});

test("a killed worker without a replacement: its call waits for one", async () => {
  const { id, waiting, end } = await worldWith("wrk_alone");
  waiting.cut();
  await until(async () => (await rowOf("wrk_alone"))?.["hasLease"] === false);
  expect(await workerOf(id)).toBe("wrk_alone");
  await end();
});

test("a worker that stops, and whose call finds no slot: it moves as soon as another worker has one", async () => {
  const { id, waiting, end } = await worldWith("wrk_stopping");
  await waiting.sync;
  const goodbye = { slots: 0, features: FEATURES, calls: [] };
  expect(await syncOf("wrk_stopping", goodbye)).toMatchObject({ handed_over: false });
  expect(await workerOf(id)).toBe("wrk_stopping");
  const other = keepSyncing("wrk_other");
  await until(async () => (await workerOf(id)) === "wrk_other");
  await other.stop();
  await end();
});

test("a worker that stops while another one has a free slot: its last response says that its call is handed over", async () => {
  const { id, waiting, end } = await worldWith("wrk_first");
  await waiting.sync;
  await syncOf("wrk_second", { slots: 1, features: FEATURES });
  const last = await syncOf("wrk_first", { slots: 0, features: FEATURES, calls: [] });
  expect(last).toMatchObject({ handed_over: true });
  expect(await workerOf(id)).toBe("wrk_second");
  await end();
});

test("a worker that cuts its wait and syncs again, or syncs with another replica: keeps its calls", async () => {
  const { id, calls, waiting, end } = await worldWith("wrk_again");
  waiting.cut();
  const again = waitingSync("wrk_again", calls);
  await untilDecided();
  expect(await again.sync).not.toBeNull();
  expect(await rowOf("wrk_again")).toMatchObject({ hasLease: true });
  const before = await rowOf("wrk_again");
  const last = waitingSync("wrk_again", calls);
  await until(async () => Number((await rowOf("wrk_again"))?.["lease_until"]) > Number(before?.["lease_until"]));
  last.cut();
  // Writes like another replica.
  await client`update fleet.avatar_workers set lease_until = now() + interval '15 seconds', synced_at = now()`;
  await untilDecided();
  expect(await rowOf("wrk_again")).toMatchObject({ hasLease: true });
  expect(await workerOf(id)).toBe("wrk_again");
  await end();
});

test("a process that ends, which cuts all syncs: no worker is lost", async () => {
  const { waiting, end } = await worldWith("wrk_deployed");
  isEnding = true;
  waiting.cut();
  await untilDecided();
  expect(await rowOf("wrk_deployed")).toMatchObject({ hasLease: true });
  await end();
  const late = await worldWith("wrk_late");
  // The process begins to end after the end of the connection, and before the second has passed.
  late.waiting.cut();
  await Bun.sleep(300);
  isEnding = true;
  await untilDecided();
  expect(await rowOf("wrk_late")).toMatchObject({ hasLease: true });
  await late.end();
});

test("a worker of the previous release, without a waiting sync: keeps its lease", async () => {
  const { waiting, end } = await worldWith("wrk_before", []);
  waiting.cut();
  await untilDecided();
  expect(await rowOf("wrk_before")).toMatchObject({ hasLease: true });
  await end();
});
