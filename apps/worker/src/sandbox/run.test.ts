/** The interpretation of the end and of the report of a child. `run.system.test.ts` tests confined children. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { until } from "@realtime-avatar/testing/until";
import type { Confinement } from "./confinement.ts";
import { DECODE_LIMITS } from "./film/decode-audio.ts";
import { videoLimits } from "./film/run.ts";
import { FILM_LIMITS, FRAME_LIMITS } from "./frame.ts";
import {
  confinementOfMachine,
  type Descriptors,
  isTransient,
  runConfined,
  SANDBOX_LIMITS,
  type SandboxLimits,
} from "./limited.ts";
import { runInSandbox, sandboxLimits } from "./run.ts";
import { MAX_THREADS } from "./watch.ts";

const folder = await fileFolder();
const files = { input: join(folder, "input"), outputs: [join(folder, "public.webp")] };
await writeFile(files.input, "the input");

const NOT_CONFINED: Confinement = {
  wrap: (command) => [...command],
  description: { limits: false, namespaces: false, threads: false, systemCalls: false, files: false },
};
const REPORT = { kind: "accepted", width: 1, height: 1, publicWidth: 1, publicHeight: 1, publicBytes: 1 };
/** The outcome of a child that runs these commands of a shell. */
const shell = (commands: string) =>
  runInSandbox({ kind: "image", contentType: "image/jpeg" }, files, {
    confinement: NOT_CONFINED,
    command: () => ["/bin/sh", "-c", commands],
  });

test("a child that reports an unwritten picture: its report is invalid, and no file is left", async () => {
  expect(await shell(`echo '${JSON.stringify(REPORT)}'`)).toMatchObject({ kind: "failed", code: "invalid_report" });
  expect(files.outputs.map(existsSync)).toEqual([false]);
});

test("a child that leaves a process behind: its output is read; the process ends", async () => {
  const outcome = await shell("sleep 1000 & echo $! >&2; exit 3");
  expect(outcome).toMatchObject({ kind: "failed", code: "crashed", stderr: expect.stringMatching(/^\d+\n$/) });
  const pid = Number(outcome.kind === "failed" && outcome.stderr);
  await until(() => !existsSync(`/proc/${pid}`), { pollMs: 5 });
});

/** Opened separately, so that each test sees which descriptors a child gets. */
const descriptorsTo = async (use: (descriptors: Descriptors) => Promise<void>): Promise<void> => {
  const input = await open(files.input, "r");
  await use({ input: input.fd, output: "pipe", others: [], folder }).finally(() => input.close());
};
/** The soft and the hard limit of each resource, by the names of proc_pid_limits(5). */
const resourcesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^(Max [a-z ]+?) {2,}(\w+) +(\w+) /gm)].map(([, name, soft, hard]) => [name, `${soft} ${hard}`]),
  );

const MIB = 2 ** 20;
const FILM = { kind: "film", samples: 9 * 48_000, mesh: null, label: "", isTest: false, seed: 0 } as const;

// Seconds of processor time, memory in MiB, and the largest file in bytes.
test.skipIf(process.platform !== "linux").each<[string, SandboxLimits, number, number, number]>([
  ["an image", sandboxLimits("image"), 10, 896, 32 * MIB],
  ["a portrait", sandboxLimits("portrait"), 10, 1536, 32 * MIB],
  ["a video", sandboxLimits("video"), 5, 896, 32 * MIB],
  ["an audio file", sandboxLimits("audio"), 5, 896, 32 * MIB],
  ["a loop", sandboxLimits("loop"), 30, 1536, 32 * MIB],
  ["a frame of a video", FRAME_LIMITS, 10, 896, 32 * MIB],
  ["the frames of a loop", FILM_LIMITS, 20, 896, 32 * MIB],
  ["a recording to decode", DECODE_LIMITS, 30, 896, 57_792_000],
  ["a sound", videoLimits({ kind: "sound", source: { kind: "pcm" } }), 90, 1024, 58_648_576],
  ["a film of 9 s", videoLimits(FILM), 25, 1536, 8 * MIB + 3_000_000],
])(
  "a child for %s: its limits of time, memory, files, threads and core dumps",
  async (_, limits, cpuSeconds, mebibytes, fileBytes) => {
    const { threads } = (await confinementOfMachine()).description;
    await descriptorsTo(async (descriptors) => {
      const ended = await runConfined(["cat", "/proc/self/limits"], descriptors, { limits });
      const resources = resourcesIn(ended.kind === "succeeded" ? ended.output : ended.stderr);
      const most = 64 * MAX_THREADS;
      expect(resources).toMatchObject({
        "Max cpu time": `${cpuSeconds} ${cpuSeconds + 1}`,
        "Max data size": `${mebibytes * MIB} ${mebibytes * MIB}`,
        "Max file size": `${fileBytes} ${fileBytes}`,
        "Max open files": "64 64",
        "Max core file size": "0 0",
        ...(threads && { "Max processes": `${most} ${most}` }),
      });
    });
  },
);

