/** LiveKit and an avatar worker as children of the API, with the real server: their start and their end. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import { createRooms } from "@realtime-avatar/livekit/rooms";
import { Secret } from "@realtime-avatar/storage/secret";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { runToEnd, source } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import ipaddr from "ipaddr.js";
import { API, call, start, stop } from "../test/support/process.ts";
import { readLivekitProgram } from "./children/livekit.ts";
import { readConfig } from "./config.ts";

// Tests do not assert times, so that a slow disk does not fail one.
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
/** The child processes of a process, except PostgreSQL. */
const childrenOf = async ({ pid }: { pid: number }): Promise<Process[]> => {
  const all = await listProcesses();
  const below = (parent: number): Process[] =>
    all.filter((found) => found.parent === parent).flatMap((found) => [found, ...below(found.pid)]);
  return below(pid).filter(({ command }) => /livekit|avatar-worker/.test(command));
};
const untilGone = async (processes: readonly Process[]): Promise<void> => {
  const pids = new Set(processes.map(({ pid }) => pid));
  await until(async () => !(await listProcesses()).some(({ pid }) => pids.has(pid)));
};
/** An address of /proc/net: groups of four bytes, each with its last byte first, and the port. */
const addressOf = (text: string): string => {
  const [hex = "", port = ""] = text.split(":");
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((group) => [...Buffer.from(group, "hex").reverse()]);
  return `${ipaddr.fromByteArray(bytes)} ${Number.parseInt(port, 16)}`;
};
/** The states of listening TCP sockets, and of UDP sockets without a peer (Linux, `net/tcp_states.h`). */
const OPEN_STATES = { tcp: "0A", tcp6: "0A", udp: "07", udp6: "07" };
/** The addresses at which a process listens: `tcp 127.0.0.1 7880`. */
const listenersOf = async ({ pid }: { pid: number }): Promise<string[]> => {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all((await readdir(folder)).map((name) => readlink(join(folder, name)).catch(() => "")));
  const own = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const found = await Promise.all(
    Object.entries(OPEN_STATES).map(async ([protocol, open]) => {
      const lines = (await readFile(`/proc/${pid}/net/${protocol}`, "utf8")).trim().split("\n").slice(1);
      return lines.flatMap((line) => {
        const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
        return state === open && own.has(inode) ? [`${protocol} ${addressOf(local)}`] : [];
      });
    }),
  );
  return found.flat().sort();
};
/** The configuration that LiveKit was started with. */
const configurationIn = async (data: string) => {
  const { port, keys, rtc, webhook } = JSON.parse(await readFile(join(data, "livekit.yaml"), "utf8"));
  const [[apiKey, apiSecret]] = Object.entries(keys) as [[string, string]];
  const config = { url: `ws://127.0.0.1:${port}`, apiKey, apiSecret: new Secret(apiSecret) };
  return { port, rtc, webhook, apiSecret, rooms: createRooms(config) };
};
/** Starts the API from its source, because a bundle has no avatar worker beside it. */
const startWithLivekit = async (name: string, variables: Record<string, string> = {}) => {
  const data = await preparedDataDirectory(join(folder, name));
  const running = await start({ DATA_DIR: data, LIVEKIT_SERVER_BIN, WORKER: "false", ...variables }, source(API));
  await running.waitFor(/"process":"avatar-worker".*"msg":"started"/);
  const { rooms, ...configuration } = await configurationIn(data);
  await until(() => rooms.list("").catch(() => null));
  return { ...running, data, rooms, ...configuration };
};

