/** `audit`: the audit trail of a tenant, in both environments. */

import { listAuditEvents } from "@realtime-avatar/db/audit/audit-events";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { AUDIT_EVENT_LIST, type AuditEvent } from "@realtime-avatar/domain/audit";
import { normalizeWindow, refuseEmptyWindow } from "@realtime-avatar/domain/credits/window";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import { type Id, isId, type TenantId } from "@realtime-avatar/domain/id";
import { type PageRequest, parseItems } from "@realtime-avatar/domain/page";
import { printableJson } from "@realtime-avatar/domain/text";
import type { Command } from "commander";
import { withDatabase } from "../database.ts";
import { parseInteger, type TenantOptions, withTenantOptions } from "../options.ts";
import { mergePages, pageRequest } from "../pages.ts";
import { type Columns, print, printable, table } from "../terminal.ts";

type EventRequest = PageRequest<typeof AUDIT_EVENT_LIST>;

const COLUMNS: Columns<AuditEvent> = {
  TIME: ({ createdAt }) => createdAt,
  ACTION: ({ action }) => action,
  TARGET: ({ targetId }) => targetId,
  CHANGED: ({ changedFields }) => changedFields.join(","),
  ACTOR: ({ actorId }) => actorId,
  CREDENTIAL: ({ actorKeyId }) => actorKeyId,
  REQUEST: ({ requestId }) => requestId,
};

/** The newest events of a tenant in both environments, newest first, at most `request.limit`. */
const listEvents = async (db: Db, tenantId: TenantId, request: EventRequest): Promise<AuditEvent[]> => {
  const events: AuditEvent[] = [];
  for (let { before } = request; ; ) {
    const limit = request.limit - events.length;
    const pageRequest = { ...request, before, limit };
    const pages = ENVIRONMENTS.map((environment) => listAuditEvents(db, { tenantId, environment }, pageRequest));
    // An event of both environments is kept in its live form, which has the names of live objects.
    const page = mergePages((await Promise.all(pages)).reverse(), limit);
    events.push(...parseItems<AuditEvent>(page));
    if (page.next === null || events.length >= request.limit) return events;
    before = page.next as Id<"aud">;
  }
};

/** Polling interval of `audit tail --follow`. */
const FOLLOW_INTERVAL_MS = 500;
/** Number of events that each poll reads again, because an event can become visible after newer ones. */
const FOLLOW_WINDOW = 100;

/** Calls `show` with new events until SIGINT or SIGTERM. */
const follow = async (
  db: Db,
  tenantId: TenantId,
  request: EventRequest,
  known: readonly AuditEvent[],
  show: (events: AuditEvent[]) => void,
): Promise<void> => {
  let isEnding = false;
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => (isEnding = true));
  let seen = new Set(known.map(({ id }) => id));
  /** Older events were already shown, or were omitted by the limit. */
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

/** Prints one event a line. */
const printLines = (events: readonly AuditEvent[], isJson: boolean): void => {
  for (const event of events) {
    const cells = Object.values(COLUMNS).map((cell) => printable(cell(event) || "-"));
    console.log(isJson ? printableJson(JSON.stringify(event)) : cells.join("  "));
  }
};

type TailOptions = TenantOptions & {
  limit?: number | string;
  action?: string;
  target?: string;
  actor?: string;
  from?: string;
  to?: string;
  follow?: boolean;
};

const tail = async (options: TailOptions): Promise<void> => {
  const { tenant, limit, action, target: targetId, actor = "", from, to } = options;
  const by = isId("key", actor) || isId("usr", actor) ? { actorId: actor } : { actorKeyId: options.actor };
  const { filters, ...page } = pageRequest(AUDIT_EVENT_LIST, { limit, action, targetId, ...by, from, to });
  const request = { ...page, filters: normalizeWindow(filters) };
  refuseEmptyWindow(request.filters);
  await withDatabase(tenant, async (db) => {
    const newest = await listEvents(db, tenant, request);
    const events = newest.toReversed();
    if (!options.follow) {
      return print(options, events, events.length > 0 ? table(COLUMNS, events) : "No matching events.");
    }
    const isJson = options.json === true;
    printLines(events, isJson);
    await follow(db, tenant, request, newest, (fresh) => printLines(fresh, isJson));
  });
};

export const addAudit = (program: Command): void => {
  withTenantOptions(program.command("audit").description("the audit trail").command("tail"))
    .description("show the newest events of a tenant, newest last")
    .option("--limit <count>", "maximum number of events, 1 to 100 (default: 50)", parseInteger)
    .option("--action <action>", "filter by action, for example api_key.revoked")
    .option("--target <id>", "filter by the id of the key or avatar that was changed")
    .option("--actor <id>", "filter by the key or the person (usr_…) that acted, or the credential: the keyId of a key")
    .option("--from <time>", "events since this RFC 3339 date-time")
    .option("--to <time>", "events before this RFC 3339 date-time")
    .option("--follow", "keep running and show new events; with --json, one event per line")
    .action(tail);
};
