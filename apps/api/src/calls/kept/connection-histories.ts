/**
 * The connection histories of calls. A page uploads with the token of its grant; `GET
 * /api/v1/sessions/{id}/connection-history` reads. Paths and names are those of the published SDK.
 */
import { addObservations, findConnectionHistory } from "@realtime-avatar/db/calls/connection-histories";
import {
  CONNECTION_HISTORIES_PATH,
  ConnectionHistory,
  type ConnectionHistoryGrant,
  newConnectionHistoryGrant,
  presentConnectionHistory,
  readConnectionHistoryToken,
  storedObservations,
  UploadConnectionHistory,
} from "@realtime-avatar/domain/calls/kept/connection-history";
import { isId, type SessionId, type TenantId } from "@realtime-avatar/domain/id";
import { type FieldError, notFound, Problem } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../../dependencies.ts";
import { authentication } from "../../http/authenticate.ts";
import { readBody } from "../../http/body.ts";
import { createLimiter, rateLimited } from "../../http/limits/rate-limit.ts";
import { operations, type RouteDetail } from "../../http/operation.ts";
import { runWrite } from "../../http/problem.ts";
import { NO_PARAMETERS, readQuery } from "../../http/query.ts";
import { withRequestContext } from "../../http/request-context.ts";
import { sendJson } from "../../http/response.ts";

const OPERATIONS = operations({
  getConnectionHistory: {
    summary: "Read the connection history of a call",
    description:
      "Returns how well the page of the person was connected, as the page observed it: at most 240 changes. 404 for a call that was started without `connection_history`.",
    isUnversioned: true,
    success: { status: 200, description: "The observations, oldest first.", schema: ConnectionHistory },
  },
});

/** Uploads of the pages of one call, in a minute. The SDK makes at most 240 observations in a call. */
export const UPLOADS_PER_MINUTE = 120;
/** Maximum number of separately counted calls in memory. About 3 MB. */
const MAX_COUNTED_CALLS = 4096;

/** The operation is hidden: its address comes from the grant of a call. */
const UPLOAD: RouteDetail = { isHidden: true };
const HISTORY = { schema: ConnectionHistory, toText: JSON.stringify };

type GrantDependencies = Pick<Dependencies, "publicUrl" | "sessionSecret">;

/** The error of a request for a connection history while the public URL is http. The SDK uploads only to https. */
export const connectionHistoryErrors = (
  { connection_history }: { connection_history?: boolean | "off" },
  { publicUrl }: Pick<Dependencies, "publicUrl">,
): FieldError[] => {
  if (connection_history !== true || publicUrl().startsWith("https:")) return [];
  const detail = "The published SDK uploads only to https, and `PUBLIC_URL` of this service is http.";
  return [{ pointer: "#/connection_history", code: "not_supported", detail }];
};

/** The grant for the browser page that joins the call next; null for a call without a history. */
export const connectionHistoryGrant = (
  hasHistory: boolean,
  call: { tenantId: TenantId; sessionId: SessionId },
  { publicUrl, sessionSecret }: GrantDependencies,
  now: Date,
): ConnectionHistoryGrant | null =>
  hasHistory ? newConnectionHistoryGrant(call, { origin: publicUrl(), secret: sessionSecret, now }) : null;

const uploadRoute = ({ clock, databases, sessionSecret, redis }: Dependencies) => {
  const countUpload = createLimiter("connection-histories", UPLOADS_PER_MINUTE, 60, redis, MAX_COUNTED_CALLS);
  return new Elysia({ name: "connection-history-uploads", prefix: CONNECTION_HISTORIES_PATH })
    .use(withRequestContext)
    .post(
      "",
      async ({ request, set, requestContext }) => {
        const token = /^bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
        const page = readConnectionHistoryToken(token, sessionSecret, clock());
        if (page === null) throw new Problem("invalid_credentials", "Send the token of the grant, as a bearer token.");
        const { isAllowed, resetMs } = await countUpload(page.sessionId);
        if (!isAllowed) throw rateLimited(`A call can have ${UPLOADS_PER_MINUTE} uploads in a minute.`, resetMs);
        const upload = await readBody(request, requestContext, UploadConnectionHistory);
        if (upload.sessionId !== page.sessionId) throw notFound();
        const db = databases.ofTenant(page.tenantId).until(requestContext);
        if (!(await runWrite(() => addObservations(db, page, storedObservations(upload, page))))) throw notFound();
        set.status = 204;
        return "";
      },
      { detail: UPLOAD },
    );
};

export const connectionHistoryRoutes = (dependencies: Dependencies) => {
  const { callRetentionDays } = dependencies.config;
  return new Elysia({ name: "connection-histories" }).use(uploadRoute(dependencies)).use(
    new Elysia({ name: "read-connection-histories", prefix: "/api/v1/sessions" }).use(authentication(dependencies)).get(
      "/:id/connection-history",
      async ({ caller, db, params: { id }, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        if (!isId("ses", id)) throw notFound();
        const found = await findConnectionHistory(db, caller, id, callRetentionDays);
        if (found === null) throw notFound();
        return sendJson(HISTORY, presentConnectionHistory(id, found), set);
      },
      { scope: "usage:read", detail: OPERATIONS.getConnectionHistory },
    ),
  );
};
