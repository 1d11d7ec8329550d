import { describe, expect, test } from "bun:test";
import { IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import postgres from "postgres";
import { isReadOnly } from "../open.ts";
import { databaseFailure, describeError } from "./errors.ts";
import { catchFailure } from "./pool/testing.ts";
import { connect } from "./pool.ts";

const database = await fileDatabase();
const client = database.db.client;

test("databaseFailure, of any other error: null", () => {
  expect(databaseFailure(new Error("x"))).toBeNull();
  expect(databaseFailure("x")).toBeNull();
});

describe("the description of an error", () => {
  test("a database error, described: no value of the refused row", async () => {
    const error = await catchFailure(client`insert into tenants values ('the-row', 'the-name', now())`);
    expect(error).toBeInstanceOf(postgres.PostgresError);
    expect(describeError(error)).toMatchObject({
      code: "23514",
      constraint: "tenants_tenant_id_check",
      // The error of a node names its part of the distributed table.
      table: IS_ONE_DATABASE ? "tenants" : expect.stringMatching(/^tenants_\d+$/),
    });
    expect(JSON.stringify(describeError(error))).not.toMatch(/the-row|the-name/);
  });

  test("an error of a database that is down, described: without a stack", async () => {
    const gone = connect("postgres://127.0.0.1:1/nothing", { deadlineMs: 5000 });
    const description = describeError(await catchFailure(isReadOnly(gone)));
    expect(description).toMatchObject({ name: "DatabaseError", code: "ECONNREFUSED", stack: undefined });
    await gone.close();
  });

  test("any other error, described: its name, code, message and stack", () => {
    expect(describeError(new TypeError("oops"))).toMatchObject({ name: "TypeError", message: "oops" });
    expect(describeError(new TypeError("oops"))["stack"]).toContain("errors.test.ts");
    expect(describeError(undefined)).toEqual({ name: "undefined" });
  });
});
