/** Ways around the sandbox, for a child that a hostile file has taken over. */
import { dlopen, ptr } from "bun:ffi";
import { describe, expect, test } from "bun:test";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { startProcess } from "@realtime-avatar/testing/processes";
import { findConfinement } from "../confinement.ts";
import { runInSandbox } from "../run.ts";
import { canFilterSystemCalls } from "../system-calls.ts";

const PROBE = join(import.meta.dir, "escapes.testing.ts");
const USER = 65_532;
const isRoot = process.getuid?.() === 0;
/** In the image of the container, the worker and its children run as one ordinary user. */
const ORDINARY_USER = isRoot ? ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups"] : [];
const canRun = canFilterSystemCalls() && (!isRoot || Bun.which("setpriv") !== null);

const folder = await fileFolder();
const input = join(folder, "input");
await writeFile(input, "the input");

/**
 * The report of a child of an ordinary user about an attempt. `namespaces` false: as in a container, which forbids
 * them.
 */
const attempt = async (way: string, argument: string, namespaces = true) => {
  const outcome = await runInSandbox(
    { kind: "image", contentType: "image/jpeg" },
    { input, outputs: [join(folder, "public.webp")] },
    {
      confinement: await findConfinement({ mayHaveNamespaces: namespaces }),
      command: () => [...ORDINARY_USER, process.execPath, "--no-env-file", PROBE, way, argument],
    },
  );
  if (outcome.kind !== "failed") throw new Error("the probe made a report");
  if (!outcome.stderr.startsWith("{")) return { said: outcome.code };
  return JSON.parse(outcome.stderr) as { said: unknown };
};

/** Another process of the user: the worker, or another child. */
const startOther = () => startProcess([...ORDINARY_USER, "sleep", "1000"]);

describe.skipIf(!canRun)("a child in the sandbox", () => {
  test("a child, making another process the owner of its pipe: cannot kill that process", async () => {
    const other = startOther();
    await Bun.sleep(200);
    await attempt("owner", String(other.pid), false);
    const ended = await Promise.race([other.exited, Bun.sleep(500).then(() => "runs")]);
    other.kill("SIGKILL");
    expect(ended).toBe("runs");
  });

  test.each([
    ["naming another process as a socket's owner", "owner of a socket"],
    ["changing another process's priority", "priority"],
  ])("a child, %s: refused", async (_, way) => {
    const other = startOther();
    await Bun.sleep(200);
    const { said } = await attempt(way, String(other.pid), false);
    other.kill("SIGKILL");
    expect(said).toBe(-1);
  });

  test("a child, sending to a socket of the machine: refused", async () => {
    const { symbols: libc } = dlopen("libc.so.6", {
      socket: { args: ["int", "int", "int"], returns: "int" },
      bind: { args: ["int", "ptr", "u32"], returns: "int" },
      close: { args: ["int"], returns: "int" },
    });
    // A folder that every user can enter, as /run/systemd/journal is.
    const path = join(folder, "log");
    const address = Buffer.concat([Uint8Array.of(1, 0), Buffer.from(path), Uint8Array.of(0)]);
    const socket = libc.socket(1, 2, 0);
    expect(libc.bind(socket, ptr(address), address.length)).toBe(0);
    await chmod(path, 0o666);
    const { said } = await attempt("pair", path);
    libc.close(socket);
    expect(said).toBe("refused");
  });

  test("a child, asking for uncounted memory: refused", async () => {
    const { said } = await attempt("memory", "");
    expect(["refused", "out_of_memory"]).toContain(String(said));
  });
});
