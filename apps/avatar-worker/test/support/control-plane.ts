/**
 * The service for tests of avatar workers, without a database: a test assigns calls, and reads the worker's reports.
 */
import { randomBytes } from "node:crypto";
import type { EndReason } from "@realtime-avatar/domain/calls/end-reasons";
import { avatarToken, type CallToken, personToken, roomName } from "@realtime-avatar/domain/calls/room";
import { isTurnOver } from "@realtime-avatar/domain/calls/turns";
import {
  type AssignedCall,
  type AssignedTurn,
  MAX_PRELOADS,
  type Move,
  PRELOAD,
  type ReportedCall,
  SERVICE_FEATURES,
  SyncRequest,
  type SyncResponse,
  TURNS,
  WIRE_2,
} from "@realtime-avatar/domain/calls/worker-sync";
import { newId, type SessionId } from "@realtime-avatar/domain/id";
import { type Fragment, readFragment } from "@realtime-avatar/domain/recordings/fragment";
import { validate } from "@realtime-avatar/domain/schema";
import type { LivekitServer } from "@realtime-avatar/testing/livekit/server";
import { random } from "@realtime-avatar/testing/random-bytes";
import { until } from "@realtime-avatar/testing/until";
import { AccessToken, RoomServiceClient, TrackSource } from "livekit-server-sdk";

/** How long a sync waits for work. */
const HOLD_MS = 1000;
const POLL_MS = 20;
const LEASE_SECONDS = 15;

/** A LiveKit server: the addresses for signalling and API, and the key for both. */
type LivekitAddress = Pick<LivekitServer, "url" | "apiUrl" | "apiKey" | "apiSecret">;

/** Signs a token like the service. */
export const sign = (
  { apiKey, apiSecret }: Pick<LivekitAddress, "apiKey" | "apiSecret">,
  token: CallToken,
): Promise<string> => {
  const { identity, kind, ttlSeconds, attributes, video } = token;
  const { canPublishSources, ...grant } = video;
  const signed = new AccessToken(apiKey, apiSecret, { identity, ttl: ttlSeconds, attributes });
  signed.kind = kind;
  signed.addGrant({ ...grant, ...(canPublishSources && { canPublishSources: [TrackSource.MICROPHONE] }) });
  return signed.toJwt();
};

/** A fragment of a recording, as a worker has sent it. */
export type SentFragment = Fragment & { generation: number; n: number };

type TestCall = { session: SessionId; room: string; personToken: string };

/** The assigned calls, the calls to end, and the reports of workers. */
const createState = () => {
  const assigned = new Map<string, AssignedCall>();
  const ending = new Map<string, EndReason | null>();
  /** For each session, the reports that differ from the previous one. */
  const reports = new Map<string, ReportedCall[]>();
  const syncs: SyncRequest[] = [];
  const moves = new Map<string, Move>();
  const preload: NonNullable<SyncResponse["preload"]> = [];
  /** The unfinished turns. */
  const turns = new Map<string, AssignedTurn>();
  return {
    preload,
    turns,
    filesSent: [] as string[],
    /** The fragments of the recording of each session. */
    fragments: new Map<string, SentFragment[]>(),
    assigned,
    ending,
    reports,
    syncs,
    moves,
    record: (request: SyncRequest): void => {
      syncs.push(request);
      for (const call of request.calls) {
        const earlier = reports.get(call.session_id) ?? [];
        if (JSON.stringify(earlier.at(-1)) !== JSON.stringify(call)) reports.set(call.session_id, [...earlier, call]);
        if (call.state === "ended") assigned.delete(call.session_id);
        for (const { turn_id, status } of call.turns ?? []) if (isTurnOver(status)) turns.delete(turn_id);
      }
    },
    work: ({ calls, slots, features }: SyncRequest): Omit<SyncResponse, "lease_seconds"> => {
      const listed = new Set(calls.map(({ session_id }) => session_id));
      const open = calls.filter(({ state }) => state !== "ended");
      return {
        ...(features.includes(WIRE_2) && { features: [...SERVICE_FEATURES] }),
        ...(features.includes(PRELOAD) && { preload: preload.slice(-MAX_PRELOADS).reverse() }),
        ...(features.includes(TURNS) && {
          turns: [...turns.values()].filter(({ session_id, turn_id }) =>
            open.some(
              (call) =>
                call.session_id === session_id &&
                call.state === "started" &&
                !call.turns?.some((listed) => listed.turn_id === turn_id),
            ),
          ),
        }),
        start: slots === 0 ? [] : [...assigned.values()].filter(({ session_id }) => !listed.has(session_id)),
        move: open.flatMap(({ session_id, generation, resume }) => {
          const to = moves.get(session_id);
          return to && resume && to.room_number !== resume.room_number ? [{ ...to, generation }] : [];
        }),
        tokens: open.flatMap(({ session_id, generation, usage }) => {
          const limit = assigned.get(session_id)?.tokens_left;
          if (usage === undefined || limit === undefined) return [];
          const used = usage.input_tokens + usage.output_tokens;
          return [{ session_id, generation, used, left: Math.max(0, limit - used) }];
        }),
        end: open.flatMap(({ session_id, generation }) => {
          const reason = ending.get(session_id);
          return reason === undefined ? [] : [{ session_id, generation, reason }];
        }),
      };
    },
  };
};
type State = ReturnType<typeof createState>;

