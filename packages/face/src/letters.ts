/** Letters drawn as lines, because a machine may have no fonts. */

/**
 * The lines of each character on a grid of 5 columns and 7 rows, its origin in the upper left corner: points as column and row, lines
 * separated by `|`.
 */
const LINES: Readonly<Record<string, string>> = {
  ...{ A: "06 20 46|14 34", B: "06 00 30 41 42 33 03|33 44 45 36 06", C: "41 30 10 01 05 16 36 45" },
  ...{ D: "00 20 42 44 26 06 00", E: "40 00 06 46|03 33", F: "40 00 06|03 33", G: "41 30 10 01 05 16 36 45 43 23" },
  ...{ H: "00 06|40 46|03 43", I: "20 26", J: "40 45 36 16 05", K: "00 06|40 03 46", L: "00 06 46" },
  ...{ M: "06 00 23 40 46", N: "06 00 46 40", O: "10 30 41 45 36 16 05 01 10", P: "06 00 30 41 42 33 03" },
  ...{
    Q: "10 30 41 45 36 16 05 01 10|24 46",
    R: "06 00 30 41 42 33 03|23 46",
    S: "41 30 10 01 02 13 33 44 45 36 16 05",
  },
  ...{ T: "00 40|20 26", U: "00 05 16 36 45 40", V: "00 26 40", W: "00 16 23 36 40", X: "00 46|40 06" },
  ...{ Y: "00 23 40|23 26", Z: "00 40 06 46", " ": "", "-": "13 33", ".": "26 26" },
  ...{
    0: "10 30 41 45 36 16 05 01 10|14 32",
    1: "11 20 26|16 36",
    2: "01 10 30 41 42 06 46",
    3: "00 40 23 33 44 45 36 16 05",
  },
  ...{ 4: "36 30 04 44", 5: "40 00 02 32 43 45 36 06", 6: "40 20 02 05 16 36 45 44 33 03", 7: "00 40 16" },
  ...{ 8: "13 02 01 10 30 41 42 33 13 04 05 16 36 45 44 33", 9: "06 26 44 41 30 10 01 02 13 43" },
};
/** The height of a character, in steps of the grid. */
const HEIGHT = 6;
/** The width of a character, and the distance between the left edges of two neighbours. */
const [WIDTH, ADVANCE] = [4, 5.6];

/** Whether each character of a text can be drawn. */
export const canDraw = (text: string): boolean => [...text].every((character) => LINES[character] !== undefined);

/** A line from one point to another, in pixels. */
export type Line = readonly [x0: number, y0: number, x1: number, y1: number];

/** The lines of a text whose letters are `height` pixels high, with its upper left corner at 0, 0. Characters without lines are spaces. */
export const textLines = (text: string, height: number): Line[] => {
  const scale = height / HEIGHT;
  return [...text].flatMap((character, at) =>
    (LINES[character] ?? "").split("|").flatMap((stroke) => {
      const points = stroke.split(" ").filter(Boolean);
      return points.slice(1).map((point, index): Line => {
        const [from, to] = [points[index] ?? "00", point];
        const x = (digit: string): number => scale * (Number(digit[0]) + at * ADVANCE);
        const y = (digit: string): number => scale * Number(digit[1]);
        return [x(from), y(from), x(to), y(to)];
      });
    }),
  );
};

/** The width of a text whose letters are `height` pixels high. */
export const textWidth = (text: string, height: number): number =>
  text === "" ? 0 : (height / HEIGHT) * ((text.length - 1) * ADVANCE + WIDTH);
