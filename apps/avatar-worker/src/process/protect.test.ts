/** The memory and the environment of an avatar worker and of its call processes, which run as one user. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { source, startProcess } from "@realtime-avatar/testing/processes";

// Root can read everything.
const asUser = process.getuid?.() === 0 ? ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"] : [];
/** The child processes of a process, found through its threads. */
const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );

test.skipIf(process.platform !== "linux" || (asUser.length > 0 && Bun.which("setpriv") === null))(
  "an avatar worker and its call process: unreadable by other processes of their user",
  async () => {
    const worker = startProcess([...asUser, ...source("apps/avatar-worker/src/main.ts")], {
      ...{ AVATAR_WORKER_SECRET: "s".repeat(32), SERVICE_URL: "http://127.0.0.1:9" },
      ...{ AVATAR_WORKER_PORT: "0", RUST_LOG: "off" },
    });
    await worker.waitFor(/"msg":"started"/);
    const pids = [worker.pid, ...childrenOf(worker.pid)];
    // The kernel makes root the owner of these files when a process is not dumpable.
    expect(pids.map((pid) => statSync(`/proc/${pid}/mem`).uid)).toEqual([0, 0]);
    worker.kill("SIGTERM");
    expect(await worker.exited).toBe(0);
  },
);
