/** Options that several commands share, and the parsers of option values. */
import { type Id, type IdPrefix, isId, type TenantId } from "@realtime-avatar/domain/id";
import type { Command } from "commander";
import { UsageError } from "./terminal.ts";

export type OutputOptions = { json?: boolean };
export type TenantOptions = OutputOptions & { tenant: TenantId };
export type PageOptions = TenantOptions & { limit?: number | string; cursor?: string };

/** A parser for an id with this prefix. `name` is the option or the argument in the error. */
export const idParser =
  <Prefix extends IdPrefix>(prefix: Prefix, name: string) =>
  (text: string): Id<Prefix> => {
    if (!isId(prefix, text)) throw new UsageError(`${name}: Must be an id (${prefix}_…).`);
    return text;
  };

/** Parses a whole number; other text is returned unchanged, so that validation rejects it. */
export const parseInteger = (text: string): number | string => (/^\d+$/.test(text) ? Number(text) : text);

/** A parser for the number of a shard. `name` is the option or the argument in the error. */
export const shardParser =
  (name: string) =>
  (text: string): number => {
    if (/^\d{1,4}$/.test(text)) return Number(text);
    throw new UsageError(`${name}: Must be the number of a shard, from 0.`);
  };

export const withOutputOptions = (command: Command): Command => command.option("--json", "print one JSON value");

export const withTenantOptions = (command: Command): Command =>
  withOutputOptions(command.requiredOption("--tenant <id>", "tenant id (ten_…)", idParser("ten", "--tenant")));

export const withPage = (command: Command): Command =>
  command
    .option("--limit <count>", "maximum number of items, 1 to 100 (default: 50)", parseInteger)
    .option("--cursor <cursor>", "continue after the page that printed this cursor");

export const withPageOptions = (command: Command): Command => withPage(withTenantOptions(command));

export type SearchOptions = PageOptions & { name?: string; from?: string; to?: string };

export const withSearchOptions = (command: Command): Command =>
  withPageOptions(command)
    .option("--name <text>", "a part of the name, in upper or lower case")
    .option("--from <time>", "created at this RFC 3339 date-time or later")
    .option("--to <time>", "created before this RFC 3339 date-time");
