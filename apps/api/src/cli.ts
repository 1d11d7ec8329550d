/** The command line, for whoever runs the service: migrations, tenants, and keys without a creator. */
import { insertApiKey } from "@realtime-avatar/db/api-keys";
import { databaseFailure, describeError } from "@realtime-avatar/db/client";
import { isMigrated, migrate } from "@realtime-avatar/db/migrate";
import { type OpenDatabase, openDatabase } from "@realtime-avatar/db/open";
import { insertTenant, listTenants } from "@realtime-avatar/db/tenants";
import { CreateApiKey, issueApiKey, OPERATOR, presentApiKeyWithSecret } from "@realtime-avatar/domain/api-key";
import { isId, newId } from "@realtime-avatar/domain/id";
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import { validate } from "@realtime-avatar/domain/schema";
import { CreateTenant, type TenantRecord } from "@realtime-avatar/domain/tenant";
import { ConfigError, readCommonConfig } from "@realtime-avatar/runtime/config";
import { Command, CommanderError } from "commander";
import { secureRandom } from "./random.ts";

/** Arguments that make no sense: exit code 2. */
class UsageError extends Error {}

/** What each field of a request is called here. */
const OPTION_NAMES: Record<string, string> = {
  name: "--name",
  environment: "--environment",
  scopes: "--scopes",
  spendLimitCreditMicros: "--spend-limit",
  expiresAt: "--expires-at",
};

const usageError = (errors: readonly FieldError[]): UsageError =>
  new UsageError(
    errors
      .map(({ pointer, detail }) => `${OPTION_NAMES[pointer?.split("/")[1] ?? ""] ?? "The request"}: ${detail}`)
      .join("\n"),
  );

/** Text that another wrote, made harmless to a terminal. */
const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

const withDatabase = async (work: (database: OpenDatabase) => Promise<void>, needsSchema = true): Promise<void> => {
  const config = readCommonConfig(process.env);
  const database = await openDatabase(config.database, { notify: (message) => console.error(message) });
  try {
    if (needsSchema && !(await isMigrated(database.db))) {
      throw new Error("The database's migrations are pending. Run `bun run migrate` first.");
    }
    await work(database);
  } finally {
    await database.close();
  }
};

const presentTenant = ({ tenantId, name, createdAt }: TenantRecord) => ({
  tenantId,
  name,
  createdAt: createdAt.toISOString(),
});

/** Prints `value` as the one JSON value of standard output, or `words` for a person. */
const print = (options: { json?: boolean }, value: unknown, words: string): void => {
  console.log(options.json ? JSON.stringify(value, null, 2) : words);
};

const program = new Command("realtime-avatar")
  .description("Runs the Realtime Avatar Service's database: migrations, tenants, keys.")
  .showHelpAfterError("(add --help for what is possible)")
  .exitOverride();

program
  .command("migrate")
  .description("bring the database's schema up to date")
  .option("--json", "print one JSON value")
  .action(async (options: { json?: boolean }) => {
    await withDatabase(async ({ url, hasMigrated }) => {
      const migrated = hasMigrated || (await migrate(url));
      print(options, { migrated }, migrated ? "The schema is up to date now." : "The schema was up to date.");
    }, false);
  });

const tenants = program.command("tenants").description("the owners of keys and avatars");

tenants
  .command("create")
  .description("create a tenant")
  .requiredOption("--name <name>", "its name, 1 to 120 characters")
  .option("--json", "print one JSON value")
  .action(async (options: { name: string; json?: boolean }) => {
    const errors = validate(CreateTenant, { name: options.name });
    if (errors.length > 0) throw usageError(errors);
    const now = new Date();
    const tenant = { tenantId: newId("ten", now, secureRandom), name: options.name, createdAt: now };
    await withDatabase(async ({ db }) => {
      await insertTenant(db, tenant);
      print(options, presentTenant(tenant), `Created ${tenant.tenantId}  ${printable(tenant.name)}`);
    });
  });

