/** Announces keys that expire soon to the endpoints of their tenant. */
import { announceExpiringKeys as callAnnounce } from "../../generated/functions.ts";
import type { Runner } from "../connection/batch.ts";

/**
 * Writes `api_key.expiring` for up to `limit` keys that expire within seven days or within one day, and returns their
 * number. One statement: see `announce_expiring_keys.sql`. Any number of processes may call it.
 */
export const announceExpiringKeys = async (db: Runner, limit: number): Promise<number> =>
  (await callAnnounce(db, { limit }))[0]?.result ?? 0;
