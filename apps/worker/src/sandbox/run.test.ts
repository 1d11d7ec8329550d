/** What the worker makes of the end and of the report of a child. `run.system.test.ts` has children that are confined. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import type { Confinement } from "./confinement.ts";
import { runInSandbox } from "./run.ts";

const folder = await fileFolder();
const files = { input: join(folder, "input"), outputs: [join(folder, "public.webp")] };
await writeFile(files.input, "the input");

const NOT_CONFINED: Confinement = {
  wrap: (command) => [...command],
  description: { limits: false, namespaces: false, threads: false, systemCalls: false, files: false },
};
/** The outcome of a child that runs these commands of a shell. */
const shell = (commands: string) =>
  runInSandbox({ kind: "image", contentType: "image/jpeg" }, files, {
    confinement: NOT_CONFINED,
    command: () => ["/bin/sh", "-c", commands],
  });

test("a child that reports a picture which it has not written: its report is not valid, and no file is left", async () => {
  const report = { kind: "accepted", width: 1, height: 1, publicWidth: 1, publicHeight: 1, publicBytes: 1 };
  expect(await shell(`echo '${JSON.stringify(report)}'`)).toMatchObject({ kind: "failed", code: "invalid_report" });
  expect(files.outputs.map(existsSync)).toEqual([false]);
});

test("a child that leaves a process behind: what it has said is read, and the process ends", async () => {
  const outcome = await shell("sleep 1000 & echo $! >&2; exit 3");
  expect(outcome).toMatchObject({ kind: "failed", code: "crashed", stderr: expect.stringMatching(/^\d+\n$/) });
  const pid = Number(outcome.kind === "failed" && outcome.stderr);
  while (existsSync(`/proc/${pid}`)) await Bun.sleep(5);
});
