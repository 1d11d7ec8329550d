/**
 * The slots of a worker that takes calls of several shards. Each shard gives calls to the slots that the worker offers
 * it, and knows nothing of other shards. The sum of all offers never exceeds the worker's slots, because the worker raises
 * an offer only by slots that are free according to the responses of the other shards.
 */
import type { ReportedCall, SyncRequest, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";

/** The slots of one shard. */
export type ShardSlots = {
  /** The number of slots for the next request, which lists these calls. */
  offer(calls: readonly ReportedCall[]): number;
  /** The service has responded to the request. */
  answered(request: SyncRequest, response: SyncResponse): void;
  /** The lease has ended, so the shard gives the worker no calls. */
  lost(): void;
  /** Sets the callback for a changed offer, which must then be sent. */
  onChange(change: () => void): void;
};

/** All slots for a single shard, or for the one database. */
export const ownSlots = (total: () => number): ShardSlots => ({
  offer: total,
  answered: () => {},
  lost: () => {},
  onChange: () => {},
});

type Shard = {
  /** Whether the shard has responded within the lease. */
  isConnected: boolean;
  /** The most slots that the shard can hold, according to its last response and the requests since. */
  held: number;
  /** The last offer. */
  offered: number;
  calls: number;
  /** Number of calls that wait for a slot. */
  waiting: number;
  change: () => void;
};

const openCalls = (calls: readonly ReportedCall[]): number => calls.filter(({ state }) => state !== "ended").length;

/**
 * Divides `total` slots in rounds. In each round, each shard that needs another slot gets one, in the given order. The
 * remaining slots are divided equally, for future calls.
 */
export const divideSlots = (total: number, demands: readonly number[]): number[] => {
  const shares = demands.map(() => 0);
  let left = total;
  const round = (needs: (at: number) => boolean): void => {
    for (const at of demands.keys()) {
      if (left === 0 || !needs(at)) continue;
      shares[at] = (shares[at] as number) + 1;
      left--;
    }
  };
  for (let level = 0; left > 0 && demands.some((demand) => demand > level); level++) {
    round((at) => (demands[at] as number) > level);
  }
  while (left > 0 && demands.length > 0) round(() => true);
  return shares;
};

/**
 * Shares `total()` slots among `count` shards. `first`: the shard that gets the first slot while no shard has calls.
 * So workers with few slots wait in different shards.
 */
export const shareSlots = (total: () => number, count: number, first = 0): ShardSlots[] => {
  const shards: Shard[] = Array.from({ length: count }, () => ({
    ...{ isConnected: false, held: 0, offered: 0, calls: 0, waiting: 0 },
    change: () => {},
  }));

  /** The target number of slots of each shard. */
  const aims = (): Map<Shard, number> => {
    const connected = [...shards.slice(first), ...shards.slice(0, first)].filter(({ isConnected }) => isConnected);
    const shares = divideSlots(
      total(),
      connected.map(({ calls, waiting }) => calls + waiting),
    );
    return new Map(connected.map((shard, at) => [shard, shares[at] as number]));
  };
  /**
   * The next offer of a shard: its target, limited by the slots that the others hold. An offer below its number of
   * calls means that an ended call is not replaced.
   */
  const nextOffer = (shard: Shard, aim: number): number => {
    const others = shards.reduce((sum, other) => (other === shard ? sum : sum + other.held), 0);
    return Math.min(aim, Math.max(0, total() - others));
  };
  const tellOthers = (): void => {
    for (const [shard, aim] of aims()) if (nextOffer(shard, aim) !== shard.offered) shard.change();
  };

  return shards.map((shard) => ({
    offer: (calls) => {
      shard.calls = openCalls(calls);
      shard.offered = nextOffer(shard, aims().get(shard) ?? 0);
      shard.held = Math.max(shard.held, shard.offered);
      return shard.offered;
    },
    answered: ({ slots, calls }, { shared, start }) => {
      shard.isConnected = true;
      shard.calls =
        openCalls(calls) + start.filter((one) => !calls.some((call) => call.session_id === one.session_id)).length;
      // A service of the previous release does not report shared slots.
      shard.held = Math.max(shared?.slots ?? slots, shard.calls);
      shard.waiting = shared?.waiting ?? 0;
      tellOthers();
    },
    lost: () => {
      Object.assign(shard, { isConnected: false, held: 0, offered: 0, calls: 0, waiting: 0 });
      tellOthers();
    },
    onChange: (change) => {
      shard.change = change;
    },
  }));
};
