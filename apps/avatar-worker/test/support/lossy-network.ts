/**
 * A network that silently loses packets, for processes of tests: a Linux network namespace behind a router, which is
 * another namespace. It connects only to this machine.
 */
import { spawnSync } from "node:child_process";

export type LossyNetwork = {
  /** The address of this machine in the network, and the interface with that address. */
  address: string;
  interface: string;
  /** Returns a command that runs `command` in the network. */
  run(command: readonly string[]): string[];
  /** Drops a share of the packets, from 0 to 1, in both directions. Packets from and to `exceptPort` pass. */
  lose(part: number, exceptPort?: number): void;
  close(): void;
};

const run = (...command: string[]): void => {
  const { status, stderr } = spawnSync(command[0] ?? "", command.slice(1), { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
};

/** Why this machine cannot have such a network; null when it can. */
export const missingForLoss = (): string | null => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root on Linux can drop packets";
  return Bun.which("ip") && Bun.which("iptables") ? null : "ip or iptables is missing";
};

/** Addresses of a range that is reserved for tests of networks (RFC 2544). */
const addressesOf = (number: number) => {
  const prefix = `198.18.${number % 256}`;
  return { host: `${prefix}.1`, router: `${prefix}.2`, inner: `${prefix}.5`, inside: `${prefix}.6` };
};

export const startLossyNetwork = (): LossyNetwork => {
  const { host, router, inner, inside } = addressesOf(process.pid);
  const [outer, net, link] = [`rta-router-${process.pid}`, `rta-net-${process.pid}`, `rta${process.pid}`];
  const ip = (command: string): void => run("ip", ...command.split(" "));
  const close = (): void => {
    for (const one of [outer, net]) spawnSync("ip", ["netns", "delete", one]);
  };
  const lose = (part: number, exceptPort?: number): void => {
    const rule = (...words: string[]): void => run("ip", "netns", "exec", outer, "iptables", ...words);
    rule("--flush", "FORWARD");
    if (part === 0) return;
    for (const side of exceptPort ? ["--sport", "--dport"] : []) {
      rule("--append", "FORWARD", "--protocol", "tcp", side, `${exceptPort}`, "--jump", "ACCEPT");
    }
    const some = part < 1 ? ["--match", "statistic", "--mode", "random", "--probability", `${part}`] : [];
    rule("--append", "FORWARD", ...some, "--jump", "DROP");
  };
  try {
    ip(`netns add ${outer}`);
    ip(`netns add ${net}`);
    ip(`link add ${link} type veth peer name near netns ${outer}`);
    ip(`-n ${outer} link add far type veth peer name end netns ${net}`);
    ip(`address add ${host}/30 dev ${link}`);
    ip(`-n ${outer} address add ${router}/30 dev near`);
    ip(`-n ${outer} address add ${inner}/30 dev far`);
    ip(`-n ${net} address add ${inside}/30 dev end`);
    ip(`link set ${link} up`);
    for (const device of ["near", "far"]) ip(`-n ${outer} link set ${device} up`);
    for (const device of ["end", "lo"]) ip(`-n ${net} link set ${device} up`);
    ip(`-n ${net} route add default via ${inner}`);
    ip(`route add ${inside}/32 via ${router}`);
    run("ip", "netns", "exec", outer, "sysctl", "-qw", "net.ipv4.ip_forward=1");
    lose(0);
  } catch (error) {
    close();
    throw error;
  }
  return {
    address: host,
    interface: link,
    run: (command) => ["ip", "netns", "exec", net, ...command],
    lose,
    close,
  };
};
