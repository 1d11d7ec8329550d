/**
 * The rooms of a server. The same tests run on the real LiveKit and on the stand-in, so the stand-in behaves like
 * LiveKit.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { AGENT_AWAY_SECONDS, JOIN_TIMEOUT_SECONDS } from "@realtime-avatar/domain/calls/limits";
import { avatarToken, type CallToken, personToken } from "@realtime-avatar/domain/calls/room";
import type { LivekitRequest } from "@realtime-avatar/runtime/metrics/calls";
import { Secret } from "@realtime-avatar/storage/secret";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { startLivekit } from "@realtime-avatar/testing/livekit/server";
import { startLivekitStandIn } from "@realtime-avatar/testing/livekit/stand-in";
import { freePorts } from "@realtime-avatar/testing/network/ports";
import { until } from "@realtime-avatar/testing/until";
import { AccessToken, AgentDispatchClient, RoomServiceClient, type VideoGrant } from "livekit-server-sdk";
import type { LivekitConfig } from "./config.ts";
import { createRooms, LivekitError, type Rooms } from "./rooms.ts";
import { mintToken } from "./tokens.ts";

setDefaultTimeout(60_000);

const binary = await livekitBinary();
const skipped = binary.kind === "missing" ? ` (skipped: ${binary.reason})` : "";

type Server = { url: string; apiUrl: string; apiKey: string; apiSecret: string; stop(): Promise<void> };
const SERVERS = [
  {
    name: `the real server${skipped}`,
    isMissing: binary.kind === "missing",
    start: (options: { autoCreate?: boolean }): Promise<Server> =>
      startLivekit(binary.kind === "found" ? binary.path : "", options),
  },
  {
    name: "the stand-in",
    isMissing: false,
    start: (options: { autoCreate?: boolean }): Promise<Server> => startLivekitStandIn(options),
  },
];

const configOf = ({ url, apiKey, apiSecret }: Pick<Server, "url" | "apiKey" | "apiSecret">): LivekitConfig => ({
  url,
  apiKey,
  apiSecret: new Secret(apiSecret),
});

/**
 * The result of a request, which is sent again after a timeout: on a busy machine, a request can exceed its deadline.
 */
const answered = async <Result>(request: () => Promise<Result>): Promise<Result> => {
  const failed = (error: unknown): null => {
    if (!(error instanceof LivekitError) || error.kind !== "timed_out") throw error;
    return null;
  };
  return (await until(() => request().then((result) => ({ result }), failed))).result;
};

/** The error of a request that fails. */
const failureOf = (request: Promise<unknown>): Promise<unknown> => request.then(() => null).catch((error) => error);

