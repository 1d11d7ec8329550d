/**
 * The shards of an installation as databases: a pool for each, whose connections are to the node that has the shard.
 * The service asks the coordinator for the places of the shards, at the start and then repeatedly. Any node can serve
 * any shard: after a move, a statement on a connection to the previous node costs a hop. So when the coordinator does
 * not respond, the service continues with the known places.
 */
import { shardOfWorkerId } from "@realtime-avatar/domain/calls/worker-sync";
import {
  namesLaterShard,
  type Shards,
  shardOfTenant,
  shardsOfKeyId,
  shardsOfToken,
} from "@realtime-avatar/domain/shards";
import { databaseFailure, notExecuted } from "../connection/errors.ts";
import { connect, type Db, type PoolOptions } from "../connection/pool.ts";
import { type Host, parseHosts } from "../connection/server/hosts.ts";
import type { PoolStats } from "../connection/watcher.ts";
import { combined, type Databases } from "../databases/databases.ts";
import { type Node, readPlacement, requireAgreement } from "./placement.ts";
import { shardOptions } from "./shard.ts";
import { findShards } from "./split.ts";

/** The interval between two reads of the coordinator. */
const REFRESH_MS = 10_000;
/** The limit for each statement of this query. */
const ASK_MS = 2000;
/** The minimum number of connections to a shard. */
const MIN_CONNECTIONS = 2;

type ShardedOptions = PoolOptions & {
  deadlineMs: number;
  /** The number of connections to each node. Its shards share them evenly. */
  connections: number;
  /** Whether each shard is reached at its node; otherwise all are at the coordinator. */
  isByNode: boolean;
  /** By default `REFRESH_MS`; null: never. */
  refreshMs?: number | null;
  notify?: ((message: string) => void) | undefined;
};

const NO_STATS: PoolStats = {
  connections: { open: 0, busy: 0, hanging: 0, maximum: 0 },
  waiting: { statements: 0, batched: 0 },
};

/**
 * The database of an unknown shard. The shard may be new, so it refuses all statements instead of reporting missing
 * rows.
 */
const unknownShard = (deadlineMs: number): Db => {
  const refuse = async (): Promise<never> => {
    throw notExecuted("NO_SHARD", "the shard does not exist");
  };
  const db: Db = {
    deadlineMs,
    shard: null,
    run: refuse,
    batch: refuse,
    until: () => db,
    within: () => db,
    stats: () => NO_STATS,
    close: async () => {},
  };
  return db;
};

class ShardPools {
  readonly all: Db[] = [];
  shards: Shards = { count: 0, splitAt: null };
  readonly #starts: ((db: Db) => void)[] = [];
  readonly #url: string;
  readonly #ownHosts: readonly Host[];
  readonly #options: ShardedOptions;
  readonly #unknown: Db;
  /** The hosts of each shard. Shards of one node have the same list. */
  #hosts: readonly (readonly Host[])[] = [];

  constructor(url: string, options: ShardedOptions) {
    this.#url = url;
    this.#ownHosts = parseHosts(url);
    this.#options = options;
    this.#unknown = unknownShard(options.deadlineMs);
  }

