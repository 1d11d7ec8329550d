/**
 * Benchmark of calls that continue after a failure: `bun bench/calls/recovery.ts`. It starts a PostgreSQL with default
 * durability, the LiveKit server of the tests, the built service and built avatar workers with a scripted language
 * model and voice, all on loopback. A person is in a call with a face. The process of the call is killed, or its
 * worker: in half of the rounds while the avatar speaks, in the others while a turn has no answer yet. The script
 * prints the times from the kill until the person gets the track of the next voice, hears the answer, and sees a
 * picture of the next process. Then it stops workers, and prints the longest times without a frame of sound and without
 * a picture.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { RoomEvent, TrackKind } from "@livekit/rtc-node";
import { manifestId, preparedFile, preparedKey } from "@realtime-avatar/domain/avatars/preparation";
import { openStorage } from "@realtime-avatar/storage/open";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { seedAvatar, seedTenant } from "@realtime-avatar/testing/seeds";
import { startProviders } from "../../apps/avatar-worker/src/conversation/providers/providers.testing.ts";
import { preparedFace } from "../../apps/avatar-worker/test/support/faces.ts";
import { joinAsPerson, type Person } from "../../apps/avatar-worker/test/support/person.ts";
import { openDatabase } from "../database.ts";
import { type Process, percentile, start } from "../machine.ts";
import { buildService, startService } from "../processes.ts";
import { print } from "../progress.ts";
import { startLivekit, until } from "./livekit.ts";

const MUCH = 1_000_000_000_000_000;
const LOUD = 0.02;
/** The avatar speaks when its process is killed. */
const SPOKEN_SECONDS = 1;
const LONG = Array.from({ length: 30 }, (_, index) => `Heliotrope number ${index} is here.`).join(" ");

