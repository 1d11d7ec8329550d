/**
 * A machine that refuses system calls, for tests: `REFUSED=<number>:<error>,…` in front of a program of Bun that
 * preloads this. The filter also holds for the processes that the program starts.
 */
import { dlopen, ptr } from "bun:ffi";

const [PR_SET_NO_NEW_PRIVS, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC] = [38, 1, 1];
const { symbols: libc } = dlopen("libc.so.6", {
  prctl: { args: ["int", "u64", "u64", "u64", "u64"], returns: "int" },
  syscall: { args: ["i64", "u64", "u64", "ptr"], returns: "i64" },
});

// linux/filter.h: load the number of the call; compare it with each; return an error, or allow the call.
const instructions: [code: number, ifTrue: number, ifFalse: number, value: number][] = [[0x20, 0, 0, 0]];
for (const pair of (process.env["REFUSED"] ?? "").split(",")) {
  const [number = 0, error = 0] = pair.split(":").map(Number);
  instructions.push([0x15, 0, 1, number], [0x06, 0, 0, 0x00050000 | error]);
}
instructions.push([0x06, 0, 0, 0x7fff0000]);

const filter = Buffer.alloc(8 * instructions.length);
for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
  filter.writeUInt16LE(code, 8 * index);
  filter.writeUInt8(ifTrue, 8 * index + 2);
  filter.writeUInt8(ifFalse, 8 * index + 3);
  filter.writeUInt32LE(value, 8 * index + 4);
}
const program = Buffer.alloc(16);
program.writeUInt16LE(instructions.length, 0);
program.writeBigUInt64LE(BigInt(ptr(filter)), 8);
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
const seccomp = process.arch === "x64" ? 317 : 277;
if (Number(libc.syscall(seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, ptr(program))) !== 0)
  throw new Error("The filter cannot be installed.");
