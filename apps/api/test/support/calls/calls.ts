/** Support for tests of calls: the API with a simulated LiveKit, ready avatars, and avatar workers. */
import { afterAll } from "bun:test";
import { createHash } from "node:crypto";
import { type SyncRequest, type SyncResponse, TURNS } from "@realtime-avatar/domain/calls/worker-sync";
import type { LivekitConfig } from "@realtime-avatar/livekit/config";
import { createRooms, type Rooms } from "@realtime-avatar/livekit/rooms";
import type { RequestSpan } from "@realtime-avatar/runtime/tracing";
import { Secret } from "@realtime-avatar/storage/secret";
import { type LivekitStandIn, startLivekitStandIn } from "@realtime-avatar/testing/livekit/stand-in";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { AccessToken } from "livekit-server-sdk";
import type { AppOptions } from "../../../src/dependencies.ts";
import { type Answer, startApi, TEST_CONFIG, type TestApi, testStorage } from "../api.ts";

export const START = "/api/v1/realtime/livekit/session";
export const RELEASE = `${START}/release`;
export const EVENTS = "/internal/livekit-events";
export const WORKER_SECRET = "the-secret-of-the-avatar-workers-of-tests";

type LivekitAccess = Pick<LivekitStandIn, "url" | "apiKey" | "apiSecret">;

const livekitConfig = ({ url, apiKey, apiSecret }: LivekitAccess): LivekitConfig => ({
  url,
  apiKey,
  apiSecret: new Secret(apiSecret),
});

export const connectRooms = (livekit: LivekitAccess): Rooms => createRooms(livekitConfig(livekit));

/** The options of an API with calls. */
export const callOptions = (livekit: LivekitAccess): Pick<AppOptions, "config"> => ({
  config: { ...TEST_CONFIG, avatarWorkerSecret: new Secret(WORKER_SECRET), livekit: livekitConfig(livekit) },
});

/** Signs an event like LiveKit. */
export const signEvent = (
  body: string,
  { apiKey, apiSecret }: Pick<LivekitStandIn, "apiKey" | "apiSecret">,
): Promise<string> => {
  const token = new AccessToken(apiKey, apiSecret, { ttl: 60 });
  token.sha256 = createHash("sha256").update(body).digest("base64");
  return token.toJwt();
};

/** Starts the API for a test file, like `startApi`, with a simulated LiveKit. */
export const startCallApi = async (
  given: Partial<AppOptions> = {},
  changed: Partial<AppOptions["config"]> = {},
  ofDatabase: Parameters<typeof startApi>[2] = {},
) => {
  const livekit = await startLivekitStandIn();
  afterAll(() => livekit.stop());
  /** The names of the spans so far: of statements, and of requests to LiveKit. */
  const spans: string[] = [];
  const span = { traceId: "0".repeat(32), spanId: "0".repeat(16), traceparent: "", end: () => {} };
  const begin = (): RequestSpan => ({ ...span, recordSpan: (name) => void spans.push(name) });
  const options: Partial<AppOptions> = {
    config: { ...callOptions(livekit).config, ...changed },
    tracing: { begin, record: () => {}, recordStages: () => {}, stop: async () => {} },
    ...given,
  };
  const api: TestApi = await startApi(testStorage, options, ofDatabase);
  const key = await api.key();

  /** An avatar of the tenant of `by`, in this status. */
  const avatar = async (by = key, status = "ready"): Promise<string> => {
    const body = { displayName: "Ada", sourceKind: "image" };
    const { id } = (await api.call("POST", "/api/v1/avatars", { key: by, body })).body;
    await api.database.db.client`update avatars set status = ${status} where id = ${id}`;
    return id;
  };
  const start = (body: object, by = key, headers: Record<string, string> = {}): Promise<Answer> =>
    api.call("POST", START, { key: by, body, headers });
  const release = (body: object, by = key, headers: Record<string, string> = {}): Promise<Answer> =>
    api.call("POST", RELEASE, { key: by, body, headers });
  const session = async (id: string, by = key) =>
    (await api.call("GET", `/api/v1/usage/sessions/${id}`, { key: by })).body;
  const sync = (workerId: string, request: Partial<SyncRequest>, secret = WORKER_SECRET): Promise<Answer> =>
    api.call("POST", `/internal/avatar-workers/${workerId}/sync`, {
      body: { slots: 4, features: [], calls: [], ...request },
      headers: { authorization: `Bearer ${secret}` },
    });
  /** Syncs, and returns the response for the worker. */
  const syncOf = async (workerId: string, request: Partial<SyncRequest> = {}): Promise<SyncResponse> => {
    const { status, body } = await sync(workerId, request);
    if (status !== 200) throw new Error(`a sync was refused: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  /** Sends an event, signed with the key of `by`. */
  const sendEvent = async (event: object, by: Pick<LivekitStandIn, "apiKey" | "apiSecret"> = livekit) => {
    const body = JSON.stringify(event);
    const headers = { authorization: await signEvent(body, by), "content-type": "application/webhook+json" };
    return api.call("POST", EVENTS, { body, headers });
  };
  /** Gives slots to a worker, and a lease that lasts longer than the tests. */
  const giveSlots = async (slots: number, workerId = "wrk_many"): Promise<void> => {
    await syncOf(workerId, { slots, features: ["voice", TURNS] });
    await api.database.db
      .client`update fleet.avatar_workers set lease_until = now() + interval '1 hour' where id = ${workerId}`;
  };
  /** Ends the leases of all workers. */
  const takeSlots = () =>
    api.database.db.client`update fleet.avatar_workers set lease_until = now() - interval '1 hour', synced_at = null`;
  /** A tenant with this number of seconds of live credits, with keys and an avatar. */
  const tenantWith = async (seconds: number) => {
    const tenantId = await seedTenant(api.database.db, { live: seconds * 1_000_000 });
    type Request = Parameters<typeof seedKey>[2];
    type Parent = Awaited<ReturnType<typeof seedKey>>["record"];
    const newKey = async (request: Request = {}, parent?: Parent) => {
      const all: Request = { environment: "live", scopes: ["*", "usage:write"], ...request };
      const { record, secret } = await seedKey(api.database.db, tenantId, all, parent);
      return { record, key: secret.reveal() };
    };
    const root = await newKey();
    return { tenantId, newKey, root, avatarId: await avatar(root.key) };
  };
  const rooms = connectRooms(livekit);
  const ofWorkers = { sync, syncOf, giveSlots, takeSlots };
  return { api, livekit, rooms, key, spans, avatar, start, release, session, tenantWith, sendEvent, ...ofWorkers };
};