const { values } = parseArgs({
  options: { "skip-build": { type: "boolean", default: false }, rounds: { type: "string", default: "20" } },
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
const providers = startProviders();

/** Stores the files of a prepared face, as the preparation does. */
const storeFace = async (): Promise<void> => {
  const origin = () => SERVICE_URL;
  const storage = await openStorage({ kind: "disk", directory: variables.DATA_DIR, signingSecret: null }, { origin });
  const { image, file, manifest } = await preparedFace();
  const text = Buffer.from(JSON.stringify(manifest));
  const sha256 = createHash("sha256").update(text).digest("hex");
  const owner = { tenantId: root.caller.tenantId, id: avatar_id };
  const put = (name: string, bytes: Uint8Array<ArrayBuffer>, type: string) =>
    storage.put(preparedKey(owner, name), { stream: new Blob([bytes]).stream(), sizeBytes: bytes.length }, type);
  await put(file, new Uint8Array(image), "image/webp");
  await put(preparedFile(1, sha256, "json"), new Uint8Array(text), "application/json");
  await storage.close();
  const ready = "update avatars set status = 'ready', cache_manifest_id = $2 where id = $1";
  await db.run(ready, [avatar_id, manifestId(1, sha256)]);
};
await storeFace();

const post = async (path: string, body: object) => {
  const headers = { authorization: `Bearer ${root.apiKey}`, "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(`${SERVICE_URL}/api/v1/realtime/livekit/session${path}`, init);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Record<string, string>;
};

type Worker = { process: Process; log: string };
let started = 0;
const startWorker = async (): Promise<Worker> => {
  const log = join(folder, `avatar-worker-${++started}.log`);
  const free = async () => (await db.run("select from fleet.avatar_slots where session_id is null", [])).length;
  const before = await free();
  const process_ = await start([process.execPath, "apps/avatar-worker/dist/main.js"], log, {
    ...{ SERVICE_URL, AVATAR_WORKER_SECRET, AVATAR_WORKER_PORT: "0", AVATAR_SLOTS: "1", ...providers.variables },
  });
  await until(async () => (await free()) > before);
  return { process: process_, log };
};
/** The process of a call in the log of a worker; null when another worker has the call. */
const pidOf = async (worker: Worker, id: string): Promise<number | null> => {
  const lines = (await readFile(worker.log, "utf8")).split("\n");
  const line = lines.findLast((one) => one.includes(id) && /"a call was (assigned|started again)"/.test(one));
  return line ? (JSON.parse(line) as { pid: number }).pid : null;
};

/** The times at which the person got the tracks of the avatar. */
const watchTracks = (person: Person) => {
  const got: { at: number; kind: TrackKind | undefined }[] = [];
  person.room.on(RoomEvent.TrackSubscribed, ({ kind }) => void got.push({ at: performance.now(), kind }));
  const after = (kind: TrackKind, at: number) => got.find((one) => one.kind === kind && one.at > at)?.at;
  return {
    /** The time of the first track of sound after `at`; undefined before it. */
    sound: (at: number) => after(TrackKind.KIND_AUDIO, at),
    /** The time of the first picture of the first track of pictures after `at`. */
    picture: (at: number) => {
      const from = after(TrackKind.KIND_VIDEO, at);
      return from === undefined ? undefined : person.seen.find((one) => one.at > from)?.at;
    },
  };
};
const startCall = async () => {
  const call = await post("", { avatar_id, mode: "avatar" });
  const { session_id: id = "", livekit_url = "", participant_token = "" } = call;
  const person = await joinAsPerson(livekit_url, participant_token);
  const tracks = watchTracks(person);
  await person.until(() => person.seen.length > 0);
  const started = "select from usage_sessions where id = $1 and started_at is not null";
  await until(async () => (await db.run(started, [id])).length > 0);
  const end = async (): Promise<void> => {
    await post("/release", { session_id: id });
    await person.leave();
    await until(async () => (await db.run("select from fleet.avatar_slots where session_id = $1", [id])).length === 0);
  };
  const type = async (text: string) => void (await person.room.localParticipant?.sendText(text, { topic: "lk.chat" }));
  return { id, person, tracks, type, end };
};
type RunningCall = Awaited<ReturnType<typeof startCall>>;

const beginSpeech = async ({ person, type }: RunningCall): Promise<void> => {
  providers.setAnswer(() => LONG);
  await type("Tell me all.");
  await person.until(() => person.heardSeconds() > SPOKEN_SECONDS);
};
const beginTurn = async ({ id, type }: RunningCall): Promise<void> => {
  providers.setAnswer(() => "Of course I am here.");
  providers.faults.set("tts", "hang");
  await type("Are you there?");
  await until(async () => (await db.run("select from call_segments where session_id = $1", [id])).length > 0);
  await Bun.sleep(500 * Math.random());
};

type Recovery = { track: number; asked: number | null; heard: number | null; picture: number };

/** Kills once. Returns milliseconds after the kill; null for a time without speech of the avatar. */
const measureKill = async (isSpeaking: boolean, kill: (id: string) => Promise<void>): Promise<Recovery> => {
  const call = await startCall();
  const { id, person, tracks, end } = call;
  await (isSpeaking ? beginSpeech(call) : beginTurn(call));
  await kill(id);
  const killedAt = performance.now();
  providers.faults.delete("tts");
  const heard = () => person.heard.find(({ at, level }) => at > (tracks.sound(killedAt) ?? Infinity) && level > LOUD);
  await person.until(() => tracks.picture(killedAt) !== undefined && (isSpeaking || heard() !== undefined));
  await end();
  const since = (at = Number.NaN): number => at - killedAt;
  const asked = providers.of("llm").find(({ at }) => at > killedAt);
  return {
    track: since(tracks.sound(killedAt)),
    asked: isSpeaking ? null : since(asked?.at),
    heard: isSpeaking ? null : since(heard()?.at),
    picture: since(tracks.picture(killedAt)),
  };
};

const longestGap = (frames: readonly { at: number }[], from: number): number =>
  frames.reduce((most, { at }, index) => {
    const before = frames[index - 1];
    return before && at > from ? Math.max(most, at - before.at) : most;
  }, 0);

const show = (name: string, all: readonly number[]): void => {
  const [p50, p95, most] = [0.5, 0.95, 1].map((part) => percentile(all, part).toFixed());
  print(`${name.padEnd(60)} p50 ${p50} ms, p95 ${p95} ms, max ${most} ms (${all.length})`);
};
const rounds = Number(values.rounds);

/** Runs all rounds, and prints the times. */
const measureKills = async (what: string, kill: (id: string) => Promise<void>, after?: () => Promise<unknown>) => {
  const all: Recovery[] = [];
  for (let round = 0; round < rounds; round++) {
    all.push(await measureKill(round % 2 === 1, kill));
    await after?.();
  }
  const numbers = (name: keyof Recovery) => all.map((one) => one[name]).filter((ms) => ms !== null);
  show(`${what} is killed: until the next track of sound`, numbers("track"));
  show("  until the next process asks the model", numbers("asked"));
  show("  until the person hears the answer", numbers("heard"));
  show("  until the person sees the next picture", numbers("picture"));
};

let workers = [await startWorker(), await startWorker()];
const pidAt = (id: string) => Promise.all(workers.map((worker) => pidOf(worker, id)));
await measureKills("a process", async (id) => {
  process.kill((await pidAt(id)).find((pid) => pid !== null) as number, "SIGKILL");
});

/** Ends the worker that has the call. */
const endOwner = async (id: string, how: (worker: Worker) => void): Promise<void> => {
  const pids = await pidAt(id);
  const owner = workers[pids.findIndex((pid) => pid !== null)] as Worker;
  workers = workers.filter((worker) => worker !== owner);
  how(owner);
};
const killWorker = ({ process: { pid } }: Worker): void => void process.kill(pid, "SIGKILL");
await measureKills(
  "a worker",
  (id) => endOwner(id, killWorker),
  async () => workers.push(await startWorker()),
);

const gaps: { sound: number; picture: number }[] = [];
for (let round = 0; round < rounds; round++) {
  const call = await startCall();
  const { id, person, tracks, end } = call;
  await beginSpeech(call);
  const stoppedAt = performance.now();
  await endOwner(id, ({ process: worker }) => void worker.end());
  await person.until(() => tracks.picture(stoppedAt) !== undefined);
  await Bun.sleep(500);
  gaps.push({ sound: longestGap(person.heard, stoppedAt), picture: longestGap(person.seen, stoppedAt) });
  await end();
  workers.push(await startWorker());
}
show(
  "a worker that stops: the longest time without sound",
  gaps.map(({ sound }) => sound),
);
show(
  "the same, without a picture",
  gaps.map(({ picture }) => picture),
);
print(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
await Promise.all(workers.map(({ process: worker }) => worker.end()));
await providers.stop();
await service.end();
await livekit.end();
await database.close();
process.exit(0);
