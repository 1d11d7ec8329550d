/** A benchmark that cannot measure a row prints the reason, and continues. */
import { expect, test } from "bun:test";
import { attempt, CannotMeasure, RanOut, requirePrograms, withSupply } from "./cannot-measure.ts";
import type { Database } from "./database.ts";
import { checkGenerator } from "./machine.ts";
import { measure, Rounds } from "./measure.ts";
import { number } from "./report.ts";

const cannot = (reason: string) => () => Promise.reject(new CannotMeasure(reason));

test("a row that cannot be measured: reported with its reason, without an error", async () => {
  const rounds = new Rounds();
  const bench = { database: { pid: process.pid } as Database, options: { seconds: 1 } };
  await measure(bench, rounds, { name: "releases", prepare: cannot("it ran out of 100 paths") }, 32);
  expect(rounds.failures().at(-1)).toBe("- releases at 32: it ran out of 100 paths");
  expect(number(rounds.rate("releases", 32))).toBe("not measured");
  await expect(attempt("x", () => Promise.reject(new Error("a defect")))).rejects.toThrow("a defect");
});

test("a load whose supply runs out: repeated with twice the supply; later loads begin with this supply", async () => {
  const supplies: number[] = [];
  const load = (enough: number) => async (supply: number) => {
    supplies.push(supply);
    if (supply < enough) throw new RanOut("it ran out");
    return supply;
  };
  expect(await withSupply("fast", load(4))).toBe(4);
  expect(await withSupply("fast", load(4))).toBe(4);
  expect(supplies).toEqual([1, 2, 4, 4]);
  await expect(withSupply("too fast", load(32))).rejects.toThrow(CannotMeasure);
});

test("an open loop limited by its generator: not measured; limited by its server: measured", () => {
  const all = (milliseconds: number) => Array.from({ length: 100 }, () => milliseconds);
  expect(() => checkGenerator(all(483), all(480), 34_000)).toThrow(
    new CannotMeasure("the generator was 480 ms late: it cannot send 34000 requests a second"),
  );
  checkGenerator(all(483), all(20), 34_000);
  checkGenerator(all(0.8), all(0.7), 8633);
});

test("a missing program: named", () => {
  expect(() => requirePrograms("no-such-program")).toThrow(CannotMeasure);
});
