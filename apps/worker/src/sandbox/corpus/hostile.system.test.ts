/**
 * The hostile corpus in the sandbox: a sample, and with LONG=1 all of it. The parent survives every file. A child that
 * exceeds 1 GiB or 30 s is ended by the sandbox, which counts as refused by a limit.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { detectContentType, type Magic } from "@realtime-avatar/domain/assets/magic";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { inspector } from "../../../test/support/inspector.ts";
import { SANDBOX_LIMITS } from "../limited.ts";
import { runInSandbox, type SandboxOutcome } from "../run.ts";
import { type HostileFile, hostileFiles, openAll, validFiles } from "./hostile.testing.ts";

const isFull = process.env["LONG"] === "1";
const folder = await fileFolder();
setDefaultTimeout(3_600_000);

/** The type for files whose first bytes are of no accepted type. They are opened too, as a second line of defense. */
const FALLBACK_TYPE: Magic = { kind: "image", contentType: "image/jpeg" };

let peakBytes = 0;

/** The outcome of a file, as in the worker: refused by its first bytes, or opened in the sandbox. */
const open = async ({ name }: HostileFile, bytes: Buffer): Promise<SandboxOutcome> => {
  const input = join(folder, name);
  const publicImage = `${input}.public.webp`;
  await writeFile(input, bytes);
  const magic = detectContentType(bytes) ?? FALLBACK_TYPE;
  const outcome = await runInSandbox(
    magic,
    { input, outputs: magic.kind === "image" ? [publicImage] : [] },
    {
      command: inspector,
      onEnd: (usage) => {
        peakBytes = Math.max(peakBytes, usage.peakBytes);
      },
    },
  );
  expect([name, existsSync(publicImage)]).toEqual([name, outcome.kind === "accepted" && magic.kind === "image"]);
  await rm(input);
  await rm(publicImage, { force: true });
  return outcome;
};

test(`valid files, of every type: accepted (${isFull ? "all" : "one of each; LONG=1 for all"})`, async () => {
  const valid = Object.entries(await validFiles());
  const types = valid.map(([, bytes]) => detectContentType(bytes)?.contentType);
  const files = valid
    .filter((_, index) => isFull || types.indexOf(types[index]) === index)
    .map(([name, bytes]): HostileFile => ({ name, bytes: () => bytes, expected: "accepted" }));
  const results = await openAll(files, open);
  expect(results.filter(([, { kind }]) => kind !== "accepted")).toEqual([]);
  expect(results).toHaveLength(files.length);
});

test(`hostile files, opened: refused or ended by a limit (${isFull ? "all" : "a sample; LONG=1 for all"})`, async () => {
  const files = await hostileFiles(isFull);
  expect(files.length).toBeGreaterThanOrEqual(isFull ? 200 : 10);
  expect(new Set(files.map(({ name }) => name)).size).toBe(files.length);
  const results = await openAll(files, open);
  const outcomes = results.map(([{ name, expected }, outcome]) => ({ name, expected, outcome }));
  expect(outcomes).toHaveLength(files.length);
  const wrong = outcomes.filter(({ expected, outcome }) => expected !== "any" && outcome.kind !== expected);
  expect(wrong).toEqual([]);
  // A limit of the sandbox is a safe end, but a report without a valid form is a fault of the inspection.
  const faults = outcomes.filter(({ outcome }) => outcome.kind === "failed" && outcome.code === "invalid_report");
  expect(faults).toEqual([]);
  expect(peakBytes).toBeLessThanOrEqual(SANDBOX_LIMITS.memoryBytes);
  if (isFull) {
    const counts = new Map<string, number>();
    for (const { name, outcome } of outcomes) {
      const key = outcome.kind === "failed" ? `failed: ${outcome.code} (${name})` : outcome.kind;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    process.stdout.write(
      `${JSON.stringify({ files: files.length, peakBytes, outcomes: Object.fromEntries(counts) })}\n`,
    );
  }
});