tenants
  .command("list")
  .description("list every tenant, oldest first")
  .option("--json", "print one JSON value")
  .action(async (options: { json?: boolean }) => {
    await withDatabase(async ({ db }) => {
      const all = await listTenants(db);
      const lines = all.map(
        ({ tenantId, name, createdAt }) => `${tenantId}  ${createdAt.toISOString()}  ${printable(name)}`,
      );
      print(options, all.map(presentTenant), lines.join("\n") || "There are no tenants.");
    });
  });

type KeyOptions = {
  tenant: string;
  name: string;
  environment?: string;
  scopes?: string;
  spendLimit?: string;
  expiresAt?: string;
  json?: boolean;
};

/** The request that the options make: judged by the same schema as a request over HTTP. */
const keyRequest = (options: KeyOptions): CreateApiKey => {
  const { name, environment, scopes, spendLimit, expiresAt } = options;
  const request = {
    name,
    ...(environment === undefined ? {} : { environment }),
    ...(scopes === undefined ? {} : { scopes: scopes.split(",").map((scope) => scope.trim()) }),
    ...(spendLimit === undefined
      ? {}
      : { spendLimitCreditMicros: /^\d+$/.test(spendLimit) ? Number(spendLimit) : spendLimit }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  const errors = validate(CreateApiKey, request);
  if (errors.length > 0) throw usageError(errors);
  return request as CreateApiKey;
};

program
  .command("keys")
  .description("API keys")
  .command("create")
  .description("create a key that descends from no other; its secret is shown only now")
  .requiredOption("--tenant <id>", "the tenant that owns it (ten_…)")
  .requiredOption("--name <name>", "its name, 1 to 120 characters")
  .option("--environment <environment>", "live or test (default: test)")
  .option("--scopes <scopes>", "its scopes, with commas between (default: realtime:write,credits:read,avatars:read)")
  .option("--spend-limit <micros>", "its hard spend cap, in credit micros (default: none)")
  .option("--expires-at <time>", "when it expires, an RFC 3339 date-time (default: never)")
  .option("--json", "print one JSON value")
  .action(async (options: KeyOptions) => {
    const request = keyRequest(options);
    const tenantId = options.tenant;
    if (!isId("ten", tenantId)) throw new UsageError("--tenant: Must be a tenant's id (ten_…).");
    await withDatabase(async ({ db }) => {
      const now = new Date();
      const issued = issueApiKey(request, OPERATOR, { tenantId, judgedAt: now, now, random: secureRandom });
      const origin = { actor: null, requestId: newId("req", now, secureRandom), now, random: secureRandom };
      const { record, secret } = issued;
      if (!(await insertApiKey(db, record, secret, null, origin))) throw new Error("There is no tenant with this id.");
      const key = presentApiKeyWithSecret(record, secret);
      const words = [
        `Created ${key.id}  ${printable(key.name)}`,
        `  environment  ${key.environment}`,
        `  scopes       ${key.scopes.join(", ")}`,
        `  spend cap    ${key.spendLimitCreditMicros ?? "none"}`,
        `  expires      ${key.expiresAt ?? "never"}`,
        "The secret, shown only now:",
        `  ${key.apiKey}`,
      ];
      print(options, key, words.join("\n"));
    });
  });

/** What to say of an error, and the exit code that it means. */
const explain = (error: unknown): { message: string; code: number } => {
  if (error instanceof UsageError) return { message: error.message, code: 2 };
  if (error instanceof ConfigError) return { message: error.message, code: 2 };
  if (error instanceof Problem && error.extras.errors)
    return { message: usageError(error.extras.errors).message, code: 2 };
  if (databaseFailure(error)) return { message: `The database failed (${describeError(error)["code"]}).`, code: 1 };
  return { message: error instanceof Error ? error.message : "Something went wrong.", code: 1 };
};

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has said what is wrong already; help that was asked for is no error.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    const { message, code } = explain(error);
    console.error(message);
    process.exitCode = code;
  }
}
