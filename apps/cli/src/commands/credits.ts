/** `credits`: the credits of a tenant. Amounts are in credit micros. */
import { auditEvent } from "@realtime-avatar/db/audit/audit-events";
import {
  type CreditMovement,
  changeLowThreshold,
  changeSessionLimit,
  findCreditBalance,
  listCreditEntries,
  type MoveOutcome,
  moveCredits,
} from "@realtime-avatar/db/credits/credits";
import { OPERATOR_ACTIONS } from "@realtime-avatar/domain/credits/entry";
import {
  ChangeLowThreshold,
  ChangeSessionLimit,
  CREDIT_ENTRY_LIST,
  type CreditBalance,
  type CreditEntry,
  MoveCredits,
} from "@realtime-avatar/domain/credits/schemas";
import { ENVIRONMENTS, type Environment } from "@realtime-avatar/domain/environment";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import { validate } from "@realtime-avatar/domain/schema";
import { secureRandom as random } from "@realtime-avatar/runtime/random";
import type { Command } from "commander";
import { operatorOrigin, withDatabase } from "../database.ts";
import {
  idParser,
  type PageOptions,
  parseInteger,
  type TenantOptions,
  withPageOptions,
  withTenantOptions,
} from "../options.ts";
import { mergePages, pageRequest, printPage } from "../pages.ts";
import { type Columns, micros, microsColumn, print, printable, table, usageError } from "../terminal.ts";
import { addSessions } from "./credits-sessions.ts";
import { addVerify } from "./credits-verify.ts";

type Kind = CreditMovement["kind"];
type MoveOptions = TenantOptions & {
  amount: number | string;
  environment?: string;
  reference: string;
  session?: SessionId;
};

const DONE: Record<Kind, string> = { grant: "Granted", void: "Voided", adjust: "Refunded" };
const INSUFFICIENT: Record<Kind, string> = {
  grant: "The tenant has fewer credits.",
  void: "The tenant has less available than this amount. Credits held by open sessions cannot be voided.",
  adjust: "The session was charged less than this amount, refunds deducted. An open session was not charged yet.",
};

/** Throws the reason if nothing was written. */
const expectWritten = ({ kind: outcome }: MoveOutcome, kind: Kind): "written" | "repeated" => {
  switch (outcome) {
    case "written":
    case "repeated":
      return outcome;
    case "reference_used":
      throw new Error(
        "Another movement has this reference, with another kind, amount or session. Use a reference once.",
      );
    case "insufficient":
      throw new Error(INSUFFICIENT[kind]);
    case "too_large":
      throw new Error(`A tenant can be granted at most ${micros(Number.MAX_SAFE_INTEGER)} in all.`);
    case "not_found":
      throw new Error(kind === "adjust" ? "The tenant has no session with this id." : "No tenant has this id.");
  }
};

/**
 * Writes a movement. A session is looked up in each of `environments`. A movement of an unknown session writes nothing.
 */
const move =
  (kind: Kind) =>
  async ({ tenant: tenantId, session: sessionId, ...options }: MoveOptions): Promise<void> => {
    const { amount, reference, environment } = options;
    const request = { amountCreditMicros: amount, reference, ...(environment === undefined ? {} : { environment }) };
    const errors = validate(MoveCredits, request);
    if (errors.length > 0) throw usageError(errors);
    const environments = sessionId ? ENVIRONMENTS : [(environment ?? "test") as Environment];
    await withDatabase(tenantId, async (db) => {
      const origin = operatorOrigin();
      const { now: createdAt, requestId } = origin;
      const id = newId("ent", createdAt, random);
      let outcome: MoveOutcome = { kind: "not_found" };
      let entry = { tenantId, id, kind, amount: amount as number, reference, requestId, createdAt } as CreditMovement;
      for (const environment of environments) {
        entry = { ...entry, environment, sessionId: sessionId ?? null };
        outcome = await moveCredits(db, entry, auditEvent(OPERATOR_ACTIONS[kind], entry, origin));
        if (outcome.kind !== "not_found") break;
      }
      const written = expectWritten(outcome, kind);
      const shown = {
        outcome: written,
        id: written === "written" ? id : null,
        tenantId,
        environment: entry.environment,
        kind,
        amountCreditMicros: entry.amount,
        sessionId: entry.sessionId,
        reference,
      };
      const text =
        written === "written"
          ? `${DONE[kind]} ${micros(entry.amount)} (${entry.environment}), entry ${id}.`
          : `Nothing to do: the entry with the reference ${printable(reference)} exists already, with the same amount.`;
      print(options, shown, text);
    });
  };

const BALANCE: Columns<CreditBalance> = {
  ENVIRONMENT: ({ environment }) => environment,
  ...microsColumn("AVAILABLE", ({ availableCreditMicros }) => availableCreditMicros),
  ...microsColumn("HELD", ({ reservedCreditMicros }) => reservedCreditMicros),
  ...microsColumn("SPENT", ({ lifetimeUsedCreditMicros }) => lifetimeUsedCreditMicros),
  ...microsColumn("GRANTED", ({ lifetimeGrantedCreditMicros }) => lifetimeGrantedCreditMicros),
  ...microsColumn("LOW BELOW", ({ lowThresholdCreditMicros }) => lowThresholdCreditMicros),
  UPDATED: ({ updatedAt }) => updatedAt,
};

const balance = (options: TenantOptions): Promise<void> =>
  withDatabase(options.tenant, async (db) => {
    const found = ENVIRONMENTS.map((environment) => findCreditBalance(db, options.tenant, environment));
    const balances = (await Promise.all(found)).filter((one) => one !== null);
    if (balances.length === 0) throw new Error("No tenant has this id.");
    print(options, balances, table(BALANCE, balances));
  });

