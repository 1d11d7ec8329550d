/** What a child that was taken over may do with what belongs to its user. The worker of the container is such a user. */
import { describe, expect, test } from "bun:test";
import { chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { runInSandbox } from "../run.ts";
import { canFilterSystemCalls } from "../system-calls.ts";

const USER = 65_532;
const isRoot = process.getuid?.() === 0;
const ORDINARY_USER = isRoot ? ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"] : [];
const canRun = canFilterSystemCalls() && (!isRoot || Bun.which("setpriv") !== null);

const folder = await fileFolder();

/** Runs a program in the confinement of a child, with its filter; what it wrote to standard error. */
const asChild = async (program: string): Promise<string> => {
  const input = join(folder, "input");
  await writeFile(input, "x");
  const filter = JSON.stringify(join(import.meta.dir, "../system-calls.ts"));
  const text = `import { filterSystemCalls } from ${filter}; filterSystemCalls({ mayExecute: false }); ${program}; process.exit(3);`;
  const outcome = await runInSandbox(
    { kind: "image", contentType: "image/jpeg" },
    { input, outputs: [join(folder, "public.webp")] },
    { command: () => [...ORDINARY_USER, process.execPath, "--no-env-file", "-e", text] },
  );
  return outcome.kind === "failed" ? outcome.stderr : outcome.kind;
};

describe.skipIf(!canRun)("a child and its user", () => {
  // The password of the embedded PostgreSQL, its cluster, `session-secret` and the files of other tenants are such files.
  test.each(["r", "r+"])("a child, opening a file of its user by path (%s): refused", async (flags) => {
    const path = join(folder, `private-${flags}`, "session-secret");
    await mkdir(join(path, ".."), { mode: 0o700 });
    await writeFile(path, "a secret", { mode: 0o600 });
    if (isRoot) for (const owned of [join(path, ".."), path]) await chown(owned, USER, USER);
    const open = `try { fs.openSync(${JSON.stringify(path)}, "${flags}"); console.error("opened") } catch (error) { console.error(error.code) }`;
    expect(await asChild(`const fs = require("node:fs"); ${open}`)).not.toContain("opened");
  });
});
