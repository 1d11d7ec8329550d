/**
 * The worker on machines that cannot confine its children. `files.test.ts` and `run.system.test.ts` test the
 * confinement of a child.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { png } from "./corpus/images.testing.ts";
import { LANDLOCK, landlockVersion } from "./landlock.ts";
import { canFilterSystemCalls } from "./system-calls.ts";

// Tests do not assert times, and a slow machine must not fail one.
setDefaultTimeout(120_000);

const [EPERM, ENOSYS, EOPNOTSUPP] = [1, 38, 95];
const SECCOMP = process.arch === "x64" ? 317 : 277;
const module = (name: string) => JSON.stringify(join(import.meta.dir, name));

/** Runs a program whose system calls are refused with an error. */
const where = (refused: Record<number, number>, program: string) =>
  runToEnd(
    [process.execPath, "--no-env-file", "--preload", join(import.meta.dir, "refusing.testing.ts"), "-e", program],
    {
      REFUSED: Object.entries(refused)
        .join(",")
        .replaceAll(/(\d+),(\d+)/g, "$1:$2"),
    },
  );
const DESCRIBE = `const { findConfinement } = await import(${module("confinement.ts")}); console.log(JSON.stringify((await findConfinement()).description));`;

test.skipIf(!canFilterSystemCalls())("a kernel, without seccomp: no file is opened", async () => {
  const { code, stderr } = await where({ [SECCOMP]: ENOSYS }, DESCRIBE);
  expect(code).not.toBe(0);
  expect(stderr).toContain("Files cannot be inspected safely: the kernel cannot filter system calls (seccomp).");
});

test.skipIf(landlockVersion() === 0).each([
  ["landlock_create_ruleset", EPERM],
  ["landlock_add_rule", EPERM],
  ["landlock_restrict_self", EPERM],
  // The kernel reports a version of Landlock, so it has Landlock.
  ["landlock_restrict_self", ENOSYS],
] as const)("a kernel with Landlock, refusing %s with error %p: no file is opened", async (name, error) => {
  const { code, stderr } = await where({ [LANDLOCK[name]]: error }, DESCRIBE);
  expect(code).not.toBe(0);
  expect(stderr).toContain("cannot be confined");
});

test.skipIf(!canFilterSystemCalls()).each([ENOSYS, EOPNOTSUPP])(
  "a kernel, without Landlock (error %p): files are opened, with a message",
  async (error) => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "picture"), await png());
    const files = JSON.stringify({ input: join(folder, "picture"), outputs: [join(folder, "public")] });
    const inspect = `const { runInSandbox } = await import(${module("run.ts")}); console.log((await runInSandbox({ kind: "image", contentType: "image/png" }, ${files})).kind);`;
    const { stdout, stderr } = await where({ [LANDLOCK.landlock_create_ruleset]: error }, DESCRIBE + inspect);
    const [description = "{}", kind] = stdout.split("\n");
    expect([JSON.parse(description).files, kind, stderr]).toEqual([false, "accepted", ""]);
    await rm(folder, { recursive: true });
  },
);
