/**
 * A conversation of 20 turns with a real recognizer and a real voice: `bun bench/conversation/twenty-turns.ts --speech
 * URL [--picture FILE]`. `URL`: a server with OpenAI's routes for both, such as `http://127.0.0.1:8000/v1`. The model
 * is scripted. The person is Flite. The person pauses in sentences, says "mm-hmm", and interrupts. Prints the
 * transcript and the timings of each turn, and draws the sound of both sides as the page has recorded it.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { collectSpeech, speak } from "@realtime-avatar/speech/speak";
import { FLITE_VOICES, type Voice } from "@realtime-avatar/speech/voices";
import { launchBrowser } from "@realtime-avatar/testing/browser";
import { startProviders } from "../../apps/avatar-worker/src/conversation/providers/providers.testing.ts";
import { startControlPlane } from "../../apps/avatar-worker/test/support/control-plane.ts";
import {
  openRecordingPage,
  recordAnswer,
  recordInterruption,
  STEP_MS,
  untilSilent,
} from "../../apps/avatar-worker/test/support/recording-page.ts";
import { startLivekit } from "../calls/livekit.ts";
import { percentile, start } from "../machine.ts";
import { print } from "../progress.ts";

const FRAME_SAMPLES = 960;
/** For the transcript of a turn. */
const MAX_WAIT_MS = 20_000;
/** A text, or a pause in milliseconds. `during`: what the person says while the avatar speaks. */
type Turn = { says: readonly (string | number)[]; answer: string; during?: string; interrupts?: true };
const SCRIPT: readonly Turn[] = [
  { says: ["Hello, who are you?"], answer: "I am the avatar of the library. How can I help you?" },
  { says: ["When do you open", 600, "on Saturday?"], answer: "On Saturday we open at ten in the morning." },
  {
    says: ["And when do you close?"],
    answer: "We close at six in the evening. On Sunday we are closed, and on Monday we open again at nine.",
    during: "Mm-hmm.",
  },
  { says: ["Do you have books about the sea?"], answer: "Yes, we have more than two hundred of them." },
  {
    says: ["Which one do you recommend?"],
    answer:
      "There are many good ones. The first one is about whales, the second one is about ships, and the third is long.",
    during: "Wait, stop please.",
    interrupts: true,
  },
  { says: ["Tell me about the whales."], answer: "It is a short book with many pictures." },
  { says: ["How many pages", 900, "does it have?"], answer: "It has one hundred and twenty pages." },
  { says: ["Can I borrow it for a month?"], answer: "You can borrow it for three weeks, and renew it twice." },
  { says: ["What does it cost?"], answer: "It costs nothing. You only need a card.", during: "Okay." },
  { says: ["How do I get a card?"], answer: "Bring your passport to the desk on the ground floor." },
  {
    says: ["Is there a place to read?"],
    answer: "Yes, there is a quiet room on the second floor. It has forty seats, and large windows to the garden.",
    during: "No, I mean for children.",
    interrupts: true,
  },
  { says: ["Can they make some noise?"], answer: "Of course. That is what the room is for." },
  { says: ["Where can I", 1300, "park my car?"], answer: "Behind the house. The first hour is free." },
  { says: ["Is there a bus?"], answer: "Bus number seven stops in front of the door." },
  { says: ["Do you have coffee?"], answer: "There is a small coffee shop in the hall." },
  {
    says: ["What events do you have this week?"],
    answer: "On Tuesday a writer reads from her new book. On Thursday there is a class for beginners in painting.",
    during: "Right.",
  },
  { says: ["I would like to go to the class."], answer: "Good. I have written down your name." },
  { says: ["At what time does it begin?"], answer: "It begins at half past five." },
  { says: ["Thank you very much for your help."], answer: "You are welcome." },
  { says: ["Goodbye."], answer: "Goodbye, and see you on Thursday." },
];

const PERSON = FLITE_VOICES[1] as Voice;
const speech = async (parts: readonly (string | number)[]): Promise<Int16Array[]> => {
  const sounds = await Promise.all(
    parts.map((part) =>
      typeof part === "number" ? new Int16Array(48 * part) : collectSpeech(speak(part, PERSON, { provider: null })),
    ),
  );
  const all = Int16Array.from(sounds.flatMap((sound) => [...sound]));
  return Array.from({ length: Math.ceil(all.length / FRAME_SAMPLES) }, (_, index) =>
    all.slice(index * FRAME_SAMPLES, (index + 1) * FRAME_SAMPLES),
  );
};

