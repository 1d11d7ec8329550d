/**
 * Looks at rooms that an event of LiveKit has named. An event may be late, doubled or out of order, so it says nothing but
 * which room to look at: LiveKit and the database say how things are. The reconciler of the worker looks at all rooms, so what
 * is lost here is only later.
 */
import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import { endLostCall, listOpenRooms, type OpenRoom } from "@realtime-avatar/db/calls/reconcile";
import type { Runner } from "@realtime-avatar/db/connection/batch";
import { describeError } from "@realtime-avatar/db/connection/errors";
import { roomPrefix } from "@realtime-avatar/domain/calls/room";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import { LivekitError, type Rooms } from "@realtime-avatar/livekit/rooms";
import type { Logger } from "@realtime-avatar/runtime/log";
import { describeFailure } from "./rooms.ts";

/** Events within this time are looked at together. */
const GATHER_MS = 500;
/** How many rooms wait at most. A flood of events costs one look every half second. */
const MAX_ROOMS = 1000;

export type RoomChecks = {
  /** Looks at a room soon. */
  add(room: string): void;
};

type CheckOptions = {
  db: Runner;
  rooms: Rooms;
  instance: () => Promise<string>;
  log: Logger;
  clock: () => Date;
  random: RandomBytes;
  /** Called when a call was ended because its room is gone. */
  onEnded: () => void;
};

const openRooms = async (db: Runner): Promise<Map<string, OpenRoom>> =>
  new Map((await listOpenRooms(db)).map((open) => [open.roomName, open]));

/** Deletes those of the listed rooms that have no open call. The calls are read after the list: each room is younger than its call. */
const deleteStrays = async ({ db, rooms }: CheckOptions, listed: readonly string[]): Promise<void> => {
  if (listed.length === 0) return;
  const open = await openRooms(db);
  for (const name of listed) if (!open.has(name)) await rooms.delete(name);
};

/** Ends the calls whose rooms a second list lacks as well. A room that nobody was in yet is created again. */
const endLost = async (options: CheckOptions, prefix: string, missing: readonly OpenRoom[]): Promise<void> => {
  if (missing.length === 0) return;
  const { db, rooms, clock, random, onEnded } = options;
  const listed = new Set(await rooms.list(prefix));
  for (const { tenantId, sessionId, roomName, isStarted } of missing) {
    if (listed.has(roomName)) continue;
    if (!isStarted) {
      await rooms.create(roomName);
      continue;
    }
    const now = clock();
    const origin: Origin = { actor: null, requestId: newRequestId(now, random), now, random };
    if ((await endLostCall(db, tenantId, sessionId, "disconnected", origin)) !== null) onEnded();
  }
};

const check = async (options: CheckOptions, names: readonly string[]): Promise<void> => {
  const prefix = roomPrefix(await options.instance());
  const ours = names.filter((name) => name.startsWith(prefix));
  if (ours.length === 0) return;
  const open = await openRooms(options.db);
  const listed = new Set(await options.rooms.list(prefix));
  await deleteStrays(
    options,
    ours.filter((name) => listed.has(name) && !open.has(name)),
  );
  const missing = ours.flatMap((name) => {
    const call = listed.has(name) ? undefined : open.get(name);
    // A room that is still being created may be missing.
    return call?.room === "exists" ? [call] : [];
  });
  await endLost(options, prefix, missing);
};

export const createRoomChecks = (options: CheckOptions): RoomChecks => {
  const names = new Set<string>();
  let isChecking = false;

  const checkAll = async (): Promise<void> => {
    isChecking = true;
    while (names.size > 0) {
      await Bun.sleep(GATHER_MS);
      const some = [...names];
      names.clear();
      await check(options, some).catch((error: unknown) => {
        const failure = error instanceof LivekitError ? describeFailure(error) : { error: describeError(error) };
        options.log.warn(failure, "failed to look at the rooms that LiveKit named");
      });
    }
    isChecking = false;
  };

  return {
    add: (room) => {
      if (names.size < MAX_ROOMS) names.add(room);
      if (!isChecking) void checkAll();
    },
  };
};
