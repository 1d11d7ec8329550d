/** The service as processes, with a LiveKit server, for tests of whole calls. */
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import type { StartCall } from "@realtime-avatar/domain/calls/schemas";
import type { AvatarId, SessionId } from "@realtime-avatar/domain/id";
import { createRooms } from "@realtime-avatar/livekit/rooms";
import { Secret } from "@realtime-avatar/storage/secret";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { startLivekit } from "@realtime-avatar/testing/livekit/server";
import { freePorts } from "@realtime-avatar/testing/network/ports";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { seedAvatar, seedTenant } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import type { LossyNetwork } from "./lossy-network.ts";

/** The command for an avatar worker. */
export const AVATAR_WORKER = bun("apps/avatar-worker/src/main.ts");

export type StartedCall = { id: SessionId; room: string; token: string; url: string };

/**
 * Starts the API, which also does the work of the worker. `restart`: starts it again at the same address after it has
 * exited.
 */
const startApi = async (command: readonly string[], variables: Record<string, string>) => {
  const [port] = await freePorts(1);
  const start = async (): Promise<RunningProcess> => {
    const started = startProcess(command, {
      ...{ PORT: String(port), SWEEP_IN_API: "true", ...variables },
    });
    await started.waitFor(/"url":"http:/);
    return started;
  };
  let current = await start();
  return {
    url: `http://127.0.0.1:${port}`,
    process: (): RunningProcess => current,
    restart: async (): Promise<void> => {
      current = await start();
    },
  };
};

const callsTo =
  (url: string) =>
  (method: string, path: string, key: string, body?: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });

export type ServiceOptions = {
  autoCreate?: boolean;
  slots?: number;
  /** The operator's agent (CALL_AGENT_NAME). */
  agentName?: string;
  /** Where LiveKit sends its webhooks. Default: nowhere. */
  webhookUrl?: string;
  /** Maps the address of the LiveKit server to the address for the service and its clients. */
  livekitAt?: (url: string) => Promise<string>;
  /** Additional variables of the API and of `startFileWorker`. */
  apiVariables?: Record<string, string>;
  /** Additional variables of avatar workers. */
  workerVariables?: Record<string, string>;
  /** The command that runs the API. Default: from the sources. */
  apiCommand?: readonly string[];
  /** Called with the URL of the database before the API starts. */
  prepareDatabase?: (url: string) => Promise<void>;
  /** A network in which LiveKit and the service are also reachable. */
  network?: LossyNetwork | null;
};

const sameUrl = async (url: string): Promise<string> => url;

/** The state of a call's session. */
const stateIn =
  ({ db }: TestDatabase) =>
  async (id: SessionId) => {
    const [row] = await db.client`
      select status, used::integer, reason, room, generation from usage_sessions session
      join calls on session_id = id and calls.tenant_id = session.tenant_id where id = ${id}`;
    return { ...row };
  };

/** A tenant with a key and an avatar. For an avatar without files, the avatar worker shows an outline. */
const seedOperator = async ({ db }: TestDatabase) => {
  const tenantId = await seedTenant(db, { live: 10_000_000_000 });
  const operator = await seedCaller(db, tenantId);
  const { id: avatarId } = await seedAvatar(db, operator.caller);
  await db.client`update avatars set status = 'ready' where id = ${avatarId}`;
  return { tenantId, operator, avatarId: avatarId as AvatarId };
};

