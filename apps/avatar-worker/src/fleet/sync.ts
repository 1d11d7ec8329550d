/** Keeps the service informed, and does what it says. */
import type { AssignedCall, ReportedCall, SyncRequest, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { WorkerMetrics } from "../metrics.ts";
import type { CallProcesses } from "../process/spare.ts";
import type { CallTraces } from "../tracing.ts";
import { type Call, startCall } from "./call.ts";
import { createLease, type Lease } from "./lease.ts";
import type { Service } from "./service.ts";

/** How often the worker syncs when nothing changes. */
const SYNC_INTERVAL_MS = 1000;
/** Changes within this time go into one sync. */
const GATHER_MS = 20;
/** The maximum time for the last sync. */
const GOODBYE_MS = 2000;

export type SyncParts = {
  service: Service;
  slots: number;
  /** The fields of the start of a call that its renderer can use. */
  features: readonly string[];
  processes: CallProcesses;
  log: Logger;
  metrics: Pick<WorkerMetrics, "watcher" | "syncFailed"> | null;
  traces: CallTraces | null;
};

export type Sync = {
  /** Whether the service has responded within the lease. */
  isConnected(): boolean;
  calls(): ReportedCall[];
  /** Leaves all rooms. */
  stop(): Promise<void>;
};

/** The calls of the worker, by session. */
const createCalls = ({ metrics, ...parts }: SyncParts, lease: () => Lease, onChange: () => void) => {
  const calls = new Map<string, Call>();

  const start = async (assigned: AssignedCall): Promise<void> => {
    const { session_id: session, generation } = assigned;
    const known = calls.get(session);
    if (known?.report().generation === generation) return;
    await known?.leave();
    const leaseMs = (): number => lease().restMs();
    calls.set(session, startCall(assigned, { ...parts, watcher: metrics?.watcher ?? null, leaseMs, onChange }));
  };

  return {
    report: () => [...calls.values()].map((call) => call.report()),
    /** Does what the response to `request` says. */
    apply: async ({ start: assigned, end }: SyncResponse, request: SyncRequest): Promise<void> => {
      // What has ended was reported, and that was answered.
      for (const { session_id, state } of request.calls) if (state === "ended") calls.delete(session_id);
      for (const { session_id, generation, reason } of end) {
        const call = calls.get(session_id);
        if (call?.report().generation !== generation) continue;
        if (reason !== null) call.end(reason);
        else {
          calls.delete(session_id);
          void call.leave();
        }
      }
      for (const call of assigned) await start(call);
    },
    renewLeases: (): void => {
      for (const call of calls.values()) call.renewLease();
    },
    /** Leaves all rooms without a word, because another worker will have the calls. */
    leaveAll: async (): Promise<void> => {
      const left = [...calls.values()];
      calls.clear();
      await Promise.all(left.map((call) => call.leave()));
    },
  };
};

/** Waits for `ms` milliseconds, or until `signal`. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, Math.max(0, ms));
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Syncs until `stop`. */
export const startSync = (parts: SyncParts): Sync => {
  const { service, slots, features, log, traces } = parts;
  // Aborted by a change: a sync that waits for work is then sent again, with the change.
  let change = new AbortController();
  let isStopping = false;
  let isReachable = true;
  const calls = createCalls(
    parts,
    () => lease,
    () => change.abort(),
  );
  const lease = createLease(() => {
    log.warn("the lease has ended: the worker leaves its rooms");
    void calls.leaveAll();
  });

  const syncOnce = async (): Promise<void> => {
    const { signal } = change;
    const sentAt = performance.now();
    const sentTime = Date.now();
    const request: SyncRequest = { slots, features: [...features], calls: calls.report() };
    try {
      const response = await service.sync(request, signal);
      traces?.synced(request.calls, sentTime, false);
      if (isStopping) return;
      lease.renew(sentAt, response.lease_seconds);
      calls.renewLeases();
      if (!isReachable) log.info("the service responds again");
      isReachable = true;
      // A worker that was stopped reads it too late: the calls may be at another worker.
      if (lease.isHeld()) await calls.apply(response, request);
    } catch (error) {
      if (signal.aborted) return;
      if (isReachable) log.warn({ reason: error instanceof Error ? error.message : "unknown" }, "a sync has failed");
      isReachable = false;
      parts.metrics?.syncFailed();
      traces?.synced(request.calls, sentTime, true);
    }
    await pause(sentAt + SYNC_INTERVAL_MS - performance.now(), signal);
  };

  const loop = (async () => {
    while (!isStopping) {
      await syncOnce();
      if (!change.signal.aborted) continue;
      await new Promise((next) => setTimeout(next, GATHER_MS));
      change = new AbortController();
    }
  })();

  return {
    isConnected: () => lease.isHeld(),
    calls: () => calls.report(),
    stop: async () => {
      isStopping = true;
      change.abort();
      await loop;
      lease.stop();
      await calls.leaveAll();
      // Without it, the service would wait until the lease ends.
      const goodbye: SyncRequest = { slots: 0, features: [...features], calls: [] };
      await service.sync(goodbye, AbortSignal.timeout(GOODBYE_MS)).catch(() => {});
    },
  };
};
