/**
 * Places for work whose length depends on the client: sending a file, or receiving one. Their number is bounded, so
 * that slow clients cannot fill the memory. Each holder (a client, a tenant, a file) has a share, so that a single
 * holder cannot take all places. When half of the places are taken, they are scarce: a share is then a quarter as
 * large, and a client without progress loses its place sooner. So taking all places needs many holders, which must read
 * or send to keep them.
 */

/**
 * A holder of places. `share`: its maximum number of places while they are not scarce. `firstShare`: its maximum for a
 * request whose other holders have no place; it also applies while places are scarce.
 */
export type Holder = { name: string; share: number; firstShare?: number };

/** Watches a client. `stop` suspends the watch. `progress` restarts its time. */
export type Watch = { progress(): void; stop(): void };

export type Place = {
  /**
   * Frees the place and calls `onStall`, once, when the client makes no progress for `stallMs`, or for a shorter time
   * while places are scarce and requested.
   */
  watch(stallMs: number, onStall: () => void): Watch;
  /** Frees the place. */
  free(): void;
};

export type Taken =
  | { kind: "taken"; place: Place }
  /** The holder has reached its current share. */
  | { kind: "used_up"; holder: Holder }
  /** All places are taken. */
  | { kind: "full" };

export type Places = {
  take(holders: readonly Holder[]): Taken;
  /** The number of taken places. */
  count(): number;
};

const SCARCE_STALL_MS = 5000;

/** Creates `max` places. `scarceStallMs`: how long a client may be without progress while places are scarce. */
export const createPlaces = (max: number, scarceStallMs = SCARCE_STALL_MS): Places => {
  const held = new Map<string, number>();
  const stalls = new Map<() => void, number>();
  let taken = 0;
  const isScarce = (): boolean => taken >= max / 2;

  const count = (holders: readonly Holder[], change: 1 | -1): void => {
    taken += change;
    for (const { name } of holders) {
      const ofHolder = (held.get(name) ?? 0) + change;
      if (ofHolder > 0) held.set(name, ofHolder);
      else held.delete(name);
    }
  };
  const endStalled = (): void => {
    const before = performance.now() - scarceStallMs;
    for (const [stall, since] of stalls) if (since <= before) stall();
  };

  const placeOf = (holders: readonly Holder[]): Place => {
    let isFree = false;
    const free = (): void => {
      if (isFree) return;
      isFree = true;
      count(holders, -1);
    };
    const watch: Place["watch"] = (stallMs, onStall) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const stop = (): void => {
        clearTimeout(timer);
        stalls.delete(stall);
      };
      const stall = (): void => {
        stop();
        free();
        onStall();
      };
      const progress = (): void => {
        stop();
        timer = setTimeout(stall, stallMs).unref();
        stalls.set(stall, performance.now());
      };
      progress();
      return { progress, stop };
    };
    return { watch, free };
  };

  return {
    count: () => taken,
    take: (holders) => {
      if (isScarce()) endStalled();
      const divisor = isScarce() ? 4 : 1;
      const isFirst = holders.every(({ name, firstShare }) => firstShare !== undefined || !held.has(name));
      const holder = holders.find(({ name, share, firstShare = 0 }) => {
        const allowed = Math.max(Math.ceil(share / divisor), isFirst ? firstShare : 0);
        return (held.get(name) ?? 0) >= allowed;
      });
      if (holder !== undefined) return { kind: "used_up", holder };
      if (taken >= max) return { kind: "full" };
      count(holders, 1);
      return { kind: "taken", place: placeOf(holders) };
    },
  };
};
