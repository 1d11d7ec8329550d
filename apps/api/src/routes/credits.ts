/** `/api/v1/credits` */
import { findCreditBalance, listCreditEntries } from "@realtime-avatar/db/statements/credits";
import { emptyBalance } from "@realtime-avatar/domain/credits/balance";
import { CREDIT_ENTRY_LIST, CreditBalance, CreditEntryPage } from "@realtime-avatar/domain/credits/schemas";
import { pageText, readPage } from "@realtime-avatar/domain/page";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
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
      "Lists every movement of the tenant's credits in the environment of the calling key, newest first. Entries are never changed.",
    query: CREDIT_ENTRY_LIST.query,
    success: { status: 200, description: "A page of entries.", schema: CreditEntryPage },
  },
});

const BALANCE = { schema: CreditBalance, toText: JSON.stringify };

export const creditRoutes = (dependencies: Dependencies) => {
  const { responseBytes } = dependencies;
  return new Elysia({ name: "credits", prefix: "/api/v1/credits" })
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
      async ({ caller, db, request, set }) => {
        const page = readPage(CREDIT_ENTRY_LIST, readQuery(request, CREDIT_ENTRY_LIST.query));
        const text = pageText(CREDIT_ENTRY_LIST, page, await listCreditEntries(db, caller, page));
        return responseBytes.send(text, caller.tenantId, request, set);
      },
      { scope: "credits:read", detail: OPERATIONS.listCreditEntries },
    );
};
