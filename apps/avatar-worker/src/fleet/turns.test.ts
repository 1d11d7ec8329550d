/**
 * The path of programs' turns: from the response of the service to the process of the call, and back. The processes are
 * scripted.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { AssignedTurn, ReportedTurn, SyncRequest, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import { SERVICE_FEATURES, WIRE_2 } from "@realtime-avatar/domain/calls/worker-sync";
import { createLog } from "@realtime-avatar/runtime/log";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import { startCallProcess } from "../process/call-process.ts";
import type { ToCallProcess } from "../process/messages.ts";
import { ownSlots } from "./slots.ts";
import { startSync } from "./sync.ts";
import { createTurns } from "./turns.ts";

const SCRIPTED = [process.execPath, "--no-env-file", join(import.meta.dir, "../process/scripted.testing.ts")];
const STARTED = { kind: "report", state: "started", used_seconds: 1 };
const token = JSON.stringify({ first: [STARTED], again: [STARTED] });
const { session_id, generation } = assigned;
const turn = (turn_id: string, text: string, change: Partial<AssignedTurn> = {}): AssignedTurn => ({
  ...{ session_id, generation, turn_id, kind: "say", text, instructions: null, interrupt: true },
  ...change,
});

/**
 * A worker with a call, and a service that keeps its turns. The service sends each unfinished turn that a request does
 * not list. `isLost`: whether the response to this request is lost.
 */
const start = ({ isLost = (_: SyncRequest): boolean => false, features = [...SERVICE_FEATURES] } = {}) => {
  const requests: SyncRequest[] = [];
  const sent: ToCallProcess[] = [];
  const turns: AssignedTurn[] = [];
  const over = new Map<string, ReportedTurn>();
  const statuses: string[] = [];
  const sync = async (request: SyncRequest, signal: AbortSignal): Promise<SyncResponse> => {
    requests.push(request);
    const [call] = request.calls;
    const listed = call?.turns ?? [];
    for (const one of listed) {
      statuses.push(`${one.turn_id} ${one.status}`);
      if (one.status !== "queued" && one.status !== "speaking" && !over.has(one.turn_id)) over.set(one.turn_id, one);
    }
    if (isLost(request)) throw new Error("lost");
    const isStarted = call?.state === "started";
    const due = turns.filter((one) => !over.has(one.turn_id) && !listed.some(({ turn_id }) => turn_id === one.turn_id));
    const response = { lease_seconds: 60, end: [], features: [WIRE_2, ...features] };
    if (request.slots === 0) return { ...response, start: [] };
    if (!call) return { ...response, start: [{ ...assigned, token }] };
    if (isStarted && due.length > 0) return { ...response, start: [], turns: due };
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
      signal.addEventListener("abort", resolve);
    });
    return { ...response, start: [] };
  };
  const take = () => {
    const started = startCallProcess(SCRIPTED);
    const send: typeof started.send = (message) => {
      if (message.kind !== "lease") sent.push(message);
      started.send(message);
    };
    return { ...started, send };
  };
  const noFile = () => Promise.reject(new Error("no file"));
  const worker = startSync({
    ...{
      service: { sync, file: noFile, preloadFile: noFile, transcript: noFile, fragment: noFile },
      slots: ownSlots(() => 1),
      features: [],
      speech: FLITE_SETTINGS,
    },
    ...{ processes: { take, ready: async () => {}, canStart: () => true, stop: async () => {} } },
    ...{ log: createLog("silent"), metrics: null, preloads: null, traces: null, conversation: null },
    pictures: { renderer: "portrait" as const, label: "AI" },
  });
  const given = () =>
    sent.flatMap((message) => (message.kind === "turns" ? message.turns.map((one) => one.turn_id) : []));
  return { requests, turns, over, statuses, given, stop: worker.stop };
};

test("turns that are sent until they are listed: each reaches the process once; its end reaches the service", async () => {
  let lost = 0;
  const isLost = ({ calls: [call] }: SyncRequest) => (call?.turns?.length ?? 0) > 0 && lost++ % 2 === 0;
  const { turns, over, statuses, given, stop } = start({ isLost });
  turns.push(turn("trn_1", '["speaking", "said"]'), turn("trn_2", '["dropped"]', { kind: "answer" }));
  await until(() => over.size === 2);
  turns.push(turn("trn_3", '["speaking", "said"]'));
  await until(() => over.size === 3);
  expect(given()).toEqual(["trn_1", "trn_2", "trn_3"]);
  expect(over.get("trn_1")).toEqual({ turn_id: "trn_1", status: "said", heard: "heard" });
  expect(over.get("trn_2")).toEqual({ turn_id: "trn_2", status: "dropped", heard: null });
  // After the report of its end is acknowledged, a turn is no longer listed.
  const count = () => statuses.filter((one) => one === "trn_1 said").length;
  const before = count();
  await until(() => statuses.at(-1) === "trn_3 said");
  expect(count()).toBe(before);
  await stop();
});

test("a process that ends in the middle of a turn: the turn fails; the next process does not get it", async () => {
  const { turns, over, given, stop } = start();
  turns.push(turn("trn_1", '["speaking", {"kind": "abort"}]'), turn("trn_2", "[]"));
  await until(() => over.size === 2);
  expect([...over.values()].map(({ status }) => status)).toEqual(["failed", "failed"]);
  turns.push(turn("trn_3", '["speaking", "said"]'));
  await until(() => over.size === 3);
  expect(over.get("trn_3")?.status).toBe("said");
  expect(given()).toEqual(["trn_1", "trn_2", "trn_3"]);
  await stop();
});

test("a process that reports unknown turns, or earlier states: no change", async () => {
  const told: ReportedTurn[][] = [];
  const turns = createTurns(
    () => {},
    () => told.push(turns.report().turns ?? []),
  );
  expect(turns.report()).toEqual({});
  expect(turns.take([turn("trn_1", "x")])).toBe(true);
  expect(turns.take([turn("trn_1", "x")])).toBe(false);
  const report = (turn_id: string, status: ReportedTurn["status"]) => turns.update({ turn_id, status, heard: null });
  report("trn_other", "said");
  report("trn_1", "speaking");
  report("trn_1", "speaking");
  report("trn_1", "queued");
  report("trn_1", "interrupted");
  report("trn_1", "said");
  expect(told.map(([one]) => one?.status)).toEqual(["speaking", "interrupted"]);
  turns.answered([{ turn_id: "trn_1", status: "speaking", heard: null }]);
  expect(turns.report().turns).toHaveLength(1);
  turns.answered([{ turn_id: "trn_1", status: "interrupted", heard: null }]);
  expect(turns.report()).toEqual({});
  // A late response with a turn that was already said.
  expect(turns.take([turn("trn_1", "x")])).toBe(false);
});

test("a service of an older release: gets no turns in its requests", async () => {
  const { turns, requests, statuses, given, stop } = start({ features: [] });
  turns.push(turn("trn_1", '["speaking"]'));
  await until(() => given().length > 0);
  await until(() => requests.length > 6);
  expect(statuses).toEqual([]);
  await stop();
});
