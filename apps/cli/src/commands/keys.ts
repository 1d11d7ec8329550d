/** `keys`: the API keys of a tenant. */

import { findApiKey, insertRootApiKey, revokeApiKey, rotateApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import { findCreator } from "@realtime-avatar/db/api-keys/creator";
import { listApiKeys } from "@realtime-avatar/db/api-keys/list";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { randomFor } from "@realtime-avatar/db/connection/which-database";
import { retryWhileStale } from "@realtime-avatar/db/query/retry-while-stale";
import { type ApiKeyRecord, presentApiKey, presentApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/api-key";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import { rotatedApiKey } from "@realtime-avatar/domain/api-keys/rotate";
import {
  API_KEY_LIST,
  type ApiKey,
  type ApiKeyWithSecret,
  CreateApiKey,
  RotateApiKey,
} from "@realtime-avatar/domain/api-keys/schemas";
import { DEFAULT_SCOPES } from "@realtime-avatar/domain/api-keys/scope";
import { isKeyId } from "@realtime-avatar/domain/api-keys/secret";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { isId, type TenantId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { secureRandom as random } from "@realtime-avatar/runtime/random";
import type { Command } from "commander";
import { operatorOrigin, withDatabase } from "../database.ts";
import {
  parseInteger,
  type SearchOptions,
  type TenantOptions,
  withSearchOptions,
  withTenantOptions,
} from "../options.ts";
import { pageRequest, printPage } from "../pages.ts";
import { type Columns, fields, micros, print, printable, UsageError, usageError } from "../terminal.ts";

/** Parses the id of a key, or the `keyId` of a credential as it appears in the log. */
const parseKey = (text: string): string => {
  if (isId("key", text) || isKeyId(text)) return text;
  throw new UsageError("<id>: Must be an id (key_…) or a keyId (16 characters).");
};

const findKey = async (db: Db, tenantId: TenantId, id: string): Promise<ApiKeyRecord> => {
  const key = isId("key", id) ? await findApiKey(db, tenantId, id) : (await findCredential(db, id))?.caller;
  if (key?.tenantId !== tenantId) throw new Error("The tenant has no key with this id.");
  return key;
};

/** The text output for a new secret. */
const secretText = (title: string, key: ApiKeyWithSecret): string =>
  [
    `${title} ${key.id}  ${printable(key.name)}`,
    `  environment  ${key.environment}`,
    `  scopes       ${key.scopes.join(", ")}`,
    `  spend cap    ${key.spendLimitCreditMicros === null ? "none" : micros(key.spendLimitCreditMicros)}`,
    `  max sessions ${key.maxConcurrentSessions ?? "none"}`,
    `  expires      ${key.expiresAt ?? "never"}`,
    "The secret, shown only once:",
    `  ${key.apiKey}`,
  ].join("\n");

type CreateOptions = TenantOptions & {
  name: string;
  environment?: string;
  scopes?: string[];
  spendLimit?: number | string;
  maxConcurrentSessions?: number | string;
  expiresAt?: string;
};

/** Converts the options to a request, and validates it with the same schema as an HTTP request. */
const createRequest = ({ name, environment, scopes, spendLimit, ...options }: CreateOptions): CreateApiKey => {
  const { maxConcurrentSessions, expiresAt } = options;
  const request = {
    name,
    ...(environment === undefined ? {} : { environment }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(spendLimit === undefined ? {} : { spendLimitCreditMicros: spendLimit }),
    ...(maxConcurrentSessions === undefined ? {} : { maxConcurrentSessions }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  const errors = validate(CreateApiKey, request);
  if (errors.length > 0) throw usageError(errors);
  return request as CreateApiKey;
};

const create = async (options: CreateOptions): Promise<void> => {
  const request = createRequest(options);
  await withDatabase(options.tenant, async (db) => {
    const origin = operatorOrigin();
    const { now } = origin;
    const { record, secret } = issueApiKey(request, OPERATOR, {
      tenantId: options.tenant,
      checkedAt: now,
      now,
      random: randomFor(db, random),
    });
    if (!(await insertRootApiKey(db, record, secret, origin))) throw new Error("No tenant has this id.");
    const key = presentApiKeyWithSecret(record, secret);
    print(options, key, secretText("Created", key));
  });
};

const COLUMNS: Columns<ApiKey> = {
  ID: ({ id }) => id,
  KEY: ({ redactedKey }) => redactedKey,
  STATUS: ({ status }) => status,
  SCOPES: ({ scopes }) => scopes.join(","),
  "LAST USED": ({ lastUsedAt }) => lastUsedAt,
  EXPIRES: ({ expiresAt }) => expiresAt,
  PARENT: ({ parentId }) => parentId,
  NAME: ({ name }) => name,
};

const list = async (options: SearchOptions & { status?: string; environment?: string }): Promise<void> => {
  const { status, environment, name, from, to, limit, cursor } = options;
  const request = pageRequest(API_KEY_LIST, { status, environment, name, from, to, limit, cursor });
  await withDatabase(options.tenant, async (db) => {
    const written = await listApiKeys(db, options.tenant, ENVIRONMENTS, request);
    printPage(options, { list: API_KEY_LIST, request, written }, COLUMNS, "No matching keys.");
  });
};

const show = (id: string, options: TenantOptions): Promise<void> =>
  withDatabase(options.tenant, async (db) => {
    const found = await findKey(db, options.tenant, id);
    const key = { ...presentApiKey(found), ...(await findCreator(db, found, "live")) };
    print(options, key, fields(key));
  });

const revoke = (id: string, options: TenantOptions): Promise<void> =>
  withDatabase(options.tenant, async (db) => {
    const { key } = await retryWhileStale(async () => {
      const target = await findKey(db, options.tenant, id);
      return revokeApiKey(db, target, { version: null }, null, operatorOrigin());
    });
    print(options, presentApiKey(key), `${key.id} is ${key.status}.`);
  });

const rotate = async (id: string, options: TenantOptions & { overlap?: number | string }): Promise<void> => {
  const request = options.overlap === undefined ? {} : { overlapSeconds: options.overlap };
  const errors = validate(RotateApiKey, request);
  if (errors.length > 0) throw usageError(errors);
  await withDatabase(options.tenant, async (db) => {
    const { rotated } = await retryWhileStale(async () => {
      const target = await findKey(db, options.tenant, id);
      const rotated = rotatedApiKey(target, request as RotateApiKey, OPERATOR, randomFor(db, random));
      return { ...(await rotateApiKey(db, rotated, null, operatorOrigin())), rotated };
    });
    const key = presentApiKeyWithSecret(rotated.record, rotated.secret);
    print(options, key, secretText("Rotated", key));
  });
};

export const addKeys = (program: Command): void => {
  const keys = program.command("keys").description("manage API keys");

  withTenantOptions(keys.command("create"))
    .description("create a root key; its secret is shown only once")
    .requiredOption("--name <name>", "name, 1 to 120 characters")
    .option("--environment <environment>", "live or test (default: test)")
    .option(
      "--scopes <scopes>",
      `scopes, separated by commas; * is every scope except usage:write (default: ${DEFAULT_SCOPES.join()})`,
      (text) => text.split(",").map((scope) => scope.trim()),
    )
    .option("--spend-limit <micros>", "hard spend cap in credit micros (default: none)", parseInteger)
    .option("--max-concurrent-sessions <number>", "maximum number of open sessions (default: none)", parseInteger)
    .option("--expires-at <time>", "expiry as an RFC 3339 date-time (default: never)")
    .action(create);

  withSearchOptions(keys.command("list"))
    .description("list the keys of a tenant, newest first")
    .option("--status <status>", "active, revoked or expired")
    .option("--environment <environment>", "live or test")
    .action(list);

  withTenantOptions(keys.command("show"))
    .description("show a key, by its id (key_…) or the keyId of any of its credentials")
    .argument("<id>", "", parseKey)
    .action(show);

  withTenantOptions(keys.command("revoke"))
    .description("revoke a key (key_…) and its descendant keys")
    .argument("<id>", "", parseKey)
    .action(revoke);

  withTenantOptions(keys.command("rotate"))
    .description("give a key (key_…) a new secret, which is shown only once")
    .argument("<id>", "", parseKey)
    .option("--overlap <seconds>", "how long the old secret remains valid, 0 to 604800 (default: 0)", parseInteger)
    .action(rotate);
};
