/** The sandbox around children that misbehave. The inspections have separate tests. */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { chmod, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "@realtime-avatar/testing/alive";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { inspector } from "../../test/support/inspector.ts";
import { childCommand, ownProgram } from "./command.ts";
import { manyTexts, png } from "./corpus/images.testing.ts";
import { confinementOfMachine, type Failed, isTransient, SANDBOX_LIMITS, type SandboxLimits } from "./limited.ts";
import { runInSandbox } from "./run.ts";
import { canFilterSystemCalls } from "./system-calls.ts";
import { SANDBOX_ID } from "./user.ts";
import { MAX_THREADS } from "./watch.ts";

const PROBE = join(import.meta.dir, "probe.testing.ts");
const isLinux = process.platform === "linux";
const isRoot = process.getuid?.() === 0;
const ORDINARY_USER = isRoot ? ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"] : [];

const folder = await fileFolder();
const input = join(folder, "input");
await writeFile(input, "the input");
const publicImage = () => join(folder, "public.webp");
afterEach(() => rm(publicImage(), { force: true }));

const JPEG = { kind: "image", contentType: "image/jpeg" } as const;
const PNG = { kind: "image", contentType: "image/png" } as const;
const probeCommand = (task: string, behavior: string, argument = ""): string[] => [
  ...[process.execPath, "--no-env-file", PROBE, task, behavior, argument],
];

/** The outcome of a child with this behaviour. */
const probe = (
  behavior: string,
  { argument = "", parent = tmpdir(), ...limits }: Partial<SandboxLimits> & { argument?: string; parent?: string } = {},
) =>
  runInSandbox(
    JPEG,
    { input, outputs: [publicImage()] },
    {
      folder: parent,
      limits: { ...SANDBOX_LIMITS, ...limits },
      command: (task) => probeCommand(task, behavior, argument),
    },
  );
/** The report of the child. */
const told = async (behavior: string, options: Parameters<typeof probe>[1] = {}) => {
  const outcome = await probe(behavior, options);
  if (outcome.kind !== "failed") throw new Error("the probe made a report");
  return JSON.parse(outcome.stderr);
};

describe("a child in the sandbox", () => {
  test("a child, started: its file, an empty environment, a folder and limits", async () => {
    const { environment, cwd, input: text, limits } = await told("tell");
    expect(text).toBe("the input");
    expect(environment).toEqual([
      "BUN_JSC_jitMemoryReservationSize",
      "BUN_JSC_useOMGJIT",
      "BUN_RUNTIME_TRANSPILER_CACHE_PATH",
      "TMPDIR",
      "VIPS_DISC_THRESHOLD",
    ]);
    expect(cwd).toContain("realtime-avatar-sandbox-");
    expect(existsSync(cwd)).toBe(false);
    if (!isLinux) return;
    expect(limits).toMatch(/Max cpu time +10 +11 /);
    expect(limits).toMatch(/Max data size +939524096 +939524096 /);
    expect(limits).toMatch(/Max file size +33554432 +33554432 /);
    expect(limits).toMatch(/Max open files +64 +64 /);
    expect(limits).toMatch(/Max core file size +0 +0 /);
    const { threads } = (await confinementOfMachine()).description;
    expect(limits.includes(`Max processes             ${64 * MAX_THREADS} `)).toBe(threads);
  });

  test.skipIf(!canFilterSystemCalls() || (isRoot && Bun.which("setpriv") === null))(
    "a child, opening a file: filtered, and its memory closed to other processes",
    async () => {
      const preload = join(folder, "preload.ts");
      // Reports the state of the child at its end, in place of its success.
      await writeFile(
        preload,
        `import { readFileSync, statSync, writeFileSync } from "node:fs";
      process.on("exit", () => {
        writeFileSync(2, readFileSync("/proc/self/status"));
        writeFileSync(2, "Owner of its memory: " + statSync("/proc/self/mem").uid + "\\n");
        process.exitCode = 9;
      });`,
      );
      await chmod(folder, 0o755);
      const picture = join(folder, "picture");
      await writeFile(picture, await png());
      const own = ownProgram();
      const outcome = await runInSandbox(
        PNG,
        { input: picture, outputs: [publicImage()] },
        {
          // An ordinary user, who would otherwise own the memory.
          command: (task) => [...ORDINARY_USER, ...childCommand(task).toSpliced(2, 0, "--preload", preload)],
          program: { ...own, paths: [...own.paths, preload], listed: [...own.listed, folder] },
        },
      );
      await Promise.all([rm(preload), rm(picture), chmod(folder, 0o700)]);
      expect(outcome).toMatchObject({ kind: "failed", detail: "The inspection ended with exit code 9." });
      const { stderr } = outcome as { stderr: string };
      expect(stderr).toMatch(/^NoNewPrivs:\s+1$/m);
      expect(stderr).toMatch(/^Seccomp:\s+2$/m);
      // The kernel gives the memory to root, because the child is not dumpable.
      expect(stderr).toContain("Owner of its memory: 0\n");
    },
  );

  test("a child, connecting: no network, if the system allows its removal", async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    const { namespaces } = (await confinementOfMachine()).description;
    const result = await told("connect", { argument: String(port) });
    server.close();
    expect([result !== "connected", connections === 0]).toEqual([namespaces, namespaces]);
  });

  test.skipIf(!isLinux)("a child, writing a large file: refused", async () => {
    expect(await told("large")).not.toBe("done");
  });

  test.each([
    ["memory", "out_of_memory", /1024 MiB/],
    ["crash", "crashed", /SIGSEGV/],
    ["exit", "crashed", /exit code 7/],
    ["flood", "invalid_report", /without a valid report/],
    ["shout", "crashed", /SIGKILL/],
    ["silent", "invalid_report", /without a valid report/],
    ["garbage", "invalid_report", /without a valid report/],
    ["lie", "invalid_report", /without a valid report/],
    ["extra", "invalid_report", /without a valid report/],
    ["unknown", "invalid_report", /without a valid report/],
  ])("a child, doing %s: %s", async (behavior, code, detail) => {
    const outcome = await probe(behavior);
    expect(outcome).toMatchObject({ kind: "failed", code, detail: expect.stringMatching(detail) } as never);
    // The file of the public image was created for the child.
    expect(existsSync(publicImage())).toBe(false);
  });

  test("a child, allocating objects: ends as out of memory or a crash", async () => {
    const outcome = await probe("objects", { memoryBytes: 400 * 1024 * 1024 });
    expect(outcome).toMatchObject({
      kind: "failed",
      code: expect.stringMatching(/^(out_of_memory|crashed)$/),
    } as never);
  });

  test("a child, without a kernel limit of memory: killed by its resident memory", async () => {
    const { description } = await confinementOfMachine();
    const outcome = await runInSandbox(
      JPEG,
      { input, outputs: [publicImage()] },
      {
        limits: { ...SANDBOX_LIMITS, memoryBytes: 200 * 1024 * 1024 },
        confinement: { wrap: (command) => [...command], description },
        command: (task) => probeCommand(task, "memory"),
      },
    );
    if (isLinux) expect(outcome).toMatchObject({ kind: "failed", code: "out_of_memory" });
  });

  test("a child, sleeping: killed after its time, possibly the machine's fault", async () => {
    const outcome = await probe("sleep", { wallMs: 500 });
    expect(outcome).toMatchObject({ kind: "failed", code: "stalled" });
    expect(isTransient(outcome as Failed)).toBe(true);
  });

  test.skipIf(!isLinux)(
    "a child, spinning and catching signals: killed by its processor time, the file's fault",
    async () => {
      const outcome = await probe("spinAndCatch", { cpuSeconds: 1 });
      expect(outcome).toMatchObject({ kind: "failed", code: "timed_out" });
      expect(isTransient(outcome as Failed)).toBe(false);
    },
  );

  test.skipIf(!isLinux)("a child, with more threads than its share: killed, not the machine's fault", async () => {
    const outcome = await probe("threads", { argument: String(MAX_THREADS) });
    expect(outcome).toMatchObject({ kind: "failed", code: "too_many_threads" });
    expect(isTransient(outcome as Failed)).toBe(false);
  });

  test.skipIf(!isLinux || (isRoot && Bun.which("setpriv") === null))(
    "a child, while its user has as many threads as 63 others: gets its own",
    async () => {
      const asUser = isRoot ? ["setpriv", `--reuid=${SANDBOX_ID}`, `--regid=${SANDBOX_ID}`, "--clear-groups"] : [];
      // Each process waits for input that never arrives.
      const many = "exec 3<&0; i=0; while [ $i -lt 756 ]; do read _ <&3 & i=$((i+1)); done; echo started; wait";
      const holder = Bun.spawn([...asUser, "sh", "-c", many], { stdin: "pipe", stdout: "pipe", detached: true });
      const picture = join(folder, "picture");
      await writeFile(picture, await png());
      try {
        await holder.stdout.getReader().read();
        const files = { input: picture, outputs: [publicImage()] };
        const outcome = await runInSandbox(PNG, files, { command: inspector });
        expect(outcome).toMatchObject({ kind: "accepted" });
      } finally {
        process.kill(-holder.pid, "SIGKILL");
        await Promise.all([holder.exited, rm(picture)]);
      }
    },
  );

  // A child of root changes its user. The kernel then drops the setting that ends the child with its parent.
  test.skipIf(!isLinux).each([...(isRoot ? ["userAndSleep"] : []), "sleep"])(
    "a child that does %s, and whose worker is killed: ends",
    async (behavior) => {
      const program = `import { runInSandbox } from ${JSON.stringify(join(import.meta.dir, "run.ts"))};
        const command = () => ["${process.execPath}", "--no-env-file", "${PROBE}", "", "${behavior}"];
        await runInSandbox({ kind: "video", contentType: "video/mp4" }, { input: "${input}", outputs: [] }, { command });`;
      const worker = Bun.spawn([process.execPath, "--no-env-file", "-e", program]);
      /** A file of /proc; empty once its process has ended. */
      const textOf = (path: string): string => {
        try {
          return readFileSync(`/proc/${path}`, "utf8").trim();
        } catch {
          return "";
        }
      };
      /**
       * The child, after it has become the probe and, if applicable, another user. The first children only test the
       * possible confinement.
       */
      const findChild = (): string | undefined =>
        textOf(`${worker.pid}/task/${worker.pid}/children`)
          .split(" ")
          .find((pid) => {
            const [name, , path] = textOf(`${pid}/cmdline`).split("\0");
            const isProbe = name === process.execPath && path === PROBE;
            return isProbe && (behavior === "sleep" || textOf(`${pid}/status`).includes(String(SANDBOX_ID)));
          });
      const pid = await until(findChild, { pollMs: 5 });
      worker.kill("SIGKILL");
      await worker.exited;
      await until(() => !existsSync(`/proc/${pid}`));
    },
  );

  test("a child, with descendants: they end with it", async () => {
    const pid = await told("linger");
    await until(() => !isAlive(pid));
  });

  test("a child whose work is canceled: killed", async () => {
    const outcome = await runInSandbox(
      JPEG,
      { input, outputs: [publicImage()] },
      {
        signal: AbortSignal.timeout(300),
        command: (task) => probeCommand(task, "sleep"),
      },
    );
    expect(outcome).toMatchObject({ kind: "failed", code: "canceled" });
  });

  test.skipIf(!isLinux || !isRoot)(
    "a child of a worker that is root: another user, no capabilities, cannot read the worker",
    async () => {
      // `secrets.test.ts` tests the same for a child of the same user.
      const { ids, capabilities, parent, back } = await told("user");
      expect(ids).toEqual([SANDBOX_ID, SANDBOX_ID, []]);
      expect([capabilities, parent]).toEqual(["none", "EACCES"]);
      expect(back).not.toBe("done");
    },
  );
});

