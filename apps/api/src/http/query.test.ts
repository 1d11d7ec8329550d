import { describe, expect, test } from "bun:test";
import { Count, OneOf } from "@realtime-avatar/domain/schema";
import { Type } from "@sinclair/typebox";
import { readQuery } from "./query.ts";

const SCHEMA = Type.Object({
  limit: Type.Optional(Count({ minimum: 1, maximum: 100 })),
  status: Type.Optional(OneOf(["draft", "ready"])),
});
const read = (query: string) => readQuery(new Request(`http://localhost/${query}`), SCHEMA);
const errorsOf = (query: string): unknown => {
  try {
    return read(query);
  } catch (error) {
    return (error as { extras: { errors: { parameter: string; code: string }[] } }).extras.errors.map(
      ({ parameter, code }) => `${parameter} ${code}`,
    );
  }
};

test("query parameters, valid: they have the types of the schema", () => {
  expect({ ...read("?limit=5&status=ready") }).toEqual({ limit: 5, status: "ready" });
  expect({ ...read("") }).toEqual({});
});

describe("the errors of a query", () => {
  test.each<[string, string[]]>([
    ["?limit=0", ["limit out_of_range"]],
    ["?limit=05", ["limit wrong_type"]],
    ["?limit=1e1", ["limit wrong_type"]],
    ["?limit=", ["limit wrong_type"]],
    ["?status=READY", ["status not_allowed"]],
    ["?limit=1&limit=1", ["limit repeated_parameter"]],
    ["?x=1&limit=0", ["x unknown_parameter", "limit out_of_range"]],
    ["?__proto__=1&constructor=1", ["__proto__ unknown_parameter", "constructor unknown_parameter"]],
  ])("a query, %s: its errors", (query, errors) => {
    expect(errorsOf(query)).toEqual(errors);
  });

  test("a query, 500 unknown parameters: 100 errors", () => {
    const query = `?${Array.from({ length: 500 }, (_, index) => `p${index}=1`).join("&")}`;
    expect(errorsOf(query)).toHaveLength(100);
  });

  test("a query, an API key as a parameter name: errors do not repeat it", () => {
    const secret = "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV";
    expect(String(errorsOf(`?${secret}=1`))).not.toContain("GHIJKLMNOP");
  });
});
