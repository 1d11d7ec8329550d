/** Messages of a worker to the processes of its calls, after responses of the service. The processes are scripted. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { GROWTH, RESUME, type SyncRequest, type SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import { createLog } from "@realtime-avatar/runtime/log";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import { startCallProcess } from "../process/call-process.ts";
import { ownSlots } from "./slots.ts";
import { startSync } from "./sync.ts";

const noFile = () => Promise.reject(new Error("no file"));
const SCRIPTED = [process.execPath, "--no-env-file", join(import.meta.dir, "../process/scripted.testing.ts")];
const token = JSON.stringify({ first: [{ kind: "report", state: "joined", used_seconds: 0 }], again: [] });
const lease = { lease_seconds: 60, start: [], end: [] };

/** The next response of the service, sent to the first request for which the condition holds. */
type Step = [isDue: (request: SyncRequest) => boolean, response: Partial<SyncResponse>];

/**
 * A worker with a service that responds in these steps, and then to ended calls. `sent`: the kinds of messages to each
 * process, without leases. `isHeld`: processes get no `leave` before `letLeave`. `isHandedOver`: other workers have the
 * calls after the last sync. `ended`: resolves when the first process has ended.
 */
const start = (steps: Step[], { isHeld = false, isHandedOver = false } = {}) => {
  const requests: SyncRequest[] = [];
  const sent: string[][] = [];
  let leases = 0;
  const done = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<void>();
  const leaving = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const sync = (request: SyncRequest, signal: AbortSignal): Promise<SyncResponse> => {
    requests.push(request);
    if (request.slots === 0) return Promise.resolve({ ...lease, handed_over: isHandedOver });
    if (steps[0]?.[0](request)) return Promise.resolve({ ...lease, ...steps.shift()?.[1] });
    if (request.calls.some(({ state }) => state === "ended")) return Promise.resolve(lease);
    if (steps.length === 0) done.resolve();
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("ended"))));
  };
  let kill = (): void => {};
  const take = () => {
    const started = startCallProcess(SCRIPTED);
    kill = started.kill;
    const kinds: string[] = [];
    sent.push(kinds);
    const send: typeof started.send = (message) => {
      if (message.kind === "lease") leases++;
      else kinds.push(message.kind);
      if (message.kind === "leave" && isHeld) void leaving.promise.then(() => started.send(message));
      else started.send(message);
    };
    const listen: typeof started.listen = ({ onMessage, onEnd }) =>
      started.listen({
        onMessage,
        onEnd: (end) => {
          onEnd(end);
          ended.resolve();
        },
      });
    return { ...started, send, listen };
  };
  const parts: Parameters<typeof startSync>[0] = {
    ...{
      service: { sync, file: noFile, preloadFile: noFile, transcript: noFile, fragment: noFile },
      slots: ownSlots(() => 1),
      features: [],
    },
    ...{ processes: { take, ready: async () => {}, canStart: () => true, stop: async () => {} } },
    ...{ log: createLog("warn", { write: (line) => line.includes("the lease has ended") && lost.resolve() }) },
    ...{
      metrics: null,
      preloads: null,
      traces: null,
      conversation: null,
      speech: FLITE_SETTINGS,
      pictures: { renderer: "portrait" as const, label: "AI" },
    },
  };
  const { stop, calls } = startSync(parts, undefined, { taken: 60_000, waiting: 0 });
  const promises = { done: done.promise, lost: lost.promise, ended: ended.promise };
  return {
    requests,
    sent,
    leases: () => leases,
    ...promises,
    kill: () => kill(),
    letLeave: leaving.resolve,
    stop,
    calls,
  };
};
const { session_id } = assigned;
const isIn = (state: string, generation: number) => (request: SyncRequest) =>
  request.calls.some((call) => call.state === state && call.generation === generation);
const startOf = (generation: number) => ({ start: [{ ...assigned, token, generation }] });
const endOf = (generation: number) => ({ end: [{ session_id, generation, reason: "user_ended" as const }] });

test("two orders to end a call, and its next generation: each process gets one message", async () => {
  const { sent, leases, done, stop, calls } = start([
    [() => true, startOf(1)],
    [isIn("joined", 1), endOf(1)],
    [() => true, endOf(1)],
    [({ calls: left }) => left.length === 0, startOf(2)],
    [isIn("joined", 2), endOf(1)],
    [() => true, endOf(2)],
    [({ calls: left }) => left.length === 0, {}],
  ]);
  await done;
  expect(sent).toEqual([
    ["start", "end"],
    ["start", "end"],
  ]);
  expect([leases() > 0, calls()]).toEqual([true, []]);
  await stop();
});

