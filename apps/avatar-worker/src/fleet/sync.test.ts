/** How a worker acts on responses of the service, without a room. test/fleet.system.test.ts has both. */

import { expect, test } from "bun:test";
import {
  CONVERSATION,
  GROWTH,
  MAX_FIRST_FEATURES,
  RECORDING,
  RESUME,
  SERVICE_FEATURES,
  SyncRequest,
  type SyncResponse,
  TRANSCRIPT,
  WIRE_2,
} from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { createLog } from "@realtime-avatar/runtime/log";
import type { pause } from "@realtime-avatar/runtime/pause";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { assigned } from "../../test/support/assigned.ts";
import { type ConversationSettings, readConversationSettings } from "../conversation/settings.ts";
import type { CallProcesses } from "../process/spare.ts";
import { RefusedRequest } from "./service.ts";
import { ownSlots } from "./slots.ts";
import { startSync } from "./sync.ts";

const pictures = { renderer: "portrait", label: "AI" } as const;

/** For tests that start no call. */
const noProcesses: CallProcesses = {
  take: () => {
    throw new Error("no process");
  },
  ready: async () => {},
  canStart: () => true,
  stop: async () => {},
};

test("a response after its lease has ended: starts no call", async () => {
  const again = Promise.withResolvers<void>();
  let syncs = 0;
  const service = {
    sync: async () => {
      if (++syncs === 2) again.resolve();
      return { lease_seconds: 0, start: [assigned], end: [] };
    },
    file: () => Promise.reject(new Error("no file")),
    preloadFile: () => Promise.reject(new Error("no file")),
    transcript: () => Promise.reject(new Error("no transcript")),
    fragment: () => Promise.reject(new Error("no recording")),
  };
  let taken = 0;
  const take = (): never => {
    taken++;
    throw new Error("no process");
  };
  const processes = { ...noProcesses, take };
  const parts = {
    service,
    slots: ownSlots(() => 1),
    features: [],
    processes,
    log: createLog("silent"),
    metrics: null,
    preloads: null,
    traces: null,
    pictures,
    conversation: null,
    speech: FLITE_SETTINGS,
  };
  const sync = startSync(parts);
  await again.promise;
  await sync.stop();
  expect(taken).toBe(0);
});

test("a worker that cannot start processes: offers no slots until it can", async () => {
  let canStart = false;
  const offered: number[] = [];
  const twice = Promise.withResolvers<void>();
  const sync = async ({ slots }: SyncRequest) => {
    if (offered.push(slots) === 2) twice.resolve();
    canStart = true;
    return lease;
  };
  const processes = { ...noProcesses, canStart: () => canStart };
  const parts = {
    slots: ownSlots(() => (canStart ? 3 : 0)),
    features: [],
    processes,
    log: createLog("silent"),
    metrics: null,
    preloads: null,
    traces: null,
    conversation: null,
    speech: FLITE_SETTINGS,
    pictures,
  };
  const worker = startSync({ service: { sync, file, preloadFile: file, transcript: file, fragment: file }, ...parts });
  await twice.promise;
  expect(offered).toEqual([0, 3]);
  await worker.stop();
});

const lease = { lease_seconds: 15, start: [], end: [] };
const file = () => Promise.reject(new Error("no file"));
/** A worker whose syncs get the answers of `respond`, in order. `requests`: the requests so far. */
const workerWith = (
  respond: (number: number, request: SyncRequest) => Promise<SyncResponse>,
  features: string[] = [],
  wait?: typeof pause,
  conversation: ConversationSettings | null = null,
) => {
  const requests: SyncRequest[] = [];
  const sync = (request: SyncRequest) => respond(requests.push(request), request);
  const log = createLog("silent");
  const service = { sync, file, preloadFile: file, transcript: file, fragment: file };
  const { stop } = startSync(
    {
      service,
      slots: ownSlots(() => 1),
      features,
      processes: noProcesses,
      log,
      metrics: null,
      preloads: null,
      traces: null,
      conversation,
      speech: FLITE_SETTINGS,
      pictures,
    },
    wait,
  );
  return { requests, stop };
};
/**
 * Pauses that take no time. The last one lasts until the worker stops. `until`: resolves with the lengths of all pauses
 * when the last one begins.
 */
const recordPauses = (isLast: (ms: number, number: number) => boolean) => {
  const all: number[] = [];
  const last = Promise.withResolvers<number[]>();
  const wait: typeof pause = async (ms, signal) => {
    if (signal.aborted || !isLast(ms, all.push(ms))) return;
    last.resolve([...all]);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  };
  return { wait, until: last.promise };
};
/** Never settles, like a sync that waits at the service. */
const waits = () => new Promise<SyncResponse>(() => {});
const firstSyncs = async (
  count: number,
  respond: Parameters<typeof workerWith>[0],
  features?: string[],
  conversation?: ConversationSettings,
) => {
  const reached = Promise.withResolvers<void>();
  const end = Promise.withResolvers<SyncResponse>();
  const worker = workerWith(
    async (number, request) => {
      if (number === count) reached.resolve();
      return number < count ? respond(number, request) : end.promise;
    },
    features,
    undefined,
    conversation,
  );
  await reached.promise;
  end.resolve(lease);
  await worker.stop();
  return worker.requests.slice(0, count);
};

