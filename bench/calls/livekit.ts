/** The LiveKit server of the benchmarks. The server of the tests ends with a test run. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { freePorts } from "@realtime-avatar/testing/network/ports";

const POLL_MS = 1;

/** Waits until a condition holds. */
export const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await Bun.sleep(POLL_MS);
};

/** Starts the LiveKit server. The variables are those of the service. */
export const startLivekit = async (folder: string) => {
  const binary = await livekitBinary();
  if (binary.kind === "missing") throw new Error(`There is no LiveKit server: ${binary.reason}.`);
  const [port, tcp_port, udp_port] = await freePorts(3);
  const variables = { LIVEKIT_API_KEY: "APIbench", LIVEKIT_API_SECRET: randomBytes(32).toString("hex") };
  const file = join(folder, "livekit.yaml");
  const addresses = { node_ip: "127.0.0.1", use_external_ip: false, interfaces: { includes: ["lo"] } };
  const configuration = {
    ...{
      port,
      bind_addresses: ["127.0.0.1"],
      room: { auto_create: false },
      keys: { APIbench: variables.LIVEKIT_API_SECRET },
    },
    rtc: { ...addresses, tcp_port, udp_port, enable_loopback_candidate: true },
  };
  await writeFile(file, JSON.stringify(configuration), { mode: 0o600 });
  const log = Bun.file(join(folder, "livekit.log"));
  const server = Bun.spawn([binary.path, "--config", file], { stdout: log, stderr: log });
  await until(async () => (await fetch(`http://127.0.0.1:${port}`).catch(() => null))?.ok === true);
  const end = async (): Promise<void> => {
    server.kill("SIGKILL");
    await server.exited;
  };
  return { pid: server.pid, variables: { LIVEKIT_URL: `ws://127.0.0.1:${port}`, ...variables }, end };
};
