/** Limits the uploads in progress. Each holds a connection, a file of the spool and about a quarter of a MiB. */
import { Problem } from "@realtime-avatar/domain/problem";
import { createPlaces, type Holder, type Place } from "../http/limits/places.ts";

export const UPLOADS_PER_TENANT = 16;
export const UPLOADS_PER_PROCESS = 64;
const RETRY = { retryable: true, retryAfterSeconds: 5 };

/** The uploader: its tenant, null without one, and the network of the client. */
export type Uploader = { tenantId: string | null; client: string };

export type UploadSlots = {
  /**
   * Runs an upload, which holds `place` until it ends. Throws `rate_limited` when the tenant or the client has too many
   * uploads in progress, and `unavailable` when the process has too many.
   */
  run<Result>(uploader: Uploader, upload: (place: Place) => Promise<Result>): Promise<Result>;
};

/** Each process counts for itself. A client can act for several tenants, and gets at most half of the places. */
export const createUploadSlots = (perTenant = UPLOADS_PER_TENANT, perProcess = UPLOADS_PER_PROCESS): UploadSlots => {
  const places = createPlaces(perProcess);
  return {
    run: async ({ tenantId, client }, upload) => {
      const ofTenant: Holder[] = tenantId === null ? [] : [{ name: `tenant ${tenantId}`, share: perTenant }];
      const ofClient = { name: `client ${client}`, share: perProcess / 2 };
      const taken = places.take([...ofTenant, ofClient]);
      if (taken.kind === "used_up") {
        const who = taken.holder === ofClient ? "client" : "tenant";
        const detail = `A ${who} can have ${taken.holder.share} uploads in progress, and fewer while the server has many.`;
        throw new Problem("rate_limited", detail, RETRY);
      }
      if (taken.kind === "full") throw new Problem("unavailable", "Too many uploads are in progress.", RETRY);
      try {
        return await upload(taken.place);
      } finally {
        taken.place.free();
      }
    },
  };
};
