/** Measurements that this machine cannot make: the row prints the reason, without ending the benchmark. */
import { print } from "./progress.ts";

/** The message states the reason. */
export class CannotMeasure extends Error {
  override name = "CannotMeasure";
}

/** The load was so fast that it used up its supply. */
export class RanOut extends CannotMeasure {}

/**
 * Returns what `measure` returns. If it cannot measure, prints and reports the reason, and returns null. Other errors
 * are thrown.
 */
export const attempt = async <Result>(
  what: string,
  measure: () => Promise<Result>,
  report: (reason: string) => void = () => {},
): Promise<Result | null> => {
  try {
    return await measure();
  } catch (error) {
    if (!(error instanceof CannotMeasure)) throw error;
    print(`${what}: not measured: ${error.message}`);
    report(error.message);
    return null;
  }
};

const MAX_SUPPLY = 16;
/** The factor by which the supply of a load is raised, by its name, after it has run out. */
const supplies = new Map<string, number>();

/** Runs `load`. Each time that the supply runs out, runs it again with twice the supply, up to sixteen times. */
export const withSupply = async <Result>(name: string, load: (supply: number) => Promise<Result>): Promise<Result> => {
  for (let supply = supplies.get(name) ?? 1; ; supply *= 2) {
    supplies.set(name, supply);
    try {
      return await load(supply);
    } catch (error) {
      if (!(error instanceof RanOut) || supply >= MAX_SUPPLY) throw error;
    }
  }
};

/** The programs that a part needs. Throws when one is missing. */
export const requirePrograms = (...programs: readonly string[]): void => {
  for (const program of programs) {
    if (Bun.which(program) === null) throw new CannotMeasure(`it needs ${program}, which is not on the PATH`);
  }
};