/** Starts LiveKit and the API, which also reconciles. `stop`: ends both and the avatar workers. */
export const startService = async (livekitProgram: string, options: ServiceOptions = {}) => {
  const { slots = 8, agentName = "", livekitAt = sameUrl, network = null, apiCommand, ...others } = options;
  const { prepareDatabase, apiVariables = {}, workerVariables = {}, ...livekitOptions } = others;
  const [folder, database] = await Promise.all([temporaryFolder(), testDatabase({ isServed: true })]);
  const { db } = database;
  await prepareDatabase?.(database.url);
  const livekit = await startLivekit(livekitProgram, { ...livekitOptions, ...(network && { network }) });
  const AVATAR_WORKER_SECRET = randomBytes(32).toString("hex");
  const { apiKey: LIVEKIT_API_KEY, apiSecret: LIVEKIT_API_SECRET } = livekit;
  const shared = { ...database.variables, DATA_DIR: folder, ...apiVariables };
  const api = await startApi(apiCommand ?? bun("apps/api/src/main.ts"), {
    ...{ ...shared, AVATAR_WORKER_SECRET, ...(network && { HOST: "0.0.0.0" }) },
    ...{ LIVEKIT_URL: await livekitAt(livekit.url), LIVEKIT_API_KEY, LIVEKIT_API_SECRET, CALL_AGENT_NAME: agentName },
  });
  const { url } = api;
  const call = callsTo(url);
  const workers = new Set<RunningProcess>();
  /** `serviceUrl`: the address of the service for the worker. `command`: runs the worker. */
  const startWorker = async (serviceUrl = url, command = AVATAR_WORKER): Promise<RunningProcess> => {
    const worker = startProcess(command, {
      ...{ SERVICE_URL: serviceUrl, AVATAR_WORKER_SECRET, AVATAR_SLOTS: String(slots), AVATAR_WORKER_PORT: "0" },
      ...workerVariables,
    });
    workers.add(worker);
    void worker.exited.then(() => workers.delete(worker));
    const [, id = ""] = await worker.waitFor(/"workerId":"(\w+)"/);
    await until(async () => (await db.client`select from fleet.avatar_workers where id = ${id}`).length > 0);
    return worker;
  };

  const { tenantId, operator, avatarId } = await seedOperator(database);
  return {
    livekit,
    rooms: createRooms({ ...livekit, apiSecret: new Secret(livekit.apiSecret) }),
    db,
    ...{ tenantId, avatarId, operatorKey: operator.apiKey },
    startWorker,
    /** Starts a worker (apps/worker) with the database and the store of the API. */
    startFileWorker: async (): Promise<void> => {
      const worker = startProcess(bun("apps/worker/src/main.ts"), { ...shared, WORKER_PORT: "0" });
      workers.add(worker);
      await worker.waitFor(/"url":"http:/);
    },
    /** The workers that have not exited. */
    workers: (): readonly RunningProcess[] => [...workers],
    killWorkers: async (): Promise<void> => {
      const killed = [...workers];
      for (const worker of killed) worker.kill("SIGKILL");
      await Promise.all(killed.map(({ exited }) => exited));
    },
    call,
    /** A key that the operator's key can revoke. */
    newKey: () => seedCaller(db, tenantId, {}, operator.record),
    /** Starts a call like a program. */
    start: async (key: string, fields: Partial<StartCall> = {}): Promise<StartedCall> => {
      const response = await call("POST", "/realtime/livekit/session", key, { avatar_id: avatarId, ...fields });
      if (response.status !== 200) throw new Error(`the call was not started: ${await response.text()}`);
      const grant = (await response.json()) as Record<string, string>;
      const { session_id = "", room_name = "", participant_token = "", livekit_url = "" } = grant;
      return { id: session_id as SessionId, room: room_name, token: participant_token, url: livekit_url };
    },
    stateOf: stateIn(database),
    stop: async (): Promise<void> => {
      for (const worker of workers) {
        worker.kill("SIGCONT");
        worker.kill("SIGKILL");
      }
      const running = api.process();
      running.kill("SIGCONT");
      running.kill("SIGTERM");
      await Promise.all([running, ...workers].map(({ exited }) => exited));
      await livekit.stop();
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
    url,
    workerSecret: AVATAR_WORKER_SECRET,
    api,
  };
};
export type Service = Awaited<ReturnType<typeof startService>>;
