/** The unchanged plugins of LiveKit's agents and examples/agent, with the real service, avatar worker and LiveKit server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { SessionId } from "@realtime-avatar/domain/id";
import { personToken } from "@realtime-avatar/domain/calls/room";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { REPOSITORY, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { RoomServiceClient } from "livekit-server-sdk";
import { sign } from "./support/control-plane.ts";
import { joinAsPerson } from "./support/person.ts";
import { type Service, startService } from "./support/service.ts";

// Python reads its packages for half a minute on a busy machine.
setDefaultTimeout(180_000);

const EXAMPLE = join(REPOSITORY, "examples/agent");
const TOLERANCE = 0.2;

const binary = await livekitBinary();
/** PYTHON_AGENTS names an interpreter with the packages of examples/agent/requirements.txt: of a virtual environment, for example. */
const python = process.env["PYTHON_AGENTS"] ?? "";
const hasPackages = python !== "" && (await runToEnd([python, "-c", "import livekit.plugins.bey"])).code === 0;
const missing =
  binary.kind === "missing" ? binary.reason : "PYTHON_AGENTS names no Python with livekit-agents and livekit-plugins-bey";
const isSkipped = binary.kind === "missing" || !hasPackages;

type Told = { event: string; position: number; interrupted: boolean };

describe.skipIf(isSkipped)(`agents with their plugins${isSkipped ? ` (skipped: ${missing})` : ""}`, () => {
  let service: Service;
  let rooms: RoomServiceClient;
  /** Passes on what the plugin asks for, each request twice, as if the first response had been lost. */
  const requests: { avatarId: string; ids: string[] }[] = [];
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const body = await request.text();
      const { pathname } = new URL(request.url);
      const send = () => fetch(`${service.url}${pathname}`, { method: request.method, headers: request.headers, body });
      const [first, again] = [await send(), await send()];
      const ids = [first.clone(), again].map(async (response) => ((await response.json()) as { id: string }).id);
      requests.push({ avatarId: JSON.parse(body).avatar_id, ids: await Promise.all(ids) });
      return first;
    },
  });

  beforeAll(async () => {
    service = await startService(binary.kind === "found" ? binary.path : "");
    const { apiUrl, apiKey, apiSecret } = service.livekit;
    rooms = new RoomServiceClient(apiUrl, apiKey, apiSecret);
    await service.startWorker();
  });
  afterAll(async () => {
    await service?.stop();
    await proxy.stop(true);
  });

  test("the plugin in Python and examples/agent: seen and heard, each position is right, and the end is charged", async () => {
    const { apiKey } = await service.newKey();
    const { url: LIVEKIT_URL, apiKey: LIVEKIT_API_KEY, apiSecret: LIVEKIT_API_SECRET } = service.livekit;
    const program = join(import.meta.dir, "support/agent.py");
    const agent = startProcess([python, program, "dev", "--no-reload"], {
      ...{ LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET, AVATAR_ID: service.avatarId, EXAMPLE },
      ...{ BEY_API_URL: `${proxy.url.origin}/compat/bey`, BEY_API_KEY: apiKey },
    });
    await agent.waitFor(/registered worker/);
    await rooms.createRoom({ name: "room of my own" });
    const person = await joinAsPerson(LIVEKIT_URL, await sign(service.livekit, personToken("room of my own")));
    await agent.waitFor(/"leaves"/);
    const told = [...agent.stdout().matchAll(/^{"event".*}$/gm)].map(([line]) => JSON.parse(line) as Told);
    const [second, interrupted, last] = told.filter(({ event }) => event === "finished");
    expect(second).toMatchObject({ interrupted: false });
    expect(Math.abs((second?.position ?? 0) - 2)).toBeLessThan(TOLERANCE);
    expect(interrupted).toMatchObject({ interrupted: true });
    expect(Math.abs((last?.position ?? 0) - 1)).toBeLessThan(TOLERANCE);
    const heard = person.heard.filter(({ level }) => level > 0.05).length / 100;
    const said = 3 + 2 + (interrupted?.position ?? 0) + 1;
    expect(heard).toBeGreaterThan(said - 3 * TOLERANCE);
    expect(new Set(person.seen.map(({ digest }) => digest)).size).toBeGreaterThan(3);

    const [{ avatarId, ids } = { avatarId: "", ids: [] }] = requests;
    expect(avatarId).toBe(service.avatarId);
    expect(new Set(ids).size).toBe(1);
    const id = ids[0] as SessionId;
    while ((await service.stateOf(id))["status"] === "started") await Bun.sleep(50);
    expect(await service.stateOf(id)).toMatchObject({ status: "released", reason: "disconnected" });
    const response = await service.call("GET", `/usage/sessions/${id}`, apiKey);
    const { billedCreditMicros } = (await response.json()) as { billedCreditMicros: number };
    expect(billedCreditMicros).toBeGreaterThan(6_000_000);
    for (const worker of service.workers()) expect(worker.stdout() + worker.stderr()).not.toContain("eyJ");
    agent.kill("SIGKILL");
    await agent.exited;
    await person.leave();
  });
});
