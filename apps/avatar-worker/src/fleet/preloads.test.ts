/** Preloads: processes that load avatars before their calls. The processes are scripted. */
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { until } from "@realtime-avatar/testing/until";
import { type CallProcess, startCallProcess } from "../process/call-process.ts";
import type { Step } from "../process/scripted.testing.ts";
import { createPreloads, type PreloadTimes } from "./preloads.ts";

const SCRIPTED = [process.execPath, "--no-env-file", join(import.meta.dir, "../process/scripted.testing.ts")];
const LOADED: Step = { kind: "preloaded", isLoaded: true };
const TIMES: PreloadTimes = { keepMs: 60_000, pauseMs: 2000 };

const preload = (preload_id: string, avatar_id = preload_id, steps: Step[] = [LOADED]) => ({
  preload_id,
  avatar: { avatar_id, manifest: { steps } as never },
});
const callOf = ({ avatar }: ReturnType<typeof preload>, mode: "avatar" | "voice" = "avatar") => ({ avatar, mode });

const all: CallProcess[] = [];
afterEach(async () => {
  await Promise.all(all.splice(0).map((one) => one.stop()));
});

/** `started`: the processes so far, with the messages that each got and sent. */
const create = (times: Partial<PreloadTimes> = {}) => {
  let now = 0;
  const started: { process: CallProcess; sent: string[]; received: string[]; isStopped: boolean; hasEnded: boolean }[] =
    [];
  const files: string[] = [];
  const take = (): CallProcess => {
    const process = startCallProcess(SCRIPTED);
    all.push(process);
    const one = { process, sent: [] as string[], received: [] as string[], isStopped: false, hasEnded: false };
    started.push(one);
    return {
      ...process,
      send: (message) => {
        one.sent.push(message.kind);
        process.send(message);
      },
      stop: () => {
        one.isStopped = true;
        return process.stop();
      },
      listen: ({ onMessage, onEnd }) =>
        process.listen({
          onMessage: (message) => {
            onMessage(message);
            one.received.push(message.kind === "failure" ? message.cause : message.kind);
          },
          onEnd: (end) => {
            onEnd(end);
            one.hasEnded = true;
          },
        }),
    };
  };
  const service = {
    preloadFile: async (avatarId: string, file: string) => {
      files.push(`${avatarId} ${file}`);
      if (file === "missing") throw new Error("no file");
      return new Uint8Array(3);
    },
  };
  const pictures = { renderer: "face" as const, label: "AI" };
  const created = createPreloads({ processes: { take }, pictures }, { ...TIMES, ...times }, () => now);
  const preloads = { ...created, apply: (list: ReturnType<typeof preload>[]) => created.apply(list, service) };
  const untilLoaded = (index: number) => until(() => started[index]?.received.includes("preloaded"), { pollMs: 5 });
  const pass = (ms: number): void => {
    now += ms;
  };
  return { preloads, started, files, untilLoaded, pass };
};

test("a loaded avatar: its next call gets the process, once", async () => {
  const { preloads, started, untilLoaded } = create();
  const ada = preload("ada");
  preloads.apply([ada]);
  await untilLoaded(0);
  expect(preloads.take(callOf(preload("bob")))).toBeNull();
  expect(preloads.take(callOf(ada, "voice"))).toBeNull();
  expect(preloads.take(callOf(preload("ada", "ada", [LOADED, LOADED])))).toBeNull();
  expect(preloads.take(callOf(ada))?.pid).toBe(started[0]?.process.pid as number);
  expect(preloads.take(callOf(ada))).toBeNull();
  await preloads.stop();
  expect(started[0]?.hasEnded).toBe(false);
});

test("a request that repeats with each sync: one load, also after its call", async () => {
  const { preloads, started, untilLoaded, pass } = create();
  const ada = preload("ada");
  preloads.apply([ada]);
  preloads.apply([ada]);
  await untilLoaded(0);
  preloads.take(callOf(ada));
  pass(10_000);
  preloads.apply([ada]);
  expect(started).toHaveLength(1);
});

test("the files of a preload: read through the service, at most eight; null for an unreadable one", async () => {
  const { preloads, started, files } = create();
  const loads: Step[] = ["missing", ...Array(9).fill("a.webp")].map((file, id) => ({ kind: "load", id, file }));
  preloads.apply([preload("ada", "ada", loads)]);
  await until(() => started[0]?.received.filter((one) => one.endsWith("bytes")).length === 10, { pollMs: 5 });
  expect(files).toEqual(["ada missing", ...Array(7).fill("ada a.webp")]);
  const answers = started[0]?.received.filter((one) => one.endsWith("bytes")) ?? [];
  expect(answers.filter((one) => one === "3 bytes")).toHaveLength(7);
  await preloads.stop();
});

test("several requests: one load at a time, with pauses; the rest with later syncs", async () => {
  const { preloads, started, untilLoaded, pass } = create();
  // The second one is never loaded.
  const both = [preload("ada"), preload("bob", "bob", [])];
  preloads.apply(both);
  expect(started).toHaveLength(1);
  await untilLoaded(0);
  preloads.apply(both);
  expect(started).toHaveLength(1);
  pass(2000);
  preloads.apply(both);
  expect(started).toHaveLength(2);
  pass(2000);
  preloads.apply([preload("eve")]);
  expect(started).toHaveLength(2);
  await preloads.stop();
});

test("a third avatar: the process of the oldest one ends", async () => {
  const { preloads, started, untilLoaded, pass } = create();
  for (const [index, name] of ["ada", "bob", "eve"].entries()) {
    preloads.apply([preload(name)]);
    await untilLoaded(index);
    pass(2000);
  }
  await until(() => started[0]?.hasEnded, { pollMs: 5 });
  expect(preloads.take(callOf(preload("ada")))).toBeNull();
  expect(preloads.take(callOf(preload("bob")))).not.toBeNull();
  await preloads.stop();
  await until(() => started[2]?.hasEnded, { pollMs: 5 });
});

test("no call in time: the process ends", async () => {
  const { preloads, started } = create({ keepMs: 50 });
  preloads.apply([preload("ada")]);
  await until(() => started[0]?.hasEnded, { pollMs: 5 });
  expect(preloads.take(callOf(preload("ada")))).toBeNull();
});

test("a process that a call has taken: the time of its preload does not end it", async () => {
  const keepMs = 50;
  const { preloads, started } = create({ keepMs });
  const ada = preload("ada");
  preloads.apply([ada]);
  const taken = preloads.take(callOf(ada));
  // Timers of the same time run in the order of their start.
  await new Promise((resolve) => setTimeout(resolve, keepMs));
  expect([taken?.pid, started[0]?.isStopped]).toEqual([started[0]?.process.pid, false]);
});

test("a repeated request for the same avatar: its process stays", async () => {
  const { preloads, started, untilLoaded, pass } = create();
  preloads.apply([preload("first", "ada")]);
  await untilLoaded(0);
  pass(2000);
  preloads.apply([preload("again", "ada")]);
  expect(started).toHaveLength(1);
  await preloads.stop();
});

test.each<[string, Step[]]>([
  ["cannot be loaded", [{ kind: "preloaded", isLoaded: false }]],
  ["ends its process", [{ kind: "exit" }]],
  ["sends an invalid message", [{ kind: "invalid" }]],
])("a process that %s: the call gets another process", async (_, steps) => {
  const { preloads, started } = create();
  const ada = preload("ada", "ada", steps);
  preloads.apply([ada]);
  await until(() => started[0]?.hasEnded, { pollMs: 5 });
  expect(preloads.take(callOf(ada))).toBeNull();
});
