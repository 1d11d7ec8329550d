/**
 * Support for tests of faults: the service as processes, with networks between them that can fail, and checks for the
 * time after the fault.
 */
import { expect } from "bun:test";
import { readInstance } from "@realtime-avatar/db/calls/reconcile";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { AVATAR_IDENTITY, roomPrefix } from "@realtime-avatar/domain/calls/room";
import type { SyncRequest, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";
import { type Network, startNetwork } from "@realtime-avatar/testing/network/network";
import type { RunningProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { RoomServiceClient } from "livekit-server-sdk";
import type { LossyNetwork } from "./lossy-network.ts";
import { joinAsRawClient, type RawClient } from "./raw-client.ts";
import { type Service, type StartedCall, startService } from "./service.ts";
import { startWebhooks } from "./webhooks.ts";

export const die = async (one: RunningProcess): Promise<void> => {
  one.kill("SIGKILL");
  await one.exited;
};
const portOf = (url: string): number => Number(new URL(url).port);
export const readWorkerId = async (worker: RunningProcess): Promise<string> =>
  (await worker.waitFor(/"workerId":"(\w+)"/))[1] ?? "";

export type OwnCall = StartedCall & { apiKey: string };

/** Starts calls by voice, each with its own key. */
const createCalls = (service: Service) => {
  const persons: RawClient[] = [];
  const { call: request } = service;
  const state = ({ id }: Pick<StartedCall, "id">) => service.stateOf(id);
  const untilStatus = (call: StartedCall, status: string, limitMs?: number): Promise<unknown> =>
    until(async () => (await state(call))["status"] === status, { limitMs, state: () => state(call) });
  const startCall = async (): Promise<OwnCall> => {
    const { apiKey } = await service.newKey();
    // After a failure of LiveKit, calls are refused for a second.
    const call = await until(() => service.start(apiKey, { mode: "voice" }).catch(() => null));
    return { apiKey, ...call };
  };
  const join = async ({ url, token }: StartedCall): Promise<void> => {
    const rawClient = await joinAsRawClient(url, token);
    if (rawClient === null) throw new Error("the call cannot be joined");
    persons.push(rawClient);
  };
  return {
    state,
    untilStatus,
    startCall,
    join,
    startJoined: async (): Promise<OwnCall> => {
      const call = await startCall();
      await join(call);
      await untilStatus(call, "started");
      return call;
    },
    endCall: async ({ id, apiKey }: Pick<OwnCall, "id" | "apiKey">): Promise<void> => {
      await request("POST", "/realtime/livekit/session/release", apiKey, { session_id: id });
    },
    /** Expects that the charge of a started call equals its used seconds, at least one. */
    expectCharged: async (call: OwnCall): Promise<void> => {
      const { status, used } = await state(call);
      expect(status).toBe("released");
      expect(used).toBeGreaterThanOrEqual(1_000_000);
      const session = await request("GET", `/usage/sessions/${call.id}`, call.apiKey);
      expect(await session.json()).toMatchObject({ billedCreditMicros: used });
    },
    reservedOf: async (apiKey: string): Promise<number> => {
      const response = await request("GET", "/credits/balance", apiKey);
      return ((await response.json()) as { reservedCreditMicros: number }).reservedCreditMicros;
    },
    leaveAll: (): void => {
      for (const person of persons.splice(0)) person.leave();
    },
  };
};

/** The state of a call's room, read from LiveKit. */
const createRoomView = ({ livekit: { apiUrl, apiKey, apiSecret } }: Service) => {
  const client = new RoomServiceClient(apiUrl, apiKey, apiSecret, { requestTimeout: 2 });
  const participants = ({ room }: StartedCall) => client.listParticipants(room).catch(() => []);
  return {
    identities: async (call: StartedCall): Promise<string> =>
      (await participants(call))
        .map(({ identity }) => identity)
        .sort()
        .join(),
    /** The identity of the published avatar. Another worker's avatar has another identity. */
    avatarOf: async (call: StartedCall): Promise<string | null> => {
      const present = await participants(call);
      return present.find(({ identity, tracks }) => identity === AVATAR_IDENTITY && tracks.length > 0)?.sid ?? null;
    },
  };
};

/** The state of all calls and workers, read from the database. */
const createFleetView = ({ db, url, workerSecret }: Service) => ({
  openCalls: async (): Promise<string[]> => {
    const rows = await db.client`select id from usage_sessions where ended_at is null order by id`;
    return rows.map((row) => row["id"]);
  },
  callsWithSlot: async (): Promise<string[]> => {
    const rows = await db.client`
      select session_id from fleet.avatar_slots where session_id is not null order by session_id`;
    return rows.map((row) => row["session_id"]);
  },
  leaseOf: async (worker: RunningProcess): Promise<number> => {
    const [row] =
      await db.client`select lease_until from fleet.avatar_workers where id = ${await readWorkerId(worker)}`;
    return Number(row?.["lease_until"] ?? 0);
  },
  /** Ends the lease of a lost worker. */
  endLease: async (worker: RunningProcess): Promise<void> => {
    await db.client`update fleet.avatar_workers set lease_until = now(), synced_at = null where id = ${await readWorkerId(worker)}`;
  },
  /** Syncs as a worker. */
  sync: async (workerId: string, request: SyncRequest): Promise<SyncResponse> => {
    const response = await fetch(`${url}/internal/avatar-workers/${workerId}/sync`, {
      method: "POST",
      headers: { authorization: `Bearer ${workerSecret}`, "content-type": "application/json" },
      body: JSON.stringify(request),
    });
    return (await response.json()) as SyncResponse;
  },
});

/** `lossy`: a network for persons and workers. They reach LiveKit and the service at its address. */
export const startWorld = async (livekitProgram: string, autoCreate: boolean, lossy: LossyNetwork | null = null) => {
  const webhooks = startWebhooks();
  const networks: Network[] = [];
  const networkTo = async (url: string): Promise<Network> => {
    const network = await startNetwork(portOf(url));
    networks.push(network);
    return network;
  };
  const service = await startService(livekitProgram, {
    autoCreate,
    webhookUrl: webhooks.url,
    livekitAt: async (url) => {
      const { port } = await networkTo(url);
      return lossy ? url.replace("127.0.0.1", lossy.address) : `ws://127.0.0.1:${port}`;
    },
    network: lossy,
  });
  webhooks.target = `${service.url}/internal/livekit-events`;
  await networkTo(service.url);
  const [toLivekit, toService] = networks as [Network, Network];
  const prefix = roomPrefix(await readInstance(service.db));
  const calls = createCalls(service);
  const fleet = createFleetView(service);
  const untilRooms = (sessions: readonly string[]): Promise<unknown> =>
    until(async () => (await service.rooms.list(prefix)).sort().join() === sessions.map((id) => prefix + id).join());
  return {
    webhooks,
    service,
    prefix,
    /** The network from the service and the clients to LiveKit. */
    toLivekit,
    /** The network from a worker to the service. */
    toService,
    ...calls,
    ...fleet,
    ...createRoomView(service),
    /** Expects that exactly these calls are open and have slots and rooms, and that the credits are consistent. */
    expectOpen: async (sessions: readonly string[]): Promise<void> => {
      expect(await fleet.openCalls()).toEqual([...sessions]);
      expect(await fleet.callsWithSlot()).toEqual([...sessions]);
      await untilRooms(sessions);
      expect(await findCreditDrift(service.db, service.tenantId, 10)).toEqual([]);
    },
    /** The only worker. If it is alive, the next test gets the same one. */
    onlyWorker: async (): Promise<RunningProcess> => service.workers()[0] ?? service.startWorker(),
    /** Expects no worker. A lost worker would get calls until its lease ends. */
    noWorker: async (): Promise<void> => {
      for (const worker of service.workers()) {
        await die(worker);
        await fleet.endLease(worker);
      }
    },
    /** Removes everything except a worker before the next test. */
    clean: async (): Promise<void> => {
      webhooks.fault = null;
      toLivekit.losesResponses = false;
      const apiKey = service.operatorKey;
      for (const id of await fleet.openCalls()) await calls.endCall({ id: id as StartedCall["id"], apiKey });
      const [kept, ...others] = service.workers();
      await Promise.all(others.map(die));
      await service.db.client`delete from fleet.avatar_workers where id <> ${kept ? await readWorkerId(kept) : ""}`;
    },
    stop: async (): Promise<void> => {
      await service.stop();
      for (const network of networks) network.close();
      await webhooks.stop();
    },
  };
};
export type World = Awaited<ReturnType<typeof startWorld>>;
