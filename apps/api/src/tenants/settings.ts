/** `/api/v1/settings` */
import { auditEvent } from "@realtime-avatar/db/audit/audit-events";
import { changeTenantSettings, findTenantSettings } from "@realtime-avatar/db/tenants/settings";
import { presentSettings, TenantSettings, UpdateTenantSettings } from "@realtime-avatar/domain/people/tenant-settings";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { operations } from "../http/operation.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendJson } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf } from "../http/write.ts";

const OPERATIONS = operations({
  getSettings: {
    summary: "Read the settings",
    description: "Returns the settings of the tenant in the environment of the calling key.",
    success: { status: 200, description: "The settings.", schema: TenantSettings },
  },
  updateSettings: {
    summary: "Change the settings",
    description:
      "Changes the settings of the tenant in the environment of the calling key. Open calls and stored transcripts stay unchanged.",
    body: UpdateTenantSettings,
    success: { status: 200, description: "The settings after the change.", schema: TenantSettings },
  },
});

const SETTINGS = { schema: TenantSettings, toText: JSON.stringify };

type UpdateAttempt = Attempt<UpdateTenantSettings>;
const UPDATE_SETTINGS = {
  body: UpdateTenantSettings,
  representation: SETTINGS,
  plan: ({ db, body, caller, origin }: UpdateAttempt) => {
    const { tenantId, environment } = caller;
    const event = auditEvent("settings.updated", { tenantId, environment, id: tenantId }, origin, Object.keys(body));
    const change = { tenantId, environment, keepsTranscripts: body.keepTranscripts };
    return { response: null, write: () => changeTenantSettings(db, change, caller, event) };
  },
  settle: async ({ kind }: OutcomeOf<typeof changeTenantSettings>, { caller, db }: UpdateAttempt) => {
    if (kind === "stale") return { kind };
    if (kind === "not_found") throw new Error("the tenant of a caller does not exist");
    const body = presentSettings(caller, await findTenantSettings(db, caller));
    return { kind, resource: { version: null, body } };
  },
};

export const settingsRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "settings", prefix: "/api/v1/settings" })
    .use(authentication(dependencies))
    .get(
      "",
      async ({ caller, db, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        return sendJson(SETTINGS, presentSettings(caller, await findTenantSettings(db, caller)), set);
      },
      { scope: "usage:read", detail: OPERATIONS.getSettings },
    )
    .patch("", ({ write }) => execute(write, UPDATE_SETTINGS), { scope: "*", detail: OPERATIONS.updateSettings });
