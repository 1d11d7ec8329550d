/**
 * The reports of a call to the service. Its process is scripted; test/processes.system.test.ts uses real processes in a
 * room.
 */

import { expect, test } from "bun:test";
import { join } from "node:path";
import type { TranscriptReport, TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import type { ConversationUsage } from "@realtime-avatar/domain/calls/worker-sync";
import { newId } from "@realtime-avatar/domain/id";
import { createLog } from "@realtime-avatar/runtime/log";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { random } from "@realtime-avatar/testing/random-bytes";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import type { TurnTimings } from "../conversation/timings/turn-timings.ts";
import { startCallProcess } from "../process/call-process.ts";
import type { Step } from "../process/scripted.testing.ts";
import { startCall } from "./call.ts";
import type { Service } from "./service.ts";

const SCRIPTED = [process.execPath, "--no-env-file", join(import.meta.dir, "../process/scripted.testing.ts")];
const STARTED: Step = { kind: "report", state: "started", used_seconds: 5 };

/**
 * `deaths`: number of processes that end before they take the call. `passedSeconds`: the seconds since the worker got
 * the call.
 */
type Options = {
  first: Step[];
  again?: Step[];
  change?: Partial<typeof assigned>;
  leaseMs?: number;
  deaths?: number;
  passedSeconds?: number;
  transcript?: Service["transcript"];
  fragment?: Service["fragment"];
};

/** Starts a call. `states`: the reported changes. `joins`: the join times for metrics, in milliseconds. */
const start = ({ first, again = [], change = {}, leaseMs = 60_000, deaths = 0, ...options }: Options) => {
  const { passedSeconds = 3600, transcript = () => Promise.reject(), fragment = () => Promise.reject() } = options;
  let taken = 0;
  let nowMs = 0;
  const take = () => startCallProcess(taken++ < deaths ? ["/bin/false"] : SCRIPTED);
  const states: string[] = [];
  const joins: number[] = [];
  const counted: string[] = [];
  const watcher = {
    joined: (milliseconds: number) => void joins.push(milliseconds),
    ended: () => {},
    used: ({ input_tokens }: ConversationUsage) => void counted.push(`${input_tokens} tokens`),
    counted: (what: string) => void counted.push(what),
    turnTimed: ({ heard }: TurnTimings) => void counted.push(`heard after ${heard} ms`),
    providerFailed: (provider: string, why: string) => void counted.push(`${provider} ${why}`),
    fragmentSent: () => void counted.push("a fragment"),
    fragmentLost: () => void counted.push("no fragment"),
  };
  const lines: string[] = [];
  const lefts: string[] = [];
  const turnTimed = (_: unknown, { heard }: TurnTimings): void => void counted.push(`${heard} ms traced`);
  const traces = {
    joined: () => {},
    turnTimed,
    left: (_: unknown, reason: string) => void lefts.push(reason),
    synced: () => {},
  };
  const call = startCall(
    { ...assigned, token: JSON.stringify({ first, again }), ...change },
    {
      service: {
        sync: () => Promise.reject(),
        file: async () => new Uint8Array(3),
        preloadFile: () => Promise.reject(),
        transcript,
        fragment,
      },
      preloads: null,
      processes: { take, ready: async () => {}, canStart: () => true, stop: async () => {} },
      log: createLog("info", { write: (line: string) => void lines.push(line) }),
      conversation: null,
      speech: FLITE_SETTINGS,
      pictures: { renderer: "portrait" as const, label: "AI" },
      watcher,
      traces,
      leaseMs: () => leaseMs,
      now: () => nowMs,
      onChange: () => void states.push(`${call.report().state} ${call.report().used_seconds}`),
    },
  );
  nowMs = passedSeconds * 1000;
  const untilState = (state: string): Promise<unknown> =>
    until(() => states.some((one) => one.startsWith(state)), { pollMs: 5, state: () => [state, states] });
  return { call, states, joins, counted, lines, lefts, untilState };
};

test("a process that ends: another one takes the call, with the seconds so far", async () => {
  const { call, states, untilState } = start({ first: [STARTED, { kind: "abort" }], again: [] });
  await untilState("joined");
  expect(states).toEqual(["started 5", "joining 5", "joined 5"]);
  await call.leave();
});

test("two processes that end: the call fails, charged for the reported seconds", async () => {
  const again: Step[] = [{ kind: "report", state: "started", used_seconds: 7 }, { kind: "exit" }];
  const { call, states, untilState } = start({ first: [STARTED, { kind: "abort" }], again });
  await untilState("ended");
  expect(states.slice(1)).toEqual(["joining 5", "joined 5", "started 7", "ended 7"]);
  expect(call.report()).toMatchObject({ state: "ended", reason: "failed", used_seconds: 7 });
});

test("a process that crashes in a brought room: the call fails, and no other process joins", async () => {
  const { call, states, untilState } = start({
    first: [STARTED, { kind: "abort" }],
    change: { agent_identity: "agent" },
  });
  await untilState("ended");
  expect(states).toEqual(["started 5", "ended 5"]);
  expect(call.report().reason).toBe("failed");
});

test("processes that end before their first report: replaced without using up the one restart", async () => {
  const { call, states } = start({ first: [STARTED, { kind: "abort" }], deaths: 2 });
  await until(() => states.find((state) => /^(joined|ended)/.test(state)), { pollMs: 5, state: () => states });
  expect(states).toEqual(["started 5", "joining 5", "joined 5"]);
  await call.leave();
});

test("processes that always end before their first report: the call fails", async () => {
  const { call, untilState } = start({ first: [], deaths: 1000 });
  await untilState("ended");
  expect(call.report()).toMatchObject({ reason: "failed", used_seconds: 0 });
});

test("a process that is silent for some seconds: the call is not `started` until the next report", async () => {
  const { call, states, untilState } = start({ first: [STARTED] });
  await untilState("joining");
  expect(states).toEqual(["started 5", "joining 5"]);
  call.end("user_ended");
  await untilState("ended");
  expect(call.report().used_seconds).toBe(9);
});

test("a call that ends, or is left: its span ends once, with the reason", async () => {
  const left = start({ first: [STARTED] });
  await left.untilState("started");
  await Promise.all([left.call.leave(), left.call.leave()]);
  const ended = start({ first: [STARTED] });
  await ended.untilState("started");
  ended.call.end("user_ended");
  await ended.untilState("ended");
  await ended.call.leave();
  expect([left.lefts, ended.lefts]).toEqual([["left"], ["user_ended"]]);
});

test("a call with a transcript: its end is reported after the service has the last words of all processes", async () => {
  const texts: string[] = [];
  const isAsked = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const { states, untilState, call } = start({
    first: [STARTED, { kind: "segment", segment: { role: "user", text: "one", ts: 1 } }, { kind: "abort" }],
    again: [
      { kind: "segment", segment: { role: "assistant", text: "two", ts: 2, interrupted: true } },
      { kind: "report", state: "ended", used_seconds: 7, reason: "idle" },
    ],
    change: { transcript: true },
    transcript: async (session, { first, segments, is_complete }) => {
      expect(session).toBe(assigned.session_id);
      texts.splice(first, segments.length, ...segments.map(({ text }) => text));
      if (is_complete) {
        isAsked.resolve();
        await mayEnd.promise;
      }
      return { next: texts.length };
    },
  });
  await isAsked.promise;
  expect(texts).toEqual(["one", "two"]);
  expect(states.join()).not.toContain("ended");
  mayEnd.resolve();
  await untilState("ended");
  expect(call.report()).toMatchObject({ state: "ended", reason: "idle", used_seconds: 7 });
  expect(states.filter((state) => state.startsWith("ended"))).toHaveLength(1);
});

test("a recorded call: the fragments of its processes are sent with their numbers; the second process knows that the person was told", async () => {
  const sent: string[] = [];
  const fragment: Service["fragment"] = async (session, { generation, n }, { length }) =>
    void sent.push(`${session} ${generation} ${n} ${length}`);
  const { untilState, counted, lines } = start({
    first: [STARTED, { kind: "told" }, { kind: "record", bytes: 10 }, { kind: "abort" }],
    again: [
      { kind: "tell whether told" },
      { kind: "record", bytes: 20 },
      { kind: "unrecorded", cause: "no encoder" },
      { kind: "report", state: "ended", used_seconds: 7, reason: "idle" },
    ],
    change: { recording: { mode: "audio" } },
    fragment,
  });
  await untilState("ended");
  await until(() => sent.length === 2);
  const { session_id } = assigned;
  expect(sent.map((line) => line.split(" ").slice(0, 3).join(" "))).toEqual([`${session_id} 1 0`, `${session_id} 1 1`]);
  expect(counted).toEqual(["a fragment", "a fragment"]);
  expect(lines.join("")).toContain('"cause":"told"');
  expect(lines.join("")).toContain('"cause":"no encoder"');
});

test("a recorded call that was resumed: the second process does not know that the person was told", async () => {
  const { untilState, lines } = start({
    first: [STARTED, { kind: "told" }, { kind: "abort" }],
    again: [{ kind: "tell whether told" }, { kind: "report", state: "ended", used_seconds: 7, reason: "idle" }],
    change: {
      recording: { mode: "audio", is_told: true },
      resume: { room_number: 2, gap_count: 1, gap_seconds: 5, return_seconds: 60 },
    },
  });
  await untilState("ended");
  expect(lines.join("")).toContain('"cause":"not told"');
});

test("a call that is not recorded, whose process sends a fragment: the service does not get it", async () => {
  const sent: unknown[] = [];
  const { untilState } = start({
    first: [
      { kind: "record", bytes: 10 },
      { kind: "report", state: "ended", used_seconds: 5, reason: "idle" },
    ],
    fragment: async (session) => void sent.push(session),
  });
  await untilState("ended");
  expect(sent).toEqual([]);
});

test("a recorded call that is left: the rest of its recording is sent before the call is gone", async () => {
  const sent: number[] = [];
  const { call, untilState } = start({
    first: [STARTED, { kind: "record", bytes: 10 }],
    change: { recording: { mode: "audio" } },
    fragment: async (_, { n }) => {
      await Bun.sleep(20);
      sent.push(n);
    },
  });
  await untilState("started");
  await call.leave();
  expect(sent).toEqual([0]);
});

test("a call without a transcript, a process that sends segments: the service gets none", async () => {
  const asked: string[] = [];
  const { untilState } = start({
    first: [
      { kind: "segment", segment: { role: "user", text: "one", ts: 1 } },
      { kind: "report", state: "ended", used_seconds: 5, reason: "idle" },
    ],
    transcript: async (session) => {
      asked.push(session);
      return { next: 0 };
    },
  });
  await untilState("ended");
  expect(asked).toEqual([]);
});

test("a process that ends after the lease: not replaced", async () => {
  const { call, states, lines } = start({ first: [STARTED, { kind: "left" }], leaseMs: 0 });
  await until(() => states.length > 0);
  await call.leave();
  expect(states).toEqual(["started 5"]);
  expect(lines.join()).not.toContain("a call was started again");
});

test("reports that lower the seconds, or exceed the hold of the call: ignored", async () => {
  const { states, untilState, call } = start({
    first: [
      STARTED,
      { kind: "report", state: "joined", used_seconds: 1 },
      { kind: "report", state: "started", used_seconds: 1_000_000 },
      { kind: "report", state: "ended", used_seconds: 2, reason: "idle" },
    ],
  });
  await untilState("ended");
  expect(states).toEqual(["started 5", "joined 5", "started 60", "ended 60"]);
  expect(call.report().reason).toBe("idle");
});

test("a report of more seconds than have passed: only the passed seconds are charged", async () => {
  const { states, untilState, call } = start({
    first: [{ kind: "report", state: "started", used_seconds: 50 }],
    change: { used_seconds: 7 },
    passedSeconds: 3,
  });
  await untilState("started");
  // Each process rounds its seconds up.
  expect(states).toEqual(["started 11"]);
  await call.leave();
});

test("an end: reported with its reason, even when the process ends before it leaves", async () => {
  const willing = start({ first: [STARTED] });
  await willing.untilState("started");
  willing.call.end("user_ended");
  await willing.untilState("ended");
  expect(willing.call.report()).toMatchObject({ reason: "user_ended", used_seconds: 9 });
  const crashing = start({ first: [STARTED, { kind: "abort" }] });
  crashing.call.end("out_of_credits");
  await crashing.untilState("ended");
  expect(crashing.call.report().reason).toBe("out_of_credits");
});

test("counts of a conversation: in the metrics; failures of providers also in the log", async () => {
  const first: Step[] = [
    { kind: "count", counted: "turn" },
    { kind: "provider", provider: "stt", why: "timeout" },
    { kind: "count", counted: "interruption" },
    { kind: "timings", timings: { first_token: 200, first_sound: 100, heard: 70 } },
    STARTED,
  ];
  const { call, counted, lines, untilState } = start({ first });
  await untilState("started");
  expect(counted).toEqual(["turn", "stt timeout", "interruption", "heard after 70 ms", "70 ms traced"]);
  expect(lines.filter((line) => line.includes("a provider of a conversation has failed"))).toHaveLength(1);
  await call.leave();
});

test("files that the process requests: read from the service, at most 64", async () => {
  const first = Array.from({ length: 65 }, (_, id): Step => ({ kind: "load", id, file: "x" }));
  const { call, lines } = start({ first });
  const count = (cause: string) => lines.filter((line) => line.includes(cause)).length;
  await until(() => count("3 bytes") + count("no bytes") >= 65);
  expect([count("3 bytes"), count("no bytes")]).toEqual([64, 1]);
  await call.leave();
});

test.each([
  [1, 1],
  [2, 0],
])(
  "a call that began a minute ago, at worker %i, with a replaced process: %i measured joins",
  async (generation, times) => {
    const session_id = newId("ses", new Date(Date.now() - 60_000), random);
    const { call, joins, untilState } = start({
      first: [STARTED, { kind: "abort" }],
      again: [STARTED],
      change: { session_id, generation },
    });
    await untilState("joined");
    expect(joins.filter((milliseconds) => milliseconds >= 60_000)).toHaveLength(times);
    await call.leave();
  },
);

test("a conversation whose process ends: the next one gets all segments, up to the heard words", async () => {
  const reports: TranscriptReport[] = [];
  const transcript = async (_: string, report: TranscriptReport) => {
    reports.push(report);
    return { next: report.first + report.segments.length };
  };
  const segment = (role: "user" | "assistant", text: string): TranscriptSegment => ({ role, text, ts: 1 });
  const first: Step[] = [
    STARTED,
    { kind: "segment", segment: segment("user", "Hi.") },
    { kind: "speaking", segment: segment("assistant", "One") },
    { kind: "segment", segment: segment("assistant", "One two.") },
    { kind: "segment", segment: segment("user", "Go on.") },
    { kind: "speaking", segment: segment("assistant", "Three") },
    { kind: "speaking", segment: segment("assistant", "Three four") },
    { kind: "abort" },
  ];
  const change = { history: { segments: [segment("user", "Before.")], handed_over: false, lost_processes: 0 } };
  const { call, lines, untilState } = start({ first, again: [{ kind: "tell history" }], change, transcript });
  await untilState("joined");
  await until(() => lines.some((line) => line.includes("Before.|Hi.|One two.|Go on.|Three four")), {
    state: () => lines,
  });
  const sent = () => reports.flatMap((report) => report.segments.map(({ text }, at) => [report.first + at, text]));
  await until(() => sent().length === 4);
  expect(sent()).toEqual([
    [0, "Hi."],
    [1, "One two."],
    [2, "Go on."],
    [3, "Three four"],
  ]);
  await call.leave();
});

test("a call that lost a worker and loses its process: it fails, and no third process joins", async () => {
  const change = { history: { segments: [], handed_over: false, lost_processes: 1 } };
  const { call, states, untilState } = start({ first: [STARTED, { kind: "abort" }], change });
  await untilState("ended");
  expect(states).toEqual(["started 5", "ended 5"]);
  expect(call.report().reason).toBe("failed");
});

test("a call that was handed over and loses its process: another one takes it; the loss is reported", async () => {
  const change = { history: { segments: [], handed_over: true, lost_processes: 0 } };
  const { call, untilState } = start({ first: [STARTED, { kind: "abort" }], change });
  await untilState("joined");
  expect(call.report().lost_processes).toBe(1);
  await call.leave();
});
