/** The credits granted to a new tenant. */
import type { Environment } from "../environment.ts";
import { type CreditEntryId, newId, type RandomBytes, type TenantId } from "../id.ts";

/** An hour of avatar time at the default price of a credit for each second, in credit micros. */
export const INITIAL_GRANT_CREDIT_MICROS = 3_600_000_000;

/** The first grants of a tenant: an hour in test and, for the tenant of a first run, an hour in live as well. */
export const initialGrants = (
  tenantId: TenantId,
  { now, random, requestId, isFirstRun }: { now: Date; random: RandomBytes; requestId: string; isFirstRun: boolean },
) =>
  (["live", "test"] as const satisfies Environment[]).map((environment) => ({
    tenantId,
    id: newId("ent", now, random) as CreditEntryId,
    environment,
    kind: "grant" as const,
    amount: environment === "test" || isFirstRun ? INITIAL_GRANT_CREDIT_MICROS : 0,
    sessionId: null,
    reference: "initial",
    requestId,
    createdAt: now,
  }));