  #listsOf(count: number, placement: ReadonlyMap<number, Node>): (readonly Host[])[] {
    const lists = new Map<string, readonly Host[]>();
    return Array.from({ length: count }, (_, shard) => {
      const node = placement.get(shard);
      if (!node || node.isCoordinator) return this.#ownHosts;
      const name = `${node.host}:${node.port}`;
      const list = lists.get(name) ?? [node];
      lists.set(name, list);
      return list;
    });
  }

  #add(shard: number): void {
    const { isByNode, connections: ofNode } = this.#options;
    const nodes = Math.max(1, new Set(this.#hosts).size);
    const connections = Math.max(MIN_CONNECTIONS, Math.ceil((ofNode * nodes) / this.shards.count));
    const hosts = isByNode ? () => this.#hosts[shard] ?? this.#ownHosts : undefined;
    const db = connect(this.#url, { ...this.#options, connections, shard: shardOptions(shard), hosts });
    this.all.push(db);
    for (const start of this.#starts) start(db);
  }

  /** Asks the coordinator for the number and the places of the shards. */
  async refresh(coordinator: Db): Promise<void> {
    const known = await findShards(coordinator);
    if (known === null) throw new Error("the table of the shards is gone");
    if (this.#options.isByNode) {
      const placement = await readPlacement((text) => coordinator.run(text, []));
      this.#hosts = this.#listsOf(known.count, placement);
    }
    this.shards = known;
    for (let shard = this.all.length; shard < known.count; shard++) this.#add(shard);
  }

  at(shard: number | null): Db {
    return (shard === null ? undefined : this.all[shard]) ?? this.#unknown;
  }

  each(start: (db: Db) => void): void {
    this.#starts.push(start);
    for (const db of this.all) start(db);
  }

  stats(): PoolStats {
    const stats = this.all.map((db) => db.stats());
    return {
      connections: combined([NO_STATS, ...stats].map(({ connections }) => connections)),
      waiting: combined([NO_STATS, ...stats].map(({ waiting }) => waiting)),
    };
  }
}

/**
 * Calls `refresh` repeatedly. Reports a failure once, until a call succeeds. Returns a function that ends the calls.
 */
const repeat = (refresh: () => Promise<void>, { refreshMs = REFRESH_MS, notify }: ShardedOptions): (() => void) => {
  if (refreshMs === null) return () => {};
  let hasFailed = false;
  const timer = setInterval(async () => {
    const failed = await refresh().then(
      () => false,
      () => true,
    );
    if (failed && !hasFailed) {
      notify?.("the coordinator does not say where the shards are; going on with what is known");
    }
    hasFailed = failed;
  }, refreshMs);
  return () => clearInterval(timer);
};

/** The minimum time between two reads for ids of unknown shards. */
const READ_AGAIN_MS = 1000;
/**
 * Returns a function that reads the places of the shards. Each read begins after the call. Calls before the start of a
 * read share it.
 */
const sharedReading = (read: () => Promise<void>): (() => Promise<void>) => {
  let next: Promise<void> | null = null;
  let last = Number.NEGATIVE_INFINITY;
  const begin = async (): Promise<void> => {
    await Bun.sleep(Math.max(0, last + READ_AGAIN_MS - performance.now()));
    last = performance.now();
    next = null;
    await read();
  };
  return () => {
    next ??= begin();
    return next;
  };
};

/** How long the nodes may take to report the places of the shards. */
const COMPARE_MS = 5000;
/**
 * Throws when the nodes disagree about where the shards are. A node that does not respond does not prevent the service
 * of the others.
 */
const compareNodes = async (coordinator: Db, { notify }: ShardedOptions): Promise<void> => {
  try {
    await requireAgreement((text) => coordinator.within(COMPARE_MS).run(text, []));
  } catch (error) {
    if (databaseFailure(error) === null) throw error;
    notify?.("a node does not say where the shards are; going on with what the coordinator says");
  }
};

/** Opens the shards of the installation whose coordinator has the URL. */
export const openShards = async (url: string, coordinator: Db, options: ShardedOptions): Promise<Databases> => {
  const pools = new ShardPools(url, options);
  await pools.refresh(coordinator);
  // Skipped for commands, which set null: such a command may have to report the disagreement.
  if (options.refreshMs !== null) await compareNodes(coordinator, options);
  const readAgain = sharedReading(() => pools.refresh(coordinator.within(ASK_MS)));
  const stop = repeat(() => pools.refresh(coordinator.within(ASK_MS)), options);
  return {
    shards: () => pools.shards,
    deadlineMs: options.deadlineMs,
    all: () => pools.all,
    ofTenant: (tenantId) => pools.at(shardOfTenant(tenantId, pools.shards)),
    ofKeyId: (keyId) => shardsOfKeyId(keyId, pools.shards).map((shard) => pools.at(shard)),
    ofToken: (token) => shardsOfToken(token, pools.shards).map((shard) => pools.at(shard)),
    ofNewKeyId: async (keyId) => {
      if (!namesLaterShard(keyId, pools.shards)) return [];
      await readAgain();
      return shardsOfKeyId(keyId, pools.shards).map((shard) => pools.at(shard));
    },
    ofWorker: (workerId) => pools.at(shardOfWorkerId(workerId)),
    ofShard: (shard) => pools.at(shard),
    each: (start) => pools.each(start),
    stats: () => pools.stats(),
    close: async () => {
      stop();
      await Promise.all([...pools.all, coordinator].map((db) => db.close()));
    },
  };
};
