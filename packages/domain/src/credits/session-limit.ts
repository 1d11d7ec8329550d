/** How many sessions of a key with its descendants, and of a tenant in one environment, may be open at once. */
import { Count } from "../schema.ts";

export const SessionLimit = Count({ minimum: 1 });

/** The limit of a tenant in each environment, unless the operator changes it. */
export const DEFAULT_MAX_CONCURRENT_SESSIONS = 1000;
