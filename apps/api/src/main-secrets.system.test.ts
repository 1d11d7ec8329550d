/**
 * Secrets of the service, read by another process of the same user. Children of the worker are such processes, and open
 * untrusted files.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { chown, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { bun, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { API } from "../test/support/process.ts";

// Tests do not assert times, so that a slow disk does not fail one.
setDefaultTimeout(60_000);

/** `nobody`. */
const USER = 65_534;
const isRoot = process.getuid?.() === 0;
// Root can read everything.
const asUser = isRoot ? ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"] : [];
const SECRET = "hunter2".repeat(5);

const { variables } = await fileDatabase({ isServed: true });

test.skipIf(process.platform !== "linux" || Bun.which("setpriv") === null)(
  "the service, read by another process of its user: no readable secret",
  async () => {
    const folder = await temporaryFolder();
    const home = join(folder, "home");
    await mkdir(home, { mode: 0o700 });
    if (isRoot) await chown(home, USER, USER);
    const service = startProcess([...asUser, ...bun(API)], {
      ...variables,
      DATA_DIR: join(home, "data"),
      HOME: home,
      PORT: "0",
      SESSION_SECRET: SECRET,
      WEBHOOK_SECRET_KEY: SECRET,
    });
    await service.waitFor(/"url":"http/);
    const { stdout } = await runToEnd([...asUser, "cat", `/proc/${service.pid}/environ`]);
    service.kill("SIGTERM");
    await service.exited;
    await rm(folder, { recursive: true });
    expect(stdout.includes(SECRET)).toBe(false);
  },
);
