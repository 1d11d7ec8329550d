/**
 * Benchmark of conversations: `bun bench/conversation/bench.ts [--turns 20] [--agents FOLDER]`. A page in Chromium
 * speaks to the avatar and records both sides. It does the same with LiveKit's `AgentSession`, which is in the folder
 * `--agents` or is installed into a temporary folder (500 MB). Both run alternately, in rooms of one LiveKit server,
 * with the same scripted providers of known delays.
 */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { launchBrowser } from "@realtime-avatar/testing/browser";
import { AccessToken } from "livekit-server-sdk";
import { startProviders } from "../../apps/avatar-worker/src/conversation/providers/providers.testing.ts";
import { startControlPlane } from "../../apps/avatar-worker/test/support/control-plane.ts";
import {
  openRecordingPage,
  type RecordingPage,
  recordAnswer,
  recordInterruption,
  untilSilent,
} from "../../apps/avatar-worker/test/support/recording-page.ts";
import { wordFrames } from "../../apps/avatar-worker/test/support/words.ts";
import { startLivekit } from "../calls/livekit.ts";
import { cpuOfFamily, percentile, start } from "../machine.ts";
import { print } from "../progress.ts";
import { table } from "../report.ts";

const AGENTS = ["@livekit/agents", "@livekit/agents-plugin-openai", "@livekit/agents-plugin-silero"];
const AGENTS_VERSION = "1.9.0";
const DELAYS = { sttMs: 120, llmMs: 200, tokenMs: 15, ttsMs: 100 };
/** The first sentence of the answer is one token. */
const ANSWER = "Yes. It is open until ten.";
const PROVIDERS_MS = DELAYS.sttMs + DELAYS.llmMs + DELAYS.tokenMs + DELAYS.ttsMs;
const LONG_ANSWER = Array.from({ length: 12 }, (_, index) => `Sentence number ${index} is here.`).join(" ");
/** When the avatar is interrupted, in milliseconds after its first sound. */
const SPOKEN_MS = [400, 900, 1700, 3000];
/** Time for a page and an agent to find each other. */
const SETTLE_MS = 3000;

type Contestant = { name: string; page: RecordingPage; pid: number; waited: number[]; silent: number[] };

/** Installs the packages of LiveKit's agents. Returns the folder. */
const installAgents = (folder: string): string => {
  const packages = [...AGENTS.map((name) => `${name}@${AGENTS_VERSION}`), "zod@4.1.8"];
  const command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, ...packages];
  const { exitCode, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(`LiveKit's agents cannot be installed: ${stderr}`);
  return folder;
};

const { values } = parseArgs({ options: { turns: { type: "string", default: "20" }, agents: { type: "string" } } });
const turns = Number(values.turns);
const folder = await mkdtemp(join(tmpdir(), "realtime-avatar-bench-"));
const agentsFolder = values.agents ?? installAgents(join(folder, "agents"));
const server = await startLivekit(folder);
const { LIVEKIT_URL: url, LIVEKIT_API_KEY: apiKey, LIVEKIT_API_SECRET: apiSecret } = server.variables;
const control = await startControlPlane({ url, apiUrl: url.replace("ws", "http"), apiKey, apiSecret });
const providers = startProviders(DELAYS);
const browser = await launchBrowser(folder);
const context = await browser.newContext();

const signFor = (room: string, identity: string): Promise<string> => {
  const token = new AccessToken(apiKey, apiSecret, { identity });
  token.addGrant({ room, roomJoin: true, canPublish: true, canSubscribe: true, canPublishData: true });
  return token.toJwt();
};

const joinAvatar = async (): Promise<Contestant> => {
  const main = [process.execPath, "apps/avatar-worker/src/main.ts"];
  const worker = await start(main, join(folder, "worker.log"), { ...control.variables, ...providers.variables });
  const call = await control.start();
  const page = await openRecordingPage(context, url, call.personToken);
  await control.untilReported(call.session, "started");
  return { name: "this service", page, pid: worker.pid, waited: [], silent: [] };
};

const joinAgent = async (): Promise<Contestant> => {
  const room = "agents";
  await control.rooms.createRoom({ name: room, emptyTimeout: 600 });
  const script = join(agentsFolder, "agent-session.mjs");
  await cp(join(import.meta.dir, "agent-session.mjs"), script);
  const page = await openRecordingPage(context, url, await signFor(room, "person"));
  const variables = { LIVEKIT_URL: url, TOKEN: await signFor(room, "agent"), PROVIDERS_URL: providers.url };
  const agent = await start(["node", script], join(folder, "agent.log"), { ...variables, NODE_ENV: "production" });
  return { name: `AgentSession ${AGENTS_VERSION}`, page, pid: agent.pid, waited: [], silent: [] };
};

const measureAnswer = async ({ page, waited }: Contestant): Promise<void> => {
  providers.setText(() => "Is the kitchen open after nine?");
  providers.setAnswer(() => ANSWER);
  const { waitedMs } = await recordAnswer(page, wordFrames("whether the kitchen is open after nine?"));
  waited.push(waitedMs);
  await untilSilent(page);
};

const measureInterruption = async ({ page, silent }: Contestant, turn: number): Promise<void> => {
  providers.setText(() => "Could you please tell me all?");
  providers.setAnswer(() => LONG_ANSWER);
  await recordAnswer(page, wordFrames("Could you please tell me"));
  providers.setText(() => "Wait, stop please.");
  providers.setAnswer(() => "Fine.");
  await Bun.sleep(SPOKEN_MS[turn % SPOKEN_MS.length] as number);
  const { silentMs } = await recordInterruption(page, wordFrames("Wait, stop please."));
  silent.push(silentMs);
  // The answer to the interruption.
  await Bun.sleep(3000);
  await untilSilent(page);
};

const milliseconds = (values: readonly number[], less = 0): string[] =>
  [0.5, 0.95].map((part) => `${Math.round(percentile(values, part) - less)} ms`);

const load = loadavg()[0] ?? 0;
const contestants = [await joinAvatar(), await joinAgent()];
await Bun.sleep(SETTLE_MS);
const before = await Promise.all(contestants.map(({ pid }) => cpuOfFamily(pid)));
const startedAt = performance.now();
for (let turn = 0; turn < turns; turn++) for (const one of contestants) await measureAnswer(one);
for (let turn = 0; turn < turns; turn++) for (const one of contestants) await measureInterruption(one, turn);
const seconds = (performance.now() - startedAt) / 1000;
const after = await Promise.all(contestants.map(({ pid }) => cpuOfFamily(pid)));
print(
  table(
    ["recorded at the page", ...contestants.flatMap(({ name }) => [`${name}, p50`, "p95"])],
    [
      ["end of speech to first sound", ...contestants.flatMap(({ waited }) => milliseconds(waited))],
      [
        `the same without the ${PROVIDERS_MS} ms of the providers`,
        ...contestants.flatMap(({ waited }) => milliseconds(waited, PROVIDERS_MS)),
      ],
      ["interruption to silence", ...contestants.flatMap(({ silent }) => milliseconds(silent))],
      [
        "processor time of a second, ms",
        ...contestants.flatMap((_, index) => [
          (((1000 * ((after[index] as number) - (before[index] as number))) / seconds) as number).toFixed(0),
          "",
        ]),
      ],
    ],
  ),
);
print(`${turns} turns and ${turns} interruptions each, in turns. Load of the machine: ${load.toFixed(1)} before.`);
for (const { page } of contestants) await page.close();
await browser.close();
await providers.stop();
await control.stop();
await server.end();
await rm(folder, { recursive: true, force: true });
process.exit(0);
