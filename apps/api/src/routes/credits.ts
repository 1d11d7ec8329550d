/** `/api/v1/credits` */
import type { AnyCaller } from "@realtime-avatar/db/api-keys/callers";
import { findCreditBalance, listCreditEntries } from "@realtime-avatar/db/credits/credits";
import { emptyBalance } from "@realtime-avatar/domain/credits/balance";
import { CREDIT_ENTRY_LIST, CreditBalance, CreditEntryPage } from "@realtime-avatar/domain/credits/schemas";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { listHandler } from "../http/list.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { responseText } from "../http/response.ts";
import { operations } from "../openapi/operation.ts";

const OPERATIONS = operations({
  getCreditBalance: {
    summary: "Read the credit balance",
    description: "Returns the credits of the tenant in the environment of the calling key.",
    success: { status: 200, description: "The balance.", schema: CreditBalance },
  },
  listCreditEntries: {
    summary: "List credit entries",
    description:
      "Lists movements of the tenant's credits in the environment of the calling key, newest first: for a person and a root key all, for any other key those of sessions of its own and of its descendants. A page can have fewer entries than `limit`, or none, and still have a `nextCursor`. Entries are never changed.",
    query: CREDIT_ENTRY_LIST.query,
    success: { status: 200, description: "A page of entries.", schema: CreditEntryPage },
  },
});

/**
 * What a caller sees of the entries. A person and a root key see all of the environment; a key that another key created sees only
 * those of its own sessions and of its descendants', and none of the operator.
 */
const entriesOf = (caller: AnyCaller) => ({
  tenantId: caller.tenantId,
  environment: caller.environment,
  ofLineage: caller.sessionId === null && caller.lineage.length > 0 ? caller.id : null,
});

const BALANCE = { schema: CreditBalance, toText: JSON.stringify };

export const creditRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "credits", prefix: "/api/v1/credits" })
    .use(authentication(dependencies))
    .get(
      "/balance",
      async ({ caller, db, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        const balance = await findCreditBalance(db, caller.tenantId, caller.environment);
        set.headers["content-type"] = "application/json";
        return responseText(BALANCE, balance ?? emptyBalance(caller, caller.checkedAt));
      },
      { scope: "credits:read", detail: OPERATIONS.getCreditBalance },
    )
    .get(
      "/entries",
      listHandler(dependencies, CREDIT_ENTRY_LIST, ({ caller, db }, page) =>
        listCreditEntries(db, entriesOf(caller), page),
      ),
      { scope: "credits:read", detail: OPERATIONS.listCreditEntries },
    );
