import { expect, test } from "bun:test";
import { LivekitError, type Rooms } from "@realtime-avatar/livekit/rooms";
import { createLog } from "@realtime-avatar/runtime/log";
import { createCallRooms } from "./rooms.ts";

/** Rooms whose creations and deletions end when the test decides. */
const controlledRooms = () => {
  const pending: PromiseWithResolvers<void>[] = [];
  const wait = (): Promise<void> => {
    const one = Promise.withResolvers<void>();
    pending.push(one);
    return one.promise;
  };
  const no = async (): Promise<boolean> => false;
  const rooms: Rooms = { create: wait, delete: wait, list: async () => [], autoCreates: no, dispatchAgain: no };
  return { rooms, pending };
};

const log: string[] = [];
const logger = createLog("trace", { write: (line) => void log.push(line) });

test("a failing LiveKit: no request for a second; the log has the kind of the error without its message", async () => {
  const { rooms, pending } = controlledRooms();
  let now = 0;
  const calls = createCallRooms(rooms, logger, () => now);
  expect(calls.isAvailable()).toBe(true);
  const created = calls.create("rta-x", null, {});
  pending[0]?.reject(new LivekitError("refused", 401));
  expect(await created).toBe(false);
  expect(calls.isAvailable()).toBe(false);
  now = 999;
  expect(calls.isAvailable()).toBe(false);
  now = 1000;
  expect(calls.isAvailable()).toBe(true);
  expect(log.join()).toContain('"kind":"refused","status":401');
  const other = calls.create("rta-x", null, {});
  pending[1]?.reject(new Error("the token eyJhbGciOi"));
  expect(await other).toBe(false);
  expect(log.join()).not.toMatch(/eyJ[\w-]{20}/);
});

test("a flood of deletions while LiveKit is slow: at most a hundred requests at a time", async () => {
  const { rooms, pending } = controlledRooms();
  const calls = createCallRooms(rooms, logger);
  calls.deleteLater(Array.from({ length: 150 }, (_, number) => `rta-${number}`));
  calls.deleteLater(["rta-more"]);
  expect(pending.length).toBe(100);
  pending[0]?.resolve();
  pending[1]?.reject(new LivekitError("timed_out"));
  await Bun.sleep(1);
  calls.deleteLater(["rta-a", "rta-b", "rta-c"]);
  expect(pending.length).toBe(102);
});
