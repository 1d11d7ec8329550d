/** `/api/v1/audit-events` */
import { listAuditEvents } from "@realtime-avatar/db/audit/audit-events";
import { AUDIT_EVENT_LIST, AuditEventPage, readAuditPage } from "@realtime-avatar/domain/audit";
import { pageText } from "@realtime-avatar/domain/page";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { readQuery } from "../http/query.ts";
import { operations } from "../openapi/operation.ts";

const OPERATIONS = operations({
  listAuditEvents: {
    summary: "Read the audit trail",
    description:
      "Lists the changes to keys, avatars and what else the calling key may see, newest first. Names are those of today.",
    query: AUDIT_EVENT_LIST.query,
    success: { status: 200, description: "A page of events.", schema: AuditEventPage },
  },
});

export const auditEventRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "audit-events", prefix: "/api/v1/audit-events" }).use(authentication(dependencies)).get(
    "",
    async ({ caller, db, request, set }) => {
      const page = readAuditPage(readQuery(request, AUDIT_EVENT_LIST.query));
      const text = pageText(AUDIT_EVENT_LIST, page, await listAuditEvents(db, caller, page));
      return dependencies.responseBytes.send(text, caller.tenantId, request, set);
    },
    { scope: "api_keys:write", detail: OPERATIONS.listAuditEvents },
  );
