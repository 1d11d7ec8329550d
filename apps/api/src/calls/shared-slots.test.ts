/** An avatar worker that shares its slots among shards, seen by one shard over HTTP. */
import { expect, test } from "bun:test";
import { SERVICE_FEATURES, SHARED_SLOTS, SyncResponse, WIRE_2 } from "@realtime-avatar/domain/calls/worker-sync";
import { validate } from "@realtime-avatar/domain/schema";
import { startCallApi } from "../../test/support/calls/calls.ts";

const { avatar, start, syncOf } = await startCallApi();
// Without WIRE_2, a worker is not lost when its next sync is late. The tests send single syncs.
const shared = (slots: number) => syncOf("wrk_shared", { slots, features: [SHARED_SLOTS] });

test("a worker of one shard: no shared slots in responses", async () => {
  expect(await syncOf("wrk_one", { slots: 0, features: [WIRE_2] })).not.toHaveProperty("shared");
});

test("a worker without a slot in this shard: its sync waits; the next response reports a waiting call", async () => {
  const first = await syncOf("wrk_shared", { slots: 0, features: [WIRE_2, SHARED_SLOTS] });
  expect(validate(SyncResponse, first)).toEqual([]);
  expect([first.shared, first.features]).toEqual([{ slots: 0, waiting: 0 }, [...SERVICE_FEATURES]]);
  const sentAt = performance.now();
  await shared(0);
  expect(performance.now() - sentAt).toBeGreaterThan(500);
  const body = { avatar_id: await avatar() };
  const queued = await start(body);
  expect(queued.status).toBe(429);
  expect((await shared(0)).shared).toEqual({ slots: 0, waiting: 1 });
  expect((await shared(1)).shared).toMatchObject({ slots: 1 });
  expect((await start({ ...body, queue_ticket_id: queued.body.queue_ticket_id })).status).toBe(200);
  const { start: assigned, shared: held } = await shared(1);
  expect([assigned.length, held]).toEqual([1, { slots: 1, waiting: 0 }]);
});