describe.skipIf(binary.kind === "missing")(`LiveKit on the embedded database${skipped}`, () => {
  // Most tests share the first service. A test kills the second one.
  let first: Awaited<ReturnType<typeof startWithLivekit>>;
  let second: typeof first;
  beforeAll(async () => {
    first = await startWithLivekit("first", { WORKER: "true" });
  });

  test("a started service: LiveKit and an avatar worker run, with files that only its user can read", async () => {
    expect(await first.rooms.autoCreates()).toBe(false);
    expect(first.webhook.urls).toEqual([`${first.url}/internal/livekit-events`]);
    expect(statSync(join(first.data, "livekit.yaml")).mode & 0o777).toBe(0o600);
    expect(statSync(join(first.data, "livekit.log")).mode & 0o777).toBe(0o600);
    const children = await childrenOf(first);
    expect(children.filter(({ command }) => command.startsWith(LIVEKIT_SERVER_BIN))).toHaveLength(1);
    const workers = children.filter(({ command }) => command.includes("avatar-worker"));
    expect(workers.filter(({ command }) => command.includes("--child"))).toHaveLength(1);
    // The process for the next call may not have been started yet.
    expect(workers.length).toBeWithin(1, 3);
  });

  test("a killed LiveKit: started again at the same address, with the same keys", async () => {
    await first.rooms.create("rta-lost");
    const killed = (await childrenOf(first)).find(({ command }) => command.startsWith(LIVEKIT_SERVER_BIN));
    if (!killed) throw new Error("LiveKit does not run");
    process.kill(killed.pid, "SIGKILL");
    await first.waitFor(/the LiveKit server has ended; starting it again/);
    for (let names: string[] | null = null; names === null || names.length > 0; await Bun.sleep(20)) {
      names = await first.rooms.list("").catch(() => null);
    }
  });

  test("two services with one data directory: the first serves calls; the second refuses them", async () => {
    const other = await start({ DATA_DIR: first.data, LIVEKIT_SERVER_BIN, WORKER: "false" }, source(API));
    await other.waitFor(/calls are disabled, because another process with this data directory serves them/);
    expect(await childrenOf(other)).toEqual([]);
    await stop(other);
    expect((await configurationIn(first.data)).port).toBe(first.port);
    expect(await first.rooms.list("")).toEqual([]);
  });

  test("two services whose ports are in use: the next free ports", async () => {
    second = await startWithLivekit("second");
    expect(second.port).not.toBe(first.port);
    expect(second.rtc.udp_port).not.toBe(first.rtc.udp_port);
  });

  test("a service, killed and started again at once: its children end, and new ones start", async () => {
    const children = await childrenOf(second);
    expect(children.length).toBeGreaterThanOrEqual(2);
    second.kill("SIGKILL");
    await second.exited;
    const next = await start({ DATA_DIR: second.data, LIVEKIT_SERVER_BIN, WORKER: "false" }, source(API));
    await next.waitFor(/started LiveKit and an avatar worker/);
    await untilGone(children);
    await stop(next);
  });

  test("a first start without configuration: a call can be started at once, and its person and avatar can join", async () => {
    const [, key = ""] = await first.waitFor(/export API_KEY=(\S+)/);
    const post = (path: string, by: string, body: unknown) => call(`${first.url}/api/v1${path}`, by, body);
    const { body: own } = await post("/api-keys", key, { name: "Tests", environment: "test", scopes: ["*"] });
    const avatar = { displayName: "Ada", sourceKind: "image", sourceAssetId: "ast_test_ready" };
    const { body: created } = await post("/avatars", own.apiKey, avatar);
    const { status, body: grant } = await until(
      async () => {
        const answer = await post("/realtime/livekit/session", own.apiKey, { avatar_id: created.id });
        // Retries until the avatar is prepared and LiveKit has started.
        return ![409, 503].includes(answer.status) && answer;
      },
      { pollMs: 100 },
    );
    expect([status, grant.livekit_url]).toEqual([200, `ws://127.0.0.1:${first.port}`]);
    const address = `http://127.0.0.1:${first.port}/rtc/validate?access_token=${grant.participant_token}`;
    expect((await fetch(address)).status).toBe(200);
    await first.waitFor(new RegExp(`"process":"avatar-worker","session":"${grant.session_id}".*"state":"joined"`));
  });

  test.skipIf(process.platform !== "linux")(
    "LiveKit, with a call: two reachable sockets, for signalling and media, both on loopback",
    async () => {
      const server = (await childrenOf(first)).find(({ command }) => command.startsWith(LIVEKIT_SERVER_BIN));
      if (!server) throw new Error("LiveKit does not run");
      expect(await listenersOf(server)).toEqual([`tcp 127.0.0.1 ${first.port}`, `udp 127.0.0.1 ${first.rtc.udp_port}`]);
    },
  );

  test.skipIf(process.platform !== "linux")(
    "a service with LiveKit: its children listen only on loopback, except the WebRTC client of a call",
    async () => {
      const children = (await childrenOf(first)).filter(({ command }) => !command.includes("--call"));
      const listeners = (await Promise.all(children.map(listenersOf))).flat();
      expect(listeners.filter((text) => text.startsWith("tcp") && !/ (127\.0\.0\.1|::1) /.test(text))).toEqual([]);
    },
  );

  test("a stopped service: LiveKit and the avatar worker end; the worker has sent its last sync", async () => {
    const children = await childrenOf(first);
    expect(await stop(first)).toBe(0);
    await untilGone(children);
    expect(existsSync(join(first.data, "livekit.yaml"))).toBe(false);
    expect(first.stdout()).toMatch(/"process":"avatar-worker","msg":"stopped"/);
    expect(first.stdout() + first.stderr()).not.toContain(first.apiSecret);
  });

  test("LIVEKIT_EMBEDDED=off: no LiveKit, and no log line about it", async () => {
    const data = await preparedDataDirectory(join(folder, "off"));
    const variables = { DATA_DIR: data, LIVEKIT_SERVER_BIN, LIVEKIT_EMBEDDED: "off", WORKER: "false" };
    const running = await start(variables);
    await stop(running);
    expect(running.stdout()).not.toMatch(/livekit/i);
  });
});

test("a service without livekit-server: starts; the log and the 501 of a call say how to install it", async () => {
  const data = await preparedDataDirectory(join(folder, "missing"));
  const running = await start({ DATA_DIR: data, PATH: "/usr/bin:/bin", WORKER: "false" });
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
])("%s %s: refuses to start, with an error that names it", (name, _, variables) => {
  // The first steps of a start. main.system.test.ts tests the whole start.
  const read = () => [readConfig(variables), readLivekitProgram(variables)];
  expect(read).toThrow(`${name} must be`);
});
