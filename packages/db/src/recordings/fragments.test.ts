/** The calls that are recorded, and the fragments of them that are accepted. */
import { describe, expect, test } from "bun:test";
import { MAX_RECORDING_BYTES } from "@realtime-avatar/domain/recordings/files";
import { callRequest, endLease, sync } from "@realtime-avatar/testing/calls/calls";
import { ageRecordings, recordingRequest, sendFragment } from "@realtime-avatar/testing/calls/recordings";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { failCall, openCall } from "../calls/calls.ts";
import { expireWorkers } from "../calls/reconcile.ts";
import { findFragmentOwner } from "./fragments.ts";
import { recordingStats } from "./joining.ts";
import { claim, claimOne, FEATURES, newWorld } from "./world.testing.ts";

const database = await serviceDatabase();
const { db } = database;
const { client } = db;
const world = () => newWorld(db);

describe("a start", () => {
  test("a start with a recording, without a worker that records: unsupported; with such a worker: takes its slot", async () => {
    const one = await world();
    await sync(db, "deaf", { slots: 1, features: [] });
    const request = () => callRequest(one.caller, one.avatarId, { recording: recordingRequest("audio") });
    expect(await openCall(db, request(), one.caller, null)).toEqual({ kind: "unsupported", fields: ["recording"] });
    await sync(db, "one", { slots: 1, features: FEATURES });
    const recorded = request();
    expect(await openCall(db, recorded, one.caller, null)).toMatchObject({ kind: "written" });
    const [slot] = await client`select worker_id from fleet.avatar_slots where session_id = ${recorded.id}`;
    expect(slot?.["worker_id"]).toBe("one");
    expect(await openCall(db, request(), one.caller, null)).toMatchObject({ kind: "queued" });
  });

  test("a recorded call whose room is not created: its recordings are deleted", async () => {
    const one = await world();
    await sync(db, "one", { slots: 1, features: FEATURES });
    const request = callRequest(one.caller, one.avatarId, { recording: recordingRequest("participants") });
    await openCall(db, request, one.caller, null);
    expect(await one.rows()).toBe("1 0 2");
    await failCall(db, one.tenantId, request.id, null, one.caller, operatorOrigin());
    expect(await one.rows()).toBe("0 0 0");
  });

  test("the recording of a call: its worker gets the media to record", async () => {
    const one = await world();
    const { id } = await one.start("participants");
    const { start } = await sync(db, "one", { slots: 10, features: FEATURES });
    expect(start.map(({ sessionId, recording }) => [sessionId, recording])).toEqual([
      [id, { mode: "participants", is_told: false }],
    ]);
  });

  test("the recording of a call that has lost its worker: the next worker gets whether the person was informed", async () => {
    const one = await world();
    const untold = await one.start();
    const told = await one.start();
    await sendFragment(db, told.id);
    await sync(db, "two", { slots: 2, features: FEATURES });
    await endLease(db, "one");
    await expireWorkers(db, operatorOrigin());
    const { start } = await sync(db, "two", { slots: 2, features: FEATURES });
    const byCall = new Map(start.map(({ sessionId, recording }) => [sessionId, recording]));
    expect([byCall.get(untold.id)?.is_told, byCall.get(told.id)?.is_told]).toEqual([false, true]);
  });
});

describe("a fragment", () => {
  test("of the worker that has the call: written once; the recordings begin with the first fragment", async () => {
    const one = await world();
    const { id, recordings } = await one.start("participants");
    expect(await one.find(recordings[0])).toMatchObject({ status: "pending" });
    expect(await sendFragment(db, id)).toBe("written");
    expect(await sendFragment(db, id)).toBe("stored");
    expect(await sendFragment(db, id, { n: 1 })).toBe("written");
    expect(await one.find(recordings[0])).toMatchObject({ status: "recording" });
    expect(await one.find(recordings[1])).toMatchObject({ status: "recording" });
    expect(await one.rows()).toBe("1 2 2");
    expect((await recordingStats(db)).storedBytes).toBe(2000);
  });

  test("of another worker, of another generation, or of a call that is not recorded: foreign", async () => {
    const one = await world();
    const { id, recordings } = await one.start();
    await sync(db, "two", { slots: 1 });
    expect(await sendFragment(db, id, { workerId: "two" })).toBe("foreign");
    expect(await sendFragment(db, id, { generation: 2 })).toBe("foreign");
    await one.remove(recordings[0]);
    expect(await sendFragment(db, id)).toBe("foreign");
    expect(await sendFragment(db, "ses_01h455vb4pex5vsknk084sn02q")).toBe("foreign");
  });

  test("checked before it is stored: open, with the tenant; afterwards the same outcomes as a write, without a write", async () => {
    const one = await world();
    const { id } = await one.start();
    const sent = { workerId: "one", sessionId: id, generation: 1, n: 0, sizeBytes: 10 };
    expect(await findFragmentOwner(db, sent)).toEqual({ kind: "open", tenantId: one.tenantId });
    expect(await findFragmentOwner(db, { ...sent, workerId: "two" })).toEqual({ kind: "foreign" });
    expect(await one.rows()).toBe("1 0 1");
    await sendFragment(db, id);
    expect(await findFragmentOwner(db, sent)).toEqual({ kind: "stored" });
  });

  test("beyond the maximum bytes of a call, or more fragments than its time allows: full", async () => {
    const one = await world();
    const { id } = await one.start();
    await client`update call_recordings set size_bytes = ${MAX_RECORDING_BYTES - 999} where session_id = ${id}`;
    expect(await sendFragment(db, id)).toBe("full");
    expect(await sendFragment(db, id, { sizeBytes: 999 })).toBe("written");
    await client`update call_recordings set size_bytes = 1, fragment_count = 74 where session_id = ${id}`;
    expect(await sendFragment(db, id, { n: 1 })).toBe("full");
    await ageRecordings(db, 60);
    expect(await sendFragment(db, id, { n: 1 })).toBe("written");
  });

  test("after the call has moved to another worker: the first worker can send the rest of its generation", async () => {
    const one = await world();
    const { id } = await one.start();
    await sendFragment(db, id);
    await sync(db, "two", { slots: 1, features: FEATURES });
    await endLease(db, "one");
    await expireWorkers(db, operatorOrigin());
    expect(await sendFragment(db, id, { n: 1 })).toBe("written");
    expect(await sendFragment(db, id, { workerId: "two", n: 2 })).toBe("foreign");
    expect(await sendFragment(db, id, { workerId: "two", generation: 2 })).toBe("written");
    expect(await sendFragment(db, id, { generation: 2, n: 1 })).toBe("foreign");
  });

  test("of a call that was shorter than a fragment: accepted after the end, from the worker that had the call", async () => {
    const one = await world();
    const { id } = await one.start();
    await one.end(id);
    expect(await sendFragment(db, id, { workerId: "two" })).toBe("foreign");
    expect(await sendFragment(db, id)).toBe("written");
    await ageRecordings(db, 11);
    expect(await claimOne(db)).toMatchObject({ sessionId: id, fragments: [{ generation: 1, n: 0 }] });
  });

  test("after the end: accepted until the fragments are joined", async () => {
    const one = await world();
    const { id } = await one.start();
    await sendFragment(db, id);
    await one.end(id);
    expect(await sendFragment(db, id, { n: 1 })).toBe("written");
    expect(await claim(db)).toEqual([]);
    await ageRecordings(db, 11);
    expect(await claimOne(db)).toMatchObject({ sessionId: id });
    expect(await sendFragment(db, id, { n: 2 })).toBe("closed");
  });
});
