/**
 * The hostile corpus as sources of avatars: a sample, and with LONG=1 all of it. The parent survives every file. No
 * child uses more than 1 GiB. Each file gets checks; those of a refused file give the reason.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { detectContentType, type Magic } from "@realtime-avatar/domain/assets/magic";
import { Check } from "@realtime-avatar/domain/avatars/checks";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { inspector } from "../../test/support/inspector.ts";
import { type HostileFile, hostileFiles, openAll } from "../sandbox/corpus/hostile.testing.ts";
import { SANDBOX_LIMITS } from "../sandbox/limited.ts";
import { type CheckedSource, createCheckSource } from "./check-source.ts";
import { describeFailures } from "./checks.ts";
import { hostilePortraits } from "./hostile.testing.ts";

const isFull = process.env["LONG"] === "1";
const base = await fileFolder();
setDefaultTimeout(3_600_000);

/** The type for files whose first bytes are of no accepted type. They are checked too, as a second line of defense. */
const FALLBACK_TYPE: Magic = { kind: "image", contentType: "image/jpeg" };

let peakBytes = 0;
const failures: unknown[] = [];
const checkSource = createCheckSource({
  log: { warn: (entry: unknown) => failures.push(entry) } as never,
  command: inspector,
  onEnd: (usage) => {
    peakBytes = Math.max(peakBytes, usage.peakBytes);
  },
});

const check = async ({ name }: HostileFile, bytes: Buffer): Promise<{ outcome: CheckedSource; ms: number }> => {
  const folder = join(base, name);
  await mkdir(folder, { mode: 0o700 });
  const path = join(folder, "original");
  await writeFile(path, bytes);
  const start = performance.now();
  const magic = detectContentType(bytes) ?? FALLBACK_TYPE;
  const outcome = await checkSource({ magic, path, folder }, new AbortController().signal);
  const ms = performance.now() - start;
  await rm(folder, { recursive: true });
  return { outcome, ms };
};

test(`hostile files, checked: each ends with checks (${isFull ? "all" : "a sample; LONG=1 for all"})`, async () => {
  // The whole sample of files that are not portraits is in `sandbox/corpus/hostile.system.test.ts`.
  const all = [...(await hostileFiles(isFull)), ...hostilePortraits()];
  const files = all.filter((_, index) => isFull || index % 6 === 0);
  const results = (await openAll(files, check)).map(([{ name }, result]) => ({ name, ...result }));
  expect(results).toHaveLength(files.length);
  for (const { name, outcome } of results) {
    // None is a good portrait: the videos have no decodable frame, and no image has exactly one face.
    const error = outcome.kind === "checked" ? describeFailures(outcome.checks) : "";
    expect([name, outcome]).toMatchObject([name, { kind: "checked", files: null }]);
    expect([name, error.length > 0]).toEqual([name, true]);
    if (outcome.kind === "checked") expect(Value.Check(Type.Array(Check), outcome.checks)).toBe(true);
  }
  expect(peakBytes).toBeLessThanOrEqual(SANDBOX_LIMITS.memoryBytes);
  if (isFull) {
    const slowest = results.toSorted((a, b) => b.ms - a.ms).slice(0, 5);
    const codes = results.flatMap(({ outcome }) =>
      outcome.kind === "checked" ? outcome.checks.filter(({ verdict }) => verdict === "fail") : [],
    );
    const report = {
      files: files.length,
      peakBytes,
      childrenThatFailed: failures,
      slowest: slowest.map(({ name, ms }) => [name, Math.round(ms)]),
      failed: Object.fromEntries(
        [...new Set(codes.map(({ code }) => code))].map((code) => [
          code,
          codes.filter((each) => each.code === code).length,
        ]),
      ),
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  }
});
