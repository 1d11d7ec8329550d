/** `/api/v1/credits` */

import { auditEvent } from "@realtime-avatar/db/audit/audit-events";
import type { AnyCaller } from "@realtime-avatar/db/callers/callers";
import {
  changeLowThreshold,
  countCreditEntries,
  findCreditBalance,
  listCreditEntries,
} from "@realtime-avatar/db/credits/credits";
import { emptyBalance } from "@realtime-avatar/domain/credits/balance";
import {
  CREDIT_ENTRY_LIST,
  CreditBalance,
  CreditEntry,
  CreditEntryPage,
  UpdateCreditBalance,
} from "@realtime-avatar/domain/credits/schemas";
import { fileQuery } from "@realtime-avatar/domain/lists/csv";
import { type PageRequest, readPage } from "@realtime-avatar/domain/page";
import { notFound } from "@realtime-avatar/domain/problem";
import { Elysia } from "elysia";
import type { Dependencies } from "../dependencies.ts";
import { authentication } from "../http/authenticate.ts";
import { CSV_DESCRIPTION, type Export, exportHandler } from "../http/files/export.ts";
import { listHandler } from "../http/list.ts";
import { operations } from "../http/operation.ts";
import { NO_PARAMETERS, readQuery } from "../http/query.ts";
import { responseText } from "../http/response.ts";
import { type Attempt, execute, type OutcomeOf } from "../http/write.ts";

const OPERATIONS = operations({
  getCreditBalance: {
    summary: "Read the credit balance",
    description: "Returns the credits of the tenant in the environment of the calling key.",
    success: { status: 200, description: "The balance.", schema: CreditBalance },
  },
  updateCreditBalance: {
    summary: "Change the threshold of low credits",
    description:
      "Changes the threshold in the environment of the calling key. When fewer credits are available, the event `credits.low` is sent to the tenant's webhook endpoints. Null: never. No credits are granted or spent.",
    body: UpdateCreditBalance,
    success: { status: 200, description: "The balance, with the threshold.", schema: CreditBalance },
    problems: ["not_found"],
  },
  listCreditEntries: {
    summary: "List credit entries",
    description:
      "Lists movements of the tenant's credits in the environment of the calling key, newest first. A person and a root key see all movements. Any other key sees those of its own sessions and of its descendants' sessions. A page can have fewer entries than `limit`, or none, and still have a `nextCursor`. Entries are never changed.",
    query: CREDIT_ENTRY_LIST.query,
    success: { status: 200, description: "A page of entries.", schema: CreditEntryPage },
  },
  exportCreditEntries: {
    summary: "Export credit entries",
    description: `The entries of the list, as a file. ${CSV_DESCRIPTION}`,
    query: fileQuery(CREDIT_ENTRY_LIST),
    success: { status: 200, description: "The entries.", file: "csv" },
  },
});

/**
 * The entries that a caller sees. A person and a root key see all of the environment. A key that another key created
 * sees only those of its own sessions and of its descendants' sessions, without the operator's.
 */
const entriesOf = (caller: AnyCaller) => ({
  tenantId: caller.tenantId,
  environment: caller.environment,
  ofLineage: caller.sessionId === null && caller.lineage.length > 0 ? caller.id : null,
});

const EXPORT: Export<PageRequest<typeof CREDIT_ENTRY_LIST>> = {
  name: "credit-entries",
  list: CREDIT_ENTRY_LIST,
  item: CreditEntry,
  pageOf: (parameters) => readPage(CREDIT_ENTRY_LIST, { ...parameters }),
  read: (db, caller, page) => listCreditEntries(db, entriesOf(caller), page),
};

const BALANCE = { schema: CreditBalance, toText: JSON.stringify };

type UpdateAttempt = Attempt<UpdateCreditBalance>;
const UPDATE_BALANCE = {
  body: UpdateCreditBalance,
  representation: BALANCE,
  plan: ({ db, body, caller, origin }: UpdateAttempt) => {
    const { tenantId, environment } = caller;
    const event = auditEvent(
      "credits.limit_changed",
      { tenantId, environment, id: tenantId },
      origin,
      Object.keys(body),
    );
    const change = { tenantId, environment, lowThreshold: body.lowThresholdCreditMicros };
    return { response: null, write: () => changeLowThreshold(db, change, caller, event) };
  },
  settle: async ({ kind }: OutcomeOf<typeof changeLowThreshold>, { caller, db }: UpdateAttempt) => {
    if (kind === "stale") return { kind };
    const balance = await findCreditBalance(db, caller.tenantId, caller.environment);
    // The tenant was never granted credits.
    if (!balance) throw notFound();
    return { kind: "written" as const, resource: { version: null, body: balance } };
  },
};

export const creditRoutes = (dependencies: Dependencies) =>
  new Elysia({ name: "credits", prefix: "/api/v1/credits" })
    .use(authentication(dependencies))
    .get(
      "/balance",
      async ({ caller, db, request, set }) => {
        readQuery(request, NO_PARAMETERS);
        // The look-up of a key has read it.
        const balance = caller.balance ?? (await findCreditBalance(db, caller.tenantId, caller.environment));
        set.headers["content-type"] = "application/json";
        return responseText(BALANCE, balance ?? emptyBalance(caller, caller.checkedAt));
      },
      { scope: { scopes: ["credits:read"], including: "balance" }, detail: OPERATIONS.getCreditBalance },
    )
    .patch("/balance", ({ write }) => execute(write, UPDATE_BALANCE), {
      scope: "*",
      detail: OPERATIONS.updateCreditBalance,
    })
    .get(
      "/entries",
      listHandler(
        dependencies,
        CREDIT_ENTRY_LIST,
        ({ caller, db }, page) => listCreditEntries(db, entriesOf(caller), page),
        readPage,
        ({ caller, db }, filters) => countCreditEntries(db, entriesOf(caller), filters),
      ),
      { scope: "credits:read", detail: OPERATIONS.listCreditEntries },
    )
    .get("/entries.csv", exportHandler(dependencies, EXPORT), {
      scope: "credits:read",
      detail: OPERATIONS.exportCreditEntries,
    });
