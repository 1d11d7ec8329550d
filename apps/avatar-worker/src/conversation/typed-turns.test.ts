import { expect, test } from "bun:test";
import { readTurn } from "./typed-turns.ts";

test("a text with the attributes of the SDK: a turn", () => {
  expect(readTurn(" Hi \n", { "rta.turn_id": "t2", "rta.retry_of_turn_id": "t1", "rta.closing_turn": "1" })).toEqual({
    ...{ text: "Hi", id: "t2", retryOf: "t1", instructions: undefined, isClosing: true },
  });
  expect(readTurn("Hi", { "rta.turn_instructions": "Be brief.", other: "x" })).toMatchObject({
    ...{ instructions: "Be brief.", isClosing: false },
  });
});

test("an empty or long text: no turn", () => {
  for (const text of ["", "  \n", "x".repeat(4001)]) expect(readTurn(text)).toBeNull();
});

test("long attributes and lone surrogates: cut, and replaced", () => {
  const turn = readTurn("a\ud800b", { "rta.turn_id": "x".repeat(500), "rta.turn_instructions": "y".repeat(9000) });
  expect(turn?.text).toBe("a\ufffdb");
  expect([turn?.id?.length, turn?.instructions?.length]).toEqual([160, 4000]);
});
