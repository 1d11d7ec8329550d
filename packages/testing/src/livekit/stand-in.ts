/**
 * Stands in for a LiveKit server in tests that need no media, or need a server that is slow, refuses, or loses a
 * response. It stores the rooms and verifies each token. packages/livekit runs the same tests on it and on the real
 * server.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { type ClaimGrants, TokenVerifier } from "livekit-server-sdk";

export type LivekitFault =
  /** The server responds this much later. */
  | { kind: "slow"; ms: number }
  /** The server does not execute the request, and responds with this status. */
  | { kind: "refuses"; status: number }
  /** The server executes the request, and closes the connection. */
  | { kind: "loses_response" };

type Agent = { agentName: string; metadata?: string };
type Settings = { emptyTimeout?: number; departureTimeout?: number; maxParticipants?: number };
type RoomBody = {
  name?: string;
  room?: string;
  names?: string[];
  agents?: Agent[];
  dispatchId?: string;
} & Partial<Agent> &
  Settings;
type RoomCall = { method: string; claims: ClaimGrants; body: RoomBody };
type Dispatch = Agent & { id: string; room: string; state: { jobs: { id: string }[] } };
type Room = { sid: string; name: string; dispatches: Dispatch[]; settings: Settings };

const newDispatch = (room: string, { agentName, metadata = "" }: Agent): Dispatch => {
  const id = `AD_${randomBytes(6).toString("hex")}`;
  return { id, room, agentName, metadata, state: { jobs: [] } };
};
const newRoom = (
  name: string,
  { agents = [], emptyTimeout = 0, departureTimeout = 0, maxParticipants = 0 }: RoomBody = {},
): Room => ({
  sid: `RM_${randomBytes(6).toString("hex")}`,
  name,
  dispatches: agents.map((agent) => newDispatch(name, agent)),
  settings: { emptyTimeout, departureTimeout, maxParticipants },
});

const twirpError = (status: number, code: string): Response => Response.json({ code, msg: code }, { status });

/** LiveKit accepts a token for one minute longer. */
const LEEWAY_SECONDS = 60;

const respondForDispatches = (
  room: Room | undefined,
  method: string,
  { dispatchId, agentName = "", metadata = "" }: RoomBody,
) => {
  if (!room) return twirpError(503, "unavailable");
  if (method === "ListDispatch") return Response.json({ agentDispatches: room.dispatches });
  if (method === "CreateDispatch") {
    const created = newDispatch(room.name, { agentName, metadata });
    room.dispatches.push(created);
    return Response.json(created);
  }
  room.dispatches = room.dispatches.filter(({ id }) => id !== dispatchId);
  return Response.json({});
};

/** Checks the rights of a request, executes it and returns the response. */
const respond = (rooms: Map<string, Room>, { method, claims, body }: RoomCall): Response => {
  const { video } = claims;
  const name = body.name ?? body.room ?? "";
  switch (method) {
    case "CreateRoom": {
      if (!video?.roomCreate) return twirpError(401, "unauthenticated");
      const room = rooms.get(name) ?? newRoom(name, body);
      rooms.set(name, room);
      return Response.json({ sid: room.sid, name });
    }
    case "DeleteRoom":
      if (!video?.roomCreate) return twirpError(401, "unauthenticated");
      return rooms.delete(name) ? Response.json({}) : twirpError(404, "not_found");
    case "ListRooms": {
      if (!video?.roomList) return twirpError(401, "unauthenticated");
      const { names = [] } = body;
      const listed = [...rooms.values()].filter((room) => !names.length || names.includes(room.name));
      return Response.json({ rooms: listed.map(({ sid, name, settings }) => ({ sid, name, ...settings })) });
    }
    case "ListDispatch":
    case "CreateDispatch":
    case "DeleteDispatch":
      if (!video?.roomAdmin || video.room !== name) return twirpError(401, "unauthenticated");
      return respondForDispatches(rooms.get(name), method, body);
    default:
      return twirpError(404, "bad_route");
  }
};

/** Whether the holder of the token could join its room. */
const validate = (rooms: Map<string, Room>, { video, sub }: ClaimGrants & { sub?: string }, creates: boolean) => {
  if (!video?.roomJoin || !video.room || !sub) return new Response(null, { status: 401 });
  const exists = rooms.has(video.room) || creates || video.roomCreate === true;
  return new Response(exists ? "success" : null, { status: exists ? 200 : 404 });
};

