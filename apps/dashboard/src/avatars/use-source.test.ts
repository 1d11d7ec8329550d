import { expect, test } from "bun:test";
import type { Source } from "./source.ts";
import { withMeasure } from "./use-source.ts";

const file = (name: string): File => new File(["x"], name);
const source = { type: null } as Source;

test("a file whose measurement ends after another file was chosen: ignored", () => {
  const [large, small] = [file("large.png"), file("small.png")];
  expect(withMeasure({ file: large, source: null }, large, source)).toEqual({ file: large, source });
  const chosen = { file: small, source: null };
  expect(withMeasure(chosen, large, source)).toBe(chosen);
  expect(withMeasure(null, large, source)).toBeNull();
});
