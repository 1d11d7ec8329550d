/** The command line, for whoever runs the service: migrations, health, tenants, keys, avatars and the audit trail. */

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

const withDatabase = async (work: (database: OpenDatabase) => Promise<void>, needsSchema = true): Promise<void> => {
  const config = readCommonConfig(process.env);
  const database = await openDatabase(config.database, { notify: (message) => console.error(message) });
  try {
    if (needsSchema && !(await isMigrated(database.db))) {
      throw new Error(
        "The database's migrations are pending. Run `realtime-avatar migrate` (`bun run migrate`) first.",
      );
    }
    await work(database);
  } finally {
    await database.close();
  }
};

/** Where a write from here comes from. */
const originNow = () => {
  const now = new Date();
  return { actor: null, requestId: newRequestId(now, random), now, random };
};

const checkId = <Prefix extends IdPrefix>(prefix: Prefix, name: string, text: string): Id<Prefix> => {
  if (!isId(prefix, text)) throw new UsageError(`${name}: Must be an id (${prefix}_…).`);
  return text;
};

/** The parameters of a list, judged as the query of a request is; those that were not given are `undefined`. */
const pageOf = <Prefix extends IdPrefix, Filters extends TProperties>(
  list: List<Prefix, Filters>,
  parameters: Record<string, string | undefined>,
) => {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const { value, errors } = queryOf({ url: `?${new URLSearchParams(given)}` }, list.query);
  if (errors.length > 0) throw usageError(errors);
  return readPage(list, value);
};

/** The pages that start at the same place in the list of each environment, as one page with at most `limit` items. */
const merged = (pages: readonly WrittenPage[], limit: number): WrittenPage => {
  // Below the highest of these ids, a list has items that its page does not.
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

/** A page as the API would return it. */
const presentPage = <Item>(
  list: { prefix: IdPrefix },
  request: { filters: object },
  page: WrittenPage,
): { data: Item[]; nextCursor: string | null } => JSON.parse(pageText(list, request, page).join(""));

/** The rows of a page, or that it has none, and how to go on where there is more. */
const pageWords = (head: string[], rows: (string | null)[][], none: string, nextCursor: string | null): string => {
  const words = rows.length > 0 ? table(head, rows) : nextCursor === null ? none : "None in this page.";
  return nextCursor === null ? words : `${words}\nThere is more: --cursor ${nextCursor}`;
};

type Output = { json?: boolean };
type OfTenant = Output & { tenant: string };
type Paged = { limit?: string; cursor?: string };

const ofTenant = (command: Command): Command =>
  command.requiredOption("--tenant <id>", "the tenant that owns it (ten_…)").option("--json", "print one JSON value");
const paged = (command: Command): Command =>
  ofTenant(command)
    .option("--limit <count>", "how many to show, 1 to 100 (default: 50)")
    .option("--cursor <cursor>", "go on where a list ended");

const program = new Command("realtime-avatar")
  .description("Runs the Realtime Avatar Service: migrations, health, tenants, keys, avatars, the audit trail.")
  .showHelpAfterError("(add --help for what is possible)")
  .exitOverride();

program
  .command("migrate")
  .description("bring the database's schema up to date")
  .option("--json", "print one JSON value")
  .action(async (options: Output) => {
    await withDatabase(async ({ migrate, hasMigrated }) => {
      const migrated = hasMigrated || (await migrate());
      print(options, { migrated }, migrated ? "The schema is up to date now." : "The schema was up to date.");
    }, false);
  });

/** So long a process may take to say whether it is ready. */
const HEALTH_DEADLINE_MS = 2000;

/** Where the API of this machine listens, or the worker, by the variables that it reads itself. */
const ownUrl = (isWorker: boolean): string => {
  const { host } = readCommonConfig(process.env);
  const port = isWorker ? readPort(process.env, "WORKER_PORT", 3001) : readPort(process.env, "PORT", 3000);
  // Who listens on every address is asked on loopback.
  const name = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
};

type Asked = Health | { status: "unavailable"; reason: "unreachable" };

const askReady = async (url: string): Promise<Asked> => {
  try {
    const answer = await fetch(new URL("/readyz", url), {
      signal: AbortSignal.timeout(HEALTH_DEADLINE_MS),
      redirect: "error",
    });
    const health = (await answer.json()) as Health;
    if (answer.ok === (health.status === "ok")) return health;
  } catch {
    // Nobody answers in time, or nobody who is one of ours.
  }
  return { status: "unavailable", reason: "unreachable" };
};

program
  .command("health")
  .description("ask a running process whether it is ready; exits with 0 if it is, with 1 if not")
  .option("--url <url>", "where it listens (default: HOST and PORT)")
  .option("--worker", "ask the worker (HOST and WORKER_PORT)")
  .option("--json", "print one JSON value")
  .action(async (options: Output & { url?: string; worker?: boolean }) => {
    const url = options.url ?? ownUrl(options.worker === true);
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new UsageError("--url: Must be an http:// URL.");
    // The process is asked itself. A container may be given a proxy by whoever runs it.
    process.env["NO_PROXY"] = "*";
    const health = await askReady(url);
    print(options, health, printable(health.status === "ok" ? "ready" : `not ready: ${health.reason}`));
    if (health.status !== "ok") process.exitCode = 1;
  });

const tenants = program.command("tenants").description("the owners of keys and avatars");

const presentTenant = ({ tenantId, name, createdAt }: TenantRecord) => ({
  id: tenantId,
  name,
  createdAt: createdAt.toISOString(),
});

tenants
  .command("create")
  .description("create a tenant")
  .requiredOption("--name <name>", "its name, 1 to 120 characters")
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
      print(options, all, rows.length > 0 ? table(["TENANT", "CREATED", "NAME"], rows) : "There are no tenants.");
    });
  });

