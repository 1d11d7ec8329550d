/**
 * The kept connections to receivers. Each receiver has its own agent. The agent connects only to the addresses that
 * were checked when the name was last resolved. When the name gets other addresses, its connections are closed.
 */
import { type Agent, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Refused, Unavailable } from "./outcome.ts";
import { type Network, resolveTarget } from "./request.ts";
import type { Target } from "./target.ts";

/** How long addresses are used without a new look-up. */
const RESOLVED_MS = 30_000;
/** Connections without a request are closed after at most twice this time. */
const IDLE_MS = 10_000;
/**
 * The maximum number of receivers with kept connections. Above it, the least recently used one loses its connections.
 */
const MAX_RECEIVERS = 256;
/** The maximum number of idle connections of a receiver. */
const MAX_FREE = 8;

export type KeptConnections = { addresses: readonly string[]; agent: Agent };
type Receiver = KeptConnections & { resolvedAt: number; usedAt: number };

export type Connections = {
  /**
   * The addresses of `target`, and the agent for them. `key`: identifies the receiver, besides its scheme, host and
   * port.
   */
  to(
    key: string,
    target: Target,
    network: Pick<Network, "resolve" | "isAllowed">,
    connectMs: number,
    signal: AbortSignal,
  ): Promise<KeptConnections | Refused | Unavailable>;
  /** The number of receivers with an agent. */
  size(): number;
  close(): void;
};

const isSame = (first: readonly string[], second: readonly string[]): boolean =>
  first.length === second.length && first.every((address) => second.includes(address));

/** `clock`: milliseconds of a monotonic clock. `sweepMs`: the interval between two sweeps of idle connections. */
export const createConnections = (
  clock: () => number = () => performance.now(),
  sweepMs: number = IDLE_MS,
): Connections => {
  // In the order of their last use.
  const receivers = new Map<string, Receiver>();
  const drop = (name: string): void => {
    receivers.get(name)?.agent.destroy();
    receivers.delete(name);
  };
  const sweeping = setInterval(() => {
    const idleSince = clock() - IDLE_MS;
    for (const [name, { usedAt, agent }] of receivers) {
      if (usedAt < idleSince && Object.keys(agent.sockets).length === 0) drop(name);
    }
  }, sweepMs);
  sweeping.unref();

  const use = (name: string, receiver: Receiver): KeptConnections => {
    receivers.delete(name);
    receivers.set(name, receiver);
    const [oldest] = receivers.keys();
    if (receivers.size > MAX_RECEIVERS && oldest !== undefined) {
      // Running requests of the receiver continue; only its idle connections are closed.
      const { agent } = receivers.get(oldest) as Receiver;
      receivers.delete(oldest);
      agent.maxFreeSockets = 0;
      for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    }
    return receiver;
  };

  return {
    to: async (key, target, network, connectMs, signal) => {
      const name = `${key} ${target.url.protocol}//${target.host}:${target.port}`;
      const now = clock();
      const known = receivers.get(name);
      if (known && now - known.resolvedAt < RESOLVED_MS) {
        known.usedAt = now;
        return use(name, known);
      }
      const addresses = await resolveTarget(target, network, connectMs, signal);
      if (!Array.isArray(addresses)) {
        drop(name);
        return addresses;
      }
      const meanwhile = receivers.get(name);
      if (meanwhile && isSame(meanwhile.addresses, addresses)) {
        return use(name, Object.assign(meanwhile, { resolvedAt: now, usedAt: clock() }));
      }
      drop(name);
      const NewAgent = target.url.protocol === "https:" ? HttpsAgent : HttpAgent;
      const agent = new NewAgent({ keepAlive: true, maxFreeSockets: MAX_FREE });
      return use(name, { addresses, agent, resolvedAt: now, usedAt: clock() });
    },
    size: () => receivers.size,
    close: () => {
      clearInterval(sweeping);
      for (const name of [...receivers.keys()]) drop(name);
    },
  };
};
