/**
 * The files that a child may open (`landlock.ts`). Another process of the same user also makes each attempt, to show
 * that it works.
 */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chownSync, openSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { chmod, chown, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunningProcess, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { ownProgram } from "../command.ts";
import { findConfinement } from "../confinement.ts";
import { writeFrame } from "../frame.ts";
import { landlockVersion } from "../landlock.ts";
import { runInSandbox } from "../run.ts";
import { SANDBOX_ID } from "../user.ts";
import type { Places } from "./files.testing.ts";

// Tests do not assert times, and a slow machine must not fail one.
setDefaultTimeout(120_000);

const PROBE = join(import.meta.dir, "files.testing.ts");
const isRoot = process.getuid?.() === 0;
// As root, the children of a test and their files have the user of ffmpeg.
const AS_USER = isRoot ? ["setpriv", `--reuid=${SANDBOX_ID}`, `--regid=${SANDBOX_ID}`, "--clear-groups"] : [];
const canRun = landlockVersion() > 0 && (!isRoot || Bun.which("setpriv") !== null);
const NAMES = ["session-secret", "to-truncate", "to-remove", "to-move", "to-open"];
const SECRET = "hunter2";

let base = "";
let places: Places;
let other: RunningProcess;

/** Gives a file or a folder to the user of the children. */
const give = (path: string): Promise<void> => (isRoot ? chown(path, SANDBOX_ID, SANDBOX_ID) : Promise.resolve());
const giveNow = (path: string): void => {
  if (isRoot) chownSync(path, SANDBOX_ID, SANDBOX_ID);
};
const ownFile = async (path: string, mode = 0o600): Promise<void> => {
  await writeFile(path, SECRET, { mode });
  await chmod(path, mode);
  await give(path);
};

beforeEach(async () => {
  base = await temporaryFolder();
  const [outside, sibling, program] = ["outside", "realtime-avatar-sandbox-other", "program"].map((name) =>
    join(base, name),
  ) as [string, string, string];
  for (const folder of [outside, sibling]) {
    await mkdir(folder, { mode: 0o700 });
    await give(folder);
  }
  await Promise.all(
    [...NAMES.map((name) => join(outside, name)), join(sibling, "original"), program].map((path) => ownFile(path)),
  );
  await ownFile(join(base, "input"), 0o666);
  // Stands for the API, the worker, or PostgreSQL.
  other = startProcess([...AS_USER, "sh", "-c", 'cd "$1" && exec sleep 1000', "sh", outside], { SECRET });
  places = { outside, sibling, pid: other.pid, program };
  await until(() => readFileSync(`/proc/${other.pid}/cmdline`, "latin1").startsWith("sleep"), { pollMs: 5 });
});
afterEach(async () => {
  other.kill("SIGKILL");
  await other.exited;
  await rm(base, { recursive: true });
});

type Outcomes = { refused: Record<string, string>; allowed: Record<string, string> };
const COMMAND = [...AS_USER, process.execPath, "--no-env-file", PROBE];

/** The report of a child with these places. */
const attempts = async (mayHaveNamespaces: boolean): Promise<Outcomes> => {
  const own = ownProgram();
  const outcome = await runInSandbox(
    { kind: "image", contentType: "image/jpeg" },
    { input: join(base, "input"), outputs: [join(base, "public.webp")] },
    {
      folder: base,
      confinement: await findConfinement({ mayHaveNamespaces }),
      program: { ...own, paths: [...own.paths, places.program] },
      command: () => {
        const name = readdirSync(base).find((entry) => /^realtime-avatar-sandbox-\w{6}$/.test(entry)) ?? "";
        giveNow(join(base, name));
        symlinkSync(join(places.outside, "session-secret"), join(base, name, "a-link"));
        return [...COMMAND, JSON.stringify(places), "filtered"];
      },
    },
  );
  if (outcome.kind !== "failed") throw new Error("the probe made a report");
  return JSON.parse(outcome.stderr) as Outcomes;
};

describe.skipIf(!canRun)("a child and the files of its user", () => {
  test("a child, without its confinement: every attempt succeeds", async () => {
    const folder = join(base, "own");
    await mkdir(folder);
    await give(folder);
    symlinkSync(join(places.outside, "session-secret"), join(folder, "a-link"));
    const stdio = [openSync(join(base, "input"), "r"), "pipe", "pipe", openSync(join(base, "output"), "w")] as const;
    const child = Bun.spawn([...COMMAND, JSON.stringify(places)], { cwd: folder, env: {}, stdio: [...stdio] });
    const { refused, allowed } = JSON.parse(await child.stderr.text()) as Outcomes;
    expect(Object.entries({ ...refused, ...allowed }).filter(([, said]) => said !== "done")).toEqual([]);
  });

  test.each([true, false])("a child, opening files: only its own (namespaces: %p)", async (mayHaveNamespaces) => {
    const { refused, allowed } = await attempts(mayHaveNamespaces);
    expect(Object.keys(refused).length).toBeGreaterThan(20);
    expect(Object.entries(refused).filter(([, said]) => !/^(EACCES|EPERM|EXDEV|Error: refused)$/.test(said))).toEqual(
      [],
    );
    expect(Object.entries(allowed).filter(([, said]) => said !== "done")).toEqual([]);
    for (const name of NAMES) expect(readFileSync(join(places.outside, name), "utf8")).toBe(SECRET);
    expect(readdirSync(places.outside).sort()).toEqual([...NAMES].sort());
  });
});

describe.skipIf(!canRun)("the program that decodes a video", () => {
  /** A program in place of ffmpeg. */
  const script = async (text: string): Promise<string> => {
    const path = join(base, "script");
    await writeFile(path, `#!/bin/sh\n${text}\n`);
    await chmod(path, 0o755);
    return path;
  };
  const frame = async (program: string, options: Parameters<typeof writeFrame>[3] = {}) => {
    const [path, output] = [join(base, "video"), join(base, "frame")];
    await rm(path, { force: true });
    await writeFile(path, "the video");
    const outcome = await writeFrame(
      program,
      { path, contentType: "video/mp4", codec: "avc", seconds: 0 },
      output,
      options,
    );
    return { outcome, written: outcome.kind === "written" ? readFileSync(output, "utf8") : null };
  };

  test.each([
    ["reads a file", "cat outside/session-secret"],
    ["reads the folder of another child", "cat realtime-avatar-sandbox-other/original"],
    ["reads the variables of a process", "cat /proc/PID/environ"],
    ["opens the memory of a process", "dd if=/proc/PID/mem count=0"],
    ["creates a file", "dd if=/dev/null of=outside/created"],
    ["truncates a file", "truncate -s 0 outside/to-truncate"],
    ["removes a file", "rm -f outside/to-remove"],
    ["moves a file", "mv outside/to-move outside/moved"],
    ["links a file", "ln outside/session-secret outside/linked"],
    ["opens a file for others", "chmod 0644 outside/to-open"],
  ])("the program, taken over: never %s", async (_, command) => {
    const text = command.replaceAll("outside", places.outside).replace("realtime-avatar-sandbox-other", places.sibling);
    const program = await script(`exec ${text.replace("PID", String(places.pid))} 2>&1`);
    for (const mayHaveNamespaces of [true, false]) {
      const { outcome } = await frame(program, { confinement: await findConfinement({ mayHaveNamespaces }) });
      expect(outcome).toEqual({ kind: "not_decodable" });
    }
    expect(readdirSync(places.outside).sort()).toEqual([...NAMES].sort());
    // The same user, with the same program, without confinement.
    expect((await runToEnd([...AS_USER, program])).code).toBe(0);
  });

  test("the memory of the program: no other child opens it", async () => {
    // Its first output is its process id, which remains that of the program that it becomes.
    const program = await script("echo $$; exec sleep 1000");
    const stop = new AbortController();
    const running = frame(program, { signal: stop.signal });
    let pid = "";
    while (!/^\d+\n$/.test(pid)) {
      await Bun.sleep(5);
      try {
        pid = readFileSync(join(base, "frame"), "utf8");
      } catch {
        // The file does not exist yet.
      }
    }
    places = { ...places, pid: Number(pid) };
    for (const mayHaveNamespaces of [true, false]) {
      const { refused } = await attempts(mayHaveNamespaces);
      expect(refused["open the memory of a process"]).toBe("EACCES");
      expect(refused["read the variables of a process"]).toBe("EACCES");
    }
    stop.abort();
    await running;
  });
});
