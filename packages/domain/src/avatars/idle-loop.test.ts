import { expect, test } from "bun:test";
import { loopFile, manifestLoop } from "./idle-loop.ts";
import { preparedFile } from "./preparation.ts";

const file = preparedFile(3, "a".repeat(64), "loop");

test("a manifest with a loop: its file", () => {
  expect(loopFile({ format: 1, loop: manifestLoop({ file, sizeBytes: 9 }) })).toBe(file);
});

test.each([
  ["no manifest", null],
  ["no loop", { format: 1 }],
  ["a loop that is null", { loop: null }],
  ["a loop of another version", { loop: { version: 2, file } }],
  ["a loop without a file", { loop: { version: 1 } }],
  ["a file outside of the avatar's folder", { loop: { version: 1, file: "../3/x-loop" } }],
  ["a file of another type", { loop: manifestLoop({ file: preparedFile(3, "a".repeat(64), "webp") }) }],
])("a manifest with %s: no loop", (_, manifest) => {
  expect(loopFile(manifest)).toBeNull();
});
