/** Hosts that have only an IPv4 address, on a network with DNS64 and NAT64. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { runToEnd, source } from "@realtime-avatar/testing/processes";

// Tests do not assert times.
setDefaultTimeout(60_000);

const NETWORK = ["unshare", ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]), "--net"];
const hasNetwork =
  Bun.which("unshare") !== null && Bun.which("ip") !== null && Bun.spawnSync([...NETWORK, "true"]).exitCode === 0;
/** In that network, each address of NAT64 belongs to this machine. */
const PREPARE = `
ip link set lo up
ip route add local 64:ff9b::/96 dev lo
ip route add local 64:ff9b:1::/48 dev lo
exec "$@"
`;

test.skipIf(!hasNetwork)(
  `a host with an IPv4 address alone, on a network with DNS64: reached, unless that address is not public${hasNetwork ? "" : " (skipped: unshare and ip are needed, with the right to use them)"}`,
  async () => {
    const probe = source(join(import.meta.dir, "nat64.testing.ts"));
    const { code, stdout, stderr } = await runToEnd([...NETWORK, "sh", "-c", PREPARE, "sh", ...probe]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({
      outcomes: {
        "public.example.com": ["posted", "fetched"],
        "private.example.com": ["host_not_public", "host_not_public"],
        "synthesized.example.com": ["posted", "fetched"],
        "hidden.example.com": ["host_not_public", "host_not_public"],
        "local.example.com": ["host_not_public", "host_not_public"],
      },
      connections: 4,
    });
  },
);
