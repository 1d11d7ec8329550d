/** The unchanged plugins of LiveKit's agents and examples/agent, with the real service, avatar worker and LiveKit server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { personToken } from "@realtime-avatar/domain/calls/room";
import type { SessionId } from "@realtime-avatar/domain/id";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { REPOSITORY, type RunningProcess, runToEnd, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { AgentDispatchClient, RoomAgentDispatch, RoomServiceClient } from "livekit-server-sdk";
import { sign } from "./support/control-plane.ts";
import { joinAsPerson } from "./support/person.ts";
import { askLivekit, joinAsRawClient, tampered, validate } from "./support/raw-client.ts";
import { type Service, type StartedCall, startService } from "./support/service.ts";

// On a busy machine, Python takes a minute to load its packages.
setDefaultTimeout(300_000);
const PYTHON_MS = 280_000;

const EXAMPLE = join(REPOSITORY, "examples/agent");
const TOLERANCE = 0.2;

const binary = await livekitBinary();
/** Prints the version of the plugin. Fails without the plugin. */
const VERSION = 'from importlib.metadata import version; print(version("livekit-plugins-bey"), end="")';
/**
 * The Python interpreter that a variable names, for example of a virtual environment, and the version of its plugin.
 * null: the plugin is missing.
 */
const pythonOf = async (variable: string): Promise<{ python: string; version: string | null }> => {
  const python = process.env[variable] ?? "";
  if (python === "" || !existsSync(python)) return { python, version: null };
  const { code, stdout } = await runToEnd([python, "-c", VERSION]);
  return { python, version: code === 0 ? stdout : null };
};
/** PYTHON_AGENTS has the packages of examples/agent/requirements.txt, the newest release. */
const newest = await pythonOf("PYTHON_AGENTS");
/** PYTHON_AGENTS_OLDEST has the first release of the plugin that works. */
const oldest = await pythonOf("PYTHON_AGENTS_OLDEST");
/** NODE_AGENTS is a folder whose node_modules has the packages. */
const modules = process.env["NODE_AGENTS"] ?? "";
const LONG = process.env["LONG"] === "1";
const hasModules = modules !== "" && existsSync(join(modules, "node_modules/@livekit/agents-plugin-bey"));
const hasPackages = newest.version !== null;

const missing = binary.kind === "missing" ? ` (skipped: ${binary.reason})` : "";
const unless = (isThere: boolean, what: string): string => (isThere ? "" : ` (skipped: ${what})`);
const withoutPython = unless(hasPackages, "PYTHON_AGENTS names no Python with livekit-agents and livekit-plugins-bey");
const withoutOldest = unless(oldest.version !== null, "PYTHON_AGENTS_OLDEST names no Python with livekit-plugins-bey");
const withoutModules = unless(hasModules, "NODE_AGENTS names no folder with @livekit/agents-plugin-bey");

type PlaybackEvent = { event: string; position: number; interrupted: boolean };

/** The name of the Python agent, also in the operator's setting. */
const CALL_AGENT = "an-agent";
/** The identity that the plugins give the avatar. */
const BROUGHT_AVATAR = "bey-avatar-agent";

