/**
 * Calls while processes of each kind are killed at random moments: processes of calls, avatar workers, APIs, LiveKit and
 * PostgreSQL. Each call is charged once, at most for the time with both sides. It has one transcript soon after its
 * end, and loses no recording. It is silent for at most three seconds while an avatar worker is free.
 *
 * All calls have real rooms, processes and a person who hears them; the models are scripted. It is a test of
 * `LONG=1`. `CALLS` and `KILLS`: fewer, to try it. `SEED`: repeats the order of kills.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { loadavg } from "node:os";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { numbersOf } from "@realtime-avatar/testing/random-numbers";
import { type Call, makeCall } from "./caller.ts";
import {
  checkBooks,
  checkRecordings,
  checkSilences,
  checkTranscripts,
  type Gate,
  showGates,
  untilSettled,
} from "./checks.ts";
import { type Kill, killAtRandom, SHARES, watchStalls } from "./killer.ts";
import { startWorld, type World } from "./world.ts";

const LONG = process.env["LONG"] === "1";
const CALLS = Number(process.env["CALLS"] ?? 1000);
const KILLS = Number(process.env["KILLS"] ?? 200);
const SEED = Number(process.env["SEED"] ?? Math.floor(1_000_000 * Math.random()));
/** Calls at the same time. */
const PERSONS = Number(process.env["PERSONS"] ?? 6);
const MIN_SECONDS = 3;
const MAX_SECONDS = 9;
/** Recorded calls are longer, because the person is told first. */
const [RECORDED_ONE_OF, MIN_RECORDED_SECONDS] = [4, 6];
const KILLS_AHEAD = 2;
/** With this number of kills, each kind occurs. */
const MANY_KILLS = 100;
const PROGRESS_MS = 30_000;

setDefaultTimeout(4 * 3_600_000);

const binary = await livekitBinary();
const title = `calls${binary.kind === "missing" ? ` (skipped: ${binary.reason})` : ""}`;

describe.skipIf(binary.kind === "missing" || process.platform !== "linux" || !LONG)(title, () => {
  let world: World;
  beforeAll(async () => {
    // One avatar worker has room for all calls, so the other one is free when it is killed.
    world = await startWorld(binary.kind === "found" ? binary.path : "", PERSONS);
  });
  afterAll(() => world?.stop());

  test("whose processes are killed: each charged once, with one transcript and its recording, and soon heard again", async () => {
    const numbers = numbersOf(SEED);
    const plans = Array.from({ length: CALLS }, (_, index) => {
      const isRecorded = numbers(RECORDED_ONE_OF) === 0;
      const seconds = MIN_SECONDS + numbers(1000 * (MAX_SECONDS - MIN_SECONDS)) / 1000;
      return { name: `call-${index}`, isRecorded, seconds: seconds + (isRecorded ? MIN_RECORDED_SECONDS : 0) };
    });
    process.stderr.write(`seed ${SEED}: ${CALLS} calls, ${KILLS} kills\n`);
    const running = new Map<string, Call>();
    const calls: Call[] = [];
    const kills: Kill[] = [];
    /** Failures of calls, of kills and of waits. */
    const failed: string[] = [];
    const failedAs = (name: string) => (error: unknown) => void failed.push(`${name}: ${error}`);
    let isKilling = true;
    const progress = (): number => (calls.length + failed.length) / CALLS;
    /** The kills are spread over all calls, so no call starts far ahead of them. */
    const isAhead = (): boolean => isKilling && progress() > (kills.length + KILLS_AHEAD) / KILLS;
    const stalls = watchStalls();
    const startedAt = performance.now();
    const show = (): void => {
      const kinds = Object.keys(SHARES).map((kind) => `${kind} ${kills.filter((one) => one.kind === kind).length}`);
      const counts = `${calls.length} of ${CALLS} calls, ${calls.filter(({ isLost }) => isLost).length} lost, ${failed.length} failed`;
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      const load = loadavg()[0]?.toFixed(1);
      process.stderr.write(`${seconds} s: ${counts}; ${kills.length} kills (${kinds.join(", ")}); load ${load}\n`);
    };
    const showing = setInterval(show, PROGRESS_MS);
    const person = async (): Promise<void> => {
      for (let plan = plans.shift(); plan !== undefined; plan = plans.shift()) {
        while (isAhead()) await Bun.sleep(100);
        const { name } = plan;
        await makeCall(world, plan, (call) => running.set(name, call)).then((call) => calls.push(call), failedAs(name));
        running.delete(name);
      }
    };
    const persons = Promise.all(Array.from({ length: PERSONS }, person));
    await killAtRandom(world, { numbers, count: KILLS, running, progress, kills }).catch(failedAs("kills"));
    isKilling = false;
    await persons;
    await untilSettled(world).catch(failedAs("the end of all work"));
    stalls.stop();
    clearInterval(showing);
    show();
    const gates: Gate[] = [
      ...(await checkBooks(world, calls, kills)),
      ...(await checkTranscripts(world, calls, kills)),
      ...(await checkRecordings(world, calls, kills)),
      ...checkSilences(calls, kills, stalls),
      { name: "a call is made", isTime: false, unit: "", values: calls.map(({ seconds }) => seconds), found: failed },
    ];
    showGates(world, gates);
    const missed = (isTime: boolean) => gates.filter((gate) => gate.isTime === isTime).flatMap(({ found }) => found);
    expect({ wrong: missed(false), late: missed(true) }).toEqual({ wrong: [], late: [] });
    // The last calls can end before the last kills.
    expect(kills.length).toBeGreaterThanOrEqual(KILLS - KILLS_AHEAD - 1);
    const isKilled = (kind: string): boolean => kills.some((one) => one.kind === kind);
    if (KILLS >= MANY_KILLS) expect(Object.keys(SHARES).filter((kind) => !isKilled(kind))).toEqual([]);
  });
});