for (const { name, isMissing, start } of SERVERS) {
  describe.skipIf(isMissing)(`rooms of ${name}`, () => {
    let server: Server;
    let open: Server;
    let rooms: Rooms;
    const requests: LivekitRequest[] = [];
    beforeAll(async () => {
      server = await start({});
      open = await start({ autoCreate: true });
      rooms = createRooms(configOf(server), (request) => requests.push(request));
    });
    afterAll(async () => {
      await server?.stop();
      await open?.stop();
    });

    /** The status of `/rtc/validate` with a token. */
    const validate = async (token: string, { apiUrl }: Server = server): Promise<number> =>
      (await fetch(`${apiUrl}/rtc/validate`, { headers: { authorization: `Bearer ${token}` } })).status;
    const callApi = async (method: string, body: object, authorization: string | null): Promise<number> => {
      const headers = { "content-type": "application/json", ...(authorization && { authorization }) };
      const url = `${server.apiUrl}/twirp/livekit.RoomService/${method}`;
      return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
    };
    const bearer = async (grant: VideoGrant, { apiKey, apiSecret } = server): Promise<string> => {
      const token = new AccessToken(apiKey, apiSecret, { identity: "x", ttl: 60 });
      token.addGrant(grant);
      return `Bearer ${await token.toJwt()}`;
    };

    test("a room, created twice: listed once; deleted twice: not listed", async () => {
      await rooms.create("rta-a-1");
      await rooms.create("rta-a-1");
      await rooms.create("rta-ab-2");
      expect(await rooms.list("rta-a-")).toEqual(["rta-a-1"]);
      expect((await rooms.list("rta-")).sort()).toEqual(["rta-a-1", "rta-ab-2"]);
      await rooms.delete("rta-a-1");
      await rooms.delete("rta-a-1");
      expect(await rooms.list("rta-")).toEqual(["rta-ab-2"]);
      await rooms.delete("rta-ab-2");
      expect(requests.every(({ outcome }) => outcome === "ok")).toBe(true);
      expect(new Set(requests.map(({ method }) => method))).toEqual(new Set(["create", "list", "delete"]));
    });

    test("a room, created: admits one person, and exists longer than the times to join and to be away", async () => {
      const { url, apiKey, apiSecret } = configOf(server);
      await rooms.create("rta-settings");
      const [room] = await new RoomServiceClient(url, apiKey, apiSecret.reveal()).listRooms(["rta-settings"]);
      expect(room?.maxParticipants).toBe(1);
      expect(room?.emptyTimeout).toBeGreaterThan(JOIN_TIMEOUT_SECONDS);
      expect(room?.departureTimeout).toBeGreaterThan(AGENT_AWAY_SECONDS);
      await rooms.delete("rta-settings");
    });

    test("an agent, dispatched into a room: once, although the room is created twice; dispatched again with the same metadata", async () => {
      const agent = { agentName: "an-agent", metadata: `{"text":"${"é".repeat(60_000)}"}` };
      const config = configOf(server);
      const dispatches = new AgentDispatchClient(config.url, config.apiKey, config.apiSecret.reveal());
      const listed = async () =>
        (await dispatches.listDispatch("rta-agent")).map(({ agentName, metadata }) => ({ agentName, metadata }));
      await rooms.create("rta-agent", agent);
      await rooms.create("rta-agent", { ...agent, metadata: "other" });
      expect(await listed()).toEqual([agent]);
      const [first] = await dispatches.listDispatch("rta-agent");
      expect(await rooms.dispatchAgain("rta-agent")).toBe(true);
      expect(await listed()).toEqual([agent]);
      expect((await dispatches.listDispatch("rta-agent"))[0]?.id).not.toBe(first?.id);
      await rooms.delete("rta-agent");
      await rooms.create("rta-no-agent");
      expect(await rooms.dispatchAgain("rta-no-agent")).toBe(false);
      await rooms.delete("rta-no-agent");
    });

    test("autoCreates, for a server whose participants cannot create rooms: false; for one where they can: true; no room remains", async () => {
      expect(await answered(() => rooms.autoCreates())).toBe(false);
      const ofOpen = createRooms(configOf(open));
      expect(await answered(() => ofOpen.autoCreates())).toBe(true);
      expect(await answered(() => rooms.list(""))).toEqual([]);
      expect(await answered(() => ofOpen.list(""))).toEqual([]);
    });

    test.each([
      ["the person", personToken],
      ["the avatar", (room: string) => avatarToken(room, "avatar", 60)],
    ])("the token of %s: valid only while the room exists", async (_, tokenOf) => {
      const token = await mintToken(configOf(server), tokenOf("rta-tokens"));
      expect(await validate(token)).toBe(404);
      await rooms.create("rta-tokens");
      expect(await validate(token)).toBe(200);
      await rooms.delete("rta-tokens");
      expect(await validate(token)).toBe(404);
    });

    test("the token of the person: joins no other room, and can call no method of the API", async () => {
      await rooms.create("rta-mine");
      const token = await mintToken(configOf(server), personToken("rta-mine"));
      const statuses = await Promise.all([
        callApi("CreateRoom", { name: "rta-other" }, `Bearer ${token}`),
        callApi("DeleteRoom", { room: "rta-mine" }, `Bearer ${token}`),
        callApi("ListRooms", {}, `Bearer ${token}`),
      ]);
      expect(statuses).toEqual([401, 401, 401]);
      expect(await rooms.list("")).toEqual(["rta-mine"]);
      await rooms.delete("rta-mine");
    });

    test.each([
      ["without a token", () => null],
      [
        "with another secret",
        () => bearer({ roomCreate: true, roomList: true }, { ...server, apiSecret: "x".repeat(32) }),
      ],
      ["with another key", () => bearer({ roomCreate: true, roomList: true }, { ...server, apiKey: "APIother" })],
      ["with the grant to list alone", () => bearer({ roomList: true })],
    ])("a create %s: 401, and no room is created", async (_, authorization) => {
      expect(await callApi("CreateRoom", { name: "rta-no" }, await authorization())).toBe(401);
      expect(await rooms.list("")).toEqual([]);
    });

    test("a token that expired two minutes ago: 401; a token that expired just now: still valid", async () => {
      await rooms.create("rta-late");
      const ended = (ttlSeconds: number): Promise<string> =>
        mintToken(configOf(server), { ...personToken("rta-late"), ttlSeconds } satisfies CallToken);
      expect(await validate(await ended(-120))).toBe(401);
      expect(await validate(await ended(-5))).toBe(200);
      await rooms.delete("rta-late");
    });

    test("a token with the grant to create rooms: could join a room that does not exist", async () => {
      const authorization = await bearer({ roomJoin: true, room: "rta-none", roomCreate: true });
      expect(await validate(authorization.replace("Bearer ", ""))).toBe(200);
    });

    test("a wrong secret: refused with 401, and no token in the error", async () => {
      const wrong = createRooms({ ...configOf(server), apiSecret: new Secret("w".repeat(32)) });
      const attempts = [
        wrong.create("x"),
        wrong.delete("x"),
        wrong.list(""),
        wrong.autoCreates(),
        wrong.dispatchAgain("x"),
      ];
      for (const error of await Promise.all(attempts.map(failureOf))) {
        expect(error).toBeInstanceOf(LivekitError);
        expect(error).toMatchObject({ kind: "refused", status: 401 });
        expect(Bun.inspect(error)).not.toMatch(/eyJ[\w-]{20}/);
      }
    });
  });
}

