/** The unchanged plugins of LiveKit's agents and examples/agent, with the real service, avatar worker and LiveKit server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { personToken } from "@realtime-avatar/domain/calls/room";
import type { SessionId } from "@realtime-avatar/domain/id";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { REPOSITORY, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { RoomServiceClient } from "livekit-server-sdk";
import { sign } from "./support/control-plane.ts";
import { joinAsPerson } from "./support/person.ts";
import { type Service, startService } from "./support/service.ts";

// Python reads its packages for a minute on a busy machine.
setDefaultTimeout(300_000);

const EXAMPLE = join(REPOSITORY, "examples/agent");
const TOLERANCE = 0.2;

const binary = await livekitBinary();
/** PYTHON_AGENTS names an interpreter with the packages of examples/agent/requirements.txt: of a virtual environment, for example. */
const python = process.env["PYTHON_AGENTS"] ?? "";
const find = 'import importlib.util, sys; sys.exit(importlib.util.find_spec("livekit.plugins.bey") is None)';
const hasPackages = python !== "" && existsSync(python) && (await runToEnd([python, "-c", find])).code === 0;
/** NODE_AGENTS names a folder whose node_modules has the packages. */
const modules = process.env["NODE_AGENTS"] ?? "";
const hasModules =
  process.env["LONG"] !== undefined &&
  modules !== "" &&
  existsSync(join(modules, "node_modules/@livekit/agents-plugin-bey"));

const missing = binary.kind === "missing" ? ` (skipped: ${binary.reason})` : "";
const unless = (isThere: boolean, what: string): string => (isThere ? "" : ` (skipped: ${what})`);
const withoutPython = unless(hasPackages, "PYTHON_AGENTS names no Python with livekit-agents and livekit-plugins-bey");
const withoutModules = unless(hasModules, "only with LONG=1 and NODE_AGENTS, a folder with @livekit/agents-plugin-bey");

type Told = { event: string; position: number; interrupted: boolean };

describe.skipIf(missing !== "")(`agents with their plugins${missing}`, () => {
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

  /**
   * Runs an agent in a room of its own, until it leaves. `greetingSeconds`: of sound before what the agent tells of: 2 s, ten
   * seconds that are interrupted, and 1 s.
   */
  const runAgent = async (command: string[], room: string, greetingSeconds: number): Promise<void> => {
    const { apiKey } = await service.newKey();
    const { url: LIVEKIT_URL, apiKey: LIVEKIT_API_KEY, apiSecret: LIVEKIT_API_SECRET } = service.livekit;
    const agent = startProcess(command, {
      ...{ LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET, AVATAR_ID: service.avatarId, EXAMPLE, MODULES: modules },
      ...{ BEY_API_URL: `${proxy.url.origin}/compat/bey`, BEY_API_KEY: apiKey },
    });
    await agent.waitFor(/registered worker/);
    await rooms.createRoom({ name: room });
    const person = await joinAsPerson(LIVEKIT_URL, await sign(service.livekit, personToken(room)));
    await agent.waitFor(/"leaves"/);
    const told = [...agent.stdout().matchAll(/^{"event".*}$/gm)].map(([line]) => JSON.parse(line) as Told);
    const [second, interrupted, last] = told.filter(({ event }) => event === "finished");
    expect([second, interrupted, last].map((end) => end?.interrupted)).toEqual([false, true, false]);
    expect(Math.abs((second?.position ?? 0) - 2)).toBeLessThan(TOLERANCE);
    expect(Math.abs((last?.position ?? 0) - 1)).toBeLessThan(TOLERANCE);
    const heard = person.heard.filter(({ level }) => level > 0.05).length / 100;
    const said = greetingSeconds + 2 + (interrupted?.position ?? 0) + 1;
    // On a busy machine, the first moment can be over before LiveKit has connected the person with the sound.
    expect(heard).toBeGreaterThan(said - 1);
    expect(new Set(person.seen.map(({ digest }) => digest)).size).toBeGreaterThan(3);

    const { avatarId, ids } = requests.at(-1) ?? { avatarId: "", ids: [] };
    expect(avatarId).toBe(service.avatarId);
    expect(new Set(ids).size).toBe(1);
    const id = ids[0] as SessionId;
    while ((await service.stateOf(id))["status"] === "started") await Bun.sleep(50);
    expect(await service.stateOf(id)).toMatchObject({ status: "released", reason: "disconnected" });
    const response = await service.call("GET", `/usage/sessions/${id}`, apiKey);
    const { billedCreditMicros } = (await response.json()) as { billedCreditMicros: number };
    expect(billedCreditMicros).toBeGreaterThanOrEqual((greetingSeconds + 3) * 1_000_000);
    for (const worker of service.workers()) expect(worker.stdout() + worker.stderr()).not.toContain("eyJ");
    agent.kill("SIGKILL");
    await agent.exited;
    await person.leave();
  };

  const CHECKS = "seen and heard, each position is right, a token sent twice is one call, and the end is charged";
  test.skipIf(!hasPackages)(`the plugin in Python, and examples/agent: ${CHECKS}${withoutPython}`, () =>
    runAgent([python, join(import.meta.dir, "support/agent.py"), "dev", "--no-reload"], "with Python", 2),
  );
  test.skipIf(!hasModules)(`the plugin in JavaScript, under Node: ${CHECKS}${withoutModules}`, () =>
    runAgent(["node", join(import.meta.dir, "support/agent.mjs"), "dev"], "with JavaScript", 0),
  );
});
