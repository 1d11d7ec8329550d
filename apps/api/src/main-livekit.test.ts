/** LiveKit and an avatar worker as children of the API, with the real server: how they start, and that none is left behind. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { createRooms } from "@realtime-avatar/livekit/rooms";
import { Secret } from "@realtime-avatar/storage/secret";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { runToEnd, source } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import type { Answer } from "../test/support/api.ts";
import { API, call, start, stop } from "../test/support/process.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const binary = await livekitBinary();
const skipped = binary.kind === "missing" ? ` (skipped: ${binary.reason})` : "";
const LIVEKIT_SERVER_BIN = binary.kind === "found" ? binary.path : "";

const folder = await temporaryFolder();
afterAll(() => rm(folder, { recursive: true }));

type Process = { pid: number; parent: number; command: string };

const listProcesses = async (): Promise<Process[]> => {
  const { stdout } = await runToEnd(["ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args="]);
  return stdout.split("\n").flatMap((line) => {
    const [, pid, parent, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)/.exec(line) ?? [];
    return command === undefined || state?.startsWith("Z")
      ? []
      : [{ pid: Number(pid), parent: Number(parent), command }];
  });
};
/** The processes that a process has started, except PostgreSQL. */
const childrenOf = async ({ pid }: { pid: number }): Promise<Process[]> => {
  const all = await listProcesses();
  const below = (parent: number): Process[] =>
    all.filter((found) => found.parent === parent).flatMap((found) => [found, ...below(found.pid)]);
  return below(pid).filter(({ command }) => /livekit|avatar-worker/.test(command));
};
const untilGone = async (processes: readonly Process[]): Promise<void> => {
  const pids = new Set(processes.map(({ pid }) => pid));
  while ((await listProcesses()).some(({ pid }) => pids.has(pid))) await Bun.sleep(20);
};
/** What LiveKit was configured with. */
const configurationIn = async (data: string) => {
  const { port, keys, rtc, webhook } = JSON.parse(await readFile(join(data, "livekit.yaml"), "utf8"));
  const [[apiKey, apiSecret]] = Object.entries(keys) as [[string, string]];
  const config = { url: `ws://127.0.0.1:${port}`, apiKey, apiSecret: new Secret(apiSecret) };
  return { port, rtc, webhook, apiSecret, rooms: createRooms(config) };
};
/** Starts the API from its source: a bundle has no avatar worker beside it. */
const startWithLivekit = async (name: string, variables: Record<string, string> = {}) => {
  const data = await preparedDataDirectory(join(folder, name));
  const running = await start({ DATA_DIR: data, LIVEKIT_SERVER_BIN, WORKER: "false", ...variables }, source(API));
  await running.waitFor(/"process":"avatar-worker".*"msg":"started"/);
  const { rooms, ...configuration } = await configurationIn(data);
  while ((await rooms.list("").catch(() => null)) === null) await Bun.sleep(20);
  return { ...running, data, rooms, ...configuration };
};