test("a response, even a fast one: the next sync is sent without a pause", async () => {
  const { wait, until } = recordPauses((_, number) => number === 3);
  const { stop } = workerWith(async () => lease, [], wait);
  expect(await until).toEqual([0, 0, 0]);
  await stop();
});

test("a service without news that does not wait: pauses after some syncs", async () => {
  const ended = { session_id: "ses_x" as SessionId, generation: 1, reason: null };
  const { wait, until } = recordPauses((ms) => ms > 0);
  const { requests, stop } = workerWith(async () => ({ ...lease, end: [ended] }), [], wait);
  const pauses = await until;
  expect(pauses.length).toBeGreaterThan(4);
  expect(pauses.at(-1)).toBeWithin(1, 501);
  expect(requests).toHaveLength(pauses.length);
  await stop();
});

test("a service that fails: retries with pauses, the first before the worker counts as lost", async () => {
  const { wait, until } = recordPauses((_, number) => number === 5);
  const { stop } = workerWith(() => Promise.reject(new Error("away")), [], wait);
  expect(await until).toEqual([100, 250, 500, 500, 500]);
  await stop();
});

test("failing syncs: one log line for each reason, until the service responds again", async () => {
  const lines: string[] = [];
  const reached = Promise.withResolvers<void>();
  const failures = [new Error("away"), new Error("away"), new RefusedRequest(501, "realtime_not_configured"), null];
  let syncs = 0;
  const sync = async () => {
    const failure = failures[syncs++];
    if (failure) throw failure;
    if (syncs > failures.length) reached.resolve();
    return lease;
  };
  const worker = startSync({
    ...{
      service: { sync, file, preloadFile: file, transcript: file, fragment: file },
      slots: ownSlots(() => 1),
      features: [],
      processes: noProcesses,
      metrics: null,
      preloads: null,
      traces: null,
      pictures,
      conversation: null,
      speech: FLITE_SETTINGS,
    },
    log: createLog("info", { write: (line) => lines.push(line) }),
  });
  await reached.promise;
  expect(worker.failure()).toBeUndefined();
  await worker.stop();
  expect(lines.map((line) => JSON.parse(line)).map(({ reason, msg }) => reason ?? msg)).toEqual([
    "away",
    "the service responded with 501: it has no LiveKit server, or no AVATAR_WORKER_SECRET",
    "the service responds again",
  ]);
});

test("the features: first a form that the previous release accepts, then all that the service names", async () => {
  const many = Array.from({ length: 20 }, (_, number) => `later-${number}`);
  const named = { ...lease, features: [WIRE_2] };
  const lengths = (requests: SyncRequest[]) => requests.map(({ features }) => features.length);
  expect(lengths(await firstSyncs(3, async () => named, many))).toEqual([MAX_FIRST_FEATURES, 25, 25]);
  // A replica of the previous release names no features.
  expect(lengths(await firstSyncs(3, async (number) => (number === 1 ? named : lease), many))).toEqual([16, 25, 16]);
  const [first] = await firstSyncs(1, waits);
  expect(first).toEqual({ slots: 1, features: [WIRE_2, TRANSCRIPT, RESUME, GROWTH, RECORDING], calls: [] });
});

test("a replica of the previous release that refuses a later form: gets the first form at once", async () => {
  const many = Array.from({ length: 20 }, (_, number) => `later-${number}`);
  const requests = await firstSyncs(
    4,
    async (number) => {
      if (number === 2) throw new RefusedRequest(422);
      return { ...lease, features: [WIRE_2] };
    },
    many,
  );
  expect(requests.map(({ features }) => features.length)).toEqual([16, 25, 16, 25]);
});

test("the voices and models of a worker: sent once when the service asks for them", async () => {
  const settings = readConversationSettings({ LLM_URL: "http://x/v1", LLM_MODEL: "small", LLM_MODELS: "large" });
  if (!settings) throw new Error("no settings");
  const service = { ...lease, features: [...SERVICE_FEATURES] };
  const respond = async (number: number) => ({ ...service, ...([1, 3].includes(number) && { wants_catalog: true }) });
  const requests = await firstSyncs(5, respond, [CONVERSATION], settings);
  expect(requests.map(({ catalog }) => catalog?.models)).toEqual([
    undefined,
    ["small", "large"],
    undefined,
    ["small", "large"],
    undefined,
  ]);
  for (const request of requests) expect(validate(SyncRequest, request)).toEqual([]);
});

test("a service that asks for voices, then one of the previous release: voices not sent to the latter", async () => {
  const settings = readConversationSettings({ LLM_URL: "http://x/v1", LLM_MODEL: "small" });
  if (!settings) throw new Error("no settings");
  const respond = async (number: number) => {
    if (number === 2) throw new RefusedRequest(422);
    return number === 1 ? { ...lease, features: [...SERVICE_FEATURES], wants_catalog: true } : lease;
  };
  const requests = await firstSyncs(4, respond, [CONVERSATION], settings);
  expect(requests.map(({ catalog }) => catalog !== undefined)).toEqual([false, true, false, false]);
});
