/**
 * Random histories of credits. Each operation runs on the database and on a model. Both give the same response, and
 * every counter is equal after each operation. `LONG=1` runs many more histories. More are also run on functions with a
 * fault (`MUTATION`).
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { CreditWorld, type SessionToOpen } from "@realtime-avatar/testing/credits/world";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import fc from "fast-check";

const isLong = process.env["LONG"] === "1";
const SEED = 20_261_122;
const isMutated = process.env["MUTATION"] !== undefined;
const [RUNS, LENGTH] = isLong ? [2000, 100] : [isMutated ? 60 : 6, 30];

const database = await fileDatabase();
setDefaultTimeout(isLong ? 3_600_000 : 300_000);
await mutate(database.db);

const PRICES = [1, 3, 1000] as const;
/** In seconds at the middle price, so that a few sessions reach these caps. */
const CAP = fc.option(fc.nat({ max: 60_000 }), { freq: 3 });
/** Low, so that they are reached. */
const MAX_SESSIONS = fc.option(fc.integer({ min: 1, max: 4 }), { freq: 2 });
const environment = fc.constantFrom("live" as const, "live" as const, "test" as const);
/** Mostly one deep line, with branches. A live key may have test children, but not the reverse. */
const keys = fc
  .array(
    fc.record({
      parent: fc.nat({ max: 2 }),
      environment,
      cap: CAP,
      maxSessions: MAX_SESSIONS,
      isMetered: fc.boolean(),
    }),
    {
      minLength: 1,
      maxLength: 9,
    },
  )
  .map((list) => {
    const environments: ("live" | "test")[] = [];
    return list.map(({ parent, environment, ...key }, at) => {
      const above = at === 0 ? null : Math.max(0, at - 1 - parent);
      const own = above !== null && environments[above] === "test" ? "test" : environment;
      environments.push(own);
      return { ...key, parent: above, environment: own };
    });
  });

const toOpen: fc.Arbitrary<SessionToOpen> = fc
  .record({
    key: fc.nat({ max: 8 }),
    isOld: fc.constantFrom(false, false, false, true),
    avatar: fc.constantFrom(
      null,
      null,
      null,
      "ready" as const,
      "draft" as const,
      "deleted" as const,
      "absent" as const,
    ),
    maxSeconds: fc.integer({ min: 1, max: 40 }),
    least: fc.integer({ min: 1, max: 40 }),
    price: fc.constantFrom(...PRICES, 1000, 1000),
    claim: fc.option(
      fc.nat({ max: 5 }).map((one) => `claim ${one}`),
      { freq: 2 },
    ),
  })
  .map(({ least, ...request }) => ({ ...request, minSeconds: Math.min(least, request.maxSeconds) }));
const batch = fc.array(toOpen, { minLength: 1, maxLength: 12 });

const at = fc.nat({ max: 50 });
const amount = fc.nat({ max: 50_000 });
const reference = fc.option(fc.constantFrom("a", "b", "c"), { freq: 2 });
/** Several changes at once, often of the same session. */
const together = <One>(one: fc.Arbitrary<One>) => fc.array(one, { minLength: 1, maxLength: 8 });
const step = fc.oneof(
  { weight: 18, arbitrary: fc.record({ do: fc.constant("open" as const), batch }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant("report" as const),
      batch: together(fc.record({ at, used: amount, key: at })),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant("release" as const),
      batch: together(fc.record({ at, isEngine: fc.boolean(), used: fc.option(amount), key: at })),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("expire" as const), at }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("sweep" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("move" as const),
      kind: fc.constantFrom("grant" as const, "void" as const, "adjust" as const),
      environment,
      amount,
      at,
      reference,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("cap" as const), at, cap: CAP }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("sessions" as const),
      at: fc.option(at),
      maxSessions: fc.integer({ min: 1, max: 8 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("revoke" as const), at }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

const run = async (world: CreditWorld, one: Step): Promise<void> => {
  const same = ({ stored, expected }: { stored: unknown; expected: unknown }) => expect(stored).toEqual(expected);
  switch (one.do) {
    case "open":
      // The same requests, sent one by one, wait for their caller.
      for (const both of await world.open(one.batch, one.batch.length === 1)) same(both);
      break;
    case "report":
      for (const both of await world.reportTogether(
        one.batch.map((report) => ({ ...report, id: world.session(report.at) })),
      )) {
        same(both);
      }
      break;
    case "release":
      for (const both of await world.releaseTogether(
        one.batch.map((release) => ({ ...release, id: world.session(release.at) })),
      )) {
        same(both);
      }
      break;
    case "expire":
      await world.expire(world.session(one.at));
      break;
    case "sweep":
      same(await world.sweep());
      break;
    case "move": {
      const { kind, environment, amount, reference } = one;
      const sessionId = kind === "adjust" ? world.session(one.at) : null;
      same(await world.move(kind, { environment, amount, sessionId, reference }));
      break;
    }
    case "cap":
      await world.setCap(one.at, one.cap);
      break;
    case "sessions":
      await world.setMaxSessions(one.at, one.maxSessions);
      break;
    case "revoke":
      await world.revoke(one.at);
      break;
  }
  same(await world.counters());
};

test("a random history, on the database and on a model: the same outcomes and counters", async () => {
  const history = fc.record({
    keys,
    grants: fc.tuple(fc.nat({ max: 400_000 }), fc.nat({ max: 400_000 })),
    steps: fc.array(step, { minLength: LENGTH, maxLength: LENGTH }),
  });
  await fc.assert(
    fc.asyncProperty(history, async ({ keys, grants, steps }) => {
      const world = await CreditWorld.create(database.db, keys);
      for (const [at, environment] of (["live", "test"] as const).entries()) {
        await world.move("grant", { environment, amount: grants[at] ?? 0, sessionId: null, reference: null });
      }
      for (const one of steps) await run(world, one);
    }),
    // A failure is not shrunk, because that would take hours. Its seed and path repeat it.
    { seed: SEED, numRuns: RUNS, endOnFailure: true },
  );
});
