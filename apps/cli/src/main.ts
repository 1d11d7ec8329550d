/** The operator's command line: migrations, health, tenants, users, API keys, avatars, credits, sessions, avatar workers, webhooks and the audit trail. */
import { CommanderError } from "commander";
import { createProgram } from "./program.ts";
import { explain } from "./terminal.ts";

/** Resolves when the command has ended. It is a promise, because a module with bytecode cannot use top-level await. */
export const ended = createProgram()
  .parseAsync()
  .catch((error: unknown) => {
    if (error instanceof CommanderError) {
      // Commander has already printed the error. --help is not an error.
      process.exitCode = error.exitCode === 0 ? 0 : 2;
    } else {
      const { message, code } = explain(error);
      console.error(message);
      process.exitCode = code;
    }
  });