/** Records the sync, and responds when there is work, or after a second. */
const respond = async (state: State, request: Request, leaseSeconds: () => number): Promise<Response> => {
  const body = (await request.json()) as SyncRequest;
  const errors = validate(SyncRequest, body);
  if (errors.length > 0) return Response.json(errors, { status: 422 });
  state.record(body);
  const end = performance.now() + HOLD_MS;
  for (;;) {
    const work = state.work(body);
    const hasWork = [work.start, work.end, work.move, work.turns].some((list) => list && list.length > 0);
    if (hasWork || body.slots === 0 || performance.now() > end) {
      return Response.json({ lease_seconds: leaseSeconds(), ...work });
    }
    await Bun.sleep(POLL_MS);
  }
};

/** The settings of the service's rooms. */
const ROOM = { emptyTimeout: 150, departureTimeout: 20, maxParticipants: 1, syncStreams: true };

/**
 * Creates the room of a call, and assigns the call to the next worker that asks. The default mode is voice, which takes
 * far less processor time.
 */
const start = async (
  livekit: LivekitAddress,
  rooms: RoomServiceClient,
  { assigned }: State,
  options: Partial<AssignedCall>,
  isForeign: boolean,
): Promise<TestCall> => {
  const session = newId("ses", new Date(), random);
  const room = isForeign ? `their-${session.slice(4)}` : `rta-test-${session}`;
  // An existing room stays unchanged. The first request can exceed its timeout on a busy machine.
  const isCreated = async (): Promise<boolean> => {
    try {
      await rooms.createRoom({ name: room, ...ROOM });
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === "TimeoutError") return false;
      throw error;
    }
  };
  await until(isCreated);
  const mode = options.mode ?? "voice";
  assigned.set(session, {
    session_id: session,
    generation: 1,
    environment: "live",
    url: livekit.url,
    token: await sign(livekit, avatarToken(room, mode, 600)),
    agent_identity: null,
    mode,
    avatar: { avatar_id: newId("ava", new Date(), random), manifest: null },
    input: { stt_mode: "server" },
    max_seconds: 600,
    limit: "session_cap",
    used_seconds: 0,
    idle_seconds: 120,
    away_seconds: 1,
    ...options,
  });
  return { session, room, personToken: await sign(livekit, personToken(room)) };
};

/**
 * Creates the next room of a call for the worker, and deletes the previous one, unless the test has. Returns the
 * person's token.
 */
const move = async (
  livekit: LivekitAddress,
  rooms: RoomServiceClient,
  { assigned, moves }: State,
  session: SessionId,
): Promise<TestCall> => {
  const call = assigned.get(session) as AssignedCall;
  const room_number = (moves.get(session)?.room_number ?? 1) + 1;
  const room = roomName("test", session, room_number);
  await rooms.createRoom({ name: room, ...ROOM });
  const token = await sign(livekit, avatarToken(room, call.mode, 600));
  moves.set(session, { session_id: session, generation: call.generation, room_number, url: livekit.url, token });
  const before = roomName("test", session, room_number - 1);
  if ((await rooms.listRooms([before])).length > 0) await rooms.deleteRoom(before);
  return { session, room, personToken: await sign(livekit, personToken(room)) };
};

/** Sends a turn into a call, and waits for its last status. Returns the reported statuses. */
const say = ({ turns, reports }: State, session: SessionId, turn: Partial<AssignedTurn>) => {
  const turn_id = newId("trn", new Date(), random);
  const rest = { kind: "say", text: "x", instructions: null, interrupt: true, ...turn } as const;
  turns.set(turn_id, { session_id: session, generation: 1, turn_id, ...rest });
  const reported = () =>
    (reports.get(session) ?? []).flatMap((call) => (call.turns ?? []).filter((one) => one.turn_id === turn_id));
  const statuses = () => [...new Set(reported().map(({ status }) => status))];
  const untilOver = () => until(() => reported().find(({ status }) => isTurnOver(status)), { state: statuses });
  return { statuses, untilOver };
};

const FILE_PATH = /^\/internal\/avatar-workers\/[\w-]+\/(?<kind>calls|preloads)\/\w+\/files\/(?<file>.+)$/;
const sendFile = ({ filesSent }: State, files: Map<string, Uint8Array>, path: string): Response => {
  const { kind = "", file = "" } = FILE_PATH.exec(path)?.groups ?? {};
  filesSent.push(`${kind} ${file}`);
  const bytes = files.get(file);
  return bytes ? new Response(Buffer.from(bytes)) : new Response(null, { status: 404 });
};

