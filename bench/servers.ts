/**
 * The servers with which the benchmark compares the service. `bun bench/servers.ts above`: the smallest route that
 * validates the same body and responds, without a database. `first`: see first/server.ts. `sink`: receives and discards traces.
 * `livekit`: stands in for a LiveKit server that takes no time: it has rooms, and verifies nothing. Each prints its address.
 */
import { CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { newId } from "@realtime-avatar/domain/id";
import { Elysia } from "elysia";
import { firstServer } from "./first/server.ts";

const random = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));
const [name = "", databaseUrl = "", folder = "", livekitUrl = ""] = process.argv.slice(2);

const above = () =>
  new Elysia().post(
    "/api/v1/avatars",
    ({ body, set }) => {
      set.status = 201;
      return { id: newId("ava", new Date(), random), ...body };
    },
    { body: CreateAvatar },
  );

const sink = () => ({
  fetch: async (request: Request): Promise<Response> => {
    await request.bytes();
    return new Response(null, { headers: { "content-type": "application/x-protobuf" } });
  },
});

const livekit = () => {
  const rooms = new Set<string>();
  return {
    fetch: async (request: Request): Promise<Response> => {
      const { name = "", room = "" } = (await request.json()) as { name?: string; room?: string };
      if (request.url.endsWith("/CreateRoom")) rooms.add(name);
      if (request.url.endsWith("/DeleteRoom")) rooms.delete(room);
      if (request.url.endsWith("/ListRooms")) return Response.json({ rooms: [...rooms].map((name) => ({ name })) });
      return Response.json({ name });
    },
  };
};

const SERVERS: Record<string, () => { fetch(request: Request): Response | Promise<Response> }> = {
  above,
  first: () => firstServer(databaseUrl, folder, livekitUrl),
  sink,
  livekit,
};
const app = SERVERS[name]?.();
if (!app) throw new Error("Usage: bun bench/servers.ts above|first|sink|livekit [databaseUrl [folder [livekitUrl]]]");
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", development: false, fetch: app.fetch });
process.stdout.write(`"url":"${server.url.href.replace(/\/$/, "")}"\n`);
