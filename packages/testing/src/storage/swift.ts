/**
 * A real S3 for the tests: OpenStack Swift with its s3api, from the Debian packages swift-proxy, swift-account,
 * swift-container and swift-object. It verifies signatures, sizes and MD5, which the S3 servers on npm do not.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { freePorts } from "../ports.ts";
import { type RunningProcess, runToEnd, startProcess } from "../processes.ts";

const SERVERS = ["account", "container", "object"] as const;
type Server = (typeof SERVERS)[number];
type Ports = Record<Server | "proxy", number>;

/** Swift's programs that this machine lacks. Where it is empty, `startSwift` works. */
export const missingForSwift: readonly string[] = [...SERVERS, "proxy"]
  .map((name) => `swift-${name}-server`)
  .filter((program) => Bun.which(program) === null);

export type Swift = {
  /** The address of the S3, on loopback, without encryption. */
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  close(): Promise<void>;
};

const REGION = "us-east-1";
const ACCESS_KEY_ID = "test:tester";
const SECRET_ACCESS_KEY = "testing";

/** Writes the three rings, each with one device and one replica. Fails where the file system has no extended attributes. */
const RINGS = `
import os, sys
from swift.common.ring import RingBuilder
folder = sys.argv[1]
os.setxattr(folder, "user.swift.probe", b"1")
for name, port in zip(("account", "container", "object"), sys.argv[2:]):
    builder = RingBuilder(4, 1, 0)
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "device": "disk",
                     "weight": 1.0, "replication_ip": "127.0.0.1", "replication_port": int(port)})
    builder.rebalance(seed=1)
    builder.get_ring().save(os.path.join(folder, name + ".ring.gz"))
`;

/**
 * `workers = 0` serves in the process itself, so that its pid is all there is to end. On a busy machine the usual time-outs of
 * a second or less would give 503, leave a file out of the list, or put the only node aside.
 */
const common = (folder: string, port: number): string => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${join(folder, "devices")}
mount_check = false
disable_fallocate = true
conn_timeout = 60
node_timeout = 60
recoverable_node_timeout = 60
container_update_timeout = 60
error_suppression_limit = 1000000
`;

const storageServer = (folder: string, name: Server, port: number): string => `${common(folder, port)}
[pipeline:main]
pipeline = ${name}-server
[app:${name}-server]
use = egg:swift#${name}
`;

const proxyServer = (folder: string, port: number): string => `${common(folder, port)}
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats s3api tempauth copy slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:healthcheck]
use = egg:swift#healthcheck
# tempauth needs a cache, not that it works: nothing listens on port 1, and Swift stops asking after the first failures.
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
error_suppression_limit = 0
error_suppression_interval = 1000000
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = ${REGION}
# A page of a list is short, so that the tests go on from one to the next with few files.
max_bucket_listing = 20
[filter:tempauth]
use = egg:swift#tempauth
user_${ACCESS_KEY_ID.replace(":", "_")} = ${SECRET_ACCESS_KEY} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
`;

/** A folder with the rings, on a file system with extended attributes: a tmpfs has them since Linux 6.6. */
const prepareFolder = async (ports: Ports): Promise<string> => {
  let reason = "";
  for (const parent of new Set([tmpdir(), "/var/tmp"])) {
    const folder = await mkdtemp(join(parent, "realtime-avatar-swift-"));
    await mkdir(join(folder, "devices/disk"), { recursive: true });
    // Debian's Python has Swift. Another python3 may come first in the PATH.
    const rings = ["/usr/bin/python3", "-c", RINGS, folder, ...SERVERS.map((name) => String(ports[name]))];
    const { code, stderr } = await runToEnd(rings);
    if (code === 0) return folder;
    reason = stderr;
    await rm(folder, { recursive: true, force: true });
  }
  throw new Error(`Swift's rings cannot be written:\n${reason}`);
};

/** Waits until something accepts connections. Any response will do: the storage servers answer 400 to a plain GET. */
const untilListening = async (server: RunningProcess, port: number): Promise<void> => {
  let exitCode: number | null = null;
  server.exited.then((code) => {
    exitCode = code;
  });
  for (;;) {
    if (exitCode !== null) throw new Error(`A server of Swift exited with ${exitCode}:\n${server.stderr()}`);
    const response = await fetch(`http://127.0.0.1:${port}/healthcheck`).catch(() => null);
    if (response) return;
    await Bun.sleep(20);
  }
};

/** Starts Swift on loopback, in a folder of its own. Takes a few seconds. The caller creates a bucket by `PUT /<bucket>`. */
export const startSwift = async (): Promise<Swift> => {
  const [account = 0, container = 0, object = 0, proxy = 0] = await freePorts(4);
  const ports: Ports = { account, container, object, proxy };
  const folder = await prepareFolder(ports);
  const servers = await Promise.all(
    [...SERVERS, "proxy" as const].map(async (name) => {
      const file = join(folder, `${name}-server.conf`);
      const text = name === "proxy" ? proxyServer(folder, ports.proxy) : storageServer(folder, name, ports[name]);
      await writeFile(file, text);
      return { name, process: startProcess([`swift-${name}-server`, file, "--verbose"]) };
    }),
  );
  const close = async (): Promise<void> => {
    for (const { process } of servers) process.kill("SIGTERM");
    await Promise.all(servers.map(({ process }) => process.exited));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(servers.map(({ name, process }) => untilListening(process, ports[name])));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    endpoint: `http://127.0.0.1:${ports.proxy}`,
    region: REGION,
    accessKeyId: ACCESS_KEY_ID,
    secretAccessKey: SECRET_ACCESS_KEY,
    close,
  };
};