test("a bundle of the worker, as a child: inspects an image", async () => {
  await writeFile(join(folder, "picture"), await png());
  const files = { input: join(folder, "picture"), outputs: [publicImage()] };
  const outcome = await runInSandbox(PNG, files, { command: inspector });
  await rm(files.input);
  expect(outcome).toMatchObject({ kind: "accepted", width: 96, height: 64 });
});

test.skipIf(!isLinux)("a picture whose texts need more than the memory, inspected: the fault of the file", async () => {
  await writeFile(join(folder, "texts"), manyTexts(200, 7 * 1024 * 1024));
  const files = { input: join(folder, "texts"), outputs: [publicImage()] };
  const outcome = await runInSandbox(PNG, files, { command: inspector });
  await rm(files.input);
  expect(outcome).toMatchObject({ kind: "failed", code: "out_of_memory" });
});

describe("the files of the sandbox", () => {
  test("a missing input, a link as input or an existing output: an error of the worker", async () => {
    await expect(runInSandbox(JPEG, { input: join(folder, "missing"), outputs: [publicImage()] })).rejects.toThrow(
      "ENOENT",
    );
    await writeFile(publicImage(), "x");
    await expect(runInSandbox(JPEG, { input, outputs: [publicImage()] })).rejects.toThrow("EEXIST");
    expect(existsSync(publicImage())).toBe(true);
  });

  test("a failed child, afterwards: no file is left", async () => {
    // A separate folder, because other tests run children at the same time.
    const parent = await temporaryFolder();
    const seen = await readdir(folder);
    expect(await probe("crash", { parent })).toMatchObject({ kind: "failed" });
    expect(await probe("sleep", { parent, wallMs: 200 })).toMatchObject({ kind: "failed" });
    expect([await readdir(parent), await readdir(folder)]).toEqual([[], seen]);
    await rm(parent, { recursive: true });
  });
});
