/**
 * The whole service as processes that can be killed: two APIs behind a balancer, a worker, two avatar workers, LiveKit
 * and PostgreSQL.
 */
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { client, preparedDataDirectory } from "@realtime-avatar/testing/database";
import { startLivekit } from "@realtime-avatar/testing/livekit/server";
import { freePorts } from "@realtime-avatar/testing/network/ports";
import { startCluster } from "@realtime-avatar/testing/postgres/cluster";
import { bun, type RunningProcess, source, startProcess } from "@realtime-avatar/testing/processes";
import { seedAvatar, seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { startProviders } from "../../src/conversation/providers/providers.testing.ts";
import { AVATAR_WORKER } from "../support/service.ts";
import { startReceiver } from "./receiver.ts";

const CREDITS = 1_000_000_000_000;
/** On a busy machine, a program can take long to start. The test then reports the silence of its calls. */
const START_MS = 300_000;
const MAX_STARTS = 20;
const BALANCER = join(import.meta.dir, "balancer.ts");
/** The answer of the model: a minute of speech. */
const ANSWER = Array.from({ length: 30 }, (_, index) => `Heliotrope number ${index} is here.`).join(" ");

/** A program that is killed and started again. */
export type Part = { kill(): Promise<void>; start(): Promise<void> };

const killed = async (one: RunningProcess): Promise<void> => {
  one.kill("SIGKILL");
  await one.exited;
};

/** `isReady`: waits for the start. A program that exits before, as without its database, is started again. */
const processPart = (run: () => RunningProcess, isReady: (started: RunningProcess) => Promise<unknown>) => {
  let running: RunningProcess;
  const all: RunningProcess[] = [];
  const start = async (attempts = MAX_STARTS): Promise<void> => {
    const started = run();
    running = started;
    all.push(started);
    let hasExited = false;
    void started.exited.then(() => {
      hasExited = true;
    });
    try {
      await isReady(started);
    } catch (error) {
      if (!hasExited || attempts === 1) throw error;
      await start(attempts - 1);
    }
  };
  return {
    process: (): RunningProcess => running,
    kill: () => killed(running),
    start: () => start(),
    /** The log of all its processes. */
    log: (): string => all.map(({ stdout }) => stdout()).join(""),
  };
};

type Database = { db: Db; client: ReturnType<typeof client> };
/** Runs `work` on the database, and repeats it when the database was killed meanwhile. */
export type OnDatabase = <Result>(work: (database: Database) => PromiseLike<Result>) => Promise<Result>;

const onDatabaseAt =
  (url: string): OnDatabase =>
  async (work) => {
    for (let attempt = 1; ; attempt++) {
      const [db, sql] = [connect(url, { connections: 1 }), client(url)];
      try {
        return await work({ db, client: sql });
      } catch (error) {
        if (attempt === 100) throw error;
        await Bun.sleep(100);
      } finally {
        await Promise.allSettled([db.close(), sql.end({ timeout: 1 })]);
      }
    }
  };

/** Creates the tenant whose calls the test makes, its key and its avatar. */
const seed = (onDatabase: OnDatabase) =>
  onDatabase(async ({ db, client: sql }) => {
    const tenantId: TenantId = await seedTenant(db, { live: CREDITS });
    const { apiKey, caller } = await seedCaller(db, tenantId);
    const { id: avatarId } = await seedAvatar(db, caller);
    await sql`update avatars set status = 'ready' where id = ${avatarId}`;
    return { tenantId, apiKey, avatarId };
  });

const timeOf = (line: string): string => /"time":("[^"]+"|\d+)/.exec(line)?.[1] ?? "";

/** The process of a call, by the log of its avatar worker; null when the worker never had the call. */
const readPid = (worker: RunningProcess, id: SessionId): number | null => {
  const text = worker.stdout();
  for (let at = text.lastIndexOf(id); at !== -1; at = text.lastIndexOf(id, at - 1)) {
    const line = text.slice(text.lastIndexOf("\n", at) + 1, text.indexOf("\n", at));
    if (/"a call was (assigned|started again)"/.test(line)) return (JSON.parse(line) as { pid: number }).pid;
  }
  return null;
};

/** `slots`: the number of slots of each avatar worker. */
export const startWorld = async (livekitProgram: string, slots: number) => {
  const folder = await temporaryFolder();
  const data = await preparedDataDirectory(join(folder, "data"));
  // Only processes are killed here, so the operating system keeps their written data.
  const cluster = await startCluster({ data, settings: { fsync: "off", max_connections: "100" } });
  const onDatabase = onDatabaseAt(cluster.url("postgres"));
  const livekit = await startLivekit(livekitProgram);
  const providers = startProviders({ llmMs: 50, tokenMs: 2, ttsMs: 20, sttMs: 20 });
  providers.setAnswer(() => ANSWER);
  const receiver = startReceiver();
  const ports = await freePorts(2);
  const balancer = startProcess(source(BALANCER, ...ports.map(String)));
  const [, serviceUrl = ""] = await balancer.waitFor(/"url":"(http:[^"]+)"/, START_MS);
  const AVATAR_WORKER_SECRET = randomBytes(32).toString("hex");
  const { url: LIVEKIT_URL, apiKey: LIVEKIT_API_KEY, apiSecret: LIVEKIT_API_SECRET } = livekit;
  const variables = {
    ...{ DATA_DIR: data, AVATAR_WORKER_SECRET, LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET },
    WEBHOOK_ALLOW_HTTP_LOCALHOST: "true",
  };
  const apis = ports.map((port) =>
    processPart(
      () => startProcess(bun("apps/api/src/main.ts"), { ...variables, PORT: String(port), WORKER: "false" }),
      (api) => api.waitFor(/"url":"http:/, START_MS),
    ),
  );
  const worker = processPart(
    () => startProcess(bun("apps/worker/src/main.ts"), { ...variables, WORKER_PORT: "0" }),
    (started) => started.waitFor(/"msg":"listening/, START_MS),
  );
  const isKnown = async (started: RunningProcess): Promise<void> => {
    const [, id = ""] = await started.waitFor(/"workerId":"(\w+)"/, START_MS);
    const find = () => onDatabase((on) => on.client`select from fleet.avatar_slots where worker_id = ${id}`);
    await until(async () => (await find()).length > 0);
  };
  const avatarWorkers = [1, 2].map(() =>
    processPart(
      () =>
        startProcess(AVATAR_WORKER, {
          ...{ SERVICE_URL: serviceUrl, AVATAR_WORKER_SECRET, AVATAR_SLOTS: String(slots), AVATAR_WORKER_PORT: "0" },
          ...providers.variables,
        }),
      isKnown,
    ),
  );
  const stop = async (): Promise<void> => {
    await Promise.all([...avatarWorkers, worker, ...apis].map((part) => part.kill().catch(() => {})));
    await killed(balancer);
    await Promise.all([livekit.stop(), providers.stop(), receiver.stop()]);
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  };
  const start = async () => {
    // The first one prepares the database and the secrets in the data directory.
    for (const part of [...apis, worker, ...avatarWorkers]) await part.start();
    return seed(onDatabase);
  };
  const seeded = await start().catch((error: unknown) =>
    stop().then(() => {
      throw error;
    }),
  );
  return {
    ...{ onDatabase, receiver, url: serviceUrl, ...seeded, stop },
    ...{ apis, worker, avatarWorkers },
    livekit: { kill: () => killed(livekit.process), start: livekit.restart } satisfies Part,
    database: { kill: cluster.kill, start: cluster.start } satisfies Part,
    /** The lines of all logs that name a call, in the order of their times. */
    logOf: (id: string): string[] => {
      const log = [...apis, worker, ...avatarWorkers].map((part) => part.log()).join("");
      const lines = log.split("\n").filter((line) => line.includes(id));
      return lines.toSorted((one, other) => (timeOf(one) < timeOf(other) ? -1 : 1));
    },
    /** The process of a call at an avatar worker; null when the worker never had the call. */
    pidOf: (id: SessionId): number | null =>
      avatarWorkers.map((part) => readPid(part.process(), id)).find((pid) => pid !== null) ?? null,
  };
};
export type World = Awaited<ReturnType<typeof startWorld>>;
