/**
 * Preloads: processes that have loaded an avatar before its call. A call of that avatar starts faster in such a
 * process.
 */
import type { AssignedCall, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import type { CallProcess } from "../process/call-process.ts";
import { watchLimits } from "../process/limits.ts";
import type { FromCallProcess, PictureSettings } from "../process/messages.ts";
import type { CallProcesses } from "../process/spare.ts";
import type { Service } from "./service.ts";

/** Maximum number of waiting processes with a loaded avatar. Each takes about 90 MiB. A new one replaces the oldest. */
const MAX_WAITING = 2;
/**
 * Minimum time between two starts, because calls need the processor more. The service repeats an unmet request in each
 * sync.
 */
const PAUSE_MS = 2000;
/** Limit of requested files. An avatar has few. */
const MAX_FILES = 8;
/** The service repeats a request for a minute. Above this number, the oldest ids are forgotten. */
const MAX_KNOWN = 1000;

export type PreloadTimes = { keepMs: number; pauseMs: number };
const TIMES: PreloadTimes = { keepMs: 60_000, pauseMs: PAUSE_MS };

type FileService = Pick<Service, "preloadFile">;
type Preload = NonNullable<SyncResponse["preload"]>[number];

export type Preloads = {
  /** Loads the avatars that a response of `service` requests, one at a time. Loaded ones are skipped. */
  apply(preloads: readonly Preload[], service: FileService): void;
  /**
   * Returns the process that has loaded, or is loading, the avatar of a call; otherwise null. The caller then owns the
   * process.
   */
  take(call: Pick<AssignedCall, "avatar" | "mode">): CallProcess | null;
  stop(): Promise<void>;
};

type Waiting = {
  process: CallProcess;
  isLoading: boolean;
  /** Restarts the time for which the process waits. */
  keep(): void;
  end(): Promise<void>;
  /** Gives up the process: its new owner ends it. */
  release(): void;
};

export type PreloadParts = {
  processes: Pick<CallProcesses, "take">;
  pictures: PictureSettings;
};

const keyOf = ({ avatar_id, manifest }: AssignedCall["avatar"]): string => JSON.stringify([avatar_id, manifest]);

/** Starts a process that loads an avatar. `onGone`: called once if it ends before it is released. */
const startLoading = (
  { avatar }: Preload,
  service: FileService,
  { processes, pictures }: PreloadParts,
  keepMs: number,
  onGone: () => void,
): Waiting => {
  const process = processes.take();
  let files = 0;
  const sendFile = async ({ id, file }: Extract<FromCallProcess, { kind: "load" }>): Promise<void> => {
    const isAllowed = ++files <= MAX_FILES;
    const bytes = isAllowed ? await service.preloadFile(avatar.avatar_id, file).catch(() => null) : null;
    process.send({ kind: "file", id, bytes });
  };
  const release = (): void => {
    clearTimeout(timer);
    stopLimits();
  };
  const end = (): Promise<void> => {
    release();
    onGone();
    return process.stop();
  };
  let timer: NodeJS.Timeout | undefined;
  const keep = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void end(), keepMs);
  };
  keep();
  const waiting: Waiting = { process, isLoading: true, keep, end, release };
  const stopLimits = process.pid === null ? () => {} : watchLimits(process.pid, process.kill);
  process.send({ kind: "preload", avatar, pictures });
  process.listen({
    onMessage: (message) => {
      if (message.kind === "load") void sendFile(message);
      if (message.kind !== "preloaded") return;
      waiting.isLoading = false;
      // If the load failed, the call loads the avatar again.
      if (!message.isLoaded) void end();
    },
    onEnd: () => {
      release();
      onGone();
    },
  });
  return waiting;
};

export const createPreloads = (
  parts: PreloadParts,
  { keepMs, pauseMs } = TIMES,
  now = () => performance.now(),
): Preloads => {
  /** Waiting processes by avatar, oldest first. */
  const waiting = new Map<string, Waiting>();
  const known = new Set<string>();
  let startedAt = Number.NEGATIVE_INFINITY;
  let isStopped = false;

  const start = (preload: Preload, service: FileService): void => {
    const key = keyOf(preload.avatar);
    const before = waiting.get(key);
    if (before) {
      before.keep();
      return;
    }
    const [oldest] = waiting.values();
    if (waiting.size >= MAX_WAITING) void oldest?.end();
    startedAt = now();
    const started = startLoading(preload, service, parts, keepMs, () => {
      if (waiting.get(key) === started) waiting.delete(key);
    });
    waiting.set(key, started);
  };

  return {
    apply: (preloads, service) => {
      for (const preload of preloads) {
        const isBusy = now() - startedAt < pauseMs || [...waiting.values()].some(({ isLoading }) => isLoading);
        if (isStopped || isBusy || known.has(preload.preload_id)) continue;
        if (known.size >= MAX_KNOWN) known.clear();
        known.add(preload.preload_id);
        start(preload, service);
      }
    },
    take: ({ avatar, mode }) => {
      const key = keyOf(avatar);
      const taken = mode === "avatar" ? waiting.get(key) : undefined;
      if (!taken) return null;
      waiting.delete(key);
      taken.release();
      return taken.process;
    },
    stop: async () => {
      isStopped = true;
      await Promise.all([...waiting.values()].map(({ end }) => end()));
    },
  };
};