/** Both sides as a picture, with one minute in each row. */
const draw = (person: readonly number[], avatar: readonly number[]): string => {
  const rows = Math.ceil((person.length * STEP_MS) / 60_000);
  const bars = (levels: readonly number[], colour: string, sign: number): string => {
    let path = "";
    for (let step = 0; step < levels.length; step += 20) {
      const peak = Math.max(...levels.slice(step, step + 20));
      const milliseconds = step * STEP_MS;
      const [x, y] = [(milliseconds % 60_000) / 40, 60 + 120 * Math.floor(milliseconds / 60_000)];
      path += `M${x},${y}v${(sign * Math.min(1, 4 * peak) * 50).toFixed(1)}`;
    }
    return `<path d="${path}" stroke="${colour}" fill="none"/>`;
  };
  const both = bars(person, "#0a5", -1) + bars(avatar, "#06c", 1);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1500" height="${rows * 120}">${both}</svg>`;
};

const { values } = parseArgs({ options: { speech: { type: "string" }, picture: { type: "string" } } });
if (!values.speech) throw new Error("Give --speech the base URL of a recognizer and a voice.");
const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-bench-"));
const server = await startLivekit(folder);
const { LIVEKIT_URL: url, LIVEKIT_API_KEY: apiKey, LIVEKIT_API_SECRET: apiSecret } = server.variables;
const control = await startControlPlane({ url, apiUrl: url.replace("ws", "http"), apiKey, apiSecret });
const providers = startProviders({ llmMs: 200, tokenMs: 15 });
const worker = await start([process.execPath, "apps/avatar-worker/src/main.ts"], join(folder, "worker.log"), {
  ...{ ...control.variables, ...providers.variables, STT_URL: values.speech, TTS_URL: values.speech },
  AVATAR_WORKER_METRICS_PORT: "0",
});
const [, metrics = ""] = /"metrics":"(http:[^"]+)"/.exec(await Bun.file(join(folder, "worker.log")).text()) ?? [];
const readStages = async (): Promise<Map<string, number>> => {
  const text = await (await fetch(metrics)).text();
  const sums = text.matchAll(/conversation_(?:stage|response)_seconds_sum(?:{stage="(\w+)"})? (\S+)/g);
  return new Map([...sums].map(([, stage = "total", seconds]) => [stage, 1000 * Number(seconds)]));
};
const browser = await launchBrowser(folder);
const call = await control.start();
const page = await openRecordingPage(await browser.newContext(), url, call.personToken);
await control.untilReported(call.session, "started");
await Bun.sleep(3000);
const load = loadavg()[0] ?? 0;
const waits: number[] = [];
/** The sum of the stages minus the time that the page has recorded. */
const differences: number[] = [];
let texts = 0;
for (const [index, { says, answer, during, interrupts = false }] of SCRIPT.entries()) {
  providers.setAnswer(() => answer);
  const before = await readStages();
  const { waitedMs } = await recordAnswer(page, await speech(says));
  waits.push(waitedMs);
  const after = await readStages();
  differences.push((after.get("total") ?? 0) - (before.get("total") ?? 0) - waitedMs);
  const stages = [...after].map(([stage, ms]) => `${stage} ${Math.round(ms - (before.get(stage) ?? 0))}`);
  print(`turn ${index + 1}: recorded ${waitedMs} ms; ${stages.join(", ")}`);
  if (during !== undefined) {
    await Bun.sleep(1500);
    const words = await speech([during]);
    if (!interrupts) await page.say(words);
    else {
      providers.setAnswer(() => "All right.");
      print(`  interrupted: silent after ${(await recordInterruption(page, words)).silentMs} ms`);
    }
  }
  texts += interrupts ? 4 : 2;
  for (const end = Date.now() + MAX_WAIT_MS; (await page.said()).length < texts && Date.now() < end; )
    await Bun.sleep(200);
  await untilSilent(page);
}
for (const { who, text } of await page.said()) print(`${who}: ${text}`);
const [p50, p95] = [0.5, 0.95].map((part) => percentile(waits, part));
print(`end of speech to first sound, recorded: p50 ${p50} ms, p95 ${p95} ms; load of the machine: ${load.toFixed(1)}`);
print(`stages less recording: ${differences.map(Math.round).join(", ")} ms`);
if (values.picture) {
  const { person, avatar } = await page.recording(0);
  const shown = await (await browser.newContext({ viewport: { width: 1500, height: 900 } })).newPage();
  await shown.setContent(`<body style="margin:0">${draw(person, avatar)}</body>`);
  await shown.screenshot({ path: values.picture, fullPage: true });
}
await page.close();
await browser.close();
await worker.end();
await providers.stop();
await control.stop();
await server.end();
await rm(folder, { recursive: true, force: true });
process.exit(0);