const FRAGMENT_PATH = /\/calls\/(?<session>\w+)\/recording\/(?<generation>\d+)\/(?<n>\d+)$/;
/** Stores a fragment. */
const takeFragment = async ({ fragments }: State, request: Request): Promise<Response> => {
  const { session = "", generation, n } = FRAGMENT_PATH.exec(new URL(request.url).pathname)?.groups ?? {};
  const fragment = readFragment(new Uint8Array(await request.arrayBuffer()));
  if (fragment === null) return new Response(null, { status: 422 });
  const sent = { ...fragment, generation: Number(generation), n: Number(n) };
  fragments.set(session, [...(fragments.get(session) ?? []), sent]);
  return new Response(null, { status: 204 });
};

export const startControlPlane = async (livekit: LivekitAddress) => {
  const secret = randomBytes(32).toString("hex");
  const rooms = new RoomServiceClient(livekit.apiUrl, livekit.apiKey, livekit.apiSecret, { requestTimeout: 2 });
  const files = new Map<string, Uint8Array>();
  const state = createState();
  let isDown = false;
  let leaseSeconds = LEASE_SECONDS;
  const setLease = (seconds: number) => {
    leaseSeconds = seconds;
  };

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      if (isDown) return new Response(null, { status: 503 });
      const { pathname } = new URL(request.url);
      if (request.headers.get("authorization") !== `Bearer ${secret}`) return new Response(null, { status: 401 });
      if (pathname.endsWith("/sync")) return respond(state, request, () => leaseSeconds);
      return request.method === "PUT" ? takeFragment(state, request) : sendFile(state, files, pathname);
    },
  });

  return {
    variables: { SERVICE_URL: server.url.origin, AVATAR_WORKER_SECRET: secret, AVATAR_WORKER_PORT: "0" },
    ...{ rooms, files, syncs: state.syncs, setLease },
    /** Each requested file: of a call, or of a preload. */
    filesSent: state.filesSent,
    /** Asks each worker to load an avatar before a call. */
    preload: (avatar: AssignedCall["avatar"]) =>
      state.preload.push({ preload_id: newId("aud", new Date(), random), avatar }),
    /** `isForeign`: whether the call is in a brought room. */
    start: (options: Partial<AssignedCall> = {}, isForeign = false) => start(livekit, rooms, state, options, isForeign),
    /** Sends a turn into a call. */
    say: (session: SessionId, turn: Partial<AssignedTurn>) => say(state, session, turn),
    move: (session: SessionId) => move(livekit, rooms, state, session),
    /** The assigned call, as a worker gets it. */
    assignedOf: (session: string): AssignedCall => state.assigned.get(session) as AssignedCall,
    /** Tells the worker to end a call. null: another worker has the call. */
    end: (session: string, reason: EndReason | null) => {
      state.assigned.delete(session);
      state.ending.set(session, reason);
    },
    /** Assigns a call again to a worker that does not have it. */
    assignAgain: (session: string, change: Partial<AssignedCall>) => {
      state.assigned.set(session, { ...(state.assigned.get(session) as AssignedCall), ...change });
    },
    /**
     * From now on, requests fail. A waiting sync gets a lease of this many seconds, so that the end of the lease is
     * near. With such a short lease from the start, it could end while a busy machine starts a call.
     */
    goDown: (leaseOfLast: number) => {
      isDown = true;
      setLease(leaseOfLast);
    },
    comeBack: () => {
      isDown = false;
      setLease(LEASE_SECONDS);
    },
    /** Sets the lease, and waits until the worker has it. A short lease can end while a busy machine starts a call. */
    untilLease: async (seconds: number): Promise<void> => {
      setLease(seconds);
      const before = state.syncs.length;
      // The first response can still have the previous lease.
      await until(() => state.syncs.length >= before + 3);
    },
    reportsOf: (session: string): ReportedCall[] => state.reports.get(session) ?? [],
    fragmentsOf: (session: string): SentFragment[] => state.fragments.get(session) ?? [],
    /** Waits for a report with this state, and returns it. */
    untilReported: (session: string, wanted: ReportedCall["state"], generation = 1): Promise<ReportedCall> => {
      const reports = () => state.reports.get(session);
      const find = () => reports()?.findLast((call) => call.state === wanted && call.generation === generation);
      return until(find, { state: () => [session, wanted, generation, reports()] });
    },
    /** Waits until exactly these participants are in the room. */
    untilInRoom: async (room: string, ...identities: string[]) => {
      const expected = identities.sort().join();
      const present = async () => {
        const all = await rooms.listParticipants(room).catch(() => []);
        return all.map(({ identity }) => identity).sort();
      };
      await until(async () => (await present()).join() === expected, {
        state: async () => [expected, await present()],
      });
    },
    stop: () => server.stop(true),
  };
};
export type ControlPlane = Awaited<ReturnType<typeof startControlPlane>>;
