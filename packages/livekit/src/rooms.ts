/** The rooms of a LiveKit server: they are created, deleted and listed, each within two seconds. */
import { randomUUID } from "node:crypto";
import { RETURN_SECONDS } from "@realtime-avatar/domain/calls/limits";
import type { LivekitRequest } from "@realtime-avatar/runtime/metrics/calls";
import type { LivekitConfig } from "./config.ts";
import { probeToken } from "./tokens.ts";

/**
 * The maximum time for a request. Below five seconds: with a longer time, the library would try another region by
 * itself.
 */
const DEADLINE_MS = 2000;

/**
 * The settings of each room. A room outlives the time in which the person can join and the time for which the person
 * may be away, because the service ends calls. LiveKit does not count agents, such as the avatar, as participants.
 *
 * `syncStreams`: LiveKit forwards the sound and the picture of the avatar in one media stream. A browser plays only
 * tracks of one stream in step. Otherwise, the picture is ahead of the sound by the buffer for jitter.
 */
const SETTINGS = { emptyTimeout: 150, departureTimeout: RETURN_SECONDS + 20, maxParticipants: 1, syncStreams: true };

/**
 * The failure of a request. It never contains the message or the cause of the library's error, because these can
 * contain a token. `timed_out`: the request may have been executed. `refused`: LiveKit has responded with `status`.
 */
export class LivekitError extends Error {
  readonly kind: "unreachable" | "timed_out" | "refused";
  readonly status: number | null;
  constructor(kind: LivekitError["kind"], status: number | null = null) {
    super(`A request to LiveKit has failed (${status ?? kind}).`);
    this.name = "LivekitError";
    this.kind = kind;
    this.status = status;
  }
}

/** An agent to dispatch into a room, and its metadata. */
export type AgentDispatch = { agentName: string; metadata: string };

/** All methods reject only with a `LivekitError`. */
export type Rooms = {
  /** Does not change an existing room. `agent` is dispatched into a new room. */
  create(name: string, agent?: AgentDispatch | null): Promise<void>;
  /**
   * Repeats the dispatch of a room's agent, unless a worker has taken it, because LiveKit offers a dispatch only to the
   * workers that are connected at that moment. Returns whether it dispatched the agent.
   */
  dispatchAgain(name: string): Promise<boolean>;
  /** A room that does not exist counts as deleted. */
  delete(name: string): Promise<void>;
  /** The names of the rooms that begin with `prefix`. */
  list(prefix: string): Promise<string[]>;
  /** Whether a participant who joins creates the room (`room.auto_create`). */
  autoCreates(): Promise<boolean>;
};

const errorOf = (error: unknown): LivekitError => {
  if (error instanceof LivekitError) return error;
  const { name = "", status = null } = error instanceof Error ? (error as Error & { status?: number }) : {};
  if (typeof status === "number") return new LivekitError("refused", status);
  return new LivekitError(name === "TimeoutError" || name === "AbortError" ? "timed_out" : "unreachable");
};

/** Asks the server whether a participant could join a room that does not exist. No participant joins. */
const couldJoinMissingRoom = async (config: LivekitConfig): Promise<boolean> => {
  const token = await probeToken(config, `rta-probe-${randomUUID()}`);
  const response = await fetch(`${config.url.replace(/^ws/, "http")}/rtc/validate`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  await response.body?.cancel();
  if (response.status === 404) return false;
  if (response.ok) return true;
  throw new LivekitError("refused", response.status);
};

/** `onRequest` is called after each request. */
export const createRooms = (config: LivekitConfig, onRequest: (request: LivekitRequest) => void = () => {}): Rooms => {
  const { url, apiKey, apiSecret } = config;
  // Loaded only when LiveKit is configured, because it takes 80 ms and 18 MB.
  const options = { requestTimeout: DEADLINE_MS / 1000 };
  const library = import("livekit-server-sdk");
  const loading = library.then(
    ({ RoomServiceClient }) => new RoomServiceClient(url, apiKey, apiSecret.reveal(), options),
  );
  const dispatchAgain = async (name: string): Promise<boolean> => {
    const { AgentDispatchClient } = await library;
    const dispatches = new AgentDispatchClient(url, apiKey, apiSecret.reveal(), options);
    // A room without an agent has a dispatch without a name, for workers without a name.
    const all = (await dispatches.listDispatch(name)).filter(({ agentName }) => agentName !== "");
    const last = all.at(-1);
    if (!last || all.some(({ state }) => state && state.jobs.length > 0)) return false;
    await dispatches.createDispatch(name, last.agentName, { metadata: last.metadata });
    // Deleted after the new dispatch exists, so that the room always has a dispatch.
    for (const { id } of all) await dispatches.deleteDispatch(id, name);
    return true;
  };
  const request = async <Result>(method: keyof Rooms, work: () => Promise<Result>): Promise<Result> => {
    const startedAt = performance.now();
    let outcome: "ok" | LivekitError["kind"] = "ok";
    try {
      return await work();
    } catch (error) {
      const failure = errorOf(error);
      outcome = failure.kind;
      throw failure;
    } finally {
      onRequest({ method, outcome, durationMs: performance.now() - startedAt });
    }
  };
  return {
    create: (name, agent = null) =>
      request("create", async () => {
        const { RoomAgentDispatch } = await library;
        await (await loading).createRoom({
          name,
          ...SETTINGS,
          ...(agent && { agents: [new RoomAgentDispatch(agent)] }),
        });
      }),
    dispatchAgain: (name) => request("dispatchAgain", () => dispatchAgain(name)),
    delete: (name) =>
      request("delete", async () => {
        await (await loading).deleteRoom(name).catch((error: unknown) => {
          // Compared by the status, because the library sets the code only for one media type.
          if (errorOf(error).status !== 404) throw error;
        });
      }),
    list: (prefix) =>
      request("list", async () => {
        const rooms = await (await loading).listRooms();
        return rooms.map(({ name }) => name).filter((name) => name.startsWith(prefix));
      }),
    autoCreates: () => request("autoCreates", () => couldJoinMissingRoom(config)),
  };
};
