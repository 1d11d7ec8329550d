/** `tenants`: the owners of keys and avatars. */
import { insertTenant, listTenants } from "@realtime-avatar/db/tenants/tenants";
import { initialGrants } from "@realtime-avatar/domain/credits/grants";
import { newId, newRequestId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { CreateTenant, type TenantRecord } from "@realtime-avatar/domain/tenant";
import { secureRandom as random } from "@realtime-avatar/runtime/random";
import type { Command } from "commander";
import { withDatabase } from "../database.ts";
import { type OutputOptions, withOutputOptions } from "../options.ts";
import { type Columns, print, printable, table, usageError } from "../terminal.ts";

const presentTenant = ({ tenantId, name, createdAt }: TenantRecord) => ({
  id: tenantId,
  name,
  createdAt: createdAt.toISOString(),
});

const COLUMNS: Columns<ReturnType<typeof presentTenant>> = {
  TENANT: ({ id }) => id,
  CREATED: ({ createdAt }) => createdAt,
  NAME: ({ name }) => name,
};

const create = async (options: OutputOptions & { name: string }): Promise<void> => {
  const errors = validate(CreateTenant, { name: options.name });
  if (errors.length > 0) throw usageError(errors);
  const now = new Date();
  const tenant = { tenantId: newId("ten", now, random), name: options.name, createdAt: now };
  await withDatabase(async ({ db }) => {
    const requestId = newRequestId(now, random);
    await insertTenant(db, tenant, initialGrants(tenant.tenantId, { now, random, requestId, isFirstRun: false }));
    print(options, presentTenant(tenant), `Created ${tenant.tenantId}  ${printable(tenant.name)}`);
  });
};

const list = (options: OutputOptions): Promise<void> =>
  withDatabase(async ({ db }) => {
    const all = (await listTenants(db)).map(presentTenant);
    print(options, all, all.length > 0 ? table(COLUMNS, all) : "No tenants.");
  });

export const addTenants = (program: Command): void => {
  const tenants = program.command("tenants").description("manage tenants, the owners of keys and avatars");

  withOutputOptions(tenants.command("create").requiredOption("--name <name>", "name, 1 to 120 characters"))
    .description("create a tenant")
    .action(create);

  withOutputOptions(tenants.command("list")).description("list every tenant, oldest first").action(list);
};
