import { describe, expect, test } from "bun:test";
import { createToolCalls, MAX_ARGUMENTS_LENGTH, MAX_CALLS } from "./tool-calls.ts";

const read = (...parts: unknown[]) => {
  const calls = createToolCalls();
  for (const part of parts) calls.push(part);
  return calls.read();
};
const call = (name: string, args: unknown, others: object = {}) => [{ ...others, function: { name, arguments: args } }];

describe("the calls of a stream", () => {
  test("interleaved parts of two calls: both assembled", () => {
    const calls = read(
      call("order", "", { index: 0, id: "a" }),
      call("weather", '{"ci', { index: 1, id: "b" }),
      [{ index: 0, function: { arguments: '{"id":' } }],
      [{ index: 1, function: { arguments: 'ty":"Rome"}' } }],
      undefined,
      [{ index: 0, function: { arguments: "7}" } }],
    );
    expect(calls).toEqual([
      { id: "a", name: "order", args: '{"id":7}' },
      { id: "b", name: "weather", args: '{"city":"Rome"}' },
    ]);
  });

  test("servers that number no calls, give each number 0, or repeat the id and the name: each call once", () => {
    expect(read(call("one", "{}"), call("two", '{"x":'), [{ function: { arguments: "1}" } }])).toMatchObject([
      { name: "one", args: "{}" },
      { name: "two", args: '{"x":1}' },
    ]);
    const same = { index: 0 };
    expect(read(call("one", "{}", { ...same, id: "a" }), call("two", "{}", { ...same, id: "b" }))).toMatchObject([
      { id: "a", name: "one" },
      { id: "b", name: "two" },
    ]);
    const repeated = { index: 0, id: "a" };
    expect(read(call("one", '{"x"', repeated), call("one", ":1}", repeated))).toEqual([
      { id: "a", name: "one", args: '{"x":1}' },
    ]);
    expect(read([...call("one", "{}"), ...call("two", "{}")])).toHaveLength(2);
  });

  test("calls with a missing, repeated or too long id: a new valid id each", () => {
    const calls = read(
      call("one", "{}", { index: 0 }),
      call("two", "{}", { index: 1, id: "a" }),
      call("three", "{}", { index: 2, id: "a" }),
      call("four", "{}", { index: 3, id: "x".repeat(129) }),
      call("five", "{}", { index: 4, id: "a\n" }),
    );
    expect(new Set(calls.map(({ id }) => id)).size).toBe(5);
    for (const { id } of calls) expect(id).toMatch(/^[\x21-\x7e]{1,128}$/);
    expect(calls[1]?.id).toBe("a");
  });

  test("arguments that are malformed, too long, or not an object: null; no arguments: an empty object", () => {
    const broken = ['{"id":', "[1]", "null", "7", `{"x":"${"y".repeat(MAX_ARGUMENTS_LENGTH)}"}`];
    for (const args of broken) expect(read(call("one", args, { index: 0 }))).toMatchObject([{ args: null }]);
    for (const args of ["", undefined, null, {}]) {
      expect(read(call("one", args, { index: 0 }))).toMatchObject([{ args: "{}" }]);
    }
    expect(read(call("one", { id: 7 }, { index: 0 }))).toMatchObject([{ args: '{"id":7}' }]);
  });

  test("a name that servers would refuse: reduced to letters, digits, _ and -, at most 64 characters", () => {
    expect(read(call("führe aus!", "{}", { index: 0 }))).toMatchObject([{ name: "f_hre_aus_" }]);
    expect(read(call("n".repeat(100), "{}", { index: 0 }))[0]?.name.length).toBe(64);
    expect(read([{ index: 0, id: "a" }])).toEqual([{ id: "a", name: "unknown", args: "{}" }]);
  });

  test("a thousand calls, and malformed ones: the first calls, in constant memory", () => {
    const calls = createToolCalls();
    for (let index = 0; index < 1000; index++) calls.push(call(`tool_${index}`, "{}", { index, id: `c${index}` }));
    expect(calls.read().map(({ id }) => id)).toEqual(Array.from({ length: MAX_CALLS }, (_, index) => `c${index}`));
    expect(read("text", 7, null, {}, [])).toEqual([]);
    expect(read([null, "x"])).toHaveLength(1);
  });
});
