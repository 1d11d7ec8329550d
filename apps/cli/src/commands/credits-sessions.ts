/** `credits sessions` and `credits session`: open sessions, their age, their holds and their keys. */
import { listCreditEntries } from "@realtime-avatar/db/credits/credits";
import { findUsageSession } from "@realtime-avatar/db/credits/find-usage-session";
import { listOpenSessions, listUsageSessions } from "@realtime-avatar/db/credits/list-usage-sessions";
import {
  CREDIT_ENTRY_LIST,
  type CreditEntry,
  OPERATOR_SESSION_LIST,
  type UsageSession,
} from "@realtime-avatar/domain/credits/schemas";
import { presentSession } from "@realtime-avatar/domain/credits/session";
import { normalizeWindow, parseWindow } from "@realtime-avatar/domain/credits/window";
import { ENVIRONMENTS } from "@realtime-avatar/domain/environment";
import type { SessionId } from "@realtime-avatar/domain/id";
import { parseItems } from "@realtime-avatar/domain/page";
import type { Command } from "commander";
import { withDatabase } from "../database.ts";
import { idParser, type PageOptions, type TenantOptions, withPage, withTenantOptions } from "../options.ts";
import { mergePages, pageRequest, printPage } from "../pages.ts";
import { type Columns, duration, fields, microsColumn, print, table, UsageError } from "../terminal.ts";

/** When the lease of an open session ends, or how long ago it ended; null for an ended session. */
const leaseOf = ({ endedAt, expiresAt }: UsageSession, now: number): string | null => {
  if (endedAt !== null) return null;
  const left = Date.parse(expiresAt) - now;
  return left > 0 ? `ends in ${duration(left)}` : `overdue for ${duration(-left)}`;
};

export const sessionColumns = (now: number): Columns<UsageSession> => ({
  ID: ({ sessionId }) => sessionId,
  ENVIRONMENT: ({ environment }) => environment,
  STATUS: ({ status }) => status,
  // The clock of this machine can be behind the service's.
  AGE: ({ createdAt }) => duration(Math.max(0, now - Date.parse(createdAt))),
  LEASE: (session) => leaseOf(session, now),
  ...microsColumn("HELD", ({ endedAt, reservedCreditMicros }) => (endedAt === null ? reservedCreditMicros : null)),
  ...microsColumn("USED", ({ usedCreditMicros }) => usedCreditMicros),
  KEY: ({ apiKeyId }) => apiKeyId,
});

type ListOptions = PageOptions & {
  environment?: string;
  status?: string;
  key?: string;
  user?: string;
  from?: string;
  to?: string;
};

/** Open sessions have no window, because the oldest matter most. */
const checkOpen = ({ user, from, to }: ListOptions): void => {
  if ((user ?? from ?? to) === undefined) return;
  throw new UsageError("--status: open cannot be combined with --user, --from or --to.");
};

export const listSessions = async (options: ListOptions): Promise<void> => {
  if (options.tenant === undefined)
    throw new UsageError("--tenant: Is required. `sessions list --open` lists the open sessions of all tenants.");
  const { tenant: tenantId, environment, status, key: apiKeyId, user: endUserId, from, to, limit, cursor } = options;
  const parameters = { environment, status, apiKeyId, endUserId, from, to, limit, cursor };
  const { filters, ...page } = pageRequest(OPERATOR_SESSION_LIST, parameters);
  const { environment: only, status: shownStatus, ...others } = filters;
  const owners = ENVIRONMENTS.filter((known) => (only ?? known) === known).map((known) => ({
    tenantId,
    environment: known,
  }));
  const now = new Date();
  const isOpen = shownStatus === "open";
  if (isOpen) checkOpen(options);
  const window = isOpen ? null : parseWindow(normalizeWindow(others), now);
  await withDatabase(tenantId, async (db) => {
    const pages = owners.map((owner) => {
      if (window === null || shownStatus === "open")
        return listOpenSessions(db, owner, { ...page, apiKeyId: others.apiKeyId });
      return listUsageSessions(db, owner, {
        ...page,
        filters: { ...others, ...window, ...(shownStatus && { status: shownStatus }) },
      });
    });
    const written = mergePages(await Promise.all(pages), page.limit, "sessionId");
    // A cursor is valid only for its window.
    const request = { filters: { ...filters, ...window } };
    const emptyText = isOpen ? "No open sessions." : "No matching sessions in this window: see --from and --to.";
    printPage(options, { list: OPERATOR_SESSION_LIST, request, written }, sessionColumns(now.getTime()), emptyText);
  });
};

const ENTRY: Columns<CreditEntry> = {
  ENTRY: ({ id }) => id,
  TIME: ({ createdAt }) => createdAt,
  KIND: ({ kind }) => kind,
  ...microsColumn("AMOUNT", ({ amountCreditMicros }) => amountCreditMicros),
  REFERENCE: ({ reference }) => reference,
  REQUEST: ({ requestId }) => requestId,
};

const show = (id: SessionId, options: TenantOptions): Promise<void> =>
  withDatabase(options.tenant, async (db) => {
    const owners = ENVIRONMENTS.map((environment) => ({ tenantId: options.tenant, environment }));
    const found = await Promise.all(owners.map((owner) => findUsageSession(db, owner, id)));
    const record = found.find((session) => session !== null);
    if (!record) throw new Error("The tenant has no session with this id.");
    const request = pageRequest(CREDIT_ENTRY_LIST, { sessionId: id, limit: 100 });
    const owner = { tenantId: options.tenant, environment: record.environment };
    const entries = parseItems<CreditEntry>(await listCreditEntries(db, owner, request));
    const session = presentSession(record);
    const text = [fields(session), table(ENTRY, entries)].join("\n\n");
    print(options, { ...session, entries }, text);
  });

/** The filters and the page of a list of sessions. */
export const withSessionOptions = (command: Command): Command =>
  withPage(command)
    .option("--environment <environment>", "live or test (default: both)")
    .option("--status <status>", "reserved, started, released or failed; or open: reserved and started")
    .option("--key <id>", "filter by the key that opened the session")
    .option("--user <id>", "filter by the user_id in the metadata")
    .option("--from <time>", "created since this RFC 3339 date-time (default: 30 days before --to)")
    .option("--to <time>", "created before this RFC 3339 date-time (default: now)");

export const addSessions = (credits: Command): void => {
  withSessionOptions(withTenantOptions(credits.command("sessions")))
    .description("list the usage sessions of a tenant, newest first: their age, what they hold, and by which key")
    .action(listSessions);

  withTenantOptions(credits.command("session"))
    .description("show a usage session (ses_…) and its newest 100 entries")
    .argument("<id>", "", idParser("ses", "<id>"))
    .action(show);
};
