/** `migrate`: applies migrations, grants rights to a role, and drops the functions of other versions. */
import { MAX_SHARDS } from "@realtime-avatar/domain/shards";
import type { Command } from "commander";
import { withOpenDatabase } from "../database.ts";
import { type OutputOptions, withOutputOptions } from "../options.ts";
import { print, printable, UsageError } from "../terminal.ts";

type MigrateOptions = OutputOptions & { grant?: string; prune?: boolean; shards?: number };

/** Parses the number of shards. */
export const parseShards = (text: string): number => {
  const count = Number(text);
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= MAX_SHARDS) return count;
  throw new UsageError(`The number of shards must be from 1 to ${MAX_SHARDS}.`);
};

/** Creates the embedded database, like the first start of the service. */
const CREATES = { mayCreate: true };

const migrate = (options: MigrateOptions): Promise<void> =>
  withOpenDatabase(async (database) => {
    const { shards } = options;
    if (shards !== undefined && database.isEmbedded) {
      throw new UsageError(
        "--shards: The embedded database has no shards. Set DATABASE_URL to a coordinator of Citus.",
      );
    }
    const migrated = database.hasMigrated || (await database.migrate(shards));
    const lines = [migrated ? "Migrations applied." : "The schema is already up to date."];
    if (options.grant !== undefined) {
      await database.grant(options.grant);
      lines.push(`Granted the rights of the service to ${printable(options.grant)}.`);
    }
    const pruned = options.prune ? await database.prune() : undefined;
    if (pruned) {
      lines.push(
        pruned.length > 0 ? `Dropped ${pruned.join(", ")}.` : "No other version of the functions is in the database.",
      );
    }
    // JSON omits the members of unused options, because they are `undefined`.
    print(options, { migrated, granted: options.grant, pruned }, lines.join("\n"));
  }, CREATES);

export const addMigrate = (program: Command): void => {
  withOutputOptions(program.command("migrate"))
    .description("apply pending database migrations, and create the functions of this version")
    .option(
      "--shards <count>",
      "the number of shards of a coordinator of Citus; as many as before, or more",
      parseShards,
    )
    .option("--grant <role>", "give an existing database role the rights that the service needs")
    .option("--prune", "drop the functions of other versions; stops replicas of other versions")
    .action(migrate);
};
