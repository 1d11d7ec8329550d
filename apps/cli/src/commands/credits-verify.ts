/** `credits verify`: compares the counters of credits with the entries and the sessions. */
import { rename, rm, writeFile } from "node:fs/promises";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { findCreditBalance } from "@realtime-avatar/db/credits/credits";
import { type CreditDrift, findCreditDrift, listTenantIds } from "@realtime-avatar/db/credits/invariants";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import type { TenantId } from "@realtime-avatar/domain/id";
import type { Command } from "commander";
import { tenantDatabase, withDatabases } from "../database.ts";
import { idParser, type OutputOptions, withOutputOptions } from "../options.ts";
import { type Columns, print, table } from "../terminal.ts";

/** Number of tenants in memory at once. */
const TENANTS = 1000;
/** Maximum number of findings that are kept and printed, per tenant and in total. */
const MAX_FINDINGS = 100;
const MAX_SHOWN = 1000;

type Finding = { tenantId: TenantId } & CreditDrift;
/** `findings`: the number of findings; at most `MAX_FINDINGS` of a tenant are counted. `drift`: the first findings. */
type Verified = { tenants: number; findings: number; drift: Finding[] };

/** The ids of every tenant of a database, in pages. */
async function* allTenants(db: Db): AsyncGenerator<TenantId> {
  for (let after: TenantId | null = null; ; ) {
    const page: TenantId[] = await listTenantIds(db, after, TENANTS);
    yield* page;
    after = page.at(-1) ?? null;
    if (page.length < TENANTS) return;
  }
}

/** Whether the tenant exists: each has an account in both environments. */
const isTenant = async (db: Db, tenantId: TenantId): Promise<boolean> => {
  const balances = ENVIRONMENTS.map((environment) => findCreditBalance(db, tenantId, environment));
  return (await Promise.all(balances)).some((balance) => balance !== null);
};

/** Adds the findings of these tenants to `verified`. */
const verifyTenants = async (
  db: Db,
  ids: AsyncIterable<TenantId> | Iterable<TenantId>,
  verified: Verified,
): Promise<void> => {
  for await (const tenantId of ids) {
    const drift = await findCreditDrift(db, tenantId, MAX_FINDINGS);
    verified.tenants++;
    verified.findings += drift.length;
    const shown = drift.slice(0, MAX_SHOWN - verified.drift.length);
    verified.drift.push(...shown.map((finding) => ({ tenantId, ...finding })));
  }
};

/** The counters that are amounts. The others are counts, ids or words. */
const AMOUNTS = new Set(
  "granted forfeited settled reserved available held rest used refunded".split(" ") as (string | null)[],
);

const COLUMNS: Columns<Finding> = {
  TENANT: ({ tenantId }) => tenantId,
  INVARIANT: ({ invariant }) => invariant,
  ENVIRONMENT: ({ environment }) => environment,
  SUBJECT: ({ subject }) => subject,
  COUNTER: ({ counter }) => counter,
  EXPECTED: ({ expected }) => expected,
  STORED: ({ actual }) => actual,
  UNIT: ({ counter }) => (AMOUNTS.has(counter) ? "credit micros" : null),
};

const textOf = ({ tenants, findings, drift }: Verified): string => {
  if (findings === 0) return `No drift in ${tenants} ${tenants === 1 ? "tenant" : "tenants"}.`;
  const rest = findings > drift.length ? `\n${findings - drift.length} more.` : "";
  return `${table(COLUMNS, drift)}${rest}`;
};

/**
 * Writes the result as Prometheus metrics. Replaces `file` atomically, because a text file collector can read it at any
 * time.
 */
const writeMetrics = async (file: string, { findings }: Verified): Promise<void> => {
  const temporary = `${file}.${process.pid}.tmp`;
  const lines = [
    "# HELP realtime_avatar_credit_drift Counters that differed from the entries when credits were last verified.",
    "# TYPE realtime_avatar_credit_drift gauge",
    `realtime_avatar_credit_drift ${findings}`,
    "# HELP realtime_avatar_credits_verified_timestamp_seconds When credits were last verified, since the epoch.",
    "# TYPE realtime_avatar_credits_verified_timestamp_seconds gauge",
    `realtime_avatar_credits_verified_timestamp_seconds ${Math.floor(Date.now() / 1000)}`,
  ];
  try {
    await writeFile(temporary, `${lines.join("\n")}\n`);
    await rename(temporary, file);
  } finally {
    // After the rename, no temporary file remains.
    await rm(temporary, { force: true });
  }
};

const verify = (options: OutputOptions & { tenant?: TenantId; metricsFile?: string }): Promise<void> =>
  withDatabases(async (databases) => {
    const { tenant } = options;
    const verified: Verified = { tenants: 0, findings: 0, drift: [] };
    if (tenant) {
      const db = tenantDatabase(databases, tenant);
      if (!(await isTenant(db, tenant))) throw new Error("No tenant has this id.");
      await verifyTenants(db, [tenant], verified);
    } else {
      for (const db of databases.all()) await verifyTenants(db, allTenants(db), verified);
    }
    if (options.metricsFile !== undefined) await writeMetrics(options.metricsFile, verified);
    print(options, verified, textOf(verified));
    if (verified.findings > 0) process.exitCode = 1;
  }, options.tenant);

export const addVerify = (credits: Command): void => {
  const command = credits
    .command("verify")
    .description("recompute every counter from the entries; exit code 0 if all agree, 1 if not")
    .option("--tenant <id>", "verify this tenant only (ten_…)", idParser("ten", "--tenant"))
    .option("--metrics-file <file>", "also write the result for a Prometheus collector of text files");
  withOutputOptions(command).action(verify);
};
