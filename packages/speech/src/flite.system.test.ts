import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { DIGESTS, TEXT } from "./flite.testing.ts";

const folder = await fileFolder();

/** A program that says the text, and prints the digest of its sound. */
const entry = join(folder, "say.ts");
await writeFile(
  entry,
  `import { createHash } from "node:crypto";
import { speakWithFlite } from ${JSON.stringify(join(import.meta.dir, "flite.ts"))};
const hash = createHash("sha256");
for await (const pcm of speakWithFlite(${JSON.stringify(TEXT)}, { providerVoice: "slt" })) hash.update(new Uint8Array(pcm.buffer));
process.stdout.write(hash.digest("hex"));
`,
);

const BUNDLE = join(folder, "bundle");
const COMMANDS: [string, string[], string[]][] = [
  [
    "a bundle, under Node",
    ["--target=node", "--conditions=bun", "--splitting", `--outdir=${BUNDLE}`],
    ["node", join(BUNDLE, "say.js")],
  ],
  ["a bundle, under Bun", ["--target=bun", `--outdir=${BUNDLE}`], [process.execPath, join(BUNDLE, "say.js")]],
  ["a compiled program", ["--compile", `--outfile=${join(folder, "say")}`], [join(folder, "say")]],
];

test.each(COMMANDS)(
  "Flite, in %s in another folder: finds its program; its speech has the same bytes",
  async (_, options, command) => {
    const { code, stderr } = await runToEnd([process.execPath, "build", entry, ...options]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(await runToEnd(command)).toEqual({ code: 0, stdout: DIGESTS["flite-slt"] ?? "", stderr: "" });
  },
);

/** Two pieces of a text. */
const counting = join(folder, "count.ts");
await writeFile(
  counting,
  `import { speakWithFlite } from ${JSON.stringify(join(import.meta.dir, "flite.ts"))};
const text = "The quick brown fox jumps over the lazy dog, and then it goes home to its family. ".repeat(4);
for await (const _ of speakWithFlite(text, { providerVoice: "slt" }));
process.stdout.write(String(process.resourceUsage().minorPageFault));
`,
);

const prlimit = Bun.which("prlimit");

// A copy of the memory faults in new pages: 1,300,000 for these two pieces before the memory was reserved. The limit is
// too small for the space that JavaScriptCore reserves for compiled code by default.
test.skipIf(prlimit === null)("Flite, with a limit of data: its memory is not copied while it speaks", async () => {
  const room = `BUN_JSC_jitMemoryReservationSize=${2 ** 26}`;
  const { code, stdout } = await runToEnd([
    "env",
    room,
    prlimit ?? "",
    `--data=${2 ** 30}`,
    process.execPath,
    counting,
  ]);
  expect(code).toBe(0);
  expect(Number(stdout)).toBeWithin(1000, 150_000);
});
