/** The filter of system calls. `run.test.ts` and `frame.test.ts` show that the children have it. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { CLONE, canFilterSystemCalls, EXECUTE, OWN_PROCESS, REFUSED } from "./system-calls.ts";

const PROBE = join(import.meta.dir, "probe.testing.ts");
const HEADERS = ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h"];

test.skipIf(!canFilterSystemCalls())("refuses each call, and leaves the process its threads and signals", async () => {
  const { stderr } = await runToEnd([process.execPath, "--no-env-file", PROBE, "{}", "escape"]);
  const { start, signal, signalToItself, errors } = JSON.parse(stderr);
  expect([start, signal, signalToItself]).toEqual(["EPERM", "EPERM", "done"]);
  expect(Object.keys(errors).length).toBeGreaterThan(40);
  expect(Object.entries(errors).filter(([, error]) => error !== 1)).toEqual([]);
});

// The headers are those of Debian's linux-libc-dev, on x64.
test.skipIf(!HEADERS.every((path) => existsSync(path)))("has the numbers of the kernel's headers", () => {
  const tables = HEADERS.map((path) => {
    const definitions = readFileSync(path, "utf8").matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)/gm);
    return new Map([...definitions].map(([, name = "", number]) => [name, Number(number)]));
  });
  const calls: Record<string, readonly (number | null)[]> = { ...REFUSED, ...EXECUTE, ...OWN_PROCESS, ...CLONE };
  const expected = Object.keys(calls).map((name) => [name, tables.map((table) => table.get(name) ?? null)]);
  expect(Object.entries(calls).map(([name, numbers]) => [name, [...numbers]])).toEqual(expected);
});
