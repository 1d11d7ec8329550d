/** `migrate`: brings the database up to date, and grants and drops what belongs to its functions. */
import type { Command } from "commander";
import { withDatabase } from "../database.ts";
import { type OutputOptions, withOutputOptions } from "../options.ts";
import { print, printable } from "../terminal.ts";

type MigrateOptions = OutputOptions & { grant?: string; prune?: boolean };

const migrate = (options: MigrateOptions): Promise<void> =>
  withDatabase(async (database) => {
    const migrated = database.hasMigrated || (await database.migrate());
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
    // Without an option its key is absent.
    print(options, { migrated, granted: options.grant, pruned }, lines.join("\n"));
  }, false);

export const addMigrate = (program: Command): void => {
  withOutputOptions(program.command("migrate"))
    .description("apply pending database migrations, and create the functions of this version")
    .option("--grant <role>", "give an existing database role the rights that the service needs")
    .option("--prune", "drop the functions of other versions; stops replicas of other versions")
    .action(migrate);
};
