/**
 * bun bench/conversation/cost.ts [SECONDS]
 *
 * The processor time of a conversation compared with an echo: two calls at the same time, with the same speech of the
 * person. The conversation hears, asks scripted providers, and answers with as much speech as the echo repeats. Prints
 * the time of the processes of both calls.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { startProviders } from "../../apps/avatar-worker/src/conversation/providers/providers.testing.ts";
import { startControlPlane } from "../../apps/avatar-worker/test/support/control-plane.ts";
import { joinAsPerson } from "../../apps/avatar-worker/test/support/person.ts";
import { wordFrames } from "../../apps/avatar-worker/test/support/words.ts";
import { startLivekit } from "../calls/livekit.ts";
import { readCpu, start } from "../machine.ts";
import { print } from "../progress.ts";

const seconds = Number(process.argv[2] ?? 60);
const SENTENCE = "whether the kitchen is open after nine?";
const TURN_MS = 7000;

const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-bench-"));
const server = await startLivekit(folder);
const { LIVEKIT_URL: url, LIVEKIT_API_KEY: apiKey, LIVEKIT_API_SECRET: apiSecret } = server.variables;
const providers = startProviders({ llmMs: 200, tokenMs: 15, ttsMs: 100, sttMs: 120 });
providers.setText(() => "Is the kitchen open after nine?");
// It lasts as long as the sentence of the person: 2.1 s at 15 characters a second.
providers.setAnswer(() => "Yes, it is open until ten today.");

const joinCall = async (name: string, variables: Record<string, string>) => {
  const control = await startControlPlane({ url, apiUrl: url.replace("ws", "http"), apiKey, apiSecret });
  const main = [process.execPath, "apps/avatar-worker/src/main.ts"];
  const worker = await start(main, join(folder, `${name}.log`), { ...control.variables, ...variables });
  const call = await control.start();
  const person = await joinAsPerson(url, call.personToken);
  await person.publishMicrophone();
  await control.untilReported(call.session, "started");
  const children = await readFile(`/proc/${worker.pid}/task/${worker.pid}/children`, "utf8");
  const pids = children.trim().split(" ").map(Number);
  const cpu = async (): Promise<number> => (await Promise.all(pids.map(readCpu))).reduce((sum, each) => sum + each, 0);
  return { name, control, worker, person, cpu };
};

const calls = [await joinCall("echo", {}), await joinCall("conversation", providers.variables)];
const measure = async (turnMs: number, speaks: boolean): Promise<void> => {
  const before = await Promise.all(calls.map(({ cpu }) => cpu()));
  const startedAt = performance.now();
  while (performance.now() - startedAt < 1000 * seconds) {
    if (speaks) for (const { person } of calls) person.say(wordFrames(SENTENCE));
    await Bun.sleep(turnMs);
  }
  const passed = (performance.now() - startedAt) / 1000;
  const after = await Promise.all(calls.map(({ cpu }) => cpu()));
  const ms = calls.map((_, index) => (1000 * ((after[index] as number) - (before[index] as number))) / passed);
  const heard = calls.map(({ name, person }) => `${name} heard for ${person.heardSeconds().toFixed(0)} s`);
  const [echo = 0, conversation = 0] = ms;
  print(
    `${speaks ? "turns" : "silence"}: echo ${echo.toFixed(1)}, conversation ${conversation.toFixed(1)}, difference ${(conversation - echo).toFixed(1)} ms of processor time a second; ${heard.join(", ")}`,
  );
};
await Bun.sleep(5000);
await measure(1000, false);
await measure(TURN_MS, true);
print(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
for (const { person, worker, control } of calls) {
  await person.leave();
  await worker.end();
  await control.stop();
}
await providers.stop();
await server.end();
await rm(folder, { recursive: true, force: true });
process.exit(0);
