/** The operator's command line: migrations, shards, health, tenants, users, API keys, avatars, credits, sessions, avatar workers, webhooks and the audit trail. */
import { Command, CommanderError } from "commander";
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
import { explain } from "./terminal.ts";

const program = new Command("realtime-avatar")
  .description(
    "Operates the Realtime Avatar Service: migrations, shards, health, tenants, users, API keys, avatars, credits, sessions, avatar workers, webhooks, audit trail.",
  )
  .showHelpAfterError("(use --help for usage)")
  .exitOverride();

for (const add of [
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
])
  add(program);

/** Resolves when the command has ended. A promise, because a module with bytecode cannot await here. */
export const ended = program.parseAsync().catch((error: unknown) => {
  if (error instanceof CommanderError) {
    // Commander has already printed the error. --help is not an error.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    const { message, code } = explain(error);
    console.error(message);
    process.exitCode = code;
  }
});
