import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import postgres from "postgres";
import { databaseFailure, describeError } from "./errors.ts";
import { failureOf } from "./pool/testing.ts";

let database: TestDatabase;
let client: postgres.Sql;

beforeAll(async () => {
  database = await testDatabase();
  client = database.db.client;
});
afterAll(() => database.close());

test("databaseFailure is null for any error that is not the database's", () => {
  expect(databaseFailure(new Error("x"))).toBeNull();
  expect(databaseFailure("x")).toBeNull();
});

describe("describeError", () => {
  test("contains no value of the refused row", async () => {
    const error = await failureOf(client`insert into tenants values ('the-row', 'the-name', now())`);
    expect(error).toBeInstanceOf(postgres.PostgresError);
    expect(describeError(error)).toMatchObject({
      code: "23514",
      constraint: "tenants_tenant_id_check",
      table: "tenants",
    });
    expect(JSON.stringify(describeError(error))).not.toMatch(/the-row|the-name/);
  });

  test("has the name, the code, the message and the stack of any other error", () => {
    expect(describeError(new TypeError("oops"))).toMatchObject({ name: "TypeError", message: "oops" });
    expect(describeError(undefined)).toEqual({ name: "undefined" });
  });
});