const SETTINGS = LONG ? [true, false] : [true];
describe.skipIf(missing !== "").each(SETTINGS)(
  `agents with their plugins${missing}, room.auto_create: %p`,
  (autoCreate) => {
    let service: Service;
    let pythonAgent: Promise<Agent> | null = null;
    const agents: RunningProcess[] = [];
    let rooms: RoomServiceClient;
    /** Forwards each request of the plugin twice, as if the first response had been lost. */
    const requests: { path: string; avatarId: string; ids: string[] }[] = [];
    const proxy = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const body = await request.text();
        const { pathname } = new URL(request.url);
        const send = () =>
          fetch(`${service.url}${pathname}`, { method: request.method, headers: request.headers, body });
        const [first, again] = [await send(), await send()];
        const ids = [first.clone(), again].map(async (response) => ((await response.json()) as { id: string }).id);
        requests.push({ path: pathname, avatarId: JSON.parse(body).avatar_id, ids: await Promise.all(ids) });
        return first;
      },
    });

    beforeAll(async () => {
      service = await startService(binary.kind === "found" ? binary.path : "", { autoCreate, agentName: CALL_AGENT });
      const { apiUrl, apiKey, apiSecret } = service.livekit;
      rooms = new RoomServiceClient(apiUrl, apiKey, apiSecret);
      await service.startWorker();
    });
    afterAll(async () => {
      for (const agent of agents) agent.kill("SIGKILL");
      await Promise.all(agents.map(({ exited }) => exited));
      await service?.stop();
      await proxy.stop(true);
    });

    /** Starts an agent that waits for rooms, with an API key. */
    const startAgent = async (command: string[], AGENT_NAME: string) => {
      const { apiKey } = await service.newKey();
      const { url: LIVEKIT_URL, apiKey: LIVEKIT_API_KEY, apiSecret: LIVEKIT_API_SECRET } = service.livekit;
      const process = startProcess(command, {
        ...{ LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET, AVATAR_ID: service.avatarId, EXAMPLE, MODULES: modules },
        ...{ BEY_API_URL: `${proxy.url.origin}/compat/bey`, BEY_API_KEY: apiKey, AGENT_NAME },
      });
      agents.push(process);
      await process.waitFor(/registered worker/, PYTHON_MS);
      return { name: AGENT_NAME, process, apiKey };
    };
    type Agent = Awaited<ReturnType<typeof startAgent>>;
    /** The Python agent, shared by the tests because it starts slowly. */
    const startPythonAgent = (): Promise<Agent> => {
      const command = [newest.python, join(import.meta.dir, "support/agent.py"), "dev", "--no-reload"];
      pythonAgent ??= startAgent(command, CALL_AGENT);
      return pythonAgent;
    };

    /**
     * Runs an agent in its own room until it leaves. The agent says 2 s, ten seconds that are interrupted, and 1 s, and
     * reports on them. `greetingSeconds`: earlier sound. `path`: the end of the path that the plugin requests.
     */
    const expectSpeech = async (agent: Agent, path: string, greetingSeconds = 0): Promise<void> => {
      const { name: agentName, process, apiKey } = agent;
      const room = `of ${agentName}`;
      await rooms.createRoom({ name: room, agents: [new RoomAgentDispatch({ agentName })] });
      const person = await joinAsPerson(service.livekit.url, await sign(service.livekit, personToken(room)));
      await process.waitFor(/"leaves"/, PYTHON_MS);
      const told = [...process.stdout().matchAll(/^{"event".*}$/gm)].map(([line]) => JSON.parse(line) as PlaybackEvent);
      const [second, interrupted, last] = told.filter(({ event }) => event === "finished");
      expect([second, interrupted, last].map((end) => end?.interrupted)).toEqual([false, true, false]);
      expect(Math.abs((second?.position ?? 0) - 2)).toBeLessThan(TOLERANCE);
      expect(Math.abs((last?.position ?? 0) - 1)).toBeLessThan(TOLERANCE);
      const said = greetingSeconds + 2 + (interrupted?.position ?? 0) + 1;
      // On a busy machine, the first moment can pass before LiveKit has connected the person with the sound.
      expect(person.heardSeconds()).toBeGreaterThan(said - 1);
      expect(new Set(person.seen.map(({ digest }) => digest)).size).toBeGreaterThan(3);

      const { ids, ...asked } = requests.at(-1) ?? { ids: [] };
      expect(asked).toEqual({ path: `/compat/bey/v1/${path}`, avatarId: service.avatarId });
      expect(new Set(ids).size).toBe(1);
      const id = ids[0] as SessionId;
      await until(async () => (await service.stateOf(id))["status"] !== "started");
      expect(await service.stateOf(id)).toMatchObject({ status: "released", reason: "disconnected" });
      const response = await service.call("GET", `/usage/sessions/${id}`, apiKey);
      const { billedCreditMicros } = (await response.json()) as { billedCreditMicros: number };
      expect(billedCreditMicros).toBeGreaterThanOrEqual((greetingSeconds + 3) * 1_000_000);
      for (const worker of service.workers()) expect(worker.stdout() + worker.stderr()).not.toMatch(/eyJ[\w-]{20}/);
      await person.leave();
    };

    /** The rooms for which an agent has got a job. */
    const jobsOf = ({ process }: Agent): string[] =>
      [...process.stdout().matchAll(/^{"event": "job".*}$/gm)].map(
        ([line]) => (JSON.parse(line) as { room: string }).room,
      );
    /** Uses a kept token after the end of its call. `joined`: whether the token entered an empty room. */
    const tryKeptToken = async ({ url, room }: StartedCall, token: string) => {
      const rawClient = await joinAsRawClient(url, token);
      const { apiUrl, apiKey, apiSecret } = service.livekit;
      const dispatches = rawClient && (await new AgentDispatchClient(apiUrl, apiKey, apiSecret).listDispatch(room));
      const asked: number[] = await Promise.all([
        askLivekit(url, token, "AgentDispatchService/CreateDispatch", { room, agentName: CALL_AGENT }),
        askLivekit(url, token, "RoomService/CreateRoom", { name: room, agents: [{ agentName: CALL_AGENT }] }),
      ]);
      await until(() => rawClient?.isGone() !== false);
      return {
        isJoined: rawClient !== null,
        asked,
        dispatched: (dispatches ?? []).map(({ agentName }) => agentName).filter((name) => name !== ""),
        hasMet: [BROUGHT_AVATAR, "agent-"].filter((identity) => rawClient?.hasMet(identity)),
      };
    };

    const CHECKS = "seen and heard, correct positions, one call for a repeated token, and a charge at the end";
    test.skipIf(!hasPackages)(`the newest plugin in Python, and examples/agent: ${CHECKS}${withoutPython}`, async () =>
      expectSpeech(await startPythonAgent(), "sessions", 2),
    );
    test.skipIf(oldest.version === null)(`the oldest plugin in Python: ${CHECKS}${withoutOldest}`, async () => {
      const command = [oldest.python, join(import.meta.dir, "support/agent-oldest.py"), "dev", "--no-watch"];
      await expectSpeech(await startAgent(command, "the oldest"), "session");
    });
    test.skipIf(!hasModules)(`the plugin in JavaScript, under Node: ${CHECKS}${withoutModules}`, async () =>
      expectSpeech(
        await startAgent(["node", join(import.meta.dir, "support/agent.mjs"), "dev"], "in JavaScript"),
        "session",
      ),
    );
    test.skipIf(!hasPackages)(
      `the Python agent of CALL_AGENT_NAME: brings the avatar of a call; a kept token brings back neither${withoutPython}`,
      async () => {
        const agent = await startPythonAgent();
        const { apiKey } = await service.newKey();
        const call = await service.start(apiKey);
        const person = await joinAsRawClient(call.url, call.token);
        await until(() => person?.hasMet(BROUGHT_AVATAR) && person.token() !== call.token, { limitMs: PYTHON_MS });
        await until(async () => (await service.stateOf(call.id))["status"] === "started");
        const jobs = jobsOf(agent);
        expect(jobs.filter((room) => room === call.room)).toHaveLength(1);
        await service.call("POST", "/realtime/livekit/session/release", apiKey, { session_id: call.id });
        await until(() => person?.isGone());
        await until(async () => (await service.stateOf(call.id))["room"] === "gone");

        // The token that LiveKit sent is valid for longer.
        const newest = person?.token() ?? "";
        for (const kept of LONG ? [call.token, newest] : [newest]) {
          const found = { isJoined: autoCreate, asked: [401, 401], dispatched: [], hasMet: [] };
          expect(await tryKeptToken(call, kept)).toEqual(found);
        }
        const asking = tampered(newest, { roomConfig: { agents: [{ agentName: CALL_AGENT }] } });
        expect(await validate(call.url, asking)).toBe(401);
        expect(await joinAsRawClient(call.url, asking)).toBeNull();
        await until(async () => !(await service.rooms.list("")).includes(call.room));
        expect(jobsOf(agent)).toEqual(jobs);
        expect(await service.stateOf(call.id)).toMatchObject({ status: "released", room: "gone" });
      },
    );
  },
);