test("a call that moves to another room: one message to its process, and reports from the new room", async () => {
  const first = [
    { kind: "report", state: "started", used_seconds: 3, resume: { room_number: 1, gap_count: 5, gap_seconds: 200 } },
    { kind: "report", state: "joined", used_seconds: 3, resume: { room_number: 9, gap_count: 1, gap_seconds: 1 } },
  ];
  const resume = { room_number: 4, gap_count: 2, gap_seconds: 7, return_seconds: 60 };
  const call = { ...assigned, token: JSON.stringify({ first, again: [] }), resume };
  const move = [{ session_id, generation: 1, room_number: 5, url: "ws://y", token: "t" }];
  const features = [RESUME];
  const { requests, sent, done, stop } = start([
    [() => true, { features, start: [call] }],
    [isIn("joined", 1), { features, move }],
    [({ calls: [one] }) => one?.resume?.room_number === 5, { features, move }],
    [() => true, { features, move: [{ ...move[0], generation: 2, room_number: 6 } as (typeof move)[0]] }],
    // A response of a replica of the previous release.
    [() => true, {}],
    [() => true, {}],
  ]);
  await done;
  expect(sent).toEqual([["start", "move"]]);
  const reports = requests.flatMap(({ calls: [one] }) => (one?.resume ? [one.resume] : []));
  expect(reports[0]).toMatchObject({ room_number: 4, gap_count: 2, gap_seconds: 7 });
  // A report of a process cannot lower the number and the seconds of absences, nor raise the seconds above those that
  // are free of charge.
  expect(reports.at(-1)).toEqual({ room_number: 5, gap_count: 5, gap_seconds: 120 });
  expect(requests.at(-1)?.calls[0]).not.toHaveProperty("resume");
  await stop();
});

test("a growing hold: its process gets each length once; growth of another generation: ignored", async () => {
  const first = [{ kind: "report", state: "started", used_seconds: 58 }];
  const growth = { longest_seconds: 7200 };
  const call = { ...assigned, token: JSON.stringify({ first, again: [] }), used_seconds: 58, max_seconds: 60, growth };
  const to = { session_id, generation: 1, max_seconds: 660, limit: "out_of_credits" as const };
  const features = [GROWTH];
  const isTold =
    (max_seconds: number) =>
    ({ calls: [one] }: SyncRequest) =>
      one?.growth?.max_seconds === max_seconds;
  const { requests, sent, done, stop } = start([
    [() => true, { features, start: [call] }],
    [isTold(60), { features, grow: [to] }],
    [isTold(660), { features, grow: [to, { ...to, generation: 2, max_seconds: 9000 }] }],
    [() => true, { features, grow: [{ ...to, max_seconds: 1260 }] }],
    [isTold(1260), { features }],
  ]);
  await done;
  expect(sent).toEqual([["start", "grow", "grow"]]);
  const told = requests.flatMap(({ calls: [one] }) => one?.growth?.max_seconds ?? []);
  expect([...new Set(told)]).toEqual([60, 660, 1260]);
  await stop();
});

test("a service without growing holds: no length in reports or messages", async () => {
  const { requests, sent, done, stop } = start([
    [() => true, startOf(1)],
    [isIn("joined", 1), { grow: [{ session_id, generation: 1, max_seconds: 660, limit: "session_cap" }] }],
    [() => true, {}],
  ]);
  await done;
  expect(sent).toEqual([["start"]]);
  for (const { calls } of requests) expect(calls[0] ?? {}).not.toHaveProperty("growth");
  await stop();
});

test("a worker that stops: leaves its calls and offers no slots", async () => {
  const { requests, sent, done, stop, calls } = start([
    [() => true, startOf(1)],
    [isIn("joined", 1), {}],
  ]);
  await done;
  await stop();
  expect([sent, calls()]).toEqual([[["start", "leave"]], []]);
  expect(requests.at(-1)).toMatchObject({ slots: 0, calls: [] });
});

test("a worker that stops and whose call has a next worker: stays until the avatar is put out", async () => {
  const script = { first: [{ kind: "report", state: "started", used_seconds: 0 }], again: [] };
  const { requests, sent, done, kill, stop } = start(
    [
      [() => true, { start: [{ ...assigned, token: JSON.stringify(script) }] }],
      [isIn("started", 1), {}],
    ],
    { isHandedOver: true },
  );
  await done;
  const stopping = stop();
  await until(() => requests.at(-1)?.slots === 0);
  kill();
  await stopping;
  expect(sent).toEqual([["start"], ["start", "leave"]]);
});

test("a call that moved to another worker: left without an end", async () => {
  const { sent, done, stop, calls } = start([
    [() => true, startOf(1)],
    [isIn("joined", 1), { end: [{ session_id, generation: 1, reason: null }] }],
    [({ calls: left }) => left.length === 0, {}],
  ]);
  await done;
  expect([sent, calls()]).toEqual([[["start", "leave"]], []]);
  await stop();
});

test("a call that waits for its last generation when the lease ends: does not start", async () => {
  const { sent, lost, ended, letLeave, stop, calls } = start(
    [
      [() => true, startOf(1)],
      [isIn("joined", 1), startOf(2)],
      [() => true, { lease_seconds: 0 }],
    ],
    { isHeld: true },
  );
  await lost;
  letLeave();
  await ended;
  await Bun.sleep(0);
  expect([sent, calls()]).toEqual([[["start", "leave"]], []]);
  await stop();
});
