/** The credit balance of a tenant in one environment. */
import type { Environment } from "../environment.ts";
import type { TenantId } from "../id.ts";
import type { CreditBalance } from "./schemas.ts";

/** The balance of a tenant without an account: it was never granted anything. An older replica creates such tenants. */
export const emptyBalance = (
  { tenantId, environment }: { tenantId: TenantId; environment: Environment },
  at: Date,
): CreditBalance => ({
  tenantId,
  environment,
  balanceCreditMicros: 0,
  reservedCreditMicros: 0,
  availableCreditMicros: 0,
  lifetimeGrantedCreditMicros: 0,
  lifetimeUsedCreditMicros: 0,
  lowThresholdCreditMicros: null,
  updatedAt: at.toISOString(),
});
