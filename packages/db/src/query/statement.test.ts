/** How values reach a statement, and how a sweep ends. */
import { afterAll, describe, expect, test } from "bun:test";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { sql } from "drizzle-orm";
import type { Runner } from "../connection/batch.ts";
import { tenants } from "../schema/tenants.ts";
import { batchStatement, createSweep, inputColumn, newestRows, prepared, selectColumns, TEXTS } from "./statement.ts";

const { db } = await fileDatabase();
// The statements of these tests are not part of the listing.
const { length } = TEXTS;
afterAll(async () => {
  TEXTS.length = length;
});

/** A `Runner` that records each call, and returns no rows. */
const recorder = () => {
  const calls: { text: string; parameters: readonly unknown[]; name: string | undefined }[] = [];
  const runner: Runner = {
    run: async (text, parameters, name) => {
      calls.push({ text, parameters, name });
      return [];
    },
  };
  return { runner, calls };
};

describe("a prepared statement", () => {
  const query = sql`select ${sql.placeholder("b")}::text as b, ${sql.placeholder("a")}::integer as a, ${7}::integer as c`;

  test("named placeholders: values in the order of the text, the name of the statement in a comment", async () => {
    const { runner, calls } = recorder();
    await prepared("find_x", query)(runner, { a: 1, b: null });
    expect(calls).toEqual([
      { text: expect.stringMatching(/^\/\* find_x \*\/ select \$1/), parameters: [null, 1, 7], name: "find_x" },
    ]);
    expect(await prepared("find_x", query)(db, { a: 1, b: "text" })).toEqual([{ b: "text", a: 1, c: 7 }]);
  });

  test("a placeholder with a missing value: throws", () => {
    expect(() => prepared("find_x", query)(recorder().runner, { a: 1 })).toThrow("no value for the placeholder b");
  });
});

test("batchStatement, with any text: returns each input with its position", async () => {
  const select = batchStatement<{ items: string; next: string | null }, { text: unknown; list: unknown }>(
    "list_avatars",
    ["text", "list"],
    (inputs) => sql`
      select position::integer as "position", ${inputColumn("text")} as "items",
        array_to_string(${inputColumn("list")}::text[], '|') as "next"
      from ${inputs} order by position desc`,
  );
  const inputs = [
    { text: 'a,"b"\\{}', list: ["x,y", '"', "\\"] },
    { text: null, list: [] },
    { text: 5, list: undefined },
  ];
  expect(await select(db, inputs)).toEqual([
    { position: 3, items: "5", next: null },
    { position: 2, items: null, next: "" },
    { position: 1, items: 'a,"b"\\{}', next: 'x,y|"|\\' },
  ] as never);
});

test("createSweep: repeats full statements, and returns the sum", async () => {
  const sweep = createSweep("sweep_credentials", tenants, sql`true`, tenants.createdAt);
  const counts = ["1000", "1000", "999", "0"];
  const runner = { run: async () => [{ swept: counts.shift() }] } as unknown as Runner;
  expect(await sweep(runner)).toBe(2999);
  expect(counts).toEqual(["0"]);
});

test("selectColumns: selects the columns of a table under their names in the code", async () => {
  const tenantId = await seedTenant(db);
  const select = prepared<object>("test", sql`select ${selectColumns(tenants)} from ${tenants}`);
  expect(await select(db, {})).toEqual([
    { tenantId, name: "Tenant of a test", isFirst: null, createdAt: expect.any(Date) },
  ]);
});

test("newestRows below an id: the matching rows, newest first", async () => {
  const { where, orderBy } = newestRows(
    [[tenants.name, sql`${"n"}`]],
    tenants.tenantId,
    sql`${"ten_01h455vb4p0000000000000003"}`,
  );
  await db.client.unsafe(`
    insert into tenants (tenant_id, name, created_at)
    select 'ten_01h455vb4p' || lpad(i::text, 16, '0'), case when i = 2 then 'other' else 'n' end, now()
    from generate_series(0, 5) i`);
  const rows = await prepared<{ id: string }>(
    "test",
    sql`select ${tenants.tenantId} as id from ${tenants} where ${where} order by ${orderBy}`,
  )(db, {});
  expect(rows.map(({ id }) => Number(id.slice(-2)))).toEqual([1, 0]);
});
