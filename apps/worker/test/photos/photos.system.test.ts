/**
 * The checks on photographs of people that were not used for their calibration. Without `LONG`, only on the clearest
 * pictures of some photographs.
 */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { PHOTOS, type Photo, photoName } from "@realtime-avatar/testing/photos";
import { accuracyTable, countHits, listMisses } from "./accuracy.ts";
import { isAccepted, measureAll } from "./measured.ts";
import { createVariations, FACE_CODES } from "./variations.ts";

// Tests do not assert times, and a slow machine must not fail one.
setDefaultTimeout(600_000);

const [fetchBefore, consoleBefore] = [globalThis.fetch, { ...globalThis.console }];
afterAll(() => {
  globalThis.fetch = fetchBefore;
  Object.assign(globalThis.console, consoleBefore);
});

const isLong = Boolean(Bun.env["LONG"]);
const report = PHOTOS.filter(({ set }) => set === "report");

const CLEAR = new Set([
  ...["as it is", "4 stops darker", "face of 8 %", "chin 30 % cut", "face covered", "beside another face"],
  ...(isLong ? ["mirrored", "1 stop darker", "blurred 5 %", "moved 10 %", "3 stops brighter"] : []),
]);
const SAMPLE: readonly [content: Photo["content"], count: number][] = [
  ["front", isLong ? 6 : 2],
  ["turned", 1],
  ["several", 1],
  ["no_face", isLong ? 2 : 1],
];

const describe = ({ photo, name, expected, checks }: Awaited<ReturnType<typeof measureAll>>[number]) => ({
  photo,
  name,
  expected,
  failed: Object.values(checks).filter(({ verdict }) => verdict === "fail"),
});

test("clear pictures, checked: accepted or refused by the expected check", async () => {
  const photos = SAMPLE.flatMap(([content, count]) =>
    report.filter((photo) => photo.content === content).slice(-count),
  );
  const fronts = photos.filter(({ content }) => content === "front").map(photoName);
  const variations = (await createVariations(photos)).filter(({ name, isGood }) => CLEAR.has(name) && isGood !== null);
  // The sample: each kind of variation of one front photograph, in turns, and each of the other photographs unchanged.
  const frontOf = new Map([...CLEAR].map((name, index) => [name, fronts[index % fronts.length]]));
  const sample = variations.filter(({ photo, name }) => {
    return isLong || (fronts.includes(photo) ? frontOf.get(name) === photo : name === "as it is");
  });
  expect(new Set(sample.map(({ photo }) => photo)).size).toBe(photos.length);
  expect(sample.length).toBeGreaterThanOrEqual(CLEAR.size + photos.length - fronts.length);
  const measured = await measureAll(sample);
  expect(listMisses(measured).map(describe)).toEqual([]);
  // Each picture is refused by the check that should refuse it, or has no face that was found.
  const unnamed = measured.filter(({ expected, checks }) =>
    FACE_CODES.some(
      (code) => expected[code] === "fail" && checks[code]?.verdict !== "fail" && checks.face_count?.measured !== 0,
    ),
  );
  expect(unnamed.map(describe)).toEqual([]);
  expect(measured.filter((each) => isAccepted(each) !== each.isGood).map(describe)).toEqual([]);
});

if (isLong) {
  /** The cells of a table in Markdown, by row. */
  const cellsOf = (table: string): string[][] =>
    table
      .trim()
      .split("\n")
      .map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      )
      // The line below the head.
      .filter((cells) => !cells.every((cell) => /^-+:?$/.test(cell)));

  test("the table of hits, in docs/preparation.md: the measured values, within two pictures", async () => {
    const measured = await measureAll(await createVariations(report));
    const text = await Bun.file(new URL("../../../../docs/preparation.md", import.meta.url)).text();
    const [, documented = ""] = /<!-- hits -->\n([\s\S]*?)<!-- -->/.exec(text) ?? [];
    const [actual, written] = [cellsOf(accuracyTable(measured)), cellsOf(documented)];
    expect(written.map(([check]) => check)).toEqual(actual.map(([check]) => check));
    for (const [index, cells] of actual.entries()) {
      for (const [at, cell] of cells.entries()) {
        const other = written[index]?.[at] ?? "";
        // Processors round differently.
        if (/^\d+$/.test(cell)) expect(Math.abs(Number(cell) - Number(other))).toBeLessThanOrEqual(2);
        else expect(other).toBe(cell);
      }
    }
    expect(countHits("face_count", measured).bad).toBeGreaterThan(50);
  });
}
