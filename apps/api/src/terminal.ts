/** What the command line says, and how: to a person as tables, to a program as JSON. */

import { databaseFailure, describeError } from "@realtime-avatar/db/connection/errors";
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import { ConfigError } from "@realtime-avatar/runtime/config";

/** Arguments that make no sense: exit code 2. */
export class UsageError extends Error {}

/** What each field of a request is called here. */
const OPTION_NAMES: Record<string, string> = {
  name: "--name",
  environment: "--environment",
  scopes: "--scopes",
  spendLimitCreditMicros: "--spend-limit",
  expiresAt: "--expires-at",
  overlapSeconds: "--overlap",
  status: "--status",
  sourceKind: "--source-kind",
  action: "--action",
  targetId: "--target",
  actorKeyId: "--actor",
  limit: "--limit",
  cursor: "--cursor",
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

/** Text that another wrote, made harmless to a terminal. */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** Rows under the names of their columns, each column as wide as its widest cell. */
export const table = (names: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string => {
  const cells = [names, ...rows.map((row) => row.map((cell) => printable(String(cell ?? "-"))))];
  const widths = names.map((_, column) => Math.max(...cells.map((row) => Bun.stringWidth(row[column] ?? ""))));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
      .join("  ")
      .trimEnd();
  return cells.map(line).join("\n");
};

/** One thing, a line for each of its fields. */
export const fields = (value: object): string =>
  table(
    ["FIELD", "VALUE"],
    Object.entries(value).map(([name, field]) => [name, typeof field === "string" ? field : JSON.stringify(field)]),
  );

/** Prints `value` as the one JSON value of standard output, or `words` for a person. */
export const print = (options: { json?: boolean }, value: unknown, words: string): void => {
  console.log(options.json ? JSON.stringify(value, null, 2) : words);
};

/** What to say of an error, and the exit code that it means. */
export const explain = (error: unknown): { message: string; code: number } => {
  if (error instanceof UsageError) return { message: error.message, code: 2 };
  if (error instanceof ConfigError) return { message: error.message, code: 2 };
  if (error instanceof Problem && error.extras.errors) {
    return { message: usageError(error.extras.errors).message, code: 2 };
  }
  if (error instanceof Problem) return { message: error.detail, code: 1 };
  if (databaseFailure(error)) return { message: `The database failed (${describeError(error)["code"]}).`, code: 1 };
  return { message: error instanceof Error ? error.message : "Something went wrong.", code: 1 };
};
