/** `tenants`: the owners of keys and avatars. */
import { auditEvent } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { changeCallLimit } from "@realtime-avatar/db/credits/credits";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { changeTenantSettings } from "@realtime-avatar/db/tenants/settings";
import { emptierOfTwo, insertTenant, type ListedTenant, listTenants } from "@realtime-avatar/db/tenants/tenants";
import { initialGrants } from "@realtime-avatar/domain/credits/grants";
import { ChangeCallLimit } from "@realtime-avatar/domain/credits/schemas";
import { ENVIRONMENTS, type Environment } from "@realtime-avatar/domain/environment";
import { newId, newRequestId } from "@realtime-avatar/domain/id";
import { CreateTenant, type TenantRecord } from "@realtime-avatar/domain/people/tenant";
import { validate } from "@realtime-avatar/domain/schema";
import { newTenantId } from "@realtime-avatar/domain/shards";
import { secureRandom as random } from "@realtime-avatar/runtime/random";
import type { Command } from "commander";
import { operatorOrigin, withDatabase, withDatabases } from "../database.ts";
import {
  type OutputOptions,
  parseInteger,
  shardParser,
  type TenantOptions,
  withOutputOptions,
  withTenantOptions,
} from "../options.ts";
import { type Columns, print, printable, table, UsageError, usageError } from "../terminal.ts";

const presentTenant = ({ tenantId, name, createdAt }: TenantRecord) => ({
  id: tenantId,
  name,
  createdAt: createdAt.toISOString(),
});

const presentListed = (tenant: ListedTenant) => ({ ...presentTenant(tenant), maxCallSeconds: tenant.maxCallSeconds });

const COLUMNS: Columns<ReturnType<typeof presentListed>> = {
  TENANT: ({ id }) => id,
  CREATED: ({ createdAt }) => createdAt,
  "CALL SECONDS": ({ maxCallSeconds }) => (maxCallSeconds === null ? "default" : String(maxCallSeconds)),
  NAME: ({ name }) => name,
};

/** The database for a new tenant: of the named shard, or of two random shards the one with fewer tenants. */
const placeOf = async (databases: Databases, shard: number | undefined): Promise<Db> => {
  const all = databases.all();
  if (shard !== undefined) {
    const named = all.find((db) => db.shard === shard);
    if (!named && shard < (databases.shards()?.count ?? 0))
      throw new Error(`The node of shard ${shard} does not respond.`);
    if (!named) throw new UsageError("--shard: There is no such shard.");
    return named;
  }
  return emptierOfTwo(all);
};

const create = async (options: OutputOptions & { name: string; shard?: number }): Promise<void> => {
  const errors = validate(CreateTenant, { name: options.name });
  if (errors.length > 0) throw usageError(errors);
  const now = new Date();
  const write = async (databases: Databases): Promise<void> => {
    const requestId = newRequestId(now, random);
    const db = await placeOf(databases, options.shard);
    const shards = databases.shards();
    const tenantId = shards === null ? newId("ten", now, random) : newTenantId(now, random, shards, db.shard ?? 0);
    const tenant = { tenantId, name: options.name, createdAt: now };
    await insertTenant(db, tenant, initialGrants(tenant.tenantId, { now, random, requestId, isFirstRun: false }));
    print(options, presentTenant(tenant), `Created ${tenant.tenantId}  ${printable(tenant.name)}`);
  };
  await withDatabases(write, undefined, { mayCreate: true, mayBePartial: true });
};

const list = (options: OutputOptions): Promise<void> =>
  withDatabases(async (databases) => {
    const lists = await Promise.all(databases.all().map(listTenants));
    const all = lists
      .flat()
      .map(presentListed)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    print(options, all, all.length > 0 ? table(COLUMNS, all) : "No tenants.");
  });

type SettingsOptions = TenantOptions & { environment?: string; keepTranscripts: string };

const change = async ({ tenant: tenantId, environment = "test", keepTranscripts, ...options }: SettingsOptions) => {
  if (!(ENVIRONMENTS as readonly string[]).includes(environment)) {
    throw new UsageError("--environment: Must be live or test.");
  }
  if (!["on", "off"].includes(keepTranscripts)) throw new UsageError("--keep-transcripts: Must be on or off.");
  const owner = { tenantId, environment: environment as Environment };
  const keepsTranscripts = keepTranscripts === "on";
  await withDatabase(tenantId, async (db) => {
    const event = auditEvent("settings.updated", { ...owner, id: tenantId }, operatorOrigin(), ["keepTranscripts"]);
    const { kind } = await changeTenantSettings(db, { ...owner, keepsTranscripts, versions: null }, null, event);
    if (kind !== "written") throw new Error("No tenant has this id.");
    const text = `The transcripts of calls that begin from now on are ${keepsTranscripts ? "" : "not "}kept (${environment}).`;
    print(options, { ...owner, keepTranscripts: keepsTranscripts }, text);
  });
};

type LimitOptions = TenantOptions & { maxCallSeconds: number | string };

const limit = async ({ tenant: tenantId, maxCallSeconds: given, ...options }: LimitOptions): Promise<void> => {
  const maxCallSeconds = given === "default" ? null : given;
  const errors = validate(ChangeCallLimit, { maxCallSeconds });
  if (errors.length > 0) throw usageError(errors);
  await withDatabase(tenantId, async (db) => {
    const target = { tenantId, id: tenantId, environment: "live" as const };
    const event = auditEvent("credits.limit_changed", target, operatorOrigin(), ["maxCallSeconds"]);
    if (!(await changeCallLimit(db, { tenantId, maxSeconds: maxCallSeconds as number | null }, event)))
      throw new Error("No tenant has this id.");
    const most = maxCallSeconds === null ? "for as long as MAX_CALL_SECONDS says" : `for ${maxCallSeconds} seconds`;
    print(options, { tenantId, maxCallSeconds }, `A call of the tenant with a live key lasts at most ${most}.`);
  });
};

export const addTenants = (program: Command): void => {
  const tenants = program.command("tenants").description("manage tenants, the owners of keys and avatars");

  withOutputOptions(tenants.command("create").requiredOption("--name <name>", "name, 1 to 120 characters"))
    .description("create a tenant")
    .option(
      "--shard <number>",
      "the shard that stores the tenant for ever (default: one with few tenants)",
      shardParser("--shard"),
    )
    .action(create);

  withTenantOptions(tenants.command("settings"))
    .description("change the settings of a tenant")
    .requiredOption("--keep-transcripts <on|off>", "whether the transcripts of calls are kept")
    .option("--environment <environment>", "live or test (default: test)")
    .action(change);

  withTenantOptions(tenants.command("limit"))
    .description("change how long a call of a tenant with a live key may last")
    .requiredOption(
      "--max-call-seconds <number>",
      "seconds, 1800 to 86400; default: as MAX_CALL_SECONDS says",
      parseInteger,
    )
    .action(limit);

  withOutputOptions(tenants.command("list")).description("list every tenant, oldest first").action(list);
};
