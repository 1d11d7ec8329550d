/** A conversation of an hour with a page in a real browser: without drift, growing memory or lost sentences. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { BROWSER, type BrowserContext, sharedBrowser } from "@realtime-avatar/testing/browser";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import { facePoints, preparedFace } from "./support/faces.ts";
import {
  type Box,
  type Buffers,
  openRecordingPage,
  type RecordingPage,
  recordAnswer,
  STEP_MS,
  untilSilent,
} from "./support/recording-page.ts";
import { wordFrames } from "./support/words.ts";
import { startWorkerWorld, type WorkerWorld } from "./support/worker-world.ts";

const LONG = process.env["LONG"] === "1";
/** `CALL_MINUTES`: a shorter call, to try the test. */
const MINUTES = Number(process.env["CALL_MINUTES"] ?? 60);
/** Share of the call in which the code is compiled and the memory of the process grows to its size. */
const WARM_SHARE = 0.15;
const TURN_MS = 15_000;
/** Share of the call at each end whose turns are compared. A picture is shown for 40 ms, so one turn says little. */
const COMPARED_SHARE = 0.15;
const MAX_DRIFT_MS = 20;
const MAX_GROWTH_MIB = 8;
const LAG_STEP_MS = 20;
const LAGS_MS = Array.from({ length: 31 }, (_, index) => (index - 15) * LAG_STEP_MS);
/** Most pictures are shown for 40 ms. */
const MAX_PICTURE_MS = 70;
/** Length of the compared sound of an answer. */
const ANSWER_MS = 5000;
/** The points of the lips in the mesh that enclose the mouth: left, right, above and below. */
const LIPS = [61, 291, 0, 17] as const;

setDefaultTimeout((MINUTES + 5) * 60_000);

const binary = await livekitBinary();
const missing = binary.kind === "missing" ? binary.reason : BROWSER ? null : "there is no browser";
const title = `a conversation of an hour${missing ? ` (skipped: ${missing})` : ""}`;

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN;

/** The place of the mouth in the picture. */
const mouthBox = async (): Promise<Box> => {
  const points = await facePoints();
  const [left, right, top, bottom] = LIPS.map((index) => points[index] ?? []);
  const [x, y] = [left?.[0] ?? 0, top?.[1] ?? 0].map(Math.round) as [number, number];
  return [x, y, Math.round((right?.[0] ?? 0) - x), Math.round((bottom?.[1] ?? 0) - y)];
};

/**
 * The anonymous memory of the process of the only call in MiB: the largest of the children of the worker. Its share of files
 * changes by 12 MiB when another process opens or closes them.
 */
const callMemory = async (worker: number): Promise<number> => {
  const children = (await readFile(`/proc/${worker}/task/${worker}/children`, "utf8")).trim().split(" ");
  const sizes = children.map(async (pid) => {
    const memory = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
    return Number(/^Pss_Anon:\s+(\d+)/m.exec(memory)?.[1] ?? 0) / 1024;
  });
  return Math.max(...(await Promise.all(sizes)));
};

/**
 * The levels of an answer's sound from `at` on, and the movements of the mouth meanwhile. Times are in milliseconds.
 */
type Seen = { at: number; levels: readonly number[]; pictures: readonly (readonly [number, number])[] };

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, value) => sum + value, 0) / numbers.length;

/** Pearson's coefficient of pairs. */
const correlate = (pairs: readonly (readonly [number, number])[]): number => {
  const [x, y] = [mean(pairs.map(([one]) => one)), mean(pairs.map(([, other]) => other))];
  const sum = (product: (one: number, other: number) => number): number =>
    pairs.reduce((all, [one, other]) => all + product(one - x, other - y), 0);
  return sum((one, other) => one * other) / Math.sqrt(sum((one) => one ** 2) * sum((_, other) => other ** 2));
};

/** The level at a time, in powers of ten: the mean of 80 ms. Values below 0.01 are silence. */
const levelAt = ({ at, levels }: Seen, time: number): number => {
  const step = Math.round((time - at) / STEP_MS);
  return Math.log10(Math.max(0.01, mean(levels.slice(Math.max(0, step - 20), step + 20).concat(0))));
};

/** The delay of the sound after the movement of the mouth, in milliseconds: the lag with the greatest correlation. */
const findLag = (answers: readonly Seen[]): number => {
  const correlations = LAGS_MS.map((lag) =>
    correlate(
      answers.flatMap((answer) =>
        answer.pictures.flatMap(([time, movement], index) => {
          const before = answer.pictures[index - 1]?.[0] ?? 0;
          // A late picture has the movement of several pictures.
          if (time - before > MAX_PICTURE_MS) return [];
          return [[Math.log1p(movement), levelAt(answer, (time + before) / 2 + lag)] as const];
        }),
      ),
    ),
  );
  const best = correlations.indexOf(Math.max(...correlations));
  const [left = 0, most = 0, right = 0] = correlations.slice(best - 1, best + 2);
  // A resting face has no such peak.
  expect(most).toBeGreaterThan(0.3);
  return (LAGS_MS[best] ?? Number.NaN) + (LAG_STEP_MS * (left - right)) / (2 * (left - 2 * most + right));
};

