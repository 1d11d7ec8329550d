/**
 * A real S3 for the tests: OpenStack Swift with its s3api, from the Debian packages swift-proxy, swift-account,
 * swift-container and swift-object. It verifies signatures, sizes and MD5, which the S3 servers on npm do not.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { startProcess } from "../processes.ts";

const SERVERS = ["account", "container", "object", "proxy"] as const;
type Server = (typeof SERVERS)[number];

/** The programs of Swift that this machine lacks. `startSwift` needs an empty list. */
export const missingForSwift: readonly string[] = SERVERS.map((name) => `swift-${name}-server`).filter(
  (program) => Bun.which(program) === null,
);

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

/**
 * Runs the four servers in one process, because a process for each takes four times as long to start. Writes their
 * rings, each with one device and one replica. Fails when the file system has no extended attributes. The proxy is the
 * last to listen.
 */
const PROGRAM = `
import os, sys
from swift.common import utils, wsgi
import eventlet
utils.eventlet_monkey_patch()
utils.disable_fallocate()
from swift.common.ring import RingBuilder
folder = sys.argv[1]
os.setxattr(folder, "user.swift.probe", b"1")
for name in sys.argv[2:]:
    sock = eventlet.listen(("127.0.0.1", 0), backlog=4096)
    port = sock.getsockname()[1]
    if name != "proxy":
        builder = RingBuilder(4, 1, 0)
        builder.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "device": "disk",
                         "weight": 1.0, "replication_ip": "127.0.0.1", "replication_port": port})
        builder.rebalance(seed=1)
        builder.get_ring().save(os.path.join(folder, name + ".ring.gz"))
    app = wsgi.loadapp(os.path.join(folder, name + ".conf"), {"log_name": name})
    options = {"protocol": wsgi.SwiftHttpProtocol, "capitalize_response_headers": False}
    server = eventlet.spawn(wsgi.wsgi.server, sock, app, wsgi.NullLogger(), **options)
print("listening on", port, flush=True)
server.wait()
`;

/**
 * On a busy machine, the default timeouts of a second or less would cause 503, omit a file from a list, or exclude the
 * only node.
 */
const common = (folder: string): string => `[DEFAULT]
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${join(folder, "devices")}
mount_check = false
conn_timeout = 60
node_timeout = 60
recoverable_node_timeout = 60
container_update_timeout = 60
error_suppression_limit = 1000000
`;

const storageServer = (name: Server): string => `
[pipeline:main]
pipeline = ${name}-server
[app:${name}-server]
use = egg:swift#${name}
`;

const PROXY = `
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth copy slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
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
max_bucket_listing = 4
[filter:tempauth]
use = egg:swift#tempauth
user_${ACCESS_KEY_ID.replace(":", "_")} = ${SECRET_ACCESS_KEY} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
`;

/** Starts Swift in a new folder below `parent`. */
const startIn = async (parent: string): Promise<Swift> => {
  const folder = await mkdtemp(join(parent, "realtime-avatar-swift-"));
  await mkdir(join(folder, "devices/disk"), { recursive: true });
  for (const name of SERVERS)
    await writeFile(join(folder, `${name}.conf`), common(folder) + (name === "proxy" ? PROXY : storageServer(name)));
  // Debian's Python has Swift. Another python3 may come first in the PATH.
  const servers = startProcess(["/usr/bin/python3", "-c", PROGRAM, folder, ...SERVERS]);
  const close = async (): Promise<void> => {
    servers.kill("SIGTERM");
    await servers.exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [, port] = await servers.waitFor(/listening on (\d+)/);
    const credentials = { accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY };
    return { endpoint: `http://127.0.0.1:${port}`, region: REGION, ...credentials, close };
  } catch (error) {
    await close();
    throw error;
  }
};

/**
 * Starts Swift on loopback, in a new folder, on a file system with extended attributes: a tmpfs has them since Linux
 * 6.6. Takes a few seconds. The caller creates a bucket by `PUT /<bucket>`.
 */
export const startSwift = (): Promise<Swift> => startIn(tmpdir()).catch(() => startIn("/var/tmp"));
