/** Claims work from a queue that serves tenants in turn, and runs several pieces of work at once. */
import type { TenantId } from "@realtime-avatar/domain/id";
import { type Logger, limitedWarnings } from "@realtime-avatar/runtime/log";
import { pause } from "@realtime-avatar/runtime/pause";
import type { UntilDue } from "./due-work.ts";
import { errorText } from "./run-job.ts";

const LEASE_BYTES = 16;

/**
 * A claim of up to `limit` pieces of work, of the tenants after `after`. `busyTenants`: their work is running in this
 * process, so they wait.
 */
export type QueueClaim = { lease: string; after: string; limit: number; busyTenants: readonly string[] };

export type ClaimLoopOptions<Work extends { tenantId: TenantId }> = {
  /** Named in the log: "transcripts". */
  name: string;
  log: Logger;
  random: (count: number) => Uint8Array;
  /** Maximum number of concurrent pieces of work. */
  places: number;
  /** Awaited after a claim that has found nothing, and while all places are taken. */
  untilDue: UntilDue;
  /** Pause after a claim that has failed. */
  failedMs: number;
  claim: (claim: QueueClaim) => Promise<Work[]>;
  /** Does the work. It must not reject. */
  run: (work: Work, lease: string) => Promise<void>;
};

export type ClaimLoop = {
  /** Stops claiming. Resolves when the current claim has ended. */
  stop(): Promise<void>;
  /** Waits for the running work. */
  done(): Promise<void>;
};

export const startClaimLoop = <Work extends { tenantId: TenantId }>(options: ClaimLoopOptions<Work>): ClaimLoop => {
  const { name, log, random, places, untilDue, failedMs, claim, run } = options;
  const stopping = new AbortController();
  const running = new Map<Promise<void>, string>();
  const warn = limitedWarnings(log);
  let after = "";

  /** Claims work and starts it. Returns whether more may be due. */
  const claimNext = async (): Promise<boolean> => {
    const lease = Buffer.from(random(LEASE_BYTES)).toString("base64url");
    const busyTenants = [...new Set(running.values())];
    const claimed = await claim({ lease, after, limit: places - running.size, busyTenants });
    for (const work of claimed) {
      const ended = run(work, lease).finally(() => running.delete(ended));
      running.set(ended, work.tenantId);
    }
    const wasFirst = after === "";
    // After the last tenant, the next claim starts with the first tenant again.
    after =
      claimed
        .map(({ tenantId }) => tenantId as string)
        .sort()
        .at(-1) ?? "";
    return claimed.length > 0 || !wasFirst;
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        if (running.size >= places || !(await claimNext())) await untilDue(stopping.signal);
      } catch (error) {
        warn(`failed to claim ${name}; retrying`, { error: errorText(error) });
        await pause(failedMs, stopping.signal);
      }
    }
  };
  const claiming = loop();
  return {
    stop: async () => {
      stopping.abort();
      await claiming;
    },
    done: async () => {
      await Promise.all(running.keys());
    },
  };
};
