import { expect, test } from "bun:test";
import { createUsageMeter, NoTokensLeft } from "./usage-meter.ts";

const { signal } = new AbortController();
const ask = (meter: ReturnType<typeof createUsageMeter>, by = signal) =>
  meter.waitForTokens(by).then(
    () => "asks",
    (error: unknown) => (error instanceof NoTokensLeft ? "no tokens left" : "aborted"),
  );
/** The current outcome of `asking`. */
const now = (asking: Promise<string>) => Promise.race([asking, Bun.sleep(5).then(() => "waits")]);

test("usage: continues from the reports of earlier workers, with seconds rounded up once", () => {
  const before = { input_tokens: 10, output_tokens: 1, estimated_tokens: 0, heard_seconds: 3, spoken_characters: 4 };
  const meter = createUsageMeter({ usage: before });
  meter.addTokens({ input: 5, output: 2, isEstimated: false });
  meter.addTokens({ input: 1, output: 1, isEstimated: true });
  for (let turn = 0; turn < 4; turn++) meter.addHeard(400);
  meter.addSpoken("Hé 👋");
  expect(meter.usage()).toEqual({
    ...{ input_tokens: 16, output_tokens: 4, estimated_tokens: 2, heard_seconds: 5, spoken_characters: 8 },
  });
});

test("no limit: never waits", async () => {
  const meter = createUsageMeter({});
  meter.addTokens({ input: 1e6, output: 1e6, isEstimated: false });
  meter.setBudget({ used: 0, left: 0 });
  expect(await ask(meter)).toBe("asks");
});

test("a limit: the next request waits until the last one is counted and tokens are left", async () => {
  const meter = createUsageMeter({ tokens_left: 100 });
  expect(await ask(meter)).toBe("asks");
  meter.addTokens({ input: 60, output: 20, isEstimated: false });
  const second = ask(meter);
  expect(await now(second)).toBe("waits");
  meter.setBudget({ used: 50, left: 50 });
  expect(await now(second)).toBe("waits");
  meter.setBudget({ used: 80, left: 20 });
  expect(await second).toBe("asks");
  meter.addTokens({ input: 30, output: 0, isEstimated: true });
  const third = ask(meter);
  meter.setBudget({ used: 110, left: 0 });
  expect(await third).toBe("no tokens left");
  // A new day.
  meter.setBudget({ used: 110, left: 100 });
  expect(await ask(meter)).toBe("asks");
});

test("tokens that the service does not count: an error instead of a request", async () => {
  const meter = createUsageMeter({ tokens_left: 100 }, 5);
  meter.addTokens({ input: 1, output: 1, isEstimated: false });
  await expect(meter.waitForTokens(signal)).rejects.toThrow("timed out");
});

test("tokens above the largest number of the protocol: the sum is that number", () => {
  const meter = createUsageMeter({});
  for (let turn = 0; turn < 3; turn++) meter.addTokens({ input: 2 ** 30, output: 2 ** 31, isEstimated: true });
  const most = 2 ** 31 - 1;
  expect(meter.usage()).toMatchObject({ input_tokens: most, output_tokens: most, estimated_tokens: most });
});

test("a turn that ends while it waits: no request", async () => {
  const meter = createUsageMeter({ tokens_left: 1 });
  meter.addTokens({ input: 1, output: 1, isEstimated: false });
  const turn = new AbortController();
  const asking = ask(meter, turn.signal);
  turn.abort();
  expect(await asking).toBe("aborted");
});

test("concurrent calls of a tenant: each exceeds the limit by one request at most", async () => {
  const LIMIT = 1000;
  const CALLS = 8;
  const REQUEST = 90;
  let counted = 0;
  const calls = Array.from({ length: CALLS }, () => ({
    meter: createUsageMeter({ tokens_left: LIMIT }),
    used: 0,
    done: 0,
  }));
  const answers = calls.map(async (call) => {
    for (;;) {
      if ((await ask(call.meter)) === "no tokens left") return;
      call.meter.addTokens({ input: REQUEST - 5, output: 5, isEstimated: false });
      call.done += REQUEST;
    }
  });
  // The service counts the calls one after another, in turns.
  while (calls.some(({ meter }) => meter.usage().input_tokens === 0)) await Bun.sleep(1);
  const counting = (async () => {
    for (let at = 0; ; at++) {
      const call = calls[(at * 5) % CALLS] as (typeof calls)[0];
      counted += call.done - call.used;
      call.used = call.done;
      call.meter.setBudget({ used: call.used, left: Math.max(0, LIMIT - counted) });
      if (counted >= LIMIT && calls.every(({ used, done }) => used === done) && at > 100) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  await Promise.all([...answers, counting]);
  expect(counted).toBeGreaterThanOrEqual(LIMIT);
  expect(counted).toBeLessThanOrEqual(LIMIT + CALLS * REQUEST);
});
