/** The schemas of the functions: one for each version of their text. */
import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { issueApiKey } from "@realtime-avatar/domain/api-keys/create";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import { client } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { FUNCTION_FILES } from "../../generated/function-files.ts";
import { insertRootApiKey } from "../api-keys/api-keys.ts";
import { databaseFailure } from "../connection/errors.ts";
import { connect, type Db } from "../connection/pool.ts";
import { isMigrated, migrate, pruneFunctions } from "../migrate.ts";
import { functionFiles, functionName } from "./files.ts";
import { FUNCTIONS_SCHEMA, functionsSchema } from "./schema.ts";

const paths = await functionFiles();
const files = await Promise.all(paths.map((path) => Bun.file(join(import.meta.dir, "..", path)).text()));
const functions = paths.filter((path) => functionName(path) !== "types");

const database = await fileDatabase({ migrated: false });
beforeEach(async () => {
  await migrate(database.url);
});

const schemas = async (): Promise<string[]> => {
  const rows = await database.db.client<{ name: string }[]>`
    select nspname as name from pg_namespace where nspname like 'rta%' order by nspname`;
  return rows.map(({ name }) => name);
};

describe("the files of the functions", () => {
  test("the list of files: all are part of the schema", () => {
    expect(FUNCTION_FILES.toSorted()).toEqual(files.toSorted());
  });

  test("the comment of each file: explains the function and its locks", () => {
    for (const [at, path] of paths.entries()) {
      const text = files[at] ?? "";
      const [comment = ""] = text.match(/^(--.*\n)+/) ?? [];
      const of = (value: string): string => `${path}: ${value}`;
      if (functions.includes(path)) expect(of(comment)).not.toBe(of(""));
      const locks = /\bfor (share|update|no key update|key share)\b|\bon conflict\b.*do update/.test(text);
      const locksByAnother = /rta\.(lock_\w+|claim_idempotency_keys)\(/.test(text.replace(/create function \S+/, ""));
      if (locks || locksByAnother) expect(of(comment)).toMatch(/Lock order|Locks the (tenant's row|callers)/);
      if (functions.includes(path)) expect(of(text)).toContain(`create function rta.${functionName(path)}(`);
    }
  });

  test("the names in the files: tables with their schema, parameters with p_", () => {
    const tables =
      "tenants|api_keys|api_key_credentials|api_key_meters|idempotency_claims|avatars|audit_events|credit_accounts|credit_entries|usage_sessions|assets|asset_meters|jobs|job_slots";
    const isUnqualified = new RegExp(`\\b(from|join|into|update|using) (${tables})\\b`);
    for (const [at, text] of files.entries()) {
      expect([paths[at], isUnqualified.test(text.replaceAll(/--.*/g, ""))]).toEqual([paths[at], false]);
    }
  });
});

describe("the schema of the functions", () => {
  test("the schema, when three processes migrate at once: one creates it", async () => {
    await database.db.client.unsafe(`drop schema ${FUNCTIONS_SCHEMA} cascade`);
    const created = await Promise.all([migrate(database.url), migrate(database.url), migrate(database.url)]);
    expect(created.toSorted()).toEqual([false, false, true]);
    expect(await schemas()).toEqual([FUNCTIONS_SCHEMA]);
  });

  test("the functions of the schema: run with the rights of the caller, without rights for everyone", async () => {
    const rows = await database.db.client<{ name: string; isDefiner: boolean; isPublic: boolean }[]>`
      select proname as name, prosecdef as "isDefiner",
        proacl is null or exists (select from aclexplode(proacl) where grantee = 0) as "isPublic"
      from pg_proc where pronamespace = to_regnamespace(${FUNCTIONS_SCHEMA})`;
    expect(rows).toHaveLength(functions.length);
    expect(rows.filter(({ isDefiner, isPublic }) => isDefiner || isPublic)).toEqual([]);
  });

  // Otherwise each call would cost as much as a small statement, for example if the declared volatility did not fit the
  // expression.
  test("a function of one expression, called in a query: becomes part of the query", async () => {
    const { client } = database.db;
    const rows = await client<{ name: string; types: string[] }[]>`
      select proname as name, array_to_json(array(select format_type(type, null) from unnest(proargtypes) type)) as types
      from pg_proc join pg_language on pg_language.oid = prolang
      where pronamespace = to_regnamespace(${FUNCTIONS_SCHEMA}) and lanname = 'sql' and not proretset
        and prosrc !~ '\\m(from (public|fleet|rta|unnest|json|\\()|update|insert)' and cardinality(proargtypes::oid[]) > 0`;
    expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(["may_report", "selects", "closing_of"]));
    for (const { name, types } of rows) {
      const columns = types.map((type, at) => `null::${type} as p${at}`).join(", ");
      const call = `${FUNCTIONS_SCHEMA}.${name}(${types.map((_, at) => `p${at}`).join(", ")})`;
      const plan = await client.unsafe(`explain (verbose) select ${call} from (select ${columns} offset 0) inputs`);
      const text = plan.map((row) => row["QUERY PLAN"]).join("\n");
      expect([name, text.includes(`${name}(`)]).toEqual([name, false]);
    }
  });

  test("the schema of another version: used at the same time", async () => {
    const other = functionsSchema(
      FUNCTION_FILES.map((text) => text.replaceAll("interval '7 days'", "interval '9 days'")),
    );
    expect(other.name).not.toBe(FUNCTIONS_SCHEMA);
    await database.db.client.unsafe(other.create);
    const ask = `(now() - interval '8 days', true, now())`;
    const [row] = await database.db.client.unsafe(
      `select ${FUNCTIONS_SCHEMA}.may_report${ask} as own, ${other.name}.may_report${ask} as other`,
    );
    expect({ ...row }).toEqual({ own: false, other: true });
    const tenantId = await seedTenant(database.db);
    await seedKey(database.db, tenantId);
    // The other version also writes into the same tables.
    const { record } = await seedKey(database.db, tenantId);
    const [written] = await database.db.client.unsafe(
      `select ${other.name}.create_root_api_key(
        row($1, 'key_01h455vb4pex5vsknk084sn02q', 'abcdefghijklmnop', 'test', 'n', '{*}', null, null, null, '{}', 1, now()),
        sha256('x'), row($1, 'aud_01h455vb4pex5vsknk084sn02q', 'test', null, null, 'api_key.created', $2, '{}', 'r', now())
      ) as written`,
      [tenantId, record.id],
    );
    expect(written?.["written"]).toBe(true);
  });

  test("pruneFunctions: drops the schemas of other versions, keeps foreign schemas", async () => {
    const other = functionsSchema([...FUNCTION_FILES, "-- another version"]);
    await database.db.client.unsafe(
      `${other.create} create schema if not exists rta_reports; create schema if not exists rta`,
    );
    const dropped = await pruneFunctions(database.url);
    expect(dropped).toContain(other.name);
    expect(await schemas()).toEqual(["rta", FUNCTIONS_SCHEMA, "rta_reports"].toSorted());
    expect(await pruneFunctions(database.url)).toEqual([]);
    expect(await isMigrated(database.db)).toBe(true);
    await database.db.client.unsafe("drop schema rta_reports; drop schema rta");
  });
});

describe("a dropped schema under a running replica", () => {
  /** Returns a function that creates a key of a new tenant, and throws what `insertRootApiKey` throws. */
  const keyWriter = async (db: Db): Promise<() => Promise<boolean>> => {
    const tenantId = await seedTenant(database.db);
    return () => {
      const now = new Date();
      const { record, secret } = issueApiKey({ name: "n" }, OPERATOR, { tenantId, checkedAt: now, now, random });
      return insertRootApiKey(db, record, secret, operatorOrigin());
    };
  };

  test("a write after the schema is dropped: not executed; after it is restored: executed", async () => {
    for (const prepare of [true, false]) {
      const db = connect(database.url, { connections: 1, connectMs: 30_000, prepare });
      const write = await keyWriter(db);
      expect(await write()).toBe(true);
      await database.db.client.unsafe(`drop schema ${FUNCTIONS_SCHEMA} cascade`);
      for (let attempt = 0; attempt < 2; attempt++) {
        const failure = await write().catch((error: unknown) => databaseFailure(error));
        expect(failure).toBe("not_executed");
      }
      expect(await isMigrated(db)).toBe(false);
      await migrate(database.url);
      expect(await write()).toBe(true);
      expect(await isMigrated(db)).toBe(true);
      await db.close();
    }
  });

  test("running writes while the schema is dropped: no outcome is unknown", async () => {
    const db = connect(database.url, { connections: 4, connectMs: 30_000 });
    const write = await keyWriter(db);
    const holder = client(database.url);
    const failures: unknown[] = [];
    let written = 0;
    for (let round = 0; round < 4; round++) {
      const writes = Array.from({ length: 20 }, () =>
        write().then(
          () => written++,
          (error: unknown) => failures.push(databaseFailure(error)),
        ),
      );
      await holder.unsafe(`drop schema ${FUNCTIONS_SCHEMA} cascade`);
      await Promise.all(writes);
      await migrate(database.url);
    }
    expect(failures).not.toContain("outcome_unknown");
    const [row] = await holder<{ count: number }[]>`select count(*)::integer from api_keys where tenant_id in (
      select max(tenant_id) from tenants)`;
    expect(row?.count).toBe(written);
    await holder.end();
    await db.close();
  });
});
