/**
 * The connections that are kept to receivers. Each receiver has its own agent, whose connections go to the addresses that were
 * checked when its name was resolved last, and to no other. When these are no longer the addresses of the name, they are closed.
 */
import { type Agent, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Refused, Unavailable } from "./outcome.ts";
import { type Network, resolveTarget } from "./request.ts";
import type { Target } from "./target.ts";

/** For how long addresses are used without a new look-up. */
const RESOLVED_MS = 30_000;
/** Connections without a request are closed after this time at most twice. */
const IDLE_MS = 10_000;
/** Receivers with kept connections. The one that was used longest ago loses its own. */
const MAX_RECEIVERS = 256;
/** Connections without a request that a receiver has. */
const MAX_FREE = 8;

export type KeptConnections = { addresses: readonly string[]; agent: Agent };
type Receiver = KeptConnections & { resolvedAt: number; usedAt: number };

export type Connections = {
  /** The addresses of `target`, and the agent for them. `key`: which receiver it is, besides its scheme, host and port. */
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

/** `clock`: milliseconds of a clock that is never set back. `sweepMs`: from one look for idle connections to the next. */
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
      // Its requests go on; only the connections that are free are closed.
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
