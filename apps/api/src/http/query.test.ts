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

test("known parameters get the types of the schema", () => {
  expect({ ...read("?limit=5&status=ready") }).toEqual({ limit: 5, status: "ready" });
  expect({ ...read("") }).toEqual({});
});

describe("errors", () => {
  test.each<[string, string[]]>([
    ["?limit=0", ["limit out_of_range"]],
    ["?limit=05", ["limit wrong_type"]],
    ["?limit=1e1", ["limit wrong_type"]],
    ["?limit=", ["limit wrong_type"]],
    ["?status=READY", ["status not_allowed"]],
    ["?limit=1&limit=1", ["limit repeated_parameter"]],
    ["?x=1&limit=0", ["x unknown_parameter", "limit out_of_range"]],
    ["?__proto__=1&constructor=1", ["__proto__ unknown_parameter", "constructor unknown_parameter"]],
  ])("%s", (query, errors) => {
    expect(errorsOf(query)).toEqual(errors);
  });

  test("are at most 100, however many parameters there are", () => {
    const query = `?${Array.from({ length: 500 }, (_, index) => `p${index}=1`).join("&")}`;
    expect(errorsOf(query)).toHaveLength(100);
  });

  test("do not contain an API key that was sent as the name of a parameter", () => {
    const secret = "rta_live_0123456789ABCDEF_GHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw3jxJMV";
    expect(String(errorsOf(`?${secret}=1`))).not.toContain("GHIJKLMNOP");
  });
});
