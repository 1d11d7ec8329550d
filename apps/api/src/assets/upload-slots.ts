/** Limits the uploads in progress: each holds a connection, a file of the spool and about a quarter of a MiB. */
import { Problem } from "@realtime-avatar/domain/problem";

export const UPLOADS_PER_TENANT = 16;
export const UPLOADS_PER_PROCESS = 64;
const RETRY_AFTER_SECONDS = 5;

export type UploadSlots = {
  /**
   * Runs an upload of the tenant; null for one without a tenant. Throws `rate_limited` when the tenant has too many in
   * progress, and `unavailable` when the process has.
   */
  run<Result>(tenantId: string | null, upload: () => Promise<Result>): Promise<Result>;
};

/** Each process counts for itself. */
export const createUploadSlots = (perTenant = UPLOADS_PER_TENANT, perProcess = UPLOADS_PER_PROCESS): UploadSlots => {
  const running = new Map<string, number>();
  let total = 0;
  const retry = { retryable: true, retryAfterSeconds: RETRY_AFTER_SECONDS };
  const count = (tenantId: string | null, change: 1 | -1): void => {
    total += change;
    if (tenantId === null) return;
    const ofTenant = (running.get(tenantId) ?? 0) + change;
    if (ofTenant > 0) running.set(tenantId, ofTenant);
    else running.delete(tenantId);
  };
  return {
    run: async (tenantId, upload) => {
      if (tenantId !== null && (running.get(tenantId) ?? 0) >= perTenant) {
        throw new Problem("rate_limited", `A tenant can have ${perTenant} uploads in progress.`, retry);
      }
      if (total >= perProcess) throw new Problem("unavailable", "Too many uploads are in progress.", retry);
      count(tenantId, 1);
      try {
        return await upload();
      } finally {
        count(tenantId, -1);
      }
    },
  };
};
