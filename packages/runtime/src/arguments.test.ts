import { expect, test } from "bun:test";
import { readArguments } from "./arguments.ts";

test.each([
  [[], [], { kind: "start" }],
  [["--child"], ["--child"], { kind: "start" }],
  [["--help"], [], { kind: "help" }],
  [["-h"], [], { kind: "help" }],
  [["help"], [], { kind: "help" }],
  [["--port=1", "--help"], [], { kind: "help" }],
  [["--version"], [], { kind: "version" }],
  [["--child", "--version"], ["--child"], { kind: "version" }],
  [["--child"], [], { kind: "unknown", argument: "--child" }],
  [["--child", "--port"], ["--child"], { kind: "unknown", argument: "--port" }],
  [[""], [], { kind: "unknown", argument: "" }],
] as const)("the arguments %j, with %j as known ones: start, help, version or refused", (args, known, expected) =>
  expect(readArguments(args, known)).toEqual(expected),
);