const ENTRY: Columns<CreditEntry> = {
  ID: ({ id }) => id,
  TIME: ({ createdAt }) => createdAt,
  ENVIRONMENT: ({ environment }) => environment,
  KIND: ({ kind }) => kind,
  ...microsColumn("AMOUNT", ({ amountCreditMicros }) => amountCreditMicros),
  SESSION: ({ sessionId }) => sessionId,
  KEY: ({ apiKeyId }) => apiKeyId,
  "REPORTED BY": ({ reportedBy }) => reportedBy,
  "CLOSED BY": ({ closedBy }) => closedBy,
  REFERENCE: ({ reference }) => reference,
};

const entries = async (options: PageOptions & { kind?: string; key?: string; session?: string }): Promise<void> => {
  const { tenant: tenantId, kind, key: apiKeyId, session: sessionId, limit, cursor } = options;
  const request = pageRequest(CREDIT_ENTRY_LIST, { kind, apiKeyId, sessionId, limit, cursor });
  await withDatabase(tenantId, async (db) => {
    const pages = ENVIRONMENTS.map((environment) => listCreditEntries(db, { tenantId, environment }, request));
    const written = mergePages(await Promise.all(pages), request.limit);
    printPage(options, { list: CREDIT_ENTRY_LIST, request, written }, ENTRY, "No matching entries.");
  });
};

type LimitOptions = TenantOptions & { environment?: string; maxConcurrentSessions: number | string };

const limit = async (options: LimitOptions): Promise<void> => {
  const { tenant: tenantId, environment = "test", maxConcurrentSessions } = options;
  const errors = validate(ChangeSessionLimit, { environment, maxConcurrentSessions });
  if (errors.length > 0) throw usageError(errors);
  const change = {
    tenantId,
    environment: environment as Environment,
    sessionLimit: maxConcurrentSessions as number,
  };
  await withDatabase(tenantId, async (db) => {
    const target = { tenantId, id: tenantId, environment: change.environment };
    const event = auditEvent("credits.limit_changed", target, operatorOrigin(), ["maxConcurrentSessions"]);
    if (!(await changeSessionLimit(db, change, event))) throw new Error("No tenant has this id.");
    print(
      options,
      { tenantId, environment, maxConcurrentSessions },
      `At most ${maxConcurrentSessions} sessions of the tenant are open at once (${environment}).`,
    );
  });
};

type ThresholdOptions = TenantOptions & { environment?: string; amount: number | string };

const threshold = async ({
  tenant: tenantId,
  environment = "test",
  amount,
  ...options
}: ThresholdOptions): Promise<void> => {
  const lowThresholdCreditMicros = amount === "none" ? null : amount;
  const errors = validate(ChangeLowThreshold, { environment, lowThresholdCreditMicros });
  if (errors.length > 0) throw usageError(errors);
  const owner = { tenantId, environment: environment as Environment };
  const lowThreshold = lowThresholdCreditMicros as number | null;
  await withDatabase(owner.tenantId, async (db) => {
    const fields = ["lowThresholdCreditMicros"];
    const event = auditEvent("credits.limit_changed", { ...owner, id: tenantId }, operatorOrigin(), fields);
    const { kind } = await changeLowThreshold(db, { ...owner, lowThreshold }, null, event);
    if (kind !== "written") throw new Error("No tenant has this id.");
    const text =
      lowThreshold === null
        ? `The event credits.low is not sent (${environment}).`
        : `The event credits.low is sent when less than ${micros(lowThreshold)} becomes available (${environment}).`;
    print(options, { ...owner, lowThresholdCreditMicros }, text);
  });
};

/** The common options of all movements. */
const withMoveOptions = (command: Command): Command =>
  withTenantOptions(command)
    .requiredOption("--amount <micros>", "amount in credit micros", parseInteger)
    .requiredOption(
      "--reference <text>",
      "your own reference; repeating a movement with the same reference has no effect",
    );

export const addCredits = (program: Command): void => {
  const credits = program.command("credits").description("grant, refund and verify credits");
  const environment = ["--environment <environment>", "live or test (default: test)"] as const;

  withMoveOptions(credits.command("grant"))
    .description("give credits to a tenant")
    .option(...environment)
    .action(move("grant"));

  withMoveOptions(credits.command("void"))
    .description("take available credits back from a tenant")
    .option(...environment)
    .action(move("void"));

  withMoveOptions(credits.command("adjust"))
    .description("refund what a closed session was charged, to the tenant and to the keys of the session")
    .requiredOption("--session <id>", "session id (ses_…)", idParser("ses", "--session"))
    .action(move("adjust"));

  withTenantOptions(credits.command("limit"))
    .description("change how many sessions of a tenant may be open at once in an environment")
    .requiredOption("--max-concurrent-sessions <number>", "maximum number, 1 or more", parseInteger)
    .option(...environment)
    .action(limit);

  withTenantOptions(credits.command("threshold"))
    .description("set the number of available credits below which the event credits.low is sent")
    .requiredOption("--amount <micros>", "amount in credit micros, 1 or more; none: it is not sent", parseInteger)
    .option(...environment)
    .action(threshold);

  withTenantOptions(credits.command("balance")).description("show the balances of a tenant").action(balance);

  withPageOptions(credits.command("entries"))
    .description("list every movement of credits of a tenant, newest first")
    .option("--kind <kind>", "grant, hold, settle, release, expire, void or adjust")
    .option("--key <id>", "filter by the key of the session")
    .option("--session <id>", "filter by session")
    .action(entries);

  addSessions(credits);
  addVerify(credits);
};
