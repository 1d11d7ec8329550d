/**
 * The time limits of the parts of a run, and its progress. The rounds of a part end in time, so that the whole run ends
 * in time.
 */

export const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** The interval of printed lines, in milliseconds. */
const LINE_EVERY_MS = 5000;

export class Progress {
  /** Seconds of the parts that have not begun. */
  readonly #waiting: Map<string, number>;
  readonly #clock: () => number;
  #part = "";
  #endsAt: number;
  #printedAt = 0;

  /** `seconds`: the time of each part, in their order. `clock`: in milliseconds. */
  constructor(seconds: Readonly<Record<string, number>>, clock: () => number = () => performance.now()) {
    this.#waiting = new Map(Object.entries(seconds));
    this.#clock = clock;
    this.#endsAt = clock();
  }

  get #secondsLeft(): number {
    const ofOthers = [...this.#waiting.values()].reduce((sum, seconds) => sum + seconds, 0);
    return ofOthers + Math.max(0, (this.#endsAt - this.#clock()) / 1000);
  }

  /** Begins a part, whatever time the previous part has taken. */
  begin(part: string): void {
    const seconds = this.#waiting.get(part) ?? 0;
    this.#waiting.delete(part);
    this.#part = part;
    this.#endsAt = this.#clock() + 1000 * seconds;
    print(`${part}: at most ${Math.ceil(this.#secondsLeft / 60)} minutes from here`);
  }

  /** Prints the progress, at most every few seconds. */
  step(what: string): void {
    if (this.#clock() - this.#printedAt < LINE_EVERY_MS) return;
    this.#printedAt = this.#clock();
    print(`${this.#part}, ${what}; at most ${(this.#secondsLeft / 60).toFixed(1)} minutes left`);
  }

  /**
   * Runs `round` `count` times. Without a count, repeats it while another round fits into the time of the part minus
   * `reservedSeconds`.
   */
  async rounds(count: number | null, reservedSeconds: number, round: (name: string) => Promise<void>): Promise<void> {
    let longest = 0;
    for (let at = 1; count === null || at <= count; at++) {
      const startedAt = this.#clock();
      if (count === null && at > 1 && startedAt + longest > this.#endsAt - 1000 * reservedSeconds) return;
      await round(count === null ? `round ${at}` : `round ${at} of ${count}`);
      longest = Math.max(longest, this.#clock() - startedAt);
    }
  }
}
