/** `/api/v1/settings` */
import { auditEvent } from "@realtime-avatar/db/audit/audit-events";
import { changeTenantSettings, findTenantSettings, type SettingsOutcome } from "@realtime-avatar/db/tenants/settings";
import { presentSettings, TenantSettings, UpdateTenantSettings } from "@realtime-avatar/domain/people/tenant-settings";
import { checkVersion } from "@realtime-avatar/domain/transitions";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { operations } from "../http/operation.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { sendResource } from "../http/response.ts";
import { type Attempt, execute, type Settled, writtenResource } from "../http/write.ts";

const OPERATIONS = operations({
  getSettings: {
    summary: "Read the settings",
    description: "Returns the settings of the tenant in the environment of the calling key.",
    isVersioned: true,
    success: { status: 200, description: "The settings.", schema: TenantSettings },
  },
  updateSettings: {
    summary: "Change the settings",
    description:
      "Changes the settings of the tenant in the environment of the calling key. Open calls and stored transcripts stay unchanged. Only an owner, or a key to which the operator has given `usage:write`, decides whether transcripts are kept.",
    isVersioned: true,
    body: UpdateTenantSettings,
    success: { status: 200, description: "The settings after the change.", schema: TenantSettings },
  },
});

const SETTINGS = { schema: TenantSettings, toText: JSON.stringify };

type UpdateAttempt = Attempt<UpdateTenantSettings>;
const UPDATE_SETTINGS = {
  body: UpdateTenantSettings,
  representation: SETTINGS,
  plan: ({ db, body, caller, origin, expectation: { versions } }: UpdateAttempt) => {
    const { tenantId, environment } = caller;
    const event = auditEvent("settings.updated", { tenantId, environment, id: tenantId }, origin, Object.keys(body));
    const change = { tenantId, environment, keepsTranscripts: body.keepTranscripts, versions };
    return { response: null, write: () => changeTenantSettings(db, change, caller, event) };
  },
  settle: (outcome: SettingsOutcome, { caller, expectation: { matches } }: UpdateAttempt): Settled<TenantSettings> => {
    switch (outcome.kind) {
      case "unchanged":
        checkVersion(outcome.settings, matches);
        return { kind: "stale" };
      case "written":
        return writtenResource(outcome.settings, presentSettings(caller, outcome.settings));
      case "not_found":
        throw new Error("the tenant of a caller does not exist");
      case "stale":
        return { kind: "stale" };
    }
  },
};

export const settingsRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "settings", prefix: "/api/v1/settings" })
    .use(authentication(dependencies))
    .get(
      "",
      async ({ caller, db, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const settings = await findTenantSettings(db, caller);
        return sendResource(SETTINGS, presentSettings(caller, settings), settings, set);
      },
      { scope: "usage:read", detail: OPERATIONS.getSettings },
    )
    // People cannot get `usage:write` for a key. With `*`, a key of a developer could change what only owners may.
    .patch("", ({ write }) => execute(write, UPDATE_SETTINGS), {
      scope: "usage:write",
      detail: OPERATIONS.updateSettings,
    });
