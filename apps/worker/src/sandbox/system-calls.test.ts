/** The filter of system calls. `run.system.test.ts` and `frame.system.test.ts` test that the children have it. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { LANDLOCK } from "./landlock.ts";
import { CLONE, canFilterSystemCalls, EXECUTE, OWN_PROCESS, OWNER, REFUSED } from "./system-calls.ts";

const PROBE = join(import.meta.dir, "probe.testing.ts");
const HEADERS = ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h"];

test.skipIf(!canFilterSystemCalls())(
  "the filter, each refused call: EPERM, while threads and signals work",
  async () => {
    const { stderr } = await runToEnd([process.execPath, "--no-env-file", PROBE, "{}", "escape"]);
    const { start, signal, signalToItself, errors } = JSON.parse(stderr);
    expect([start, signal, signalToItself]).toEqual(["EPERM", "EPERM", "done"]);
    expect(Object.keys(errors).length).toBeGreaterThan(40);
    expect(Object.entries(errors).filter(([, error]) => error !== 1)).toEqual([]);
  },
);

// As under systemd, whose unit has `ProcSubset=pid`.
test.skipIf(!canFilterSystemCalls() || process.getuid?.() !== 0)(
  "the filter, with only processes in /proc: installed",
  async () => {
    const [module, bun] = [join(import.meta.dir, "system-calls.ts"), process.execPath].map((text) =>
      JSON.stringify(text),
    );
    const program = `const { filterSystemCalls } = await import(${module}); filterSystemCalls({ mayExecute: false }); console.log(require("node:fs").readFileSync("/proc/self/status", "utf8"));`;
    const script = `mount -t proc -o subset=pid proc /proc && exec ${bun} --no-env-file -e '${program}'`;
    const { code, stdout, stderr } = await runToEnd(["unshare", "--mount", "--pid", "--fork", "sh", "-c", script]);
    // Older kernels do not know the option. A container may forbid the mount.
    if (code !== 0 && /mount|unshare/.test(stderr)) return;
    expect(stdout).toMatch(/^Seccomp:\s+2$/m);
  },
);

// The headers are those of Debian's linux-libc-dev, on x64.
test.skipIf(!HEADERS.every((path) => existsSync(path)))(
  "the numbers of the filter: those of the kernel's headers",
  () => {
    const tables = HEADERS.map((path) => {
      const definitions = readFileSync(path, "utf8").matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)/gm);
      return new Map([...definitions].map(([, name = "", number]) => [name, Number(number)]));
    });
    const calls: Record<string, readonly (number | null)[]> = {
      ...REFUSED,
      ...EXECUTE,
      ...Object.fromEntries(Object.entries(LANDLOCK).map(([name, number]) => [name, [number, number] as const])),
      ...OWN_PROCESS,
      ...OWNER,
      ...CLONE,
    };
    // Calls that the headers of Debian 12 (Linux 6.1) do not have yet. Their numbers are the same on both
    // architectures.
    for (const name of ["fchmodat2", "setxattrat", "removexattrat", "file_setattr"]) {
      if (tables.every((table) => !table.has(name))) delete calls[name];
    }
    const expected = Object.keys(calls).map((name) => [name, tables.map((table) => table.get(name) ?? null)]);
    expect(Object.entries(calls).map(([name, numbers]) => [name, [...numbers]])).toEqual(expected);
  },
);