const keys = program.command("keys").description("API keys");

/** What a person is told of a key whose secret is shown. */
const secretWords = (title: string, key: ApiKeyWithSecret): string =>
  [
    `${title} ${key.id}  ${printable(key.name)}`,
    `  environment  ${key.environment}`,
    `  scopes       ${key.scopes.join(", ")}`,
    `  spend cap    ${key.spendLimitCreditMicros ?? "none"}`,
    `  expires      ${key.expiresAt ?? "never"}`,
    "The secret, shown only now:",
    `  ${key.apiKey}`,
  ].join("\n");

type KeyOptions = OfTenant & {
  name: string;
  environment?: string;
  scopes?: string;
  spendLimit?: string;
  expiresAt?: string;
};

/** A number, if it is one; else the text, for the schema to refuse. */
const numberOf = (text: string): number | string => (/^\d+$/.test(text) ? Number(text) : text);

/** The request that the options make: judged by the same schema as a request over HTTP. */
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

ofTenant(keys.command("create"))
  .description("create a key that descends from no other; its secret is shown only now")
  .requiredOption("--name <name>", "its name, 1 to 120 characters")
  .option("--environment <environment>", "live or test (default: test)")
  .option("--scopes <scopes>", "its scopes, with commas between (default: realtime:write,credits:read,avatars:read)")
  .option("--spend-limit <micros>", "its hard spend cap, in credit micros (default: none)")
  .option("--expires-at <time>", "when it expires, an RFC 3339 date-time (default: never)")
  .action(async (options: KeyOptions) => {
    const request = keyRequest(options);
    const tenantId = checkId("ten", "--tenant", options.tenant);
    await withDatabase(async ({ db }) => {
      const origin = originNow();
      const { now } = origin;
      const { record, secret } = issueApiKey(request, OPERATOR, { tenantId, judgedAt: now, now, random });
      if (!(await insertRootApiKey(db, record, secret, origin))) throw new Error("There is no tenant with this id.");
      const key = presentApiKeyWithSecret(record, secret);
      print(options, key, secretWords("Created", key));
    });
  });

paged(keys.command("list"))
  .description("list the keys of a tenant, newest first")
  .option("--status <status>", "active, revoked or expired")
  .option("--environment <environment>", "live or test")
  .action(async (options: OfTenant & Paged & { status?: string; environment?: string }) => {
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
      print(options, page, pageWords(head, rows, "There are no such keys.", page.nextCursor));
    });
  });

/** The id of a record, or the handle of one of its credentials, as the log has it. */
const checkKey = (text: string): string => {
  if (isId("key", text) || isKeyId(text)) return text;
  throw new UsageError("<id>: Must be an id (key_…), or the 16 characters of a keyId.");
};

const findKey = async (db: Db, tenantId: TenantId, id: string): Promise<ApiKeyRecord> => {
  const key = isId("key", id) ? await findApiKey(db, tenantId, id) : (await findCredential(db, id))?.caller;
  if (key?.tenantId !== tenantId) throw new Error("The tenant has no key with this id.");
  return key;
};

ofTenant(keys.command("show <id>"))
  .description("show a key, by its id (key_…) or the keyId of any of its credentials")
  .action(async (id: string, options: OfTenant) => {
    const tenantId = checkId("ten", "--tenant", options.tenant);
    const named = checkKey(id);
    await withDatabase(async ({ db }) => {
      const key = presentApiKey(await findKey(db, tenantId, named));
      print(options, key, fields(key));
    });
  });

ofTenant(keys.command("revoke <id>"))
  .description("revoke a key (key_…), and with it everything that it created")
  .action(async (id: string, options: OfTenant) => {
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

ofTenant(keys.command("rotate <id>"))
  .description("give a key (key_…) a new secret, which is shown only now")
  .option("--overlap <seconds>", "how long the old secret works on, 0 to 604800 (default: 0)")
  .action(async (id: string, options: OfTenant & { overlap?: string }) => {
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
      print(options, key, secretWords("Rotated", key));
    });
  });

const avatars = program.command("avatars").description("avatars");

