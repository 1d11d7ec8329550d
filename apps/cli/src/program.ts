/** The commands of the operator's command line. */
import { Command } from "commander";
import { version } from "../package.json";
import { addAudit } from "./commands/audit.ts";
import { addAvatars } from "./commands/avatars.ts";
import { addCalls } from "./commands/calls.ts";
import { addCredits } from "./commands/credits.ts";
import { addHealth } from "./commands/health.ts";
import { addKeys } from "./commands/keys.ts";
import { addMigrate } from "./commands/migrate.ts";
import { addShards } from "./commands/shards.ts";
import { addTenants } from "./commands/tenants.ts";
import { addUsers } from "./commands/users.ts";
import { addWebhooks } from "./commands/webhooks.ts";

const SUBJECTS = [
  addMigrate,
  addShards,
  addHealth,
  addTenants,
  addUsers,
  addKeys,
  addAvatars,
  addCredits,
  addCalls,
  addWebhooks,
  addAudit,
];

/** Created for each run, because it keeps the options of its run. */
export const createProgram = (): Command => {
  const program = new Command("realtime-avatar")
    .description(
      "Operates the Realtime Avatar Service: migrations, shards, health, tenants, users, API keys, avatars, credits, sessions, avatar workers, webhooks, audit trail.",
    )
    .version(version, "--version", "print the version")
    .showHelpAfterError("(use --help for usage)")
    .exitOverride();
  for (const add of SUBJECTS) add(program);
  return program;
};
