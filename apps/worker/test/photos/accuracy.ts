/** Counts how often the checks were right, from the measures and the expected verdicts. */
import { isAccepted, type Measured } from "./measured.ts";
import { FACE_CODES, type FaceCode } from "./variations.ts";

export type Hits = {
  /** Pictures that the check should accept; how many of them it refused; how many of them only this check refused. */
  good: number;
  warned: number;
  wronglyRefused: number;
  /** Pictures that the check should refuse. */
  bad: number;
  refused: number;
  /** Refused only by another check, mostly because no face was found. */
  refusedByAnother: number;
  wronglyAccepted: number;
};

const count = (all: readonly Measured[], applies: (each: Measured) => boolean): number => all.filter(applies).length;

/** The hits and misses of one check. */
export const countHits = (code: FaceCode, all: readonly Measured[]): Hits => {
  const good = all.filter(({ expected }) => expected[code] === "pass" || expected[code] === "warn");
  const bad = all.filter(({ expected }) => expected[code] === "fail");
  const has = (verdict: string) => (each: Measured) => each.checks[code]?.verdict === verdict;
  return {
    good: good.length,
    warned: count(good, has("warn")),
    wronglyRefused: count(good, has("fail")),
    bad: bad.length,
    refused: count(bad, has("fail")),
    refusedByAnother: count(bad, (each) => !has("fail")(each) && !isAccepted(each)),
    wronglyAccepted: count(bad, isAccepted),
  };
};

/** The pictures that are not as expected: good ones that are refused, and bad ones that are accepted. */
export const listMisses = (all: readonly Measured[]): Measured[] =>
  all.filter((each) => each.isGood !== null && each.isGood !== isAccepted(each));

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;

const HEAD = [
  row([
    "Check",
    "Good",
    "of these with a warning",
    "wrongly refused",
    "Bad",
    "refused by the check",
    "by another check",
    "wrongly accepted",
  ]),
  row(["---", "---:", "---:", "---:", "---:", "---:", "---:", "---:"]),
];

/** The table of hits and misses, in Markdown: a row for each check, and one for all checks together. */
export const accuracyTable = (all: readonly Measured[]): string => {
  const rows = FACE_CODES.map((code) => {
    const hits = countHits(code, all);
    return row([
      `\`${code}\``,
      hits.good,
      hits.warned,
      hits.wronglyRefused,
      hits.bad,
      hits.refused,
      hits.refusedByAnother,
      hits.wronglyAccepted,
    ]);
  });
  const [good, bad] = [all.filter(({ isGood }) => isGood === true), all.filter(({ isGood }) => isGood === false)];
  const warned = good.filter(
    (each) => isAccepted(each) && Object.values(each.checks).some((it) => it.verdict === "warn"),
  );
  const total = row([
    "all together",
    good.length,
    warned.length,
    good.length - count(good, isAccepted),
    bad.length,
    bad.length - count(bad, isAccepted),
    "",
    count(bad, isAccepted),
  ]);
  return [...HEAD, ...rows, total].join("\n");
};

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;

/** The values that each check measured in pictures that it should accept, and in pictures that it should refuse. */
export const distributionTable = (all: readonly Measured[]): string =>
  FACE_CODES.flatMap((code) =>
    (["pass", "warn", "fail", undefined] as const).map((verdict) => {
      const values = all
        .filter(({ expected }) => expected[code] === verdict)
        .flatMap(({ checks }) => checks[code]?.measured ?? [])
        .sort((a, b) => a - b);
      const shares = [0, 0.02, 0.1, 0.5, 0.9, 0.98, 1].map((share) => quantile(values, share).toFixed(1).padStart(8));
      return `${code.padEnd(16)}${(verdict ?? "open").padEnd(6)}${String(values.length).padStart(4)}${shares.join("")}`;
    }),
  ).join("\n");
