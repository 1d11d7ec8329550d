/**
 * Benchmark of calls with media: `bun bench/calls/media.ts`. It starts a PostgreSQL with default durability, the
 * LiveKit server of the tests, the built service and the built avatar worker, all on loopback. It prints three times:
 * from a start to the first frame at the person, from the response to a revocation to the last frame, and from the end
 * of a call until its slot is free. The person is Chromium for a first frame, if it is installed, and the library for
 * Node in this process, which also decodes.
 */
import { randomBytes } from "node:crypto";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { seedAvatar, seedTenant } from "@realtime-avatar/testing/seeds";
import { joinAsPerson } from "../../apps/avatar-worker/test/support/person.ts";
import { joinAsRawClient } from "../../apps/avatar-worker/test/support/raw-client.ts";
import { type Database, openDatabase } from "../database.ts";
import { percentile, start } from "../machine.ts";
import { buildService, startService } from "../processes.ts";
import { print } from "../progress.ts";
import { measureBrowser } from "./browser.ts";
import { startLivekit, until } from "./livekit.ts";

const MUCH = 1_000_000_000_000_000;

type Caller = Awaited<ReturnType<typeof seedCaller>>;
type World = { database: Database; url: string; root: Caller; avatarId: string };
type Grant = { session_id: string; livekit_url: string; participant_token: string };

const request = ({ url }: World, method: string, path: string, apiKey: string, body?: object): Promise<Response> =>
  fetch(`${url}api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });

const startCall = async (world: World, apiKey: string, mode: "avatar" | "voice"): Promise<Grant> => {
  const body = { avatar_id: world.avatarId, mode };
  const response = await request(world, "POST", "/realtime/livekit/session", apiKey, body);
  if (!response.ok) throw new Error(`The call was not started: ${await response.text()}`);
  return (await response.json()) as Grant;
};

const isStarted = async ({ database: { db } }: World, { session_id }: Grant): Promise<boolean> =>
  (await db.run("select from usage_sessions where id = $1 and started_at is not null", [session_id])).length > 0;
const hasSlot = async ({ database: { db } }: World, { session_id }: Grant): Promise<boolean> =>
  (await db.run("select from fleet.avatar_slots where session_id = $1", [session_id])).length > 0;

/** Calls that a revocation ends. Returns the milliseconds from the start to the first frame, and from the end to the last. */
const measureFrames = async (world: World, count: number) => {
  const times: Record<"first" | "last", number[]> = { first: [], last: [] };
  for (let index = 0; index < count; index++) {
    const { apiKey, record } = await seedCaller(world.database.db, world.root.record.tenantId, {}, world.root.record);
    const startedAt = performance.now();
    const call = await startCall(world, apiKey, "avatar");
    const person = await joinAsPerson(call.livekit_url, call.participant_token);
    await person.until(() => person.seen.length > 0);
    times.first.push((person.seen[0]?.at ?? 0) - startedAt);
    await until(() => isStarted(world, call));
    // At any moment between two passes of the reconciler.
    await Bun.sleep(2000 * Math.random());
    await request(world, "DELETE", `/api-keys/${record.id}`, world.root.apiKey);
    const answeredAt = performance.now();
    await person.until(() => person.disconnectReason() !== null);
    times.last.push((person.seen.at(-1)?.at ?? 0) - answeredAt);
    await person.leave();
  }
  return times;
};

const release = (world: World, sessionId: string): Promise<Response> =>
  request(world, "POST", "/realtime/livekit/session/release", world.root.apiKey, { session_id: sessionId });

const measureInBrowser = (world: World, count: number): Promise<number[]> => {
  const start = () => startCall(world, world.root.apiKey, "avatar");
  const end = async (sessionId: string): Promise<void> => void (await release(world, sessionId));
  return measureBrowser(world.database.folder, { start, end }, count);
};

/** Calls that their person ends. Returns the milliseconds from the request until the slot is free. */
const measureEnds = async (world: World, count: number): Promise<number[]> => {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const call = await startCall(world, world.root.apiKey, "voice");
    const person = await joinAsRawClient(call.livekit_url, call.participant_token);
    await until(() => isStarted(world, call));
    const endedAt = performance.now();
    const ended = release(world, call.session_id);
    await until(async () => !(await hasSlot(world, call)));
    times.push(performance.now() - endedAt);
    await ended;
    person?.leave();
  }
  return times;
};

const show = (name: string, values: readonly number[]): void => {
  const [p50, p95, most] = [0.5, 0.95, 1].map((part) => percentile(values, part).toFixed(values.length > 20 ? 1 : 0));
  print(`${name.padEnd(50)} p50 ${p50} ms, p95 ${p95} ms, max ${most} ms (${values.length})`);
};

const { values } = parseArgs({
  options: {
    "skip-build": { type: "boolean", default: false },
    calls: { type: "string", default: "20" },
    ends: { type: "string", default: "100" },
  },
});
if (!values["skip-build"]) buildService();
const database = await openDatabase();
const { db, folder } = database;
const livekit = await startLivekit(folder);
const AVATAR_WORKER_SECRET = randomBytes(32).toString("hex");
const variables = { ...livekit.variables, AVATAR_WORKER_SECRET, SWEEP_IN_API: "true", DATA_DIR: join(folder, "files") };
const service = await startService(folder, "service", database.url, variables);
const worker = await start([process.execPath, "apps/avatar-worker/dist/main.js"], join(folder, "avatar-worker.log"), {
  ...{ SERVICE_URL: service.url.replace(/\/$/, ""), AVATAR_WORKER_SECRET, AVATAR_WORKER_PORT: "0", AVATAR_SLOTS: "8" },
});
await until(async () => (await db.run("select from fleet.avatar_slots", [])).length > 0);
const root = await seedCaller(db, await seedTenant(db, { live: MUCH }));
const { id: avatarId } = await seedAvatar(db, root.caller);
// The worker shows a default picture for an avatar without files.
await db.run("update avatars set status = 'ready' where id = $1", [avatarId]);
const world: World = { database, url: service.url.replace(/\/?$/, "/"), root, avatarId };
await measureFrames(world, 1);
await measureEnds(world, 5);
const count = Number(values.calls);
const frames = await measureFrames(world, count);
show("from the start of a call to the first frame", frames.first);
if (BROWSER) show("the same, of the page of docs/calls.md in Chromium", await measureInBrowser(world, count));
show("from a revocation to the last frame", frames.last);
show("from the end of a call to a free slot", await measureEnds(world, Number(values.ends)));
print(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
await worker.end();
await service.end();
await livekit.end();
await database.close();
process.exit(0);
