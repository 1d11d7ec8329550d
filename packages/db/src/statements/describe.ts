/**
 * Lists the statements as PostgreSQL receives them, with their columns as it describes them: `statements.sql` for
 * readers, and `described.ts`, with which the row types in the code are compared.
 */
import { join } from "node:path";
import { API_KEY_STATUSES } from "@realtime-avatar/domain/api-keys/status";
import type postgres from "postgres";
import { countApiKeys, listApiKeys } from "../api-keys/list.ts";
import { countAuditEvents, listAuditEvents } from "../audit/audit-events.ts";
import type { Db } from "../connection/pool.ts";
import { countCreditEntries, listCreditEntries } from "../credits/credits.ts";
import { countUsageSessions, listUsageSessions } from "../credits/list-usage-sessions.ts";
import { FUNCTIONS_SCHEMA } from "../functions/schema.ts";
import { TEXTS } from "../query/statement.ts";
import { countDeliveries, listDeliveries } from "../webhooks/deliveries.ts";

/** The types of columns in TypeScript, by their ids in the catalog (pg_type.dat of PostgreSQL). */
const TYPES: Record<number, [sql: string, typescript: string]> = {
  16: ["boolean", "boolean"],
  17: ["bytea", "Uint8Array"],
  20: ["bigint", "string"],
  23: ["integer", "number"],
  25: ["text", "string"],
  114: ["json", "object"],
  1009: ["text[]", "readonly string[]"],
  1184: ["timestamptz", "Date"],
};

const SRC = join(import.meta.dir, "..");

/** Imports every module that uses `query/statement.ts`. A module defines its statements when it is imported. */
const importModules = async (): Promise<void> => {
  for await (const path of new Bun.Glob("**/*.ts").scan(SRC)) {
    const isTest = /[./](test|testing)\.ts$/.test(path);
    if (!isTest && (await Bun.file(join(SRC, path)).text()).includes('/statement.ts"')) await import(join(SRC, path));
  }
};

/** Lists have a statement for each choice of filters, which is created at its first use. */
const makeLists = async (): Promise<void> => {
  const db = { batch: async () => ({ items: "", next: null }) } as unknown as Db;
  const page = { before: null, limit: 1 };
  const tenantId = "ten_" as never;
  for (const environment of [undefined, "test"] as const) {
    for (const status of [undefined, ...API_KEY_STATUSES]) {
      for (const search of [{}, { name: "x" }]) {
        const filters = { ...(environment && { environment }), ...(status && { status }), ...search };
        await listApiKeys(db, tenantId, ["live", "test"], { ...page, filters });
        await countApiKeys(db, tenantId, ["live", "test"], filters);
      }
    }
  }
  for (const kind of [{}, { kind: "hold" }] as const) {
    for (const key of [{}, { apiKeyId: "key_" }]) {
      for (const session of [{}, { sessionId: "ses_" }]) {
        for (const ofLineage of [null, "key_"] as const) {
          const [of, filters] = [
            { tenantId, environment: "live", ofLineage },
            { ...kind, ...key, ...session },
          ] as const;
          await listCreditEntries(db, of, { ...page, filters });
          await countCreditEntries(db, of, filters);
        }
      }
    }
  }
  for (const environment of ["live", "test"] as const) {
    for (const endpoint of [{}, { endpointId: "whe_" }]) {
      for (const status of [{}, { status: "failed" }] as const) {
        for (const type of [{}, { eventType: "avatar.created" }] as const) {
          for (const target of [{}, { targetId: "ava_" }]) {
            const filters = { ...endpoint, ...status, ...type, ...target };
            await listDeliveries(db, { tenantId, environment }, { ...page, filters });
            await countDeliveries(db, { tenantId, environment }, filters);
          }
        }
      }
    }
  }
  const window = { from: "2026-11-01T00:00:00.000Z", to: "2026-11-02T00:00:00.000Z" };
  for (const user of [{}, { endUserId: "u" }]) {
    for (const status of [{}, { status: "started" }] as const) {
      for (const key of [{}, { apiKeyId: "key_" }]) {
        for (const avatar of [{}, { avatarId: "ava_" }]) {
          for (const kind of [{}, { kind: "call" }] as const) {
            const filters = { ...window, ...user, ...status, ...key, ...avatar, ...kind };
            await listUsageSessions(db, { tenantId, environment: "live" }, { ...page, filters });
            await countUsageSessions(db, { tenantId, environment: "live" }, filters);
          }
        }
      }
    }
  }
  const choices = [{}, { action: "api_key.revoked" }, { action: "avatar.created" }] as const;
  for (const environment of ["live", "test"] as const) {
    for (const action of choices) {
      for (const target of [{}, { targetId: "key_" }]) {
        for (const actor of [{}, { actorKeyId: "k" }, { actorId: "key_" }, { actorId: "key_", actorKeyId: "k" }]) {
          const filters = { ...action, ...target, ...actor };
          await listAuditEvents(db, { tenantId, environment }, { ...page, filters });
          await countAuditEvents(db, { tenantId, environment }, filters);
        }
      }
    }
  }
};

type Listing = { statements: string; described: string };

/** The text of `statements.sql` and of `described.ts`. `client`: a client of a migrated database. */
export const describeStatements = async (client: postgres.Sql): Promise<Listing> => {
  await importModules();
  await makeLists();
  // The order does not depend on which list was used first.
  const orderOf = ({ name, text }: { name: string; text: string }): string => `${name}\n${text}`;
  const different = [...new Map(TEXTS.map((one) => [orderOf(one), one]))].sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = new Map<string, string>();
  const sections: string[] = [];
  for (const [, { name, text }] of different) {
    const { columns } = await client.unsafe(text).describe();
    const types = columns.map(({ name, type }) => {
      const known = TYPES[type];
      if (!known) throw new Error(`the type ${type} of the column ${name} has no name in TYPES`);
      return { name, sql: known[0], typescript: known[1] };
    });
    const fields = types.map(({ name, typescript }) => `${name}: ${typescript} | null`);
    rows.set(name, fields.length === 0 ? "object" : `{ ${fields.join("; ")} }`);
    const comment = types.map(({ name, sql }) => `${name} ${sql}`).join(", ") || "none";
    const plain = text.replaceAll(FUNCTIONS_SCHEMA, "rta").replaceAll(/"([a-z_]+)"/g, "$1");
    const lines = plain.split("\n").filter((line) => line.trim() !== "");
    const indent = Math.min(...lines.slice(1).map((line) => line.search(/\S/)));
    const [first = "", ...others] = lines.map((line, index) => (index === 0 ? line.trim() : line.slice(indent)));
    sections.push([`-- ${name}. Columns: ${comment}.`, ...(first ? [first] : []), ...others].join("\n"));
  }
  const members = [...rows].map(([name, row]) => `  ${name}: ${row};`);
  return {
    statements: [
      "-- Every statement of the service that calls no database function, as PostgreSQL receives it.",
      "-- Generated by `bun run statements`. Do not edit.",
      ...sections,
      "",
    ].join("\n\n"),
    described: [
      "/** The rows of each statement, as the server describes them. Generated by `bun run statements`. Do not edit. */",
      `export type Described = {\n${members.join("\n")}\n};`,
      "",
    ].join("\n"),
  };
};
