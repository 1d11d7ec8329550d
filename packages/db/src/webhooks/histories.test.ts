/**
 * Random histories of deliveries by many workers at once, on the pools of three replicas: workers claim, deliver, fail,
 * are too late or die. The server ends connections, and endpoints change. Afterwards each event was delivered to each
 * endpoint, canceled or given up. No bound was exceeded, and ordered endpoints got their events in order. `LONG=1` runs
 * many more.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { WebhookDeliveryId } from "@realtime-avatar/domain/id";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { connectTo } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import {
  claimSome,
  finishedDelivery,
  type HeldDelivery,
  newTarget,
  seedEndpoint,
  seedEvents,
} from "@realtime-avatar/testing/webhooks/seeds";
import type { Db } from "../connection/pool.ts";
import { recoverDeliveries, resendDelivery } from "./deliveries.ts";
import { updateEndpoint } from "./endpoints.ts";
import { finishDeliveries, freezeBodies, sweepDeliveries } from "./sending.ts";

const isLong = process.env["LONG"] === "1";
const [ROUNDS, EVENTS] = isLong ? [20, 4000] : [1, 150];
const [PER_ENDPOINT, PER_TENANT, WORKERS, TENANTS, TARGETS] = [3, 5, 4, 4, 6];
const database = await fileDatabase();
const { client } = database.db;
await mutate(database.db);
/** The pools of three replicas. Each test has its own pools, because one of the tests ends connections. */
const openPools = () =>
  Promise.all([1, 2, 3].map(() => fixture(connectTo(database, { connections: 4, deadlineMs: 60_000 }))));
type Pools = Awaited<ReturnType<typeof openPools>>;

setDefaultTimeout(isLong ? 3_600_000 : 300_000);

/** Tenants with an ordered and an unordered endpoint. */
const seedTenants = async () => {
  await client`truncate webhook_deliveries, webhook_events, webhook_endpoints, webhook_turns, webhook_hosts`;
  return Promise.all(
    Array.from({ length: TENANTS }, async () => {
      const caller = await seedCaller(database.db);
      const ordered = await seedEndpoint(database.db, caller, { ordered: true });
      const unordered = await seedEndpoint(database.db, caller);
      return { caller, endpoints: [ordered, unordered], targets: Array.from({ length: TARGETS }, newTarget) };
    }),
  );
};
type Tenants = Awaited<ReturnType<typeof seedTenants>>;

/** The history of the workers. */
const newHistory = (tenants: Tenants) => ({
  orderedIds: new Set<string>(tenants.map(({ endpoints: [ordered] }) => ordered?.id as string)),
  /** The deliveries whose end a worker has written or begun to write, by endpoint, target and sequence. */
  ended: new Set<string>(),
  /** The body with which each event was sent. */
  bodies: new Map<string, string>(),
  faults: [] as string[],
  claims: 0,
  failures: new Map<string, number>(),
});
type History = ReturnType<typeof newHistory>;

const chance = (part: number): boolean => Math.random() < part;
const placeOf = ({ endpointId, targetId }: HeldDelivery, sequence: number): string =>
  `${endpointId} ${targetId} ${sequence}`;

const check = (history: History, delivery: HeldDelivery): void => {
  if (!history.orderedIds.has(delivery.endpointId)) return;
  for (let earlier = 1; earlier < delivery.sequence; earlier++) {
    const place = placeOf(delivery, earlier);
    if (!history.ended.has(place)) history.faults.push(`${delivery.sequence} before ${place}`);
  }
};

/** Sends the deliveries of one claim. Drops some of them, as if the worker had died. */
const work = async (db: Db, history: History): Promise<number> => {
  const bounds = { leaseSeconds: 1, limit: 1 + Math.floor(Math.random() * 12) };
  const claimed = await claimSome(db, { ...bounds, perEndpoint: PER_ENDPOINT, perTenant: PER_TENANT });
  history.claims++;
  for (const delivery of claimed) check(history, delivery);
  const held = claimed.filter(() => !chance(0.03));
  const frozen = await freezeBodies(
    db,
    held.map(({ tenantId, eventId }) => ({ tenantId, eventId, body: `${eventId} ${Math.random()}` })),
  );
  for (const [at, { eventId }] of held.entries()) {
    const sent = history.bodies.get(eventId) ?? frozen[at];
    if (sent !== frozen[at]) history.faults.push(`another body of ${eventId}`);
    history.bodies.set(eventId, frozen[at] as string);
  }
  await Bun.sleep(Math.random() * 5);
  const finished = held.map((delivery) => {
    const outcome = chance(0.2) ? "retry" : chance(0.05) ? "failed" : "delivered";
    if (outcome !== "retry") history.ended.add(placeOf(delivery, delivery.sequence));
    return finishedDelivery(delivery, outcome, {
      delayMs: Math.floor(Math.random() * 30),
      slowMs: chance(0.02) ? 20 : null,
    });
  });
  await finishDeliveries(db, finished, seedOrigin());
  return claimed.length;
};

/** The number of pending deliveries, and of endpoints whose recovery goes on. */
const countPending = async (): Promise<number> => {
  const [row] = await client`
    select (select count(*) from webhook_deliveries where status = 'pending')
      + (select count(*) from webhook_endpoints where recovery_next_at is not null) as count`;
  return Number(row?.["count"]);
};

