import { expect, test } from "bun:test";
import { readTurn } from "./typed-turns.ts";

test("a text with the attributes of the SDK: a turn", () => {
  expect(readTurn(" Hi \n", { "rta.turn_id": "t2", "rta.retry_of_turn_id": "t1", "rta.closing_turn": "1" })).toEqual({
    ...{ text: "Hi", id: "t2", retryOf: "t1", instructions: undefined, isClosing: true },
    provenance: { version: 1, observed_source: "text", observed_by: "sdk", ingress: "room_text" },
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

test("the provenance that a page declares: kept if valid, beside the observed one", () => {
  const declared = (source: string, scope: string) => {
    const attributes = { "rta.declared_input_source": source, "rta.input_source_declaration_scope": scope };
    const { observed_source, declared_source, declaration_scope } = readTurn("Hi", attributes)?.provenance ?? {};
    return [observed_source, declared_source, declaration_scope];
  };
  expect(declared("client_stt", "adapter")).toEqual(["text", "client_stt", "adapter"]);
  expect(declared("text", "turn")).toEqual(["text", "text", "turn"]);
  expect(declared("server_stt", "call")).toEqual(["text", undefined, undefined]);
});
