/** Output of the command line: tables for people, JSON for programs, and error messages. */

import { databaseFailure, describeError } from "@realtime-avatar/db/connection/errors";
import { type FieldError, Problem } from "@realtime-avatar/domain/problem";
import { ConfigError } from "@realtime-avatar/runtime/config";

/** Invalid arguments; exit code 2. */
export class UsageError extends Error {}

/** The command-line option for each field of a request. */
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

/** Escapes control and formatting characters in untrusted text, so that it cannot affect the terminal. */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** Formats rows as a table with column names; each column is as wide as its widest cell. */
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

/** Formats an object as a table with one line for each field. */
export const fields = (value: object): string =>
  table(
    ["FIELD", "VALUE"],
    Object.entries(value).map(([name, field]) => [name, typeof field === "string" ? field : JSON.stringify(field)]),
  );

/** Prints `value` as JSON with --json, otherwise `text`. */
export const print = (options: { json?: boolean }, value: unknown, text: string): void => {
  console.log(options.json ? JSON.stringify(value, null, 2) : text);
};

/** The message and the exit code for an error. */
export const explain = (error: unknown): { message: string; code: number } => {
  if (error instanceof UsageError) return { message: error.message, code: 2 };
  if (error instanceof ConfigError) return { message: error.message, code: 2 };
  if (error instanceof Problem && error.extras.errors) {
    return { message: usageError(error.extras.errors).message, code: 2 };
  }
  if (error instanceof Problem) return { message: error.detail, code: 1 };
  if (databaseFailure(error)) return { message: `Database error (${describeError(error)["code"]}).`, code: 1 };
  return { message: error instanceof Error ? error.message : "Unknown error.", code: 1 };
};
