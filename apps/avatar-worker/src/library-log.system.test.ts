import { expect, test } from "bun:test";
import type { EventEmitter } from "node:events";
import { Room } from "@livekit/rtc-node";
import { dropLibraryLog } from "./library-log.ts";

/** The library buffers lines for a second at most. */
const COLLECTED_MS = 1500;

/** The kinds of events from the library while a room cannot be joined: "connect", and "logs" with its log. */
const eventsOfFailure = async (): Promise<Set<string>> => {
  const { _ffiClientInstance: client } = globalThis as unknown as { _ffiClientInstance: EventEmitter };
  const kinds = new Set<string>();
  const note = ({ message: { case: kind } }: { message: { case: string } }): void => {
    // Rooms of earlier tests in this process can still send sound.
    if (kind === "connect" || kind === "logs") kinds.add(kind);
  };
  client.on("ffi_event", note);
  // No server listens on this port.
  await new Room().connect("ws://127.0.0.1:9", "token", { autoSubscribe: false, dynacast: false }).catch(() => {});
  await Bun.sleep(COLLECTED_MS);
  client.off("ffi_event", note);
  return kinds;
};

test("the library of LiveKit: sends its log at first; after dropLibraryLog, no log", async () => {
  await new Room().connect("ws://127.0.0.1:9", "token", { autoSubscribe: false, dynacast: false }).catch(() => {});
  expect([...(await eventsOfFailure())].sort()).toEqual(["connect", "logs"]);
  dropLibraryLog();
  expect([...(await eventsOfFailure())]).toEqual(["connect"]);
});
