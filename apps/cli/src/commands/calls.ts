/** `sessions` and `workers`: list open sessions and workers of all tenants, and end a session. */
import { auditEvent } from "@realtime-avatar/db/audit/audit-events";
import { listWorkers, type WorkerRow } from "@realtime-avatar/db/calls/fleet";
import { endLostCall } from "@realtime-avatar/db/calls/reconcile";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { findUsageSession } from "@realtime-avatar/db/credits/find-usage-session";
import { listOpenSessions } from "@realtime-avatar/db/credits/list-usage-sessions";
import type { UsageSession } from "@realtime-avatar/domain/credits/schemas";
import { presentSession } from "@realtime-avatar/domain/credits/session";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { parseItems } from "@realtime-avatar/domain/page";
import { readLivekitConfig } from "@realtime-avatar/livekit/config";
import { createRooms } from "@realtime-avatar/livekit/rooms";
import type { Command } from "commander";
import { listOwners, type Owner, operatorOrigin, withDatabases } from "../database.ts";
import { idParser, type OutputOptions, withOutputOptions } from "../options.ts";
import { type Columns, fields, print, table } from "../terminal.ts";
import { listSessions, sessionColumns, withSessionOptions } from "./credits-sessions.ts";

type OwnSession = { tenantId: TenantId } & UsageSession;

const openSessionsOf = async (db: Db, owner: Owner): Promise<OwnSession[]> => {
  const sessions: OwnSession[] = [];
  for (let before: SessionId | null = null; ; ) {
    const page = await listOpenSessions(db, owner, { before, limit: 100 });
    for (const session of parseItems<UsageSession>(page)) sessions.push({ tenantId: owner.tenantId, ...session });
    if (page.next === null) return sessions;
    before = page.next as SessionId;
  }
};

const listOpen = (options: OutputOptions & { tenant?: TenantId }): Promise<void> =>
  withDatabases(async (databases) => {
    const open: OwnSession[] = [];
    for (const [db, owner] of await listOwners(databases, options.tenant))
      open.push(...(await openSessionsOf(db, owner)));
    const columns: Columns<OwnSession> = { TENANT: ({ tenantId }) => tenantId, ...sessionColumns(Date.now()) };
    print(options, { data: open }, open.length > 0 ? table(columns, open) : "No open sessions.");
  }, options.tenant);

/** Deletes the room of an ended call at once, if LiveKit is configured. Otherwise the reconciler does. */
const deleteRoom = async (room: string): Promise<void> => {
  const livekit = readLivekitConfig(process.env);
  if (livekit === null) return;
  await createRooms(livekit)
    .delete(room)
    .catch(() => console.error("LiveKit does not respond: the service deletes the room later."));
};

const end = (id: SessionId, options: OutputOptions & { tenant?: TenantId }): Promise<void> =>
  withDatabases(async (databases) => {
    for (const [db, owner] of await listOwners(databases, options.tenant)) {
      const found = await findUsageSession(db, owner, id);
      if (!found) continue;
      if (found.endedAt === null) {
        const origin = operatorOrigin();
        const event = auditEvent("usage_session.ended", { ...owner, id }, origin);
        const room = await endLostCall(db, owner.tenantId, id, "operator_ended", origin, event);
        if (room !== null) await deleteRoom(room);
      }
      const record = await findUsageSession(db, owner, id);
      if (!record) break;
      const session = { tenantId: owner.tenantId, ...presentSession(record) };
      return print(options, session, fields(session));
    }
    throw new Error("There is no session with this id.");
  }, options.tenant);

const presentWorker = ({ leaseUntil, ...worker }: WorkerRow) => ({ ...worker, leaseUntil: leaseUntil.toISOString() });
type ShownWorker = ReturnType<typeof presentWorker>;

const WORKER: Columns<ShownWorker> = {
  WORKER: ({ id }) => id,
  SLOTS: ({ slots }) => String(slots),
  USED: ({ usedSlots }) => String(usedSlots),
  LEASE: ({ leaseUntil }) => (Date.parse(leaseUntil) > Date.now() ? `until ${leaseUntil}` : `over since ${leaseUntil}`),
  FEATURES: ({ features }) => features.join(",") || null,
};

const workers = (options: OutputOptions): Promise<void> =>
  withDatabases(async (databases) => {
    const lists = await Promise.all(databases.all().map(listWorkers));
    const data = lists.flat().map(presentWorker);
    print(options, { data }, data.length > 0 ? table(WORKER, data) : "No avatar workers.");
  });

export const addCalls = (program: Command): void => {
  const tenant = (command: Command): Command =>
    withOutputOptions(command.option("--tenant <id>", "only of this tenant (ten_…)", idParser("ten", "--tenant")));

  const sessions = program.command("sessions").description("list usage sessions, calls among them, and end them");
  withSessionOptions(tenant(sessions.command("list")))
    .description("list the sessions of a tenant, newest first; with --open, those of all tenants that have not ended")
    .option("--open", "only those that have not ended")
    .action((options) => (options.open ? listOpen(options) : listSessions(options)));

  tenant(sessions.command("end"))
    .description("end a session or a call (ses_…) at once, charged what was reported")
    .argument("<id>", "", idParser("ses", "<id>"))
    .action(end);

  withOutputOptions(program.command("workers").description("see the avatar workers").command("list"))
    .description("list the avatar workers: their slots, the calls that they have, and their leases")
    .action(workers);
};
