/** Signed events of LiveKit: the service checks their room. */
import { expect, test } from "bun:test";
import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import { until } from "@realtime-avatar/testing/until";
import { startCallApi } from "../../test/support/calls/calls.ts";

const { api, livekit, rooms, avatar, start, release, session, syncOf, sendEvent } = await startCallApi();
const instance = await readInstance(api.database.db);
const ready = await avatar();
await syncOf("wrk_1", { slots: 20 });
await api.database.db.client`update fleet.avatar_workers set lease_until = now() + interval '1 hour'`;

const event = (name: string, kind = "room_started") => sendEvent({ event: kind, room: { name } });

test("a room without an open call: deleted; rooms of open calls and of other services: kept", async () => {
  const { body: grant } = await start({ avatar_id: ready });
  const stray = `rta-${instance}-ses_01h455vb4pex5vsknk084sn02q`;
  const foreign = "rta-other-ses_01h455vb4pex5vsknk084sn02q";
  for (const name of [stray, foreign]) livekit.addRoom(name);
  for (const name of [grant.room_name, foreign, stray]) expect((await event(name)).status).toBe(200);
  await until(() => !livekit.rooms().includes(stray));
  expect(livekit.rooms()).toEqual(expect.arrayContaining([grant.room_name, foreign]));
  expect((await session(grant.session_id)).status).toBe("reserved");
});

test("the room of a call that has ended: deleted, each time it appears", async () => {
  const { body: grant } = await start({ avatar_id: ready });
  await release({ session_id: grant.session_id });
  await until(() => !livekit.rooms().includes(grant.room_name));
  for (let time = 0; time < 2; time++) {
    livekit.addRoom(grant.room_name);
    await event(grant.room_name);
    await until(() => !livekit.rooms().includes(grant.room_name));
  }
});

test("the room of an open call is gone: the event changes nothing, whether or not the call has started", async () => {
  const [started, reserved] = [await start({ avatar_id: ready }), await start({ avatar_id: ready })];
  const { start: assigned } = await syncOf("wrk_1", { slots: 20 });
  const { session_id } = started.body;
  const generation = assigned.find((call) => call.session_id === session_id)?.generation ?? 1;
  await syncOf("wrk_1", { slots: 20, calls: [{ session_id, generation, state: "started", used_seconds: 3 }] });
  const stray = `rta-${instance}-beside`;
  livekit.addRoom(stray);
  for (const name of [started.body.room_name, reserved.body.room_name]) {
    await rooms.delete(name);
    await event(name, "room_finished");
  }
  await event(stray);
  await until(() => !livekit.rooms().includes(stray));
  expect((await session(session_id)).status).toBe("started");
  expect((await session(reserved.body.session_id)).status).toBe("reserved");
  expect(livekit.rooms()).not.toContain(reserved.body.room_name);
});

test("late, doubled or misleading events: no change", async () => {
  const { body: grant } = await start({ avatar_id: ready });
  for (const kind of ["room_finished", "room_finished", "participant_left", "participant_connection_aborted"]) {
    expect((await event(grant.room_name, kind)).status).toBe(200);
  }
  await Bun.sleep(1200);
  expect((await session(grant.session_id)).status).toBe("reserved");
  expect(livekit.rooms()).toContain(grant.room_name);
});

test("a flood of events: few requests for the list of rooms", async () => {
  livekit.requests.length = 0;
  await Promise.all(Array.from({ length: 1500 }, (_, number) => event(`rta-${instance}-${number}`)));
  await Bun.sleep(1200);
  const lists = livekit.requests.filter(({ method }) => method === "ListRooms");
  expect(lists.length).toBeWithin(1, 30);
});

test("an unresponsive LiveKit: events are accepted; the room is checked when it responds", async () => {
  const stray = `rta-${instance}-stray`;
  livekit.addRoom(stray);
  livekit.setFault({ kind: "refuses", status: 500 });
  await event(stray);
  await until(() => api.log.join().includes("failed to look at the rooms"));
  livekit.setFault(null);
  await event(stray);
  await until(() => !livekit.rooms().includes(stray));
});