/** The mean delays of the page's jitter buffers between two times in milliseconds, and those that the browser aimed at. */
const bufferDelays = (from: Buffers, to: Buffers) => {
  const means = (kind: keyof Buffers) => {
    const [delay, target, count] = to[kind].map((value, index) => value - (from[kind][index] ?? 0)) as [
      number,
      number,
      number,
    ];
    return { delayMs: Math.round((1000 * delay) / count), targetMs: Math.round((1000 * target) / count) };
  };
  return { sound: means("audio"), picture: means("video") };
};

describe.skipIf(missing !== null || !LONG)(title, () => {
  let world: WorkerWorld;
  let providers: ScriptedProviders;
  let context: BrowserContext;
  let page: RecordingPage;

  beforeAll(async () => {
    providers = startProviders({ llmMs: 200, tokenMs: 15, ttsMs: 100, sttMs: 120 });
    const { LLM_URL, LLM_MODEL, STT_URL, STT_MODEL } = providers.variables;
    world = await startWorkerWorld(binary, { LLM_URL, LLM_MODEL, STT_URL, STT_MODEL });
    context = await (await sharedBrowser()).newContext();
  });
  afterAll(async () => {
    await page?.close();
    await context?.close();
    await world?.stop();
    await providers?.stop();
  });

  /** Asks, and hears the whole answer. */
  const takeTurn = async (turn: number) => {
    const { waitedMs, heardFrom } = await recordAnswer(page, wordFrames("Could you please tell me")).catch(
      async (cause) => {
        const [stt, llm] = [providers.of("stt").length, providers.of("llm").length];
        const said = JSON.stringify((await page.said()).slice(-4));
        throw new Error(`turn ${turn}: no answer; requests: stt ${stt}, llm ${llm}; said: ${said}`, { cause });
      },
    );
    await untilSilent(page);
    const at = await page.timeOf(heardFrom);
    const levels = (await page.recording(heardFrom)).avatar.slice(0, ANSWER_MS / STEP_MS);
    const pictures = (await page.pictures(at)).filter(([time]) => time < at + ANSWER_MS);
    const seen: Seen = { at, levels, pictures };
    return { waitedMs, seen, buffers: await page.buffers(), load: loadavg()[0] };
  };

  test("each answer is heard whole; sound and picture stay together; the memory does not grow", async () => {
    const { image, file, manifest } = await preparedFace();
    world.control.files.set(file, image);
    const options = {
      mode: "avatar",
      max_seconds: (MINUTES + 5) * 60,
      avatar: { avatar_id: "ava_x", manifest },
    } as const;
    const call = await world.control.start(options);
    page = await openRecordingPage(context, world.livekit.url, call.personToken, await mouthBox());
    const { used_seconds } = await world.control.untilReported(call.session, "started");
    const startedAt = performance.now();
    // Speech is lost until the avatar hears.
    await Bun.sleep(2000);
    let turn = 0;
    providers.setText((request) => `What is number ${request}?`);
    // The mouth rests between the words.
    providers.setAnswer(() => `Number ${turn}. Papa. Papa. Papa. Papa. Papa. Papa.`);
    type Turn = Awaited<ReturnType<typeof takeTurn>>;
    const turns: Turn[] = [];
    let warmMemory = 0;
    for (; performance.now() - startedAt < MINUTES * 60_000; turn++) {
      const next = startedAt + 2000 + TURN_MS * (turn + 1);
      turns.push(await takeTurn(turn));
      if (warmMemory === 0 && performance.now() - startedAt > WARM_SHARE * MINUTES * 60_000) {
        warmMemory = await callMemory(world.worker.pid);
      }
      await Bun.sleep(Math.max(0, next - performance.now()));
    }
    const growth = (await callMemory(world.worker.pid)) - warmMemory;
    const compared = Math.max(4, Math.round(COMPARED_SHARE * turns.length));
    const [first, last] = [turns.slice(0, compared), turns.slice(-compared)];
    const [firstLag, lastLag] = [first, last].map((some) => findLag(some.map(({ seen }) => seen))) as [number, number];
    const waited = [first, last].map((some) => median(some.map(({ waitedMs }) => waitedMs)));
    // These tell which part of a drift is the page's, and which that of a busy machine.
    const pageBuffers = [first, last].map((some) =>
      bufferDelays((some[0] as Turn).buffers, (some.at(-1) as Turn).buffers),
    );
    const loads = [first, last].map((some) => median(some.map(({ load = Number.NaN }) => load)));
    const figures = { turns: turns.length, firstLag, lastLag, waited, pageBuffers, loads, warmMemory, growth };
    process.stderr.write(`${JSON.stringify(figures)}\n`);
    const said = (await page.said()).map(({ text }) => text);
    const expected = turns.flatMap((_, n) => [
      `What is number ${n}?`,
      `Number ${n}. Papa. Papa. Papa. Papa. Papa. Papa.`,
    ]);
    expect(said).toEqual(expected);
    expect(Math.abs(lastLag - firstLag)).toBeLessThanOrEqual(MAX_DRIFT_MS);
    expect(growth).toBeLessThanOrEqual(MAX_GROWTH_MIB);
    const passed = (performance.now() - startedAt) / 1000;
    world.control.end(call.session, "user_ended");
    const ended = await world.control.untilReported(call.session, "ended");
    expect(Math.abs(ended.used_seconds - used_seconds - passed)).toBeLessThanOrEqual(2);
  });
});
