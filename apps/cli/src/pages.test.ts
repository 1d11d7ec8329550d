/** Pages, tables, options and errors of the command line, without a database. */
import { describe, expect, test } from "bun:test";
import { notExecuted } from "@realtime-avatar/db/connection/errors";
import { Problem } from "@realtime-avatar/domain/problem";
import { ConfigError } from "@realtime-avatar/runtime/config";
import { parseShards } from "./commands/migrate.ts";
import { idParser, parseInteger, shardParser } from "./options.ts";
import { mergePages } from "./pages.ts";
import { explain, fields, micros, table, UsageError } from "./terminal.ts";

describe("the pages of both environments as one", () => {
  /** `ids`: newest first. `next`: the id below which the list of the environment continues. */
  const page = (ids: string[], next: string | null, of = "live") => ({
    items: ids.map((id) => JSON.stringify({ id, of })).join(),
    next,
  });
  const merged = (pages: Parameters<typeof mergePages>[0], limit: number) => {
    const { items, next } = mergePages(pages, limit);
    return [(JSON.parse(`[${items}]`) as { id: string }[]).map(({ id }) => id).join(""), next];
  };

  test("both complete: newest first; above the limit: the rest follows", () => {
    const pages = [page(["f", "c", "a"], null), page(["e", "d"], null)];
    expect(merged(pages, 5)).toEqual(["fedca", null]);
    expect(merged(pages, 4)).toEqual(["fedc", "c"]);
    expect(merged([page([], null), page([], null)], 5)).toEqual(["", null]);
  });

  test("one incomplete: no items below its last one", () => {
    expect(merged([page(["f", "d"], "d"), page(["e", "a"], null)], 5)).toEqual(["fed", "d"]);
    expect(merged([page(["f", "b"], "b"), page(["e", "d"], "d")], 5)).toEqual(["fed", "d"]);
    // Filters can leave out all rows of a page.
    expect(merged([page([], "c"), page(["e", "a"], null)], 5)).toEqual(["e", "c"]);
  });

  test("an item on both pages: once, as on the later page", () => {
    const { items } = mergePages([page(["a"], null, "test"), page(["a"], null)], 5);
    expect(JSON.parse(items)).toEqual({ id: "a", of: "live" });
  });
});

test("a table: columns as wide as their widest cell on the terminal, a dash for an empty cell, no spaces at the end", () => {
  const columns = { A: ([a]: (string | null)[]) => a ?? null, B: ([, b]: (string | null)[]) => b ?? null };
  expect(
    table(columns, [
      ["漢字", "x"],
      [null, "yy"],
      ["abc", null],
    ]),
  ).toBe("A     B\n漢字  x\n-     yy\nabc   -");
  expect(fields({ name: "n", count: 5, none: null })).toBe("FIELD  VALUE\nname   n\ncount  5\nnone   null");
  expect(micros(1_234_567)).toBe("1,234,567 credit micros");
});

test.each<[string, unknown, number, string]>([
  ["wrong use", new UsageError("use"), 2, "use"],
  ["wrong settings", new ConfigError(["A must be b.", "C must be d."]), 2, "A must be b.\nC must be d."],
  [
    "wrong fields",
    new Problem("validation_failed", "x", {
      errors: [
        { pointer: "#/spendLimitCreditMicros", code: "malformed", detail: "Must be a number." },
        { pointer: "#/unknown", code: "malformed", detail: "Is unknown." },
      ],
    }),
    2,
    "--spend-limit: Must be a number.\nThe request: Is unknown.",
  ],
  ["a refusal", new Problem("not_found", "There is none."), 1, "There is none."],
  ["a failure of the database", notExecuted("ECONNREFUSED", "hunter2"), 1, "Database error (ECONNREFUSED)"],
  ["another error", new Error("broken"), 1, "broken"],
  ["no error", "hunter2", 1, "Unknown error."],
])("%s: its exit code and its text", (_, error, code, text) => {
  const explained = explain(error);
  expect([explained.code, explained.message]).toEqual([code, expect.stringContaining(text)]);
  expect(explained.message).not.toContain("hunter2");
});

test("numbers and ids as options: parsed, passed on to the validation, or refused", () => {
  expect(["0", "12", "-1", "1.5", "1e3", "", "x"].map(parseInteger)).toEqual([0, 12, "-1", "1.5", "1e3", "", "x"]);
  const parseShard = shardParser("<shard>");
  expect([parseShard("0"), parseShard("1023"), parseShards("1"), parseShards("1024")]).toEqual([0, 1023, 1, 1024]);
  for (const bad of ["-1", "x", "", "1.5", "10240"]) expect(() => parseShard(bad)).toThrow(UsageError);
  for (const bad of ["0", "1025", "x", "", "1.5"]) expect(() => parseShards(bad)).toThrow(UsageError);
  const id = "key_01h455vb4pex5vsknk084sn02q";
  expect(idParser("key", "<id>")(id)).toBe(id);
  for (const bad of ["x", id.replace("key", "ten"), `${id}0`]) {
    expect(() => idParser("key", "<id>")(bad)).toThrow("<id>: Must be an id (key_…).");
  }
});