/** Serves on a free port. A null response ends the connection, which a server of Bun cannot do. */
const serveOnLoopback = async (answer: (request: Request) => Promise<Response | null>) => {
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = "GET", url = "/", headers } = incoming;
    const body = method === "POST" ? Buffer.concat(chunks) : null;
    const init = { method, headers: { authorization: headers.authorization ?? "" }, body };
    const response = await answer(new Request(`http://127.0.0.1${url}`, init));
    if (!response) return void incoming.socket.destroy();
    const type = response.headers.get("content-type") ?? "text/plain";
    outgoing.writeHead(response.status, { "content-type": type }).end(await response.text());
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", () => resolve()));
  await listen(0);
  const { port } = server.address() as { port: number };
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { port, listen, close, isListening: () => server.listening };
};

export const startLivekitStandIn = async ({ autoCreate = false }: { autoCreate?: boolean } = {}) => {
  const apiKey = `API${randomBytes(6).toString("hex")}`;
  const apiSecret = randomBytes(32).toString("hex");
  const verifier = new TokenVerifier(apiKey, apiSecret);
  const rooms = new Map<string, Room>();
  /** The requests so far, such as `CreateRoom`, with their contents. */
  const requests: { method: string; name: string }[] = [];
  let fault: LivekitFault | null = null;
  let leftOut: string | null = null;

  const claimsOf = async (request: Request): Promise<ClaimGrants | null> => {
    const [, token = ""] = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
    return verifier.verify(token, LEEWAY_SECONDS).catch(() => null);
  };
  const work = async (request: Request, pathname: string, claims: ClaimGrants): Promise<Response> => {
    if (pathname === "/rtc/validate") return validate(rooms, claims, autoCreate);
    const [, method] = /^\/twirp\/livekit\.(?:RoomService|AgentDispatchService)\/(\w+)$/.exec(pathname) ?? [];
    if (!method || request.method !== "POST") return twirpError(404, "bad_route");
    const body = (await request.json()) as RoomCall["body"];
    requests.push({ method, name: body.name ?? body.room ?? "" });
    if (method !== "ListRooms") return respond(rooms, { method, claims, body });
    const listed = new Map([...rooms].filter(([name]) => name !== leftOut));
    leftOut = null;
    return respond(listed, { method, claims, body });
  };

  /** The response to a request; null: the connection ends without one. */
  const answer = async (request: Request): Promise<Response | null> => {
    const { pathname } = new URL(request.url);
    if (pathname === "/") return new Response("OK");
    const claims = await claimsOf(request);
    if (!claims) return new Response("invalid token", { status: 401 });
    const now = fault;
    if (now?.kind === "refuses") return twirpError(now.status, "unavailable");
    if (now?.kind === "slow") await Bun.sleep(now.ms);
    const response = await work(request, pathname, claims);
    return now?.kind === "loses_response" ? null : response;
  };
  const { port, listen, close, isListening } = await serveOnLoopback(answer);

  return {
    url: `ws://127.0.0.1:${port}`,
    apiUrl: `http://127.0.0.1:${port}`,
    apiKey,
    apiSecret,
    requests,
    /** The names of the rooms. */
    rooms: () => [...rooms.keys()],
    /** Creates a room, as a join does while `autoCreate` is set. */
    addRoom: (name: string): void => void rooms.set(name, newRoom(name)),
    /** The agents that are dispatched into a room. */
    dispatches: (name: string): Agent[] => rooms.get(name)?.dispatches ?? [],
    /** A worker of LiveKit Agents takes the dispatches of a room. */
    takeJobs: (name: string): void => {
      for (const { id, state } of rooms.get(name)?.dispatches ?? []) state.jobs.push({ id: `AJ_${id}` });
    },
    /** The fault of all requests from now on; null: no fault. */
    setFault: (next: LivekitFault | null): void => {
      fault = next;
    },
    /** The next list lacks this room, as if it were created after the list. */
    leaveOutOnce: (name: string): void => {
      leftOut = name;
    },
    /** Ends without its rooms, like a killed LiveKit. */
    kill: (): Promise<void> => {
      rooms.clear();
      return close();
    },
    /** Starts again at the same address. */
    restart: async (): Promise<void> => {
      if (!isListening()) await listen(port);
    },
    stop: async (): Promise<void> => {
      if (isListening()) await close();
    },
  };
};
export type LivekitStandIn = Awaited<ReturnType<typeof startLivekitStandIn>>;