describe.skipIf(binary.kind === "missing")(`LiveKit on the embedded database${skipped}`, () => {
  test("a service, started: LiveKit and an avatar worker run; stopped: neither, and the worker said goodbye", async () => {
    const running = await startWithLivekit("started");
    expect(await running.rooms.autoCreates()).toBe(false);
    expect(running.webhook.urls).toEqual([`${running.url}/internal/livekit-events`]);
    expect(statSync(join(running.data, "livekit.yaml")).mode & 0o777).toBe(0o600);
    expect(statSync(join(running.data, "livekit.log")).mode & 0o777).toBe(0o600);
    const children = await childrenOf(running);
    expect(children.filter(({ command }) => command.startsWith(LIVEKIT_SERVER_BIN))).toHaveLength(1);
    expect(children.filter(({ command }) => command.includes("avatar-worker"))).toHaveLength(1);
    expect(await stop(running)).toBe(0);
    await untilGone(children);
    expect(existsSync(join(running.data, "livekit.yaml"))).toBe(false);
    expect(running.stdout()).toMatch(/"process":"avatar-worker","msg":"stopped"/);
    expect(running.stdout() + running.stderr()).not.toContain(running.apiSecret);
  });

  test("a first start, by a stranger: a call can be started at once, and its person and avatar can join", async () => {
    const running = await startWithLivekit("call", { WORKER: "true" });
    const [, first = ""] = await running.waitFor(/export API_KEY=(\S+)/);
    const post = (path: string, key: string, body: unknown) => call(`${running.url}/api/v1${path}`, key, body);
    const { body: key } = await post("/api-keys", first, { name: "Tests", environment: "test", scopes: ["*"] });
    const avatar = { displayName: "Ada", sourceKind: "image", sourceAssetId: "ast_test_ready" };
    const { body: created } = await post("/avatars", key.apiKey, avatar);
    const started = async (): Promise<Answer> => {
      for (;;) {
        const answer = await post("/realtime/livekit/session", key.apiKey, { avatar_id: created.id });
        // Until it is prepared, and while LiveKit starts.
        if (![409, 503].includes(answer.status)) return answer;
        await Bun.sleep(100);
      }
    };
    const { status, body: grant } = await started();
    expect([status, grant.livekit_url]).toEqual([200, `ws://127.0.0.1:${running.port}`]);
    const address = `http://127.0.0.1:${running.port}/rtc/validate?access_token=${grant.participant_token}`;
    expect((await fetch(address)).status).toBe(200);
    await running.waitFor(new RegExp(`"process":"avatar-worker","session":"${grant.session_id}".*"state":"joined"`));
    await stop(running);
  });

  test("a service, killed and started again at once: its children end, and it has others", async () => {
    const running = await startWithLivekit("killed");
    const children = await childrenOf(running);
    expect(children.length).toBeGreaterThanOrEqual(2);
    running.kill("SIGKILL");
    await running.exited;
    const next = await start({ DATA_DIR: running.data, LIVEKIT_SERVER_BIN, WORKER: "false" }, source(API));
    await next.waitFor(/started LiveKit and an avatar worker/);
    await untilGone(children);
    await stop(next);
  });

  test("a LiveKit that is killed: is started again at the same address, with the same keys", async () => {
    const running = await startWithLivekit("again");
    await running.rooms.create("rta-lost");
    const killed = (await childrenOf(running)).find(({ command }) => command.startsWith(LIVEKIT_SERVER_BIN));
    if (!killed) throw new Error("LiveKit does not run");
    process.kill(killed.pid, "SIGKILL");
    await running.waitFor(/the LiveKit server has ended; starting it again/);
    for (let names: string[] | null = null; names === null || names.length > 0; await Bun.sleep(20)) {
      names = await running.rooms.list("").catch(() => null);
    }
    const children = await childrenOf(running);
    await stop(running);
    await untilGone(children);
  });

  test("two services with ports that others use: take the next free ones", async () => {
    const first = await startWithLivekit("first");
    const second = await startWithLivekit("second");
    const tcpOf = ({ port, rtc }: typeof first) => [port, rtc.tcp_port];
    expect(new Set([...tcpOf(first), ...tcpOf(second)]).size).toBe(4);
    expect(second.rtc.udp_port).not.toBe(first.rtc.udp_port);
    await Promise.all([stop(first), stop(second)]);
  });

  test("two services with one data directory: the first serves calls, and the second refuses them", async () => {
    const first = await startWithLivekit("shared");
    const second = await start({ DATA_DIR: first.data, LIVEKIT_SERVER_BIN, WORKER: "false" }, source(API));
    await second.waitFor(/calls are refused, because another process with this data directory serves them/);
    expect(await childrenOf(second)).toEqual([]);
    await stop(second);
    expect((await configurationIn(first.data)).port).toBe(first.port);
    expect(await first.rooms.list("")).toEqual([]);
    await stop(first);
  });

  test("LIVEKIT_EMBEDDED=off: no LiveKit, and no word of it", async () => {
    const data = await preparedDataDirectory(join(folder, "off"));
    const variables = { DATA_DIR: data, LIVEKIT_SERVER_BIN, LIVEKIT_EMBEDDED: "off", WORKER: "false" };
    const running = await start(variables, source(API));
    await stop(running);
    expect(running.stdout()).not.toMatch(/livekit/i);
  });
});

test("a service without livekit-server: starts, the log says how to install it, and so does the 501 of a call", async () => {
  const data = await preparedDataDirectory(join(folder, "missing"));
  const running = await start({ DATA_DIR: data, PATH: "/usr/bin:/bin", WORKER: "false" }, source(API));
  await running.waitFor(/livekit-server is not on the PATH: https:\/\/docs\.livekit\.io/);
  const [, key = ""] = await running.waitFor(/export API_KEY=(\S+)/);
  const refused = await call(`${running.url}/api/v1/realtime/livekit/session`, key, { avatar_id: "ava_x" });
  expect(refused.body).toMatchObject({ status: 501, detail: expect.stringMatching(/livekit-server.*LIVEKIT_URL/) });
  expect(await stop(running)).toBe(0);
});

test.each([
  ["LIVEKIT_SERVER_BIN", "that names no file", { LIVEKIT_SERVER_BIN: "/no/such/program" }],
  [
    "LIVEKIT_SERVER_BIN",
    "beside DATABASE_URL",
    { LIVEKIT_SERVER_BIN: "/bin/sh", DATABASE_URL: "postgres://localhost/x" },
  ],
  ["LIVEKIT_EMBEDDED", "with another word than off", { LIVEKIT_EMBEDDED: "yes" }],
  ["LIVEKIT_API_KEY", "missing beside LIVEKIT_URL", { LIVEKIT_URL: "wss://livekit.example.com" }],
])("%s %s: refuses to start, and names it", async (name, _, variables) => {
  const { code, stderr } = await runToEnd(source(API), { ...variables, DATA_DIR: join(folder, "none") });
  expect([code, stderr]).toEqual([1, expect.stringContaining(`${name} must be`)]);
});
