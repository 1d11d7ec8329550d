/**
 * The slots of a worker that takes the calls of several shards. Each shard gives calls to the slots that the worker offers there, and
 * knows nothing of the others. So the worker never offers more than it has, all shards together: it raises the offer of one shard by what the
 * response of another one has left free.
 */
import type { ReportedCall, SyncRequest, SyncResponse } from "@realtime-avatar/domain/calls/worker-sync";

/** The slots of one shard. */
export type ShardSlots = {
  /** How many slots to name in the next request, which lists these calls. */
  offer(calls: readonly ReportedCall[]): number;
  /** The request was answered. */
  answered(request: SyncRequest, response: SyncResponse): void;
  /** The lease has ended: the shard gives no calls to the worker. */
  lost(): void;
  /** Called when another offer is to be sent. */
  onChange(change: () => void): void;
};

/** All slots in one shard, or in the one database. */
export const ownSlots = (total: () => number): ShardSlots => ({
  offer: total,
  answered: () => {},
  lost: () => {},
  onChange: () => {},
});

type Shard = {
  /** Whether it has answered within the lease. */
  isConnected: boolean;
  /** The most slots that it can have given to the worker, by its last response and the requests since. */
  held: number;
  /** The last offer. */
  offered: number;
  calls: number;
  /** Calls that wait for a slot. */
  waiting: number;
  change: () => void;
};

const openCalls = (calls: readonly ReportedCall[]): number => calls.filter(({ state }) => state !== "ended").length;

/**
 * Divides `total` slots in rounds. In each round, each shard that needs one more gets one, in the given order. The rest is for calls to come:
 * each shard gets as many.
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
 * Shares `total()` slots among `count` shards. `first`: the shard that gets a slot first while none has calls, so that workers with few slots
 * stand by in different shards.
 */
export const shareSlots = (total: () => number, count: number, first = 0): ShardSlots[] => {
  const shards: Shard[] = Array.from({ length: count }, () => ({
    ...{ isConnected: false, held: 0, offered: 0, calls: 0, waiting: 0 },
    change: () => {},
  }));

  /** What each shard should have, by its index. */
  const aims = (): Map<Shard, number> => {
    const connected = [...shards.slice(first), ...shards.slice(0, first)].filter(({ isConnected }) => isConnected);
    const shares = divideSlots(
      total(),
      connected.map(({ calls, waiting }) => calls + waiting),
    );
    return new Map(connected.map((shard, at) => [shard, shares[at] as number]));
  };
  /** The next offer of a shard: what it should have, as far as the others have left it free. With fewer than its calls, it
   * takes no call in the place of one that ends. */
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
      // A service of the release before does not say it.
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