/** Runs the workers of all replicas until no delivery is pending, no recovery runs, and `others` have ended. */
const runWorkers = async (pools: Pools, history: History, others: readonly (() => Promise<void>)[]): Promise<void> => {
  let isOver = false;
  const workers = pools.flatMap((pool) =>
    Array.from({ length: WORKERS }, async () => {
      while (!isOver) {
        const claimed = await work(pool, history).catch((error: { code?: string }) => {
          const code = String(error.code ?? error);
          history.failures.set(code, (history.failures.get(code) ?? 0) + 1);
          return 0;
        });
        if (claimed === 0) await Bun.sleep(20);
      }
    }),
  );
  // Observes the leases in the database, more often than a claim takes.
  const observer = (async () => {
    while (!isOver) {
      const over = await client`
        select tenant_id, endpoint_id, count(*) as count, grouping(endpoint_id) as of_tenant from webhook_deliveries
        where leased_until > clock_timestamp() group by grouping sets ((tenant_id, endpoint_id), (tenant_id))
        having count(*) > case grouping(endpoint_id) when 1 then ${PER_TENANT}::integer else ${PER_ENDPOINT}::integer end`;
      for (const one of over) history.faults.push(`over its bound: ${JSON.stringify(one)}`);
      await Bun.sleep(isLong ? 2 : 10);
    }
  })();
  await Promise.all(others.map((other) => other()));
  const deadline = performance.now() + 120_000;
  while ((await countPending()) > 0 && performance.now() < deadline) await Bun.sleep(20);
  isOver = true;
  await Promise.all([...workers, observer]);
};

/** Writes the events of all tenants, several at a time. */
const emitAll = (tenants: Tenants) => async (): Promise<void> => {
  for (let written = 0; written < EVENTS; ) {
    for (const { caller, targets } of tenants) {
      const some = targets.filter(() => chance(0.4));
      await seedEvents(database.db, caller, some);
      written += some.length;
    }
    await Bun.sleep(5);
  }
};

/** The server ends connections of the workers in the middle of their statements. */
const killConnections = async (): Promise<void> => {
  for (let n = 0; n < (isLong ? 100 : 10); n++) {
    await Bun.sleep(15);
    await client`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query ~ 'rta_.*(claim_deliveries|freeze_bodies|finish_deliveries)' and state = 'active' and pid <> pg_backend_pid()
      order by random() limit 1`;
  }
};

const endOf = async () => {
  const rows = await client<{ status: string; waits: boolean; leases: number; count: number }[]>`
    select status, waits, count(lease)::integer as leases, count(*)::integer as count from webhook_deliveries group by 1, 2`;
  const [{ events = 0 } = {}] = await client<
    { events: number }[]
  >`select count(*)::integer as events from webhook_events`;
  return { rows: [...rows], events };
};

test("three replicas, with dying workers and ended connections: no event is lost, no bound is exceeded, and order is preserved", async () => {
  const pools = await openPools();
  for (let round = 0; round < ROUNDS; round++) {
    const tenants = await seedTenants();
    const history = newHistory(tenants);
    await runWorkers(pools, history, [emitAll(tenants), killConnections]);
    expect(history.faults).toEqual([]);
    expect(history.failures.get("40P01")).toBeUndefined();
    const { rows, events } = await endOf();
    expect(rows.filter(({ status, waits, leases }) => waits || leases > 0 || status === "pending")).toEqual([]);
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(2 * events);
    expect(history.bodies.size).toBe(events);
    expect(rows.every(({ status }) => status === "delivered" || status === "failed")).toBe(true);
  }
});

/** Changes endpoints and sends deliveries again, while the workers run. */
const disturb = (pools: Pools, tenants: Tenants) => async (): Promise<void> => {
  const one = <Item>(list: readonly Item[]): Item => list[Math.floor(Math.random() * list.length)] as Item;
  for (let n = 0; n < (isLong ? 600 : 40); n++) {
    const { caller, endpoints } = one(tenants);
    const { id } = one(endpoints);
    const change = one([
      { ordered: true },
      { ordered: false },
      { status: "disabled" },
      { status: "enabled" },
      { events: ["asset.*"] },
      { events: null },
    ] as const);
    await updateEndpoint(one(pools), id, change as object, { versions: null }, caller, seedOrigin(caller));
    const [some] = await client<{ id: WebhookDeliveryId }[]>`
      select id from webhook_deliveries where tenant_id = ${caller.tenantId} order by random() limit 1`;
    if (some) await resendDelivery(one(pools), some.id, caller, seedOrigin(caller));
    if (chance(0.2)) await recoverDeliveries(one(pools), id, new Date(0), caller, seedOrigin(caller));
    if (chance(0.1)) await sweepDeliveries(one(pools), 10, new Date(Date.now() + 31 * 86_400_000));
    await Bun.sleep(5);
  }
  for (const { caller, endpoints } of tenants) {
    for (const { id } of endpoints) {
      const change = { status: "enabled", events: null } as const;
      await updateEndpoint(one(pools), id, change, { versions: null }, caller, seedOrigin(caller));
    }
  }
};

test("changed endpoints and resent deliveries, while the workers run: each delivery ends, without deadlocks", async () => {
  const pools = await openPools();
  for (let round = 0; round < ROUNDS; round++) {
    const tenants = await seedTenants();
    const history = newHistory(tenants);
    await runWorkers(pools, history, [emitAll(tenants), disturb(pools, tenants)]);
    expect([...history.failures]).toEqual([]);
    expect(history.faults.filter((fault) => !fault.includes(" before "))).toEqual([]);
    const { rows } = await endOf();
    expect(rows.filter(({ status, waits, leases }) => waits || leases > 0 || status === "pending")).toEqual([]);
  }
});
