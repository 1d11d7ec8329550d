import { expect, test } from "bun:test";
import { join } from "node:path";
import { runToEnd, startProcess } from "@realtime-avatar/testing/processes";

const MODULE = JSON.stringify(join(import.meta.dir, "protect-memory.ts"));
// Root can read everything.
const asUser = process.getuid?.() === 0 ? ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"] : [];

test.skipIf(process.platform !== "linux" || Bun.which("setpriv") === null)(
  "a protected process, read by another process of its user: its environment is unreadable",
  async () => {
    const readable: Record<string, boolean> = {};
    for (const call of ["protectMemory()", "null"]) {
      const program = `import { protectMemory } from ${MODULE}; console.log("ready", ${call}); setTimeout(() => {}, 1e9);`;
      const worker = startProcess([...asUser, process.execPath, "--no-env-file", "-e", program], { SECRET: "hunter2" });
      const [ready] = await worker.waitFor(/ready \w+/);
      expect(ready).toBe(call === "null" ? "ready null" : "ready true");
      const { code, stdout } = await runToEnd([...asUser, "cat", `/proc/${worker.pid}/environ`]);
      readable[call] = code === 0 && stdout.includes("hunter2");
      worker.kill("SIGKILL");
      await worker.exited;
    }
    expect(readable).toEqual({ "protectMemory()": false, null: true });
  },
);
