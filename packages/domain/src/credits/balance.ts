/** The credit balance of a tenant in one environment. */
import type { Environment } from "../environment.ts";
import type { TenantId } from "../id.ts";
import type { CreditBalance } from "./schemas.ts";

type Owner = { tenantId: TenantId; environment: Environment };

/** The stored credits of a tenant in one environment, in credit micros. */
export type Account = {
  granted: number;
  forfeited: number;
  settled: number;
  reserved: number;
  lowThreshold: number | null;
  updatedAt: Date;
};

/** The balance of an account. */
export const toBalance = (account: Account, { tenantId, environment }: Owner): CreditBalance => {
  const { granted, forfeited, settled, reserved, lowThreshold, updatedAt } = account;
  const balanceCreditMicros = granted - forfeited - settled;
  return {
    tenantId,
    environment,
    balanceCreditMicros,
    reservedCreditMicros: reserved,
    availableCreditMicros: balanceCreditMicros - reserved,
    lifetimeGrantedCreditMicros: granted - forfeited,
    lifetimeUsedCreditMicros: settled,
    lowThresholdCreditMicros: lowThreshold,
    updatedAt: updatedAt.toISOString(),
  };
};

/** The balance of a tenant without an account, which has no grants. An older replica creates such tenants. */
export const emptyBalance = (owner: Owner, updatedAt: Date): CreditBalance =>
  toBalance({ granted: 0, forfeited: 0, settled: 0, reserved: 0, lowThreshold: null, updatedAt }, owner);
