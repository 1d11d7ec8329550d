/** Output of the command line: tables for people, JSON for programs, and error messages. */

import { databaseFailure, describeError } from "@realtime-avatar/db/connection/errors";
import { failureText } from "@realtime-avatar/db/open";
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import { printable, printableJson, printableLines } from "@realtime-avatar/domain/text";
import { ConfigError } from "@realtime-avatar/runtime/config";

export { printable };

/** Invalid arguments; exit code 2. */
export class UsageError extends Error {}

/** The command-line option for each field of a request. */
const OPTION_NAMES: Record<string, string> = {
  name: "--name",
  environment: "--environment",
  scopes: "--scopes",
  spendLimitCreditMicros: "--spend-limit",
  maxConcurrentSessions: "--max-concurrent-sessions",
  maxCallSeconds: "--max-call-seconds",
  expiresAt: "--expires-at",
  overlapSeconds: "--overlap",
  email: "--email",
  role: "--role",
  status: "--status",
  sourceKind: "--source-kind",
  action: "--action",
  targetId: "--target",
  actorKeyId: "--actor",
  amountCreditMicros: "--amount",
  lowThresholdCreditMicros: "--amount",
  reference: "--reference",
  kind: "--kind",
  from: "--from",
  to: "--to",
  endUserId: "--user",
  apiKeyId: "--key",
  sessionId: "--session",
  limit: "--limit",
  cursor: "--cursor",
  since: "--since",
};

export const usageError = (errors: readonly FieldError[]): UsageError =>
  new UsageError(
    errors
      .map(({ pointer, parameter, detail }) => {
        const field = parameter ?? pointer?.split("/")[1] ?? "";
        return `${OPTION_NAMES[field] ?? "The request"}: ${detail}`;
      })
      .join("\n"),
  );

const grouped = (amount: number): string => amount.toLocaleString("en-US");

/** An amount with its unit. */
export const micros = (amount: number): string => `${grouped(amount)} credit micros`;

/** A column of amounts. The unit is in its name, so that each cell is a number. */
export const microsColumn = <Row>(name: string, amountOf: (row: Row) => number | null): Columns<Row> => ({
  [`${name} (CREDIT MICROS)`]: (row) => {
    const amount = amountOf(row);
    return amount === null ? null : grouped(amount);
  },
});

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
] as const;

/** A length of time in its two largest units: `4 min 12 s`. `milliseconds` is not negative. */
export const duration = (milliseconds: number): string => {
  let seconds = Math.floor(milliseconds / 1000);
  const first = UNITS.findIndex(([, length]) => seconds >= length);
  const parts = UNITS.slice(first, first + 2).map(([name, length]) => {
    const count = Math.floor(seconds / length);
    seconds -= count * length;
    return [count, name] as const;
  });
  const shown = parts.filter(([count]) => count > 0).map((part) => part.join(" "));
  return first < 0 ? "0 s" : shown.join(" ");
};

/** The columns of a table: for each name, the cell of a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | null>>;

/** Formats rows as a table with column names; each column is as wide as its widest cell. */
export const table = <Row>(columns: Columns<Row>, rows: readonly Row[]): string => {
  const names = Object.keys(columns);
  const cells = [names, ...rows.map((row) => Object.values(columns).map((cell) => printable(cell(row) ?? "-")))];
  const widths = names.map((_, column) => Math.max(...cells.map((row) => Bun.stringWidth(row[column] ?? ""))));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
      .join("  ")
      .trimEnd();
  return cells.map(line).join("\n");
};

/** Formats an object as a table with one line for each field. */
export const fields = (value: object): string =>
  table<[string, unknown]>(
    {
      FIELD: ([name]) => name,
      VALUE: ([, field]) => (typeof field === "string" ? field : JSON.stringify(field)),
    },
    Object.entries(value),
  );

/** Prints `value` as JSON with --json, otherwise `text`. */
export const print = (options: { json?: boolean }, value: unknown, text: string): void => {
  console.log(options.json ? printableJson(JSON.stringify(value, null, 2)) : text);
};

const explanationOf = (error: unknown): { message: string; code: number } => {
  if (error instanceof UsageError) return { message: error.message, code: 2 };
  if (error instanceof ConfigError) return { message: error.message, code: 2 };
  if (error instanceof Problem && error.extras.errors) {
    return { message: usageError(error.extras.errors).message, code: 2 };
  }
  if (error instanceof Problem) return { message: error.detail, code: 1 };
  // `migrate` is not a statement of the service, so its error is the error of PostgreSQL.
  if (databaseFailure(error) || describeError(error)["code"] === "42501")
    return { message: failureText("Database error", error), code: 1 };
  return { message: error instanceof Error ? error.message : "Unknown error.", code: 1 };
};

/**
 * The message and the exit code for an error. The message is escaped, because it can contain text of people or of
 * another server.
 */
export const explain = (error: unknown): { message: string; code: number } => {
  const { message, code } = explanationOf(error);
  return { message: printableLines(message), code };
};
