/**
 * Benchmark of turns that programs send into calls: `bun bench/calls/turns.ts`. It starts a PostgreSQL with default
 * durability, the LiveKit server of the tests, the built service and the built avatar worker without a language model,
 * all on loopback. It prints the times from the response to a turn until the avatar speaks (`lk.agent.state`, sent with
 * the first sound) and until the person hears it, and from the response to an interruption until the person hears
 * silence: with a voice server that responds at once, and with Flite.
 */
import { randomBytes } from "node:crypto";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { seedAvatar, seedTenant } from "@realtime-avatar/testing/seeds";
import { startProviders } from "../../apps/avatar-worker/src/conversation/providers/providers.testing.ts";
import { joinAsPerson } from "../../apps/avatar-worker/test/support/person.ts";
import { openDatabase } from "../database.ts";
import { percentile, start } from "../machine.ts";
import { buildService, startService } from "../processes.ts";
import { print } from "../progress.ts";
import { startLivekit, until } from "./livekit.ts";

const MUCH = 1_000_000_000_000_000;
const TEXT = "One two three four five six seven eight nine ten.";
const LOUD = 0.02;
const QUIET = 0.005;
/** How long the avatar speaks before the interruption, in milliseconds. */
const SAID_MS = 500;

const { values } = parseArgs({
  options: { "skip-build": { type: "boolean", default: false }, turns: { type: "string", default: "30" } },
});
if (!values["skip-build"]) buildService();
const database = await openDatabase();
const { db, folder } = database;
const livekit = await startLivekit(folder);
const AVATAR_WORKER_SECRET = randomBytes(32).toString("hex");
const variables = { ...livekit.variables, AVATAR_WORKER_SECRET, SWEEP_IN_API: "true", DATA_DIR: join(folder, "files") };
const service = await startService(folder, "service", database.url, variables);
const SERVICE_URL = service.url.replace(/\/$/, "");
const root = await seedCaller(db, await seedTenant(db, { live: MUCH }));
const { id: avatar_id } = await seedAvatar(db, root.caller);
await db.run("update avatars set status = 'ready' where id = $1", [avatar_id]);

const post = async (path: string, body: object) => {
  const headers = { authorization: `Bearer ${root.apiKey}`, "content-type": "application/json" };
  const response = await fetch(`${SERVICE_URL}/api/v1/realtime/${path}`, {
    ...{ method: "POST", headers, body: JSON.stringify(body) },
  });
  const json = (await response.json()) as Record<string, string>;
  if (!response.ok) throw new Error(JSON.stringify(json));
  return { json, at: performance.now() };
};

/** Repeatedly lets the avatar say a text, and interrupts it. */
const measureTurns = async (session_id: string, person: Awaited<ReturnType<typeof joinAsPerson>>) => {
  const times: Record<"speaks" | "heard" | "silent", number[]> = { speaks: [], heard: [], silent: [] };
  let spokeAt = 0;
  let isSpeaking = false;
  const watch = (changed: Record<string, string>): void => {
    const state = changed["lk.agent.state"];
    if (state === undefined) return;
    isSpeaking = state === "speaking";
    if (isSpeaking) spokeAt = performance.now();
  };
  person.room.on("participantAttributesChanged" as never, watch as never);
  for (let turn = 0; turn < Number(values.turns); turn++) {
    const { at } = await post("turns", { session_id, kind: "say", text: TEXT });
    const first = () => person.heard.find((frame) => frame.at > at && frame.level > LOUD);
    await until(() => isSpeaking && first() !== undefined);
    times.speaks.push(spokeAt - at);
    times.heard.push((first()?.at ?? 0) - at);
    await Bun.sleep(SAID_MS);
    const stopped = await post("interrupt", { session_id });
    await until(() => !isSpeaking && person.hasSilence(0.3));
    times.silent.push((person.heard.findLast(({ level }) => level > QUIET)?.at ?? 0) - stopped.at);
  }
  return times;
};

const measure = async (voice: string, ofVoice: Record<string, string>): Promise<void> => {
  const log = join(folder, "avatar-worker.log");
  const worker = await start([process.execPath, "apps/avatar-worker/dist/main.js"], log, {
    ...{ SERVICE_URL, AVATAR_WORKER_SECRET, AVATAR_WORKER_PORT: "0", AVATAR_SLOTS: "2", ...ofVoice },
  });
  await until(async () => (await db.run("select from fleet.avatar_slots where session_id is null", [])).length > 0);
  const { json: call } = await post("livekit/session", { avatar_id, mode: "voice" });
  const { session_id = "", livekit_url = "", participant_token = "" } = call;
  const person = await joinAsPerson(livekit_url, participant_token);
  const started = "select from usage_sessions where id = $1 and started_at is not null";
  await until(async () => (await db.run(started, [session_id])).length > 0);
  const { speaks, heard, silent } = await measureTurns(session_id, person);
  const show = (name: string, all: readonly number[]): void => {
    const [p50, p95, most] = [0.5, 0.95, 1].map((part) => percentile(all, part).toFixed());
    print(`${`${voice}: ${name}`.padEnd(70)} p50 ${p50} ms, p95 ${p95} ms, max ${most} ms (${all.length})`);
  };
  show("from a turn until the avatar speaks", speaks);
  show("from a turn until the person hears it", heard);
  show("from an interruption until the person hears nothing", silent);
  await post("livekit/session/release", { session_id });
  await person.leave();
  await worker.end();
};

const providers = startProviders({ llmMs: 0, tokenMs: 0, sttMs: 0, ttsMs: 0 });
const { TTS_URL, TTS_API_KEY, TTS_MODEL, TTS_VOICES } = providers.variables;
await measure("a voice server that answers at once", { TTS_URL, TTS_API_KEY, TTS_MODEL, TTS_VOICES });
await measure("Flite", {});
print(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
await providers.stop();
await service.end();
await livekit.end();
await database.close();
process.exit(0);