describe("rooms of a server that fails", () => {
  test("a server that does not run: unreachable", async () => {
    const [port] = await freePorts(1);
    const requests: LivekitRequest[] = [];
    const rooms = createRooms(
      { url: `ws://127.0.0.1:${port}`, apiKey: "k", apiSecret: new Secret("s".repeat(32)) },
      (request) => requests.push(request),
    );
    expect(await failureOf(rooms.create("x"))).toMatchObject({ kind: "unreachable", status: null });
    expect(await failureOf(rooms.autoCreates())).toMatchObject({ kind: "unreachable" });
    expect(requests).toMatchObject([
      { method: "create", outcome: "unreachable" },
      { method: "autoCreates", outcome: "unreachable" },
    ]);
  });

  test("a server that is too slow: timed out, and the room may exist", async () => {
    const server = await startLivekitStandIn();
    const rooms = createRooms(configOf(server));
    server.setFault({ kind: "slow", ms: 2300 });
    const errors = await Promise.all([rooms.create("rta-slow"), rooms.list(""), rooms.autoCreates()].map(failureOf));
    expect(errors).toMatchObject(Array.from({ length: 3 }, () => ({ kind: "timed_out" })));
    server.setFault(null);
    await until(() => server.rooms().length > 0);
    await server.stop();
  });

  test("a server that loses its response: unreachable, and the room exists", async () => {
    const server = await startLivekitStandIn();
    const rooms = createRooms(configOf(server));
    server.setFault({ kind: "loses_response" });
    expect(await failureOf(rooms.create("rta-lost"))).toMatchObject({ kind: "unreachable" });
    server.setFault(null);
    expect(await rooms.list("")).toEqual(["rta-lost"]);
    await server.stop();
  });

  test("a server that refuses: refused with the status; killed and started again: works, without its rooms", async () => {
    const server = await startLivekitStandIn();
    const rooms = createRooms(configOf(server));
    server.setFault({ kind: "refuses", status: 503 });
    expect(await failureOf(rooms.create("rta-x"))).toMatchObject({ kind: "refused", status: 503 });
    expect(await failureOf(rooms.delete("rta-x"))).toMatchObject({ kind: "refused", status: 503 });
    server.setFault(null);
    await rooms.create("rta-x");
    await server.kill();
    expect(await failureOf(rooms.list(""))).toMatchObject({ kind: "unreachable" });
    await server.restart();
    expect(await rooms.list("")).toEqual([]);
    await server.stop();
  });
});
