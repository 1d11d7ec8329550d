/** `/api/v1/audit-events` */
import { listAuditEvents } from "@realtime-avatar/db/audit/audit-events";
import { AUDIT_EVENT_LIST, AuditEventPage } from "@realtime-avatar/domain/audit";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../openapi/operation.ts";

const OPERATIONS = operations({
  listAuditEvents: {
    summary: "Read the audit trail",
    description: "Lists the changes to keys and avatars that the calling key may see, newest first.",
    query: AUDIT_EVENT_LIST.query,
    success: { status: 200, description: "A page of events.", schema: AuditEventPage },
  },
});

export const auditEventRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "audit-events", prefix: "/api/v1/audit-events" }).use(authentication(dependencies)).get(
    "",
    listHandler(dependencies, AUDIT_EVENT_LIST, ({ caller, db }, page) => listAuditEvents(db, caller, page)),
    { scope: "api_keys:write", detail: OPERATIONS.listAuditEvents },
  );
