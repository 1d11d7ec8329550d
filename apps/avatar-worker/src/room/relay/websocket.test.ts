import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createMessageReader, encodeFrame, type Message } from "./websocket.ts";

const MAX_BYTES = 100_000;
const read = (bytes: Buffer, pieceBytes = bytes.length): Message[] => {
  const next = createMessageReader(MAX_BYTES);
  const messages: Message[] = [];
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    messages.push(...next(bytes.subarray(start, start + pieceBytes)));
  }
  return messages;
};
const binary = (length: number): Message => ({ kind: "binary", payload: Buffer.alloc(length, 7) });

describe("the messages of a WebSocket server", () => {
  test.each([0, 1, 125, 126, 65_535, 65_536, MAX_BYTES])("a message of %i bytes, in pieces: read", (length) => {
    const bytes = Buffer.concat([
      encodeFrame(binary(length)),
      encodeFrame({ kind: "ping", payload: Buffer.from("x") }),
    ]);
    for (const pieceBytes of [7, 1000, bytes.length]) {
      expect(read(bytes, pieceBytes)).toEqual([binary(length), { kind: "ping", payload: Buffer.from("x") }]);
    }
  });

  test("fragments with a ping between them: one message, after the ping", () => {
    const bytes = Buffer.from([0x02, 1, 1, 0x89, 0, 0x00, 1, 2, 0x80, 1, 3]);
    expect(read(bytes, 1)).toEqual([
      { kind: "ping", payload: Buffer.alloc(0) },
      { kind: "binary", payload: Buffer.from([1, 2, 3]) },
    ]);
  });

  const long = Buffer.alloc(10);
  long[0] = 0x82;
  long[1] = 127;
  long.writeBigUInt64BE(2n ** 63n, 2);
  test.each([
    ["a text", [0x81, 1, 65]],
    ["an unknown opcode", [0x83, 0]],
    ["a reserved bit, as for a compressed message", [0xc2, 1, 0]],
    ["a mask", [0x82, 0x81, 1, 2, 3, 4, 5]],
    ["a continuation of nothing", [0x80, 0]],
    ["a second message within the fragments of the first", [0x02, 0, 0x82, 0]],
    ["a ping in fragments", [0x09, 0]],
    ["a ping of 126 bytes", [0x89, 126, 0, 126]],
    ["a length of 2^63", [...long]],
    ["fragments that are too long together", [...encodeFrame(binary(MAX_BYTES)).fill(0x02, 0, 1), 0x80, 1, 0]],
  ])("%s: refused", (_, bytes) => {
    expect(() => read(Buffer.from(bytes))).toThrow();
  });

  test("messages that are too long together, each in fragments: all read", () => {
    const [first, last] = [
      encodeFrame(binary(MAX_BYTES / 4)).fill(0x02, 0, 1),
      encodeFrame(binary(MAX_BYTES / 4)).fill(0x80, 0, 1),
    ];
    const bytes = Buffer.concat(Array.from({ length: 10 }, () => [first, last]).flat());
    expect(read(bytes)).toEqual(Array.from({ length: 10 }, () => binary(MAX_BYTES / 2)));
  });

  test("a message that is too long: refused by its header", () => {
    expect(() => read(encodeFrame(binary(MAX_BYTES + 1)).subarray(0, 10))).toThrow("too long");
  });

  test("random bytes, in random pieces: the same messages, or an error", () => {
    const outcome = (bytes: Buffer, pieceBytes: number): unknown => {
      try {
        return read(bytes, pieceBytes);
      } catch (error) {
        return (error as Error).message;
      }
    };
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.constantFrom(0x82, 0x02, 0x00, 0x80, 0x89, 1, 2, 126, 127), { maxLength: 60 }),
    );
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 20 }), (some, pieceBytes) => {
        const all = Buffer.from(some);
        expect(outcome(all, pieceBytes)).toEqual(outcome(all, 1));
      }),
    );
  });
});