paged(avatars.command("list"))
  .description("list the avatars of a tenant, newest first")
  .option("--status <status>", "one of their states; deleted ones are listed only so")
  .option("--source-kind <kind>", "image or video")
  .action(async (options: OfTenant & Paged & { status?: string; sourceKind?: string }) => {
    const tenantId = checkId("ten", "--tenant", options.tenant);
    const { status, sourceKind, limit, cursor } = options;
    const request = pageOf(AVATAR_LIST, { status, sourceKind, limit, cursor });
    await withDatabase(async ({ db }) => {
      const pages = await Promise.all(
        ENVIRONMENTS.map((environment) => listAvatars(db, { tenantId, environment }, request)),
      );
      const page = presentPage<Avatar>(AVATAR_LIST, request, merged(pages, request.limit));
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
      print(options, page, pageWords(head, rows, "There are no such avatars.", page.nextCursor));
    });
  });

ofTenant(avatars.command("show <id>"))
  .description("show an avatar (ava_…)")
  .action(async (id: string, options: OfTenant) => {
    const tenantId = checkId("ten", "--tenant", options.tenant);
    const avatarId = checkId("ava", "<id>", id);
    await withDatabase(async ({ db }) => {
      const found = await Promise.all(
        ENVIRONMENTS.map((environment) => findAvatar(db, { tenantId, environment }, avatarId)),
      );
      const record = found.find((avatar) => avatar !== null);
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

/** The newest events of a tenant, of both environments, newest first: `request.limit` of them where there are as many. */
const listEvents = async (
  db: Db,
  tenantId: TenantId,
  request: PageRequest<typeof AUDIT_EVENT_LIST>,
): Promise<AuditEvent[]> => {
  const events: AuditEvent[] = [];
  for (let { before } = request; ; ) {
    const limit = request.limit - events.length;
    const from = { ...request, before, limit };
    const pages = ENVIRONMENTS.map((environment) => listAuditEvents(db, { tenantId, environment }, from));
    const page = merged(await Promise.all(pages), limit);
    events.push(...itemsOf<AuditEvent>(page));
    if (page.next === null || events.length >= request.limit) return events;
    before = page.next as Id<"aud">;
  }
};

/** So often a tail that follows looks for more. */
const FOLLOW_MS = 500;
/** An event may become visible after others that are younger: so far back it is looked for. */
const FOLLOWED = 100;

/** Calls `show` with each event that was not there before, until a signal ends it. */
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
  /** Older ones have been shown, or passed over on purpose. */
  const since = known.at(-1)?.id ?? "";
  while (!isEnding) {
    const events: AuditEvent[] = [];
    for (let before: Id<"aud"> | null = null; ; ) {
      const page: AuditEvent[] = await listEvents(db, tenantId, { ...request, before, limit: FOLLOWED });
      events.push(...page);
      before = (page.at(-1)?.id as Id<"aud"> | undefined) ?? null;
      if (page.length < FOLLOWED || page.some(({ id }) => seen.has(id) || id < since)) break;
    }
    const fresh = events.filter(({ id }) => !seen.has(id) && id > since);
    if (fresh.length > 0) show(fresh.reverse());
    seen = new Set([...events.map(({ id }) => id), ...[...seen].slice(0, 10 * FOLLOWED)]);
    await Bun.sleep(FOLLOW_MS);
  }
};

ofTenant(program.command("audit").description("the audit trail").command("tail"))
  .description("show the newest events of a tenant, the newest last")
  .option("--limit <count>", "how many to show, 1 to 100 (default: 50)")
  .option("--action <action>", "for example api_key.revoked")
  .option("--target <id>", "the key or avatar that was written")
  .option("--actor <keyId>", "the credential that acted (the 16 characters after rta_live_ or rta_test_)")
  .option("--follow", "go on showing events as they come; with --json, one in each line")
  .action(
    async (
      options: OfTenant & { limit?: string; action?: string; target?: string; actor?: string; follow?: boolean },
    ) => {
      const tenantId = checkId("ten", "--tenant", options.tenant);
      const { limit, action, target: targetId, actor: actorKeyId } = options;
      const request = pageOf(AUDIT_EVENT_LIST, { limit, action, targetId, actorKeyId });
      await withDatabase(async ({ db }) => {
        const newest = await listEvents(db, tenantId, request);
        const events = newest.toReversed();
        if (!options.follow) {
          const rows = events.map(eventRow);
          return print(options, events, rows.length > 0 ? table(EVENT_COLUMNS, rows) : "There are no such events.");
        }
        const show = (shown: AuditEvent[]): void => {
          for (const event of shown) {
            const words = eventRow(event).map((cell) => printable(cell || "-"));
            console.log(options.json ? JSON.stringify(event) : words.join("  "));
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
    // Commander has said what is wrong already; help that was asked for is no error.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    const { message, code } = explain(error);
    console.error(message);
    process.exitCode = code;
  }
}
