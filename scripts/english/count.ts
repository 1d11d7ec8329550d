/**
 * Counts the sentences that have to be read twice, in comments, test titles and the texts of the product. `bun run check`
 * fails when a count is above its limit in `limits.json`. A limit only goes down.
 *
 *   bun scripts/english/count.ts                        the counts
 *   bun scripts/english/count.ts --list "two facts" apps/cli   the sentences of a pattern, or of `all`, below a folder
 *   bun scripts/english/count.ts --files                the files by their counts
 *   bun scripts/english/count.ts --lower                lowers the limits to the counts
 */
import { join } from "node:path";
import { PATTERNS, SUFFIX, splitSentences } from "./patterns.ts";
import { readTexts } from "./texts.ts";

type Finding = { pattern: string; file: string; line: number; sentence: string };
type Limits = Record<string, number>;

const ROOT = join(import.meta.dir, "../..");
const LIMITS = join(import.meta.dir, "limits.json");
/** Generated sources, migrations (which are never changed) and the patterns themselves. */
const LEFT_OUT = /^packages\/client\/src\/api\.ts$|^packages\/db\/(?:generated|migrations)\/|^scripts\/english\//;

const listed = await Bun.$`git ls-files --cached --others --exclude-standard -- "*.ts" "*.tsx" "*.sql"`
  .cwd(ROOT)
  .text();
const files = listed
  .trim()
  .split("\n")
  .filter((file) => !LEFT_OUT.test(file));

const findPatterns = (file: string, source: string): Finding[] => {
  const texts = readTexts(file, source).flatMap(({ line, text }) =>
    splitSentences(text).flatMap((sentence) =>
      PATTERNS.filter(({ matches }) => matches.test(sentence)).map(({ name }) => ({
        pattern: name,
        file,
        line,
        sentence,
      })),
    ),
  );
  const suffixes = [...source.matchAll(SUFFIX)].map(({ 1: name = "", index }) => ({
    pattern: "suffix",
    file,
    line: source.slice(0, index).split("\n").length,
    sentence: name,
  }));
  return [...texts, ...suffixes];
};

const read = async (file: string): Promise<Finding[]> => {
  const source = Bun.file(join(ROOT, file));
  return (await source.exists()) ? findPatterns(file, await source.text()) : [];
};
const findings = (await Promise.all(files.map(read))).flat();
const counts: Limits = Object.fromEntries(
  [...PATTERNS.map(({ name }) => name), "suffix"].map((name) => [
    name,
    findings.filter(({ pattern }) => pattern === name).length,
  ]),
);

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const [option, name = "all", below = ""] = process.argv.slice(2);
const limits: Limits = await Bun.file(LIMITS).json();

if (option === "--list") {
  const shown = findings.filter(({ pattern, file }) => (name === "all" || pattern === name) && file.startsWith(below));
  for (const { pattern, file, line, sentence } of shown) print(`${file}:${line}: ${pattern}: ${sentence}`);
} else if (option === "--files") {
  const byFile = Object.entries(Object.groupBy(findings, ({ file }) => file));
  for (const [file, own = []] of byFile.sort(([, a = []], [, b = []]) => b.length - a.length))
    print(`${own.length} ${file}`);
} else if (option === "--lower") {
  const lowered = Object.entries(counts).map(([key, count]) => [key, Math.min(count, limits[key] ?? count)]);
  await Bun.write(LIMITS, `${JSON.stringify(Object.fromEntries(lowered), null, 2)}\n`);
} else {
  const above = Object.entries(counts).filter(([key, count]) => count > (limits[key] ?? 0));
  for (const [key, count] of Object.entries(counts)) print(`${key}: ${count} of ${limits[key] ?? 0}`);
  for (const [key, count] of above) {
    const instead = PATTERNS.find((pattern) => pattern.name === key)?.instead ?? "a verb or a noun";
    process.stderr.write(`"${key}": ${count} sentences, more than ${limits[key] ?? 0}. Write ${instead}.\n`);
    process.stderr.write(`To see them: bun scripts/english/count.ts --list "${key}"\n`);
  }
  process.exit(above.length === 0 ? 0 : 1);
}
