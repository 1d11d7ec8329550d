/** The operator's command line: migrations, health, tenants, API keys, avatars and the audit trail. */

import type { Db } from "@realtime-avatar/db/connection/pool";
import { isMigrated } from "@realtime-avatar/db/migrate";
import { type OpenDatabase, openDatabase } from "@realtime-avatar/db/open";
import {
  findApiKey,
  insertRootApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from "@realtime-avatar/db/statements/api-keys";
import { listAuditEvents } from "@realtime-avatar/db/statements/audit-events";
import { findAvatar, listAvatars } from "@realtime-avatar/db/statements/avatars";
import { findCredential } from "@realtime-avatar/db/statements/callers";
import { insertTenant, listTenants } from "@realtime-avatar/db/statements/tenants";
import {
  API_KEY_LIST,
  type ApiKey,
  type ApiKeyRecord,
  type ApiKeyWithSecret,
  CreateApiKey,
  issueApiKey,
  OPERATOR,
  presentApiKey,
  presentApiKeyWithSecret,
  RotateApiKey,
  rotatedApiKey,
} from "@realtime-avatar/domain/api-key";
import { ENVIRONMENTS, isKeyId } from "@realtime-avatar/domain/api-key-secret";
import { AUDIT_EVENT_LIST, type AuditEvent } from "@realtime-avatar/domain/audit";
import { AVATAR_LIST, type Avatar, presentAvatar } from "@realtime-avatar/domain/avatar";
import { type Id, type IdPrefix, isId, newId, newRequestId, type TenantId } from "@realtime-avatar/domain/id";
import {
  itemsOf,
  type List,
  type PageRequest,
  pageText,
  readPage,
  type WrittenPage,
} from "@realtime-avatar/domain/page";
import { validate } from "@realtime-avatar/domain/schema";
import { CreateTenant, type TenantRecord } from "@realtime-avatar/domain/tenant";
import { readCommonConfig, readPort } from "@realtime-avatar/runtime/config";
import type { Health } from "@realtime-avatar/runtime/health";
import type { TProperties } from "@sinclair/typebox";
import { Command, CommanderError } from "commander";
import { queryOf } from "./http/query.ts";
import { retryWhileStale } from "./http/retry-while-stale.ts";
import { secureRandom as random } from "./random.ts";
import { explain, fields, print, printable, table, UsageError, usageError } from "./terminal.ts";

/** Runs `work` with an open database. Throws when migrations are pending and `needsSchema` is true. */
const withDatabase = async (work: (database: OpenDatabase) => Promise<void>, needsSchema = true): Promise<void> => {
  const config = readCommonConfig(process.env);
  const database = await openDatabase(config.database, { notify: (message) => console.error(message) });
  try {
    if (needsSchema && !(await isMigrated(database.db))) {
      throw new Error(
        "Database migrations are pending. First run `realtime-avatar migrate` (`bun run migrate` in the repository).",
      );
    }
    await work(database);
  } finally {
    await database.close();
  }
};

/** The origin of a write by the operator, for the audit trail. */
const originNow = () => {
  const now = new Date();
  return { actor: null, requestId: newRequestId(now, random), now, random };
};

const checkId = <Prefix extends IdPrefix>(prefix: Prefix, name: string, text: string): Id<Prefix> => {
  if (!isId(prefix, text)) throw new UsageError(`${name}: Must be an id (${prefix}_…).`);
  return text;
};

/** Validates the options of a list like the query of a request. Options that are `undefined` are ignored. */
const pageOf = <Prefix extends IdPrefix, Filters extends TProperties>(
  list: List<Prefix, Filters>,
  parameters: Record<string, string | undefined>,
) => {
  const present = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const { value, errors } = queryOf({ url: `?${new URLSearchParams(present)}` }, list.query);
  if (errors.length > 0) throw usageError(errors);
  return readPage(list, value);
};

/** Merges one page of each environment, requested with the same cursor, into one page of at most `limit` items. */
const mergePages = (pages: readonly WrittenPage[], limit: number): WrittenPage => {
  // Below the highest `next`, the page of that environment is incomplete: its list has more items.
  const floor =
    pages
      .map(({ next }) => next ?? "")
      .sort()
      .at(-1) ?? "";
  const items = pages.flatMap((page) => itemsOf<{ id: string }>(page)).filter(({ id }) => id >= floor);
  const byId = [...new Map(items.map((item) => [item.id, item])).values()].sort((a, b) => (a.id < b.id ? 1 : -1));
  const shown = byId.slice(0, limit);
  const next = byId.length > limit ? (shown.at(-1)?.id ?? "") : floor;
  return { items: shown.map((item) => JSON.stringify(item)).join(), next: next === "" ? null : next };
};

/** The page as the API returns it. */
const presentPage = <Item>(
  list: { prefix: IdPrefix },
  request: { filters: object },
  page: WrittenPage,
): { data: Item[]; nextCursor: string | null } => JSON.parse(pageText(list, request, page).join(""));

/** The text for a page: its rows or `emptyText`, and the option for the next page. */
const formatPage = (
  head: string[],
  rows: (string | null)[][],
  emptyText: string,
  nextCursor: string | null,
): string => {
  const text = rows.length > 0 ? table(head, rows) : nextCursor === null ? emptyText : "No items on this page.";
  return nextCursor === null ? text : `${text}\nNext page: --cursor ${nextCursor}`;
};

type Output = { json?: boolean };
type TenantOptions = Output & { tenant: string };
type PageOptions = { limit?: string; cursor?: string };

const withTenantOptions = (command: Command): Command =>
  command.requiredOption("--tenant <id>", "tenant id (ten_…)").option("--json", "print one JSON value");
const withPageOptions = (command: Command): Command =>
  withTenantOptions(command)
    .option("--limit <count>", "maximum number of items, 1 to 100 (default: 50)")
    .option("--cursor <cursor>", "continue after the page that printed this cursor");

const program = new Command("realtime-avatar")
  .description("Operates the Realtime Avatar Service: migrations, health, tenants, API keys, avatars, audit trail.")
  .showHelpAfterError("(use --help for usage)")
  .exitOverride();

program
  .command("migrate")
  .description("apply pending database migrations")
  .option("--json", "print one JSON value")
  .action(async (options: Output) => {
    await withDatabase(async ({ migrate, hasMigrated }) => {
      const migrated = hasMigrated || (await migrate());
      print(options, { migrated }, migrated ? "Migrations applied." : "The schema is already up to date.");
    }, false);
  });

/** Timeout of a health check. */
const HEALTH_DEADLINE_MS = 2000;

/** The URL of the API or the worker on this machine, from the same variables that they read. */
const localUrl = (isWorker: boolean): string => {
  const { host } = readCommonConfig(process.env);
  const port = isWorker ? readPort(process.env, "WORKER_PORT", 3001) : readPort(process.env, "PORT", 3000);
  // A process that listens on every address is reached on loopback.
  const name = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
};

type HealthResult = Health | { status: "unavailable"; reason: "unreachable" };

const checkReadiness = async (url: string): Promise<HealthResult> => {
  try {
    const response = await fetch(new URL("/readyz", url), {
      signal: AbortSignal.timeout(HEALTH_DEADLINE_MS),
      redirect: "error",
    });
    const health = (await response.json()) as Health;
    if (response.ok === (health.status === "ok")) return health;
  } catch {
    // No response in time, or not from this service.
  }
  return { status: "unavailable", reason: "unreachable" };
};

program
  .command("health")
  .description("check whether a running process is ready; exit code 0 if it is, 1 if not")
  .option("--url <url>", "URL of the process (default: from HOST and PORT)")
  .option("--worker", "check the worker instead of the API (HOST and WORKER_PORT)")
  .option("--json", "print one JSON value")
  .action(async (options: Output & { url?: string; worker?: boolean }) => {
    const url = options.url ?? localUrl(options.worker === true);
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new UsageError("--url: Must be an http:// URL.");
    // Connect directly, even if the environment (of a container, for example) sets a proxy.
    process.env["NO_PROXY"] = "*";
    const health = await checkReadiness(url);
    print(options, health, printable(health.status === "ok" ? "ready" : `not ready: ${health.reason}`));
    if (health.status !== "ok") process.exitCode = 1;
  });

const tenants = program.command("tenants").description("manage tenants, the owners of keys and avatars");

const presentTenant = ({ tenantId, name, createdAt }: TenantRecord) => ({
  id: tenantId,
  name,
  createdAt: createdAt.toISOString(),
});

tenants
  .command("create")
  .description("create a tenant")
  .requiredOption("--name <name>", "name, 1 to 120 characters")
  .option("--json", "print one JSON value")
  .action(async (options: Output & { name: string }) => {
    const errors = validate(CreateTenant, { name: options.name });
    if (errors.length > 0) throw usageError(errors);
    const now = new Date();
    const tenant = { tenantId: newId("ten", now, random), name: options.name, createdAt: now };
    await withDatabase(async ({ db }) => {
      await insertTenant(db, tenant);
      print(options, presentTenant(tenant), `Created ${tenant.tenantId}  ${printable(tenant.name)}`);
    });
  });

tenants
  .command("list")
  .description("list every tenant, oldest first")
  .option("--json", "print one JSON value")
  .action(async (options: Output) => {
    await withDatabase(async ({ db }) => {
      const all = (await listTenants(db)).map(presentTenant);
      const rows = all.map(({ id, createdAt, name }) => [id, createdAt, name]);
      print(options, all, rows.length > 0 ? table(["TENANT", "CREATED", "NAME"], rows) : "No tenants.");
    });
  });

const keys = program.command("keys").description("manage API keys");

/** The text output for a new secret. */
const secretText = (title: string, key: ApiKeyWithSecret): string =>
  [
    `${title} ${key.id}  ${printable(key.name)}`,
    `  environment  ${key.environment}`,
    `  scopes       ${key.scopes.join(", ")}`,
    `  spend cap    ${key.spendLimitCreditMicros ?? "none"}`,
    `  expires      ${key.expiresAt ?? "never"}`,
    "The secret, shown only once:",
    `  ${key.apiKey}`,
  ].join("\n");

type KeyOptions = TenantOptions & {
  name: string;
  environment?: string;
  scopes?: string;
  spendLimit?: string;
  expiresAt?: string;
};

/** Parses a whole number; other text is returned unchanged, so that validation rejects it. */
const numberOf = (text: string): number | string => (/^\d+$/.test(text) ? Number(text) : text);

/** Converts the options to a request, and validates it with the same schema as an HTTP request. */
const keyRequest = (options: KeyOptions): CreateApiKey => {
  const { name, environment, scopes, spendLimit, expiresAt } = options;
  const request = {
    name,
    ...(environment === undefined ? {} : { environment }),
    ...(scopes === undefined ? {} : { scopes: scopes.split(",").map((scope) => scope.trim()) }),
    ...(spendLimit === undefined ? {} : { spendLimitCreditMicros: numberOf(spendLimit) }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  const errors = validate(CreateApiKey, request);
  if (errors.length > 0) throw usageError(errors);
  return request as CreateApiKey;
};

withTenantOptions(keys.command("create"))
  .description("create a root key; its secret is shown only once")
  .requiredOption("--name <name>", "name, 1 to 120 characters")
  .option("--environment <environment>", "live or test (default: test)")
  .option("--scopes <scopes>", "scopes, separated by commas (default: realtime:write,credits:read,avatars:read)")
  .option("--spend-limit <micros>", "hard spend cap in credit micros (default: none)")
  .option("--expires-at <time>", "expiry as an RFC 3339 date-time (default: never)")
  .action(async (options: KeyOptions) => {
    const request = keyRequest(options);
    const tenantId = checkId("ten", "--tenant", options.tenant);
    await withDatabase(async ({ db }) => {
      const origin = originNow();
      const { now } = origin;
      const { record, secret } = issueApiKey(request, OPERATOR, { tenantId, judgedAt: now, now, random });
      if (!(await insertRootApiKey(db, record, secret, origin))) throw new Error("No tenant has this id.");
      const key = presentApiKeyWithSecret(record, secret);
      print(options, key, secretText("Created", key));
    });
  });

withPageOptions(keys.command("list"))
  .description("list the keys of a tenant, newest first")
  .option("--status <status>", "active, revoked or expired")
  .option("--environment <environment>", "live or test")
  .action(async (options: TenantOptions & PageOptions & { status?: string; environment?: string }) => {
    const tenantId = checkId("ten", "--tenant", options.tenant);
    const { status, environment, limit, cursor } = options;
    const request = pageOf(API_KEY_LIST, { status, environment, limit, cursor });
    await withDatabase(async ({ db }) => {
      const written = await listApiKeys(db, tenantId, ENVIRONMENTS, request);
      const page = presentPage<ApiKey>(API_KEY_LIST, request, written);
      const rows = page.data.map((key) => [
        key.id,
        key.redactedKey,
        key.status,
        key.scopes.join(","),
        key.lastUsedAt,
        key.expiresAt,
        key.name,
      ]);
      const head = ["ID", "KEY", "STATUS", "SCOPES", "LAST USED", "EXPIRES", "NAME"];
      print(options, page, formatPage(head, rows, "No matching keys.", page.nextCursor));
    });
  });

/** Checks that `text` is the id of a key, or the `keyId` of a credential as it appears in the log. */
const checkKey = (text: string): string => {
  if (isId("key", text) || isKeyId(text)) return text;
  throw new UsageError("<id>: Must be an id (key_…) or a keyId (16 characters).");
};

const findKey = async (db: Db, tenantId: TenantId, id: string): Promise<ApiKeyRecord> => {
  const key = isId("key", id) ? await findApiKey(db, tenantId, id) : (await findCredential(db, id))?.caller;
  if (key?.tenantId !== tenantId) throw new Error("The tenant has no key with this id.");
  return key;
};

withTenantOptions(keys.command("show <id>"))
  .description("show a key, by its id (key_…) or the keyId of any of its credentials")
  .action(async (id: string, options: TenantOptions) => {
    const tenantId = checkId("ten", "--tenant", options.tenant);
    const named = checkKey(id);
    await withDatabase(async ({ db }) => {
      const key = presentApiKey(await findKey(db, tenantId, named));
      print(options, key, fields(key));
    });
  });

withTenantOptions(keys.command("revoke <id>"))
  .description("revoke a key (key_…) and its descendant keys")
  .action(async (id: string, options: TenantOptions) => {
    const tenantId = checkId("ten", "--tenant", options.tenant);
    const named = checkKey(id);
    await withDatabase(async ({ db }) => {
      const { key } = await retryWhileStale(async () => {
        const target = await findKey(db, tenantId, named);
        return revokeApiKey(db, target, { version: null }, null, originNow());
      });
      print(options, presentApiKey(key), `${key.id} is ${key.status}.`);
    });
  });

withTenantOptions(keys.command("rotate <id>"))
  .description("give a key (key_…) a new secret, which is shown only once")
  .option("--overlap <seconds>", "how long the old secret remains valid, 0 to 604800 (default: 0)")
  .action(async (id: string, options: TenantOptions & { overlap?: string }) => {
    const tenantId = checkId("ten", "--tenant", options.tenant);
    const named = checkKey(id);
    const request = options.overlap === undefined ? {} : { overlapSeconds: numberOf(options.overlap) };
    const errors = validate(RotateApiKey, request);
    if (errors.length > 0) throw usageError(errors);
    await withDatabase(async ({ db }) => {
      const { rotated } = await retryWhileStale(async () => {
        const rotated = rotatedApiKey(await findKey(db, tenantId, named), request as RotateApiKey, OPERATOR, random);
        return { ...(await rotateApiKey(db, rotated, null, originNow())), rotated };
      });
      const key = presentApiKeyWithSecret(rotated.record, rotated.secret);
      print(options, key, secretText("Rotated", key));
    });
  });

const avatars = program.command("avatars").description("inspect avatars");

withPageOptions(avatars.command("list"))
  .description("list the avatars of a tenant, newest first")
  .option("--status <status>", "filter by status; deleted avatars are listed only with --status deleted")
  .option("--source-kind <kind>", "image or video")
  .action(async (options: TenantOptions & PageOptions & { status?: string; sourceKind?: string }) => {
    const tenantId = checkId("ten", "--tenant", options.tenant);
    const { status, sourceKind, limit, cursor } = options;
    const request = pageOf(AVATAR_LIST, { status, sourceKind, limit, cursor });
    await withDatabase(async ({ db }) => {
      const pages = await Promise.all(
        ENVIRONMENTS.map((environment) => listAvatars(db, { tenantId, environment }, request)),
      );
      const page = presentPage<Avatar>(AVATAR_LIST, request, mergePages(pages, request.limit));
      const rows = page.data.map((avatar) => [
        avatar.id,
        avatar.environment,
        avatar.status,
        avatar.sourceKind,
        avatar.modelId,
        avatar.updatedAt,
        avatar.displayName,
      ]);
      const head = ["ID", "ENVIRONMENT", "STATUS", "SOURCE", "MODEL", "UPDATED", "NAME"];
      print(options, page, formatPage(head, rows, "No matching avatars.", page.nextCursor));
    });
  });

withTenantOptions(avatars.command("show <id>"))
  .description("show an avatar (ava_…)")
  .action(async (id: string, options: TenantOptions) => {
    const tenantId = checkId("ten", "--tenant", options.tenant);
    const avatarId = checkId("ava", "<id>", id);
    await withDatabase(async ({ db }) => {
      const records = await Promise.all(
        ENVIRONMENTS.map((environment) => findAvatar(db, { tenantId, environment }, avatarId)),
      );
      const record = records.find((avatar) => avatar !== null);
      if (!record) throw new Error("The tenant has no avatar with this id.");
      const avatar = presentAvatar(record);
      print(options, avatar, fields(avatar));
    });
  });

const EVENT_COLUMNS = ["TIME", "ACTION", "TARGET", "CHANGED", "ACTOR", "CREDENTIAL", "REQUEST"];
const eventRow = (event: AuditEvent) => [
  event.createdAt,
  event.action,
  event.targetId,
  event.changedFields.join(","),
  event.actorId,
  event.actorKeyId,
  event.requestId,
];

/** The newest events of a tenant in both environments, newest first, at most `request.limit`. */
const listEvents = async (
  db: Db,
  tenantId: TenantId,
  request: PageRequest<typeof AUDIT_EVENT_LIST>,
): Promise<AuditEvent[]> => {
  const events: AuditEvent[] = [];
  for (let { before } = request; ; ) {
    const limit = request.limit - events.length;
    const pageRequest = { ...request, before, limit };
    const pages = ENVIRONMENTS.map((environment) => listAuditEvents(db, { tenantId, environment }, pageRequest));
    const page = mergePages(await Promise.all(pages), limit);
    events.push(...itemsOf<AuditEvent>(page));
    if (page.next === null || events.length >= request.limit) return events;
    before = page.next as Id<"aud">;
  }
};

/** Polling interval of `audit tail --follow`. */
const FOLLOW_INTERVAL_MS = 500;
/** How many events each poll reads again: an event can become visible after newer ones. */
const FOLLOW_WINDOW = 100;

/** Calls `show` with new events until SIGINT or SIGTERM. */
const follow = async (
  db: Db,
  tenantId: TenantId,
  request: PageRequest<typeof AUDIT_EVENT_LIST>,
  known: readonly AuditEvent[],
  show: (events: AuditEvent[]) => void,
): Promise<void> => {
  let isEnding = false;
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => (isEnding = true));
  let seen = new Set(known.map(({ id }) => id));
  /** Older events have been shown, or were omitted by the limit. */
  const since = known.at(-1)?.id ?? "";
  while (!isEnding) {
    const events: AuditEvent[] = [];
    for (let before: Id<"aud"> | null = null; ; ) {
      const page: AuditEvent[] = await listEvents(db, tenantId, { ...request, before, limit: FOLLOW_WINDOW });
      events.push(...page);
      before = (page.at(-1)?.id as Id<"aud"> | undefined) ?? null;
      if (page.length < FOLLOW_WINDOW || page.some(({ id }) => seen.has(id) || id < since)) break;
    }
    const fresh = events.filter(({ id }) => !seen.has(id) && id > since);
    if (fresh.length > 0) show(fresh.reverse());
    seen = new Set([...events.map(({ id }) => id), ...[...seen].slice(0, 10 * FOLLOW_WINDOW)]);
    await Bun.sleep(FOLLOW_INTERVAL_MS);
  }
};

withTenantOptions(program.command("audit").description("the audit trail").command("tail"))
  .description("show the newest events of a tenant, newest last")
  .option("--limit <count>", "maximum number of events, 1 to 100 (default: 50)")
  .option("--action <action>", "filter by action, for example api_key.revoked")
  .option("--target <id>", "filter by the id of the key or avatar that was changed")
  .option("--actor <keyId>", "filter by the credential of the actor (the 16 characters after rta_live_ or rta_test_)")
  .option("--follow", "keep running and show new events; with --json, one event per line")
  .action(
    async (
      options: TenantOptions & { limit?: string; action?: string; target?: string; actor?: string; follow?: boolean },
    ) => {
      const tenantId = checkId("ten", "--tenant", options.tenant);
      const { limit, action, target: targetId, actor: actorKeyId } = options;
      const request = pageOf(AUDIT_EVENT_LIST, { limit, action, targetId, actorKeyId });
      await withDatabase(async ({ db }) => {
        const newest = await listEvents(db, tenantId, request);
        const events = newest.toReversed();
        if (!options.follow) {
          const rows = events.map(eventRow);
          return print(options, events, rows.length > 0 ? table(EVENT_COLUMNS, rows) : "No matching events.");
        }
        const show = (newEvents: AuditEvent[]): void => {
          for (const event of newEvents) {
            const cells = eventRow(event).map((cell) => printable(cell || "-"));
            console.log(options.json ? JSON.stringify(event) : cells.join("  "));
          }
        };
        show(events);
        await follow(db, tenantId, request, newest, show);
      });
    },
  );

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has already printed the error. --help is not an error.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    const { message, code } = explain(error);
    console.error(message);
    process.exitCode = code;
  }
}
