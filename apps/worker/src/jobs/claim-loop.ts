/** Claims work from a queue that serves tenants in turn, and runs several pieces of work at once. */
import type { TenantId } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import { limitedWarnings } from "../webhooks/sender.ts";
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
  /** Pause after a claim that has found nothing, and after one that has failed. */
  timing: { idleMs: number; failedMs: number };
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
  const { name, log, random, places, timing, claim, run } = options;
  const stopping = Promise.withResolvers<void>();
  const running = new Map<Promise<void>, string>();
  const warn = limitedWarnings(log);
  let isStopping = false;
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
  const pause = (ms: number): Promise<void> => Promise.race([Bun.sleep(ms), stopping.promise]);
  const loop = async (): Promise<void> => {
    while (!isStopping) {
      try {
        if (running.size >= places || !(await claimNext())) await pause(timing.idleMs * (0.75 + Math.random() / 4));
      } catch (error) {
        warn(`failed to claim ${name}; retrying`, { error: errorText(error) });
        await pause(timing.failedMs);
      }
    }
  };
  const claiming = loop();
  return {
    stop: async () => {
      isStopping = true;
      stopping.resolve();
      await claiming;
    },
    done: async () => {
      await Promise.all(running.keys());
    },
  };
};