/** A child that only the worker watches, without confinement by the kernel. */
const watched = async (command: string[], limits: Partial<SandboxLimits> = {}, cancelMs?: number) => {
  const signal = cancelMs === 0 ? AbortSignal.abort() : cancelMs && AbortSignal.timeout(cancelMs);
  let outcome: Awaited<ReturnType<typeof runConfined>> | null = null;
  await descriptorsTo(async (descriptors) => {
    outcome = await runConfined(command, descriptors, {
      ...{ confinement: NOT_CONFINED, limits: { ...SANDBOX_LIMITS, ...limits } },
      ...(signal && { signal }),
    });
  });
  return outcome as unknown as Awaited<ReturnType<typeof runConfined>>;
};
const probe = (behavior: string, argument = ""): string[] => [
  ...[process.execPath, "--no-env-file", join(import.meta.dir, "probe.testing.ts"), "{}", behavior, argument],
];

/** A child that writes 100 KB to a file that may have 512 bytes. */
const writing = (program: string): string[] => [
  ...["/bin/sh", "-c", `exec 3>large; rm large; ulimit -f 1; exec ${program}`],
  process.execPath,
];

test.skipIf(process.platform !== "linux").each<[string, Parameters<typeof watched>]>([
  ["out_of_memory", [probe("memory"), { memoryBytes: 2 ** 27 }]],
  ["too_many_threads", [probe("threads", String(MAX_THREADS))]],
  ["stalled", [["sleep", "1000"], { wallMs: 100 }]],
  ["canceled", [["sleep", "1000"], {}, 100]],
  ["canceled", [["sleep", "1000"], {}, 0]],
  ["timed_out", [["/bin/sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 1"], { cpuSeconds: 0.01 }]],
  ["crashed", [probe("shout")]],
  ["file_too_large", [writing("head -c 100000 /dev/zero >&3")]],
  ["file_too_large", [writing(`"$0" -e 'for (;;) require("fs").writeSync(3, Buffer.alloc(1000))'`)]],
])("a child that the worker watches, not the kernel: %s", async (code, parts) => {
  const outcome = await watched(...parts);
  expect(outcome).toMatchObject({ kind: "failed", code } as never);
  if (outcome.kind !== "failed") return;
  // A failure that the machine may have caused is retried; a child that exceeds a limit is not.
  expect(isTransient(outcome)).toBe(["stalled", "canceled", "crashed"].includes(code));
});

test.skipIf(process.platform !== "linux")(
  "children, after every kind of end, and with missing files: no descriptor stays open, and no folder is left",
  async () => {
    const picture = { kind: "image", contentType: "image/jpeg" } as const;
    const options = { folder, confinement: NOT_CONFINED };
    const outputs = [join(folder, "1"), join(folder, "2")];
    const endAll = async (): Promise<void> => {
      for (const commands of [
        `echo '${JSON.stringify(REPORT)}'`,
        "exit 0",
        "exit 3",
        "kill -SEGV $$",
        "head -c 100000 /dev/zero",
      ]) {
        expect(await shell(commands)).toMatchObject({ kind: "failed" });
      }
      const codeOf = (error: NodeJS.ErrnoException) => error.code ?? error.message;
      const none = { input: join(folder, "none"), outputs: outputs.slice(1) };
      expect(await runInSandbox(picture, none, options).catch(codeOf)).toBe("ENOENT");
      // The second output exists. The first is removed, the second is not.
      const existing = { input: files.input, outputs: [join(folder, "1"), files.input, join(folder, "2")] };
      const portrait = { kind: "portrait", contentType: "image/jpeg", label: "AI" } as const;
      expect(await runInSandbox(portrait, existing, options).catch(codeOf)).toBe("EEXIST");
    };
    const openFiles = (): number => readdirSync("/proc/self/fd").length;
    // During the first run, Bun opens files that it keeps open.
    await endAll();
    const before = openFiles();
    await endAll();
    // Bun closes the pipe of a killed child a moment after it has reported the child's end.
    await until(() => openFiles() <= before, { pollMs: 5 });
    expect(readdirSync(folder)).toEqual(["input"]);
  },
);
