/** `/api/v1/audit-events` */
import { countAuditEvents, listAuditEvents } from "@realtime-avatar/db/audit/audit-events";
import {
  AUDIT_EVENT_LIST,
  AuditEvent,
  AuditEventPage,
  type AuditPageRequest,
  readAuditPage,
} from "@realtime-avatar/domain/audit";
import { fileQuery } from "@realtime-avatar/domain/lists/csv";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { CSV_DESCRIPTION, type Export, exportHandler } from "../http/files/export.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";

const OPERATIONS = operations({
  listAuditEvents: {
    summary: "Read the audit trail",
    description:
      "Lists changes to keys, avatars and other resources that the calling key may see, newest first. Names are the current ones.",
    query: AUDIT_EVENT_LIST.query,
    success: { status: 200, description: "A page of events.", schema: AuditEventPage },
  },
  exportAuditEvents: {
    summary: "Export the audit trail",
    description: `The events of the list as a file. ${CSV_DESCRIPTION}`,
    query: fileQuery(AUDIT_EVENT_LIST),
    success: { status: 200, description: "The events.", file: "csv" },
  },
});

const EXPORT: Export<AuditPageRequest> = {
  name: "audit-events",
  list: AUDIT_EVENT_LIST,
  item: AuditEvent,
  pageOf: readAuditPage,
  read: listAuditEvents,
};

export const auditEventRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "audit-events" })
    .use(authentication(dependencies))
    .get(
      "/api/v1/audit-events",
      listHandler(
        dependencies,
        AUDIT_EVENT_LIST,
        ({ caller, db }, page) => listAuditEvents(db, caller, page),
        (_, parameters) => readAuditPage(parameters),
        ({ caller, db }, filters) => countAuditEvents(db, caller, filters),
      ),
      { scope: "api_keys:write", detail: OPERATIONS.listAuditEvents },
    )
    .get("/api/v1/audit-events.csv", exportHandler(dependencies, EXPORT), {
      scope: "api_keys:write",
      detail: OPERATIONS.exportAuditEvents,
    });
