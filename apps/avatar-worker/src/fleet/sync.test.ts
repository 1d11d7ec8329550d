/** What a worker does with the responses of the service, without a room: test/fleet.system.test.ts has both. */
import { expect, test } from "bun:test";
import { createLog } from "@realtime-avatar/runtime/log";
import { assigned } from "../../test/support/assigned.ts";
import { startSync } from "./sync.ts";

test("a response that comes when its lease has ended: starts no call", async () => {
  const again = Promise.withResolvers<void>();
  let syncs = 0;
  const service = {
    sync: async () => {
      if (++syncs === 2) again.resolve();
      return { lease_seconds: 0, start: [assigned], end: [] };
    },
    file: () => Promise.reject(new Error("no file")),
  };
  let taken = 0;
  const take = (): never => {
    taken++;
    throw new Error("no process");
  };
  const processes = { take, ready: () => Promise.resolve(), stop: () => Promise.resolve() };
  const parts = { service, slots: 1, features: [], processes, log: createLog("silent"), metrics: null, traces: null };
  const sync = startSync(parts);
  await again.promise;
  await sync.stop();
  expect(taken).toBe(0);
});
