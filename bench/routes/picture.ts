/** The picture of docs/performance.md: the ratio of the rates for each operation. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../machine.ts";

const ROW = 18;
const LEFT = 300;
/** Pixels of a doubling. The axis goes from a quarter to 32 times. */
const DOUBLING = 62;
const TICKS = [0.25, 0.5, 1, 2, 4, 8, 16, 32];

const xOf = (ratio: number): number =>
  LEFT + Math.round(DOUBLING * (Math.log2(Math.min(Math.max(ratio, 0.25), 32)) + 2));

/** A bar for each ratio, from 1 on a logarithmic axis, as SVG. */
export const ratioPicture = (ratios: readonly { name: string; ratio: number }[]): string => {
  const height = ratios.length * ROW + 60;
  const title = "requests per second at 32 connections, times those of the version that one would write first";
  const ticks = TICKS.map(
    (tick) =>
      `<line x1="${xOf(tick)}" y1="40" x2="${xOf(tick)}" y2="${height - 12}" stroke="${tick === 1 ? "#333" : "#ddd"}"/><text x="${xOf(tick)}" y="34" text-anchor="middle">${tick} ×</text>`,
  );
  const bars = ratios.map(({ name, ratio }, index) => {
    const y = index * ROW + 46;
    const [from, to] = [Math.min(xOf(1), xOf(ratio)), Math.max(xOf(1), xOf(ratio))];
    return `<text x="${LEFT - 8}" y="${y + 10}" text-anchor="end">${name}</text><rect x="${from}" y="${y}" width="${Math.max(1, to - from)}" height="12" fill="${ratio < 1 ? "#e45756" : "#4c78a8"}"/><text x="${to + 4}" y="${y + 10}">${ratio.toFixed(ratio < 10 ? 2 : 0)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="800" height="${height}" font-family="sans-serif" font-size="11"><title>${title}</title><rect width="800" height="${height}" fill="#fff"/><text x="10" y="16">${title}</text>${ticks.join("")}${bars.join("")}</svg>\n`;
};

/** Writes the picture to docs/. */
export const writePicture = (ratios: readonly { name: string; ratio: number }[]): Promise<void> =>
  writeFile(join(ROOT, "docs/performance.svg"), ratioPicture(ratios));
