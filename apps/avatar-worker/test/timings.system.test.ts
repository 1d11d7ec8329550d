/** The timings of turns, and the words of interrupted answers, compared with a recording at a page in a real browser. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { BROWSER, type BrowserContext, sharedBrowser } from "@realtime-avatar/testing/browser";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { until } from "@realtime-avatar/testing/until";
import { type ScriptedProviders, startProviders } from "../src/conversation/providers/providers.testing.ts";
import {
  openRecordingPage,
  type RecordingPage,
  recordAnswer,
  recordInterruption,
  STEP_MS,
  untilSilent,
} from "./support/recording-page.ts";
import { wordFrames } from "./support/words.ts";
import { startWorkerWorld, type WorkerWorld } from "./support/worker-world.ts";

setDefaultTimeout(180_000);

const LONG = process.env["LONG"] === "1";
const TURNS = 10;
const LONG_ANSWER = Array.from({ length: 12 }, (_, index) => `Sentence number ${index} is here.`).join(" ");
/** The voice of the scripted providers. */
const CHARACTERS_PER_SECOND = 15;

const binary = await livekitBinary();
const missing = binary.kind === "missing" ? binary.reason : BROWSER ? null : "there is no browser";
const title = `turns at a page${missing ? ` (skipped: ${missing})` : ""}`;

describe.skipIf(missing !== null || !LONG)(title, () => {
  let world: WorkerWorld;
  let providers: ScriptedProviders;
  let context: BrowserContext;
  let page: RecordingPage;
  let metrics = "";

  beforeAll(async () => {
    providers = startProviders({ llmMs: 200, tokenMs: 15, ttsMs: 100, sttMs: 120 });
    world = await startWorkerWorld(binary, { ...providers.variables, AVATAR_WORKER_METRICS_PORT: "0" });
    [, metrics = ""] = await world.worker.waitFor(/"metrics":"(http:[^"]+)"/);
    context = await (await sharedBrowser()).newContext();
    const call = await world.control.start();
    page = await openRecordingPage(context, world.livekit.url, call.personToken);
    await world.control.untilReported(call.session, "started");
    // Speech is lost before the avatar hears.
    await Bun.sleep(2000);
  });
  afterAll(async () => {
    await page?.close();
    await context?.close();
    await world?.stop();
    await providers?.stop();
  });

  /** The sum of the response times of all turns, in milliseconds. */
  const readSum = async (): Promise<number> => {
    const text = await (await fetch(metrics)).text();
    return 1000 * Number(/^realtime_avatar_conversation_response_seconds_sum (\S+)/m.exec(text)?.[1]);
  };

  test("ten spoken turns: the stages add up to the recorded time of the page, within 20 ms", async () => {
    providers.setText(() => "Is the kitchen open after nine?");
    providers.setAnswer(() => "Yes. It is.");
    const differences: number[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const before = await readSum();
      const { waitedMs } = await recordAnswer(page, wordFrames("whether the kitchen is open after nine?"));
      differences.push((await readSum()) - before - waitedMs);
      await untilSilent(page);
    }
    const sorted = differences.toSorted((one, other) => one - other);
    expect(Math.abs(sorted[TURNS / 2] as number)).toBeLessThanOrEqual(20);
  });

  test("ten interruptions: the transcript has the recorded words of the page, within two", async () => {
    for (let turn = 0; turn < TURNS; turn++) {
      providers.setText((request) => (request === 0 ? "Could you please tell me all?" : "Wait, stop please."));
      providers.setAnswer(({ messages }) => (messages.at(-1)?.content.startsWith("Wait") ? "Fine." : LONG_ANSWER));
      const before = (await page.said()).length;
      const { heardFrom } = await recordAnswer(page, wordFrames("Could you please tell me"));
      await Bun.sleep(700 + 200 * turn);
      const { heardUntil } = await recordInterruption(page, wordFrames("Wait, stop please."));
      await until(async () => (await page.said()).length === before + 4, { limitMs: 20_000 });
      await untilSilent(page);
      const answer = (await page.said()).slice(before).find(({ text }) => LONG_ANSWER.startsWith(text));
      const characters = ((heardUntil - heardFrom) * STEP_MS * CHARACTERS_PER_SECOND) / 1000;
      const heard = LONG_ANSWER.slice(0, Math.round(characters)).split(" ").length;
      expect(Math.abs((answer?.text ?? "").split(" ").length - heard)).toBeLessThanOrEqual(2);
    }
  });
});
