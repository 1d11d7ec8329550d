/**
 * Checks rooms that an event of LiveKit names, and deletes them if they have no open call. An event can be late,
 * doubled or out of order, so only its room is used: LiveKit and the database have the current state. The reconciler
 * compares all rooms with all calls, so a lost event only delays the deletion. Only the reconciler ends calls whose
 * room is gone.
 */
import { compareRooms } from "@realtime-avatar/db/calls/reconcile";
import { describeError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { roomPrefix } from "@realtime-avatar/domain/calls/room";
import { LivekitError, type Rooms } from "@realtime-avatar/livekit/rooms";
import type { Logger } from "@realtime-avatar/runtime/log";
import { describeFailure } from "./rooms.ts";

/** Rooms of events within this time are checked together. */
const BATCH_MS = 500;
/** Timeout of a statement that all requests share, in milliseconds. */
export const BACKGROUND_MS = 5000;
/** Maximum number of waiting rooms. A flood of events costs one check every half second. */
const MAX_ROOMS = 1000;

export type RoomChecks = {
  /** Checks a room soon. */
  add(room: string): void;
};

type CheckOptions = {
  databases: Databases;
  rooms: Rooms;
  instance: (db: Db) => Promise<string>;
  log: Logger;
};

const deleteStrays = async (db: Db, { rooms, instance }: CheckOptions, names: readonly string[]): Promise<void> => {
  const prefix = roomPrefix(await instance(db));
  if (!names.some((name) => name.startsWith(prefix))) return;
  const { stray } = await compareRooms(db.within(BACKGROUND_MS), prefix, await rooms.list(prefix));
  for (const name of stray) if (names.includes(name)) await rooms.delete(name);
};

export const createRoomChecks = (options: CheckOptions): RoomChecks => {
  const names = new Set<string>();
  let isChecking = false;

  const checkAll = async (): Promise<void> => {
    isChecking = true;
    while (names.size > 0) {
      await Bun.sleep(BATCH_MS);
      const some = [...names];
      names.clear();
      const failed = (error: unknown): void => {
        const failure = error instanceof LivekitError ? describeFailure(error) : { error: describeError(error) };
        options.log.warn(failure, "failed to look at the rooms that LiveKit named");
      };
      await Promise.all(options.databases.all().map((db) => deleteStrays(db, options, some).catch(failed)));
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
