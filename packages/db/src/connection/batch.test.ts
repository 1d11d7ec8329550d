import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "@realtime-avatar/testing/until";
import { Batcher, type BatchKind, MAX_BATCH, OTHER_SHARE, type Runner } from "./batch.ts";
import { DatabaseError } from "./errors.ts";

// No test asserts a time, because a slow disk must not fail it.
setDefaultTimeout(60_000);

const soon = (): number => performance.now() + 60_000;
const nowhere = (): Runner => ({ run: () => Promise.reject(new Error("this test uses no database")) });

/** Batches that end when the test ends them, and their inputs in order. */
const controlled = (inFlight = 1) => {
  const batches: { inputs: readonly string[]; end(outputs?: readonly string[]): void; fail(error: unknown): void }[] =
    [];
  const kind: BatchKind<string, string> = {
    name: "test",
    inFlight,
    run: (_, inputs) =>
      new Promise((resolve, reject) => {
        batches.push({
          inputs,
          end: (outputs = inputs.map((input) => input.toUpperCase())) => resolve(outputs),
          fail: reject,
        });
      }),
  };
  return { kind, batches };
};
const settled = (): Promise<void> => Bun.sleep(0);
const kindOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof DatabaseError ? [error.failure, error.code] : String(error)),
  );

describe("concurrent inputs of one kind", () => {
  test("an input, without a running batch: sent at once; inputs during a batch: sent as one batch, each with its output", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 100);
    const results = ["a", "b", "c"].map((input) => batcher.add(input, "owner", soon()));
    expect(batches.map(({ inputs }) => inputs)).toEqual([["a"]]);
    batches[0]?.end();
    await settled();
    expect(batches.map(({ inputs }) => inputs)).toEqual([["a"], ["b", "c"]]);
    batches[1]?.end();
    expect(await Promise.all(results)).toEqual(["A", "B", "C"]);
  });

  test("inputs, during one batch: a second batch is sent only when it is full", async () => {
    const { kind, batches } = controlled(2);
    const batcher = new Batcher(kind, nowhere, 1000);
    const results = Array.from({ length: MAX_BATCH }, (_, index) => batcher.add(`${index}`, "owner", soon()));
    expect(batches.map(({ inputs }) => inputs.length)).toEqual([1]);
    results.push(batcher.add("the last", "owner", soon()));
    expect(batches.map(({ inputs }) => inputs.length)).toEqual([1, MAX_BATCH]);
    // Two batches are at the database. A third is not sent, even if many inputs wait.
    const more = Array.from({ length: MAX_BATCH + 1 }, (_, index) => batcher.add(`more ${index}`, "owner", soon()));
    expect(batches).toHaveLength(2);
    for (let sent = 0; sent < 4; sent++) {
      batches[sent]?.end();
      await settled();
    }
    expect(batches.map(({ inputs }) => inputs.length)).toEqual([1, MAX_BATCH, MAX_BATCH, 1]);
    expect(await Promise.all([...results, ...more])).toHaveLength(2 * MAX_BATCH + 2);
  });

  test("inputs of one turn of the event loop: in one batch after a batch of several; at once after a batch of one", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 1000);
    const results: Promise<string>[] = [];
    const send = (...inputs: string[]) => results.push(...inputs.map((input) => batcher.add(input, "owner", soon())));
    const endLast = async () => {
      batches.at(-1)?.end();
      await settled();
    };
    send("a", "b", "c");
    await endLast();
    await endLast();
    send("d", "e");
    expect(batches).toHaveLength(2);
    await settled();
    await endLast();
    send("f");
    await settled();
    await endLast();
    send("g");
    expect(batches.map(({ inputs }) => inputs)).toEqual([["a"], ["b", "c"], ["d", "e"], ["f"], ["g"]]);
    await endLast();
    expect(await Promise.all(results)).toEqual(["A", "B", "C", "D", "E", "F", "G"]);
  });

  test("inputs with the same key: never in one batch", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher({ ...kind, keyOf: (input) => input.split(" ")[0] ?? null }, nowhere, 1000);
    const names = ["a 1", "a 2", "b 1", "a 3", "c 1"];
    const results = [
      batcher.add("first", "owner", soon()),
      ...names.map((input) => batcher.add(input, "owner", soon())),
    ];
    const other = batcher.add("a 4", "other", soon());
    for (let sent = 0; sent < 5; sent++) {
      batches[sent]?.end();
      await settled();
    }
    expect(batches.map(({ inputs }) => inputs)).toEqual([["first"], ["a 1", "b 1", "c 1"], ["a 4"], ["a 2"], ["a 3"]]);
    expect(await Promise.all(results)).toEqual(["first", ...names].map((input) => input.toUpperCase()));
    expect(await other).toBe("A 4");
  });

  test("a large number of inputs: batches of bounded size, in order", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 1000);
    const results = Array.from({ length: MAX_BATCH * 2 + 2 }, (_, index) => batcher.add(`${index}`, "owner", soon()));
    for (let sent = 0; sent < 4; sent++) {
      batches[sent]?.end();
      await settled();
    }
    expect(batches.map(({ inputs }) => inputs.length)).toEqual([1, MAX_BATCH, MAX_BATCH, 1]);
    expect(await Promise.all(results)).toEqual(Array.from({ length: MAX_BATCH * 2 + 2 }, (_, index) => `${index}`));
  });

  test("inputs of a flooding owner: the next batch has an input of each other owner", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 1000);
    const flood = Array.from({ length: 500 }, (_, index) => batcher.add(`flood ${index}`, "flooder", soon()));
    const others = ["x", "y", "z"].map((name) => batcher.add(name, name, soon()));
    batches[0]?.end();
    await settled();
    expect(batches[1]?.inputs.slice(0, 4)).toEqual(["flood 1", "x", "y", "z"]);
    for (let sent = 1; sent < batches.length; sent++) {
      batches[sent]?.end();
      await settled();
    }
    expect(await Promise.all(others)).toEqual(["X", "Y", "Z"]);
    expect(await Promise.all(flood)).toHaveLength(500);
  });

  test("a batch that the database refuses: repeated one by one; only the refused input fails", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 100);
    const first = batcher.add("first", "owner", soon());
    const results = ["good", "bad", "better"].map((input) => batcher.add(input, "owner", soon()));
    const outcomes = Promise.allSettled(results);
    batches[0]?.end();
    await settled();
    batches[1]?.fail(new TypeError("a mistake"));
    await settled();
    expect(batches.slice(2).map(({ inputs }) => inputs)).toEqual([["good"], ["bad"], ["better"]]);
    batches[2]?.end();
    batches[3]?.fail(new TypeError("a mistake"));
    batches[4]?.end();
    expect((await outcomes).map((outcome) => (outcome.status === "fulfilled" ? outcome.value : "failed"))).toEqual([
      "GOOD",
      "failed",
      "BETTER",
    ]);
    expect(await first).toBe("FIRST");
  });

  test("a batch whose connection is lost: not repeated, outcome unknown", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 100);
    const first = batcher.add("first", "owner", soon());
    const results = ["a", "b"].map((input) => kindOf(batcher.add(input, "owner", soon())));
    batches[0]?.end();
    await settled();
    batches[1]?.fail(new DatabaseError("outcome_unknown", "CONNECTION_CLOSED", "lost"));
    await settled();
    expect(batches).toHaveLength(2);
    expect(await Promise.all(results)).toEqual(Array(2).fill(["outcome_unknown", "CONNECTION_CLOSED"]));
    await first;
  });

  test("inputs past their deadline: not executed if they were not sent; otherwise their outcome is unknown", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 100);
    const sent = kindOf(batcher.add("sent", "owner", performance.now() + 50));
    const waiting = kindOf(batcher.add("waiting", "owner", performance.now() + 20));
    const patient = batcher.add("patient", "owner", soon());
    expect(await waiting).toEqual(["not_executed", "DEADLINE_EXCEEDED"]);
    expect(await sent).toEqual(["outcome_unknown", "DEADLINE_EXCEEDED"]);
    expect(await kindOf(batcher.add("late", "owner", performance.now() - 1))).toEqual([
      "not_executed",
      "DEADLINE_EXCEEDED",
    ]);
    batches[0]?.end();
    await settled();
    expect(batches[1]?.inputs).toEqual(["patient"]);
    batches[1]?.end();
    expect(await patient).toBe("PATIENT");
  });

  test("an input, while the queue is full: refused at once", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 2);
    const results = ["sent", "one", "two"].map((input) => batcher.add(input, input, soon()));
    expect(await kindOf(batcher.add("three", "other", soon()))).toEqual(["not_executed", "QUEUE_FULL"]);
    batches[0]?.end();
    await settled();
    batches[1]?.end();
    expect(await Promise.all(results)).toEqual(["SENT", "ONE", "TWO"]);
  });

  test("a full queue, for an owner with fewer inputs: replaces the latest input of the owner with the most", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 4);
    const send = (input: string) => batcher.add(input, input.slice(0, 1), soon());
    const sent = send("x");
    const kept = ["a1", "b1"].map(send);
    const flood = ["b2", "b3"].map((input) => kindOf(send(input)));
    const others = ["c1", "d1"].map(send);
    expect(await Promise.all(flood)).toEqual(Array(2).fill(["not_executed", "QUEUE_FULL"]));
    // Each owner has one input: none is replaced.
    for (const input of ["a2", "b4", "c2", "e1"]) {
      expect(await kindOf(send(input))).toEqual(["not_executed", "QUEUE_FULL"]);
    }
    expect(batcher.waiting).toBe(4);
    batches[0]?.end();
    await settled();
    expect(batches[1]?.inputs).toEqual(["a1", "b1", "c1", "d1"]);
    batches[1]?.end();
    expect(await Promise.all([sent, ...kept, ...others])).toEqual(["X", "A1", "B1", "C1", "D1"]);
    expect(batcher.waiting).toBe(0);
  });

  test("preferred inputs, with other inputs: first, except a share of each batch", async () => {
    const { kind, batches } = controlled();
    const isPreferred = (input: string): boolean => input.startsWith("preferred");
    const batcher = new Batcher({ ...kind, isPreferred }, nowhere, 100);
    const send = (input: string) => batcher.add(input, input, soon());
    const results = [send("sent")];
    for (let index = 0; index < 100; index++) results.push(send(`other ${index}`));
    expect(await kindOf(send("other too many"))).toEqual(["not_executed", "QUEUE_FULL"]);
    for (let index = 0; index < 100; index++) results.push(send(`preferred ${index}`));
    expect(await kindOf(send("preferred too many"))).toEqual(["not_executed", "QUEUE_FULL"]);
    expect(batcher.waiting).toBe(200);
    for (let sent = 0; sent < batches.length; sent++) {
      batches[sent]?.end();
      await settled();
    }
    const shares = batches.slice(1).map(({ inputs }) => [inputs.filter(isPreferred).length, inputs.length]);
    const most = MAX_BATCH - OTHER_SHARE;
    expect(shares).toEqual([
      [most, MAX_BATCH],
      [100 - most, MAX_BATCH],
      [0, MAX_BATCH],
      [0, 201 - 3 * MAX_BATCH - 1],
    ]);
    expect(batches[1]?.inputs[0]).toBe("preferred 0");
    expect(batches[1]?.inputs.at(-1)).toBe(`other ${OTHER_SHARE - 1}`);
    expect(await Promise.all(results)).toHaveLength(201);
  });

  test("other inputs, while preferred inputs never end: have their share of each batch", async () => {
    const { kind, batches } = controlled();
    const isPreferred = (input: string): boolean => input.startsWith("preferred");
    const batcher = new Batcher({ ...kind, isPreferred }, nowhere, 1000);
    let turn = 0;
    const flood = (count: number) =>
      Array.from({ length: count }, () =>
        batcher.add(`preferred ${turn++}`, `owner ${turn}`, soon()).catch(() => null),
      );
    const others: Promise<unknown>[] = flood(500);
    const other = Array.from({ length: 3 * OTHER_SHARE }, (_, index) => batcher.add(`${index}`, `${index}`, soon()));
    for (let sent = 0; sent < 4; sent++) {
      // The preferred queue never becomes empty.
      others.push(...flood(MAX_BATCH));
      batches[sent]?.end();
      await settled();
    }
    expect(await Promise.all(other)).toHaveLength(3 * OTHER_SHARE);
    for (let sent = 4; sent < batches.length; sent++) {
      batches[sent]?.end();
      await settled();
    }
    await Promise.all(others);
  });

  test("an input whose deadline has passed: leaves the queue", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 2);
    const sent = batcher.add("sent", "owner", soon());
    const late = ["one", "two"].map((input) => kindOf(batcher.add(input, input, performance.now() + 10)));
    expect(await Promise.all(late)).toEqual(Array(2).fill(["not_executed", "DEADLINE_EXCEEDED"]));
    expect(batcher.waiting).toBe(0);
    const next = ["three", "four"].map((input) => batcher.add(input, input, soon()));
    batches[0]?.end();
    await settled();
    batches[1]?.end();
    expect(await Promise.all([sent, ...next])).toEqual(["SENT", "THREE", "FOUR"]);
  });

  test("inputs during slow batches: sent up to the maximum number of batches", async () => {
    const { kind, batches } = controlled(2);
    const batcher = new Batcher(kind, nowhere, 100);
    const long = batcher.add("slow", "owner", soon());
    // Earlier than the time after which batches count as hanging.
    const others = ["a", "b"].map((input) => batcher.add(input, "owner", performance.now() + 900));
    await until(() => batches.length >= 2, { pollMs: 5 });
    const third = batcher.add("third", "owner", soon());
    await settled();
    expect(batches.map(({ inputs }) => inputs)).toEqual([["slow"], ["a", "b"]]);
    batches[1]?.end();
    expect(await Promise.all(others)).toEqual(["A", "B"]);
    expect(batches.at(-1)?.inputs).toEqual(["third"]);
    batches[2]?.end();
    batches[0]?.end();
    expect(await Promise.all([third, long])).toEqual(["THIRD", "SLOW"]);
    // No batch is slow now, so one is sent at a time.
    const last = ["x", "y"].map((input) => batcher.add(input, "owner", soon()));
    await settled();
    expect(batches).toHaveLength(4);
    batches[3]?.end();
    await settled();
    batches[4]?.end();
    expect(await Promise.all(last)).toEqual(["X", "Y"]);
  });

  test("a flood of inputs with one key: the batch is formed in one pass", async () => {
    const { kind, batches } = controlled();
    let keyReads = 0;
    const keyOf = (input: string): string => {
      keyReads++;
      return input.split(" ")[0] ?? "";
    };
    const batcher = new Batcher({ ...kind, keyOf }, nowhere, 10_000);
    const names = [...Array(2000).fill("same"), ...Array.from({ length: 100 }, (_, index) => `${index}`)];
    const results = ["first", ...names].map((input) => batcher.add(input, "owner", soon()).catch(() => null));
    keyReads = 0;
    batches[0]?.end();
    await settled();
    expect(batches[1]?.inputs).toHaveLength(MAX_BATCH);
    expect(keyReads).toBeLessThan(2200);
    for (let sent = 1; sent < batches.length; sent++) {
      batches[sent]?.end();
      await settled();
    }
    expect((await Promise.all(results)).filter((result) => result !== null)).toHaveLength(2101);
  });

  test("inputs during a hanging batch: do not wait for it", async () => {
    const { kind, batches } = controlled();
    const batcher = new Batcher(kind, nowhere, 100);
    const hanging = batcher.add("hanging", "owner", soon());
    const next = batcher.add("next", "owner", soon());
    await until(() => batches.length >= 2);
    batches[1]?.end();
    expect(await next).toBe("NEXT");
    batches[0]?.end();
    expect(await hanging).toBe("HANGING");
    // The hanging batches are over, and no longer count.
    const [one, two] = [batcher.add("one", "owner", soon()), batcher.add("two", "owner", soon())];
    expect(batches.map(({ inputs }) => inputs).slice(2)).toEqual([["one"]]);
    batches[2]?.end();
    await settled();
    batches[3]?.end();
    expect(await Promise.all([one, two])).toEqual(["ONE", "TWO"]);
  });
});
