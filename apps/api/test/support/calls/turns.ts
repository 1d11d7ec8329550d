/** Support for tests of turns: calls at avatar workers, and the workers' reports. */
import { afterEach, expect } from "bun:test";
import { endDueCalls, expireWorkers } from "@realtime-avatar/db/calls/reconcile";
import {
  type AssignedTurn,
  CONVERSATION,
  PRELOAD,
  type ReportedCall,
  type ReportedTurn,
  SyncResponse,
  TURNS,
} from "@realtime-avatar/domain/calls/worker-sync";
import { validate } from "@realtime-avatar/domain/schema";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { startCallApi } from "./calls.ts";

export const TURNS_PATH = "/api/v1/realtime/turns";
export const INTERRUPT = "/api/v1/realtime/interrupt";
// Without WIRE_2, a worker is not lost when its next sync is late. Tests send single syncs.
const FEATURES: string[] = [PRELOAD, TURNS, CONVERSATION];

type Body = Record<string, unknown>;

/** A turn in the form of its worker's report. */
export const listed = (
  { turn_id }: AssignedTurn,
  status: ReportedTurn["status"],
  heard: string | null = null,
): ReportedTurn => ({ turn_id, status, heard });

/** Starts the API with calls. All calls end after each test. */
export const startTurnApi = async () => {
  const calls = await startCallApi();
  const { api, key, avatar, start, syncOf, takeSlots } = calls;
  const { db } = api.database;
  await mutate(db);
  const { client } = db;
  const avatarId = await avatar();
  afterEach(async () => {
    await client`
      update usage_sessions set must_end = true
      where id in (select session_id from fleet.avatar_slots where session_id is not null)`;
    await endDueCalls(db, 100, operatorOrigin());
    await takeSlots();
    await expireWorkers(db, operatorOrigin());
  });
  const post = (body: Body, by = key, headers: Record<string, string> = {}) =>
    api.call("POST", TURNS_PATH, { key: by, body: { kind: "say", text: "Hello.", ...body }, headers });
  const read = (id: string, by = key) => api.call("GET", `${TURNS_PATH}/${id}`, { key: by });
  return {
    ...calls,
    avatarId,
    post,
    read,
    interrupt: (session_id: string, by = key, headers: Record<string, string> = {}) =>
      api.call("POST", INTERRUPT, { key: by, body: { session_id }, headers }),
    statusOf: async (id: string): Promise<string> => (await read(id)).body.status,
    /** The stored row of a turn. */
    stored: async (id: string) => (await client`select * from call_turns where id = ${id}`)[0],
    /**
     * A call that its worker has started. `sync`: reports the call and some of its turns, and returns the turns for the
     * worker.
     */
    running: async (workerId = "wrk_a", { features = FEATURES, by = key, avatar_id = avatarId } = {}) => {
      await syncOf(workerId, { slots: 1, features, catalog: { voices: [], models: [] } });
      const { status, body } = await start({ avatar_id }, by);
      if (status !== 200) throw new Error(JSON.stringify(body));
      const session: string = body.session_id;
      const sync = async (turns: ReportedTurn[] = [], state: ReportedCall["state"] = "started") => {
        const call = { session_id: body.session_id, generation: 1, state, used_seconds: 1 };
        const response = await syncOf(workerId, { slots: 1, features, calls: [{ ...call, turns }] });
        expect(validate(SyncResponse, response)).toEqual([]);
        return response.turns ?? [];
      };
      await sync();
      return { session, sync, features };
    },
  };
};
