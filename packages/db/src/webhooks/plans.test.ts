/** How the server executes the statements and functions of webhooks: by indexes, in tables of many rows, with plans for any values. */
import { expect, test } from "bun:test";
import { newId } from "@realtime-avatar/domain/id";
import { seedSession } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import {
  expectIndexed,
  explainedSession,
  insertKeyRows,
  insertNamedRows,
  rowId,
} from "@realtime-avatar/testing/postgres/plans";
import { random } from "@realtime-avatar/testing/random-bytes";
import { newClaim, seedAvatar, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import {
  claimSome,
  finishedDelivery,
  newTarget,
  plannedEndpoint,
  seedEndpoint,
  seedEvents,
} from "@realtime-avatar/testing/webhooks/seeds";
import { FUNCTIONS_SCHEMA } from "../functions/schema.ts";
import { findDelivery, insertTestDelivery, listDeliveries, recoverDeliveries, resendDelivery } from "./deliveries.ts";
import {
  deleteEndpoint,
  disableEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  rotateEndpointSecret,
  updateEndpoint,
} from "./endpoints.ts";
import { announceExpiringKeys } from "./expiring-keys.ts";
import { finishDeliveries, freezeBodies, sweepDeliveries, webhookStats } from "./sending.ts";

const ROWS = 3000;
/**
 * The number of tenants with a dead endpoint, and the number of deliveries of each that wait for their next attempt.
 */
const [DEAD, WAITING] = process.env["LONG"] === "1" ? [200, 100] : [100, 30];

const database = await fileDatabase();
const owner = database.db.client;
const caller = await seedCaller(database.db);
const { tenantId } = caller;
const endpoint = await seedEndpoint(database.db, caller, { ordered: true });
const { db, plans, explain } = await explainedSession(database.url);
const deliveries = (of: string, status: string, from: number, to: number, due = "null") => `
  insert into webhook_deliveries (
    tenant_id, id, environment, endpoint_id, event_id, event_type, target_id, sequence, status, next_attempt_at, created_at
  )
  select ${of}, ${rowId("whd")}, 'live', '${endpoint.id}', ${rowId("evt")}, 'avatar.updated', ${rowId("ava")}, 1, '${status}', ${due},
    now() from generate_series(${from}, ${to}) i;`;
await owner.unsafe(`
  ${insertKeyRows(tenantId, ROWS)}
  insert into webhook_turns select ${rowId("ten")}, now() - interval '1 hour' from generate_series(1, ${ROWS}) i;
  insert into webhook_hosts select '${tenantId}', 'live', i || '.example', 0, 0, now() from generate_series(1, ${ROWS}) i;
  insert into webhook_endpoints (tenant_id, id, environment, url, status, secret, failing_since, version, created_at, updated_at)
    select ${rowId("ten")}, '${endpoint.id}', 'live', 'https://x.example', 'enabled', 'x', now(), 1, now(), now()
    from generate_series(1, ${ROWS}) i;
  insert into webhook_events (tenant_id, id, environment, type, target_id, sequence, body, created_at)
    select '${tenantId}', ${rowId("evt")}, 'live', 'avatar.updated', ${rowId("ava")}, 1, 'x', now() from generate_series(1, ${2 * ROWS}) i;
  ${deliveries(`'${tenantId}'`, "delivered", 1, ROWS)}
  ${deliveries(`'${tenantId}'`, "failed", ROWS + 1, 2 * ROWS)}
  insert into webhook_deliveries (
    tenant_id, id, environment, endpoint_id, event_id, event_type, target_id, sequence, status, next_attempt_at, created_at
  )
  select 'ten_01h455vb4p' || lpad((1 + i % ${DEAD})::text, 16, '0'), ${rowId("whd")}, 'live', '${endpoint.id}', ${rowId("evt")},
    'avatar.updated', ${rowId("ava")}, 1, 'pending', now() + interval '1 hour', now() from generate_series(1, ${DEAD * WAITING}) i;
  ${insertNamedRows(tenantId, ROWS)}
  insert into avatars (
    tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings, metadata, version, created_at, updated_at
  )
    select '${tenantId}', ${rowId("ava")}, 'live', 'n', 'image', 'm', 'draft', 0, '{}', '{}', 1, now(), now()
    from generate_series(1, ${ROWS}) i;
  insert into api_key_meters select '${tenantId}', ${rowId("key")}, 0, 0 from generate_series(1, ${ROWS}) i;
  insert into credit_accounts (tenant_id, environment, granted, updated_at) select ${rowId("ten")}, 'live', 0, now()
    from generate_series(1, ${ROWS}) i;
  insert into idempotency_claims (tenant_id, caller_id, request, idempotency_key, attempt_id, body_hash, status, etag, response_body, created_at)
    select '${tenantId}', '${caller.id}', 'POST /api/v1/avatars', i::text, ${rowId("aud")}, sha256('x'), 201, '1', 'x', now()
    from generate_series(1, ${ROWS}) i;`);
await owner.unsafe("vacuum analyze");
await explain();

const plansOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  plans.length = 0;
  await work();
  return plans;
};
const claimed = async () => {
  await seedEvents(database.db, caller, [newTarget(), newTarget()]);
  const all = await claimSome(db, { perEndpoint: 1000, perTenant: 1000 });
  expect(all.length).toBeGreaterThan(0);
  return all;
};
const finish = async (outcome: Parameters<typeof finishedDelivery>[1]) => {
  const all = (await claimed()).map((one) => finishedDelivery(one, outcome));
  expect(await finishDeliveries(db, all, seedOrigin())).toBe(all.length);
};
const secondEndpoint = () => seedEndpoint(database.db, caller, { events: ["credits.*"] });
const ANY = { versions: null };
const page = { before: null, limit: 50 };
const oldDelivery = `whd_01h455vb4p${"1".padStart(16, "0")}` as const;

/** Runs `work` with the settings of the service's connections. The tables of avatars and of keys are small here. */
const asService = async (work: () => Promise<unknown>): Promise<void> => {
  await db.client`set enable_seqscan = off`;
  await work();
  await db.client`reset enable_seqscan`;
};

const cases: [string, () => Promise<unknown>, string[]][] = [
  [
    "writing an event of an avatar",
    () => seedAvatar(db, caller),
    ["webhook_endpoints_enabled_index", "webhook_events_sequence_index"],
  ],
  [
    "opening a session, refused for lack of credits",
    () =>
      asService(async () => {
        await expect(seedSession(db, caller)).rejects.toThrow("insufficient_credits");
      }),
    ["webhook_endpoints_enabled_index", "webhook_events_sequence_index", "credit_accounts"],
  ],
  [
    "announcing keys that expire",
    // All enabled endpoints are read, every ten minutes.
    () => asService(() => announceExpiringKeys(db, 100)),
    ["webhook_endpoints_enabled_index", "api_keys_expires_at_index", "api_key_meters_tenant_id_api_key_id_pk"],
  ],
  [
    "creating an endpoint",
    () =>
      insertEndpoint(
        db,
        { ...plannedEndpoint(caller), environment: "test" },
        caller,
        seedOrigin(caller),
        newClaim("new"),
      ),
    ["webhook_turns_pkey"],
  ],
  ["reading an endpoint", () => findEndpoint(db, caller, endpoint.id), []],
  ["listing endpoints", () => listEndpoints(db, caller, page), ["webhook_endpoints_list_index"]],
  [
    "changing an endpoint",
    () => updateEndpoint(db, endpoint.id, { description: "x" }, ANY, caller, seedOrigin(caller)),
    ["webhook_endpoints_tenant_id_id_pk"],
  ],
  [
    "rotating a secret",
    async () => {
      const { version } = (await findEndpoint(db, caller, endpoint.id)) ?? endpoint;
      const rotated = { ...endpoint, version: version + 1 };
      expect(await rotateEndpointSecret(db, rotated, caller, seedOrigin(caller), newClaim("rotate"))).toMatchObject({
        kind: "written",
      });
    },
    ["webhook_endpoints_tenant_id_id_pk"],
  ],
  [
    "deleting an endpoint",
    async () => deleteEndpoint(db, (await secondEndpoint()).id, ANY, caller, seedOrigin(caller)),
    ["webhook_endpoints_tenant_id_id_pk"],
  ],
  [
    "disabling an endpoint",
    async () => disableEndpoint(db, tenantId, (await secondEndpoint()).id, seedOrigin()),
    ["webhook_endpoints_tenant_id_id_pk"],
  ],
  ["reading a delivery", () => findDelivery(db, caller, oldDelivery), ["webhook_deliveries_tenant_id_id_pk"]],
  ...(["live", "test"] as const).flatMap((environment) =>
    [{}, { endpointId: endpoint.id, status: "failed" }, { eventType: "avatar.created", targetId: "x" }].map(
      (filters): [string, () => Promise<unknown>, string[]] => [
        `listing deliveries of ${environment} by ${Object.keys(filters)}`,
        () => listDeliveries(db, { tenantId, environment }, { filters: filters as object, ...page }),
        [environment === "test" ? "webhook_deliveries_test_index" : "webhook_deliveries_tenant_id_id_pk"],
      ],
    ),
  ),
  [
    "sending a delivery again",
    async () =>
      expect(await resendDelivery(db, oldDelivery, caller, seedOrigin(caller), newClaim("resend"))).toMatchObject({
        kind: "written",
      }),
    ["webhook_deliveries_tenant_id_id_pk"],
  ],
  [
    "testing an endpoint",
    () => insertTestDelivery(db, endpoint.id, caller, seedOrigin(caller), newClaim("test")),
    ["webhook_events_sequence_index"],
  ],
  [
    "claiming deliveries",
    claimed,
    [
      "webhook_deliveries_due_index",
      "webhook_deliveries_endpoint_due_index",
      "webhook_deliveries_order_index",
      "webhook_deliveries_lease_index",
      "webhook_turns_pkey",
    ],
  ],
  [
    "freezing bodies",
    () =>
      freezeBodies(db, [
        { tenantId, eventId: newId("evt", new Date(), random), body: "x" },
        { tenantId, eventId: newId("evt", new Date(), random), body: "x" },
      ]),
    ["webhook_events_tenant_id_id_pk"],
  ],
  [
    "recovering deliveries",
    async () =>
      expect(
        await recoverDeliveries(db, endpoint.id, new Date(0), caller, seedOrigin(caller), newClaim("recover")),
      ).toMatchObject({ kind: "written" }),
    ["webhook_deliveries_failed_index", "webhook_deliveries_retried_index"],
  ],
  [
    "sending recovered deliveries",
    async () => {
      // An endpoint with eight due or running deliveries gets no further ones.
      await owner`
        update webhook_deliveries set status = 'delivered', next_attempt_at = null, lease = null, leased_until = null
        where status = 'pending' and tenant_id = ${tenantId}`;
      await finish("delivered");
    },
    [
      "webhook_endpoints_recovery_index",
      "webhook_hosts_tenant_id_environment_host_pk",
      "webhook_deliveries_failed_index",
    ],
  ],
  ...(["delivered", "retry", "failed", "gone"] as const).map((outcome): [string, () => Promise<unknown>, string[]] => [
    `finishing deliveries, ${outcome}`,
    () => finish(outcome),
    ["webhook_deliveries_tenant_id_id_pk", "webhook_endpoints_tenant_id_id_pk"],
  ]),
  ["counting deliveries", () => webhookStats(db), ["webhook_deliveries_due_index"]],
  [
    "sweeping deliveries",
    async () => expect(await sweepDeliveries(db, 100, new Date(Date.now() + 31 * 86_400_000))).toBe(100),
    ["webhook_deliveries_tenant_id_id_pk", "webhook_events_sequence_index"],
  ],
];

test.each(cases)("the statement for %s, explained: reads no whole table", async (_, work, indexes) => {
  const plan = expectIndexed(await plansOf(work));
  for (const index of indexes) expect([index, plan.includes(index)]).toEqual([index, true]);
});

/** The pages of the database that a claim reads, after its plans are made, and its time. Its writes are rolled back. */
const costOf = async (limit = 100): Promise<{ buffers: number; ms: number; rows: number }> => {
  const explained = `explain (analyze, buffers, costs off, format json)
    select * from ${FUNCTIONS_SCHEMA}.claim_deliveries('lease', 60, ${limit}, 8, 32)`;
  return owner.begin(async (transaction) => {
    await transaction.unsafe("set local plan_cache_mode = force_generic_plan");
    let cost = { buffers: 0, ms: 0, rows: 0 };
    for (let n = 0; n < 3; n++) {
      await transaction.unsafe("savepoint before");
      const [row] = await transaction.unsafe<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }[]>(explained);
      const { Plan } = (row as { "QUERY PLAN": [{ Plan: Record<string, number> }] })["QUERY PLAN"][0];
      const buffers = Number(Plan["Shared Hit Blocks"]) + Number(Plan["Shared Read Blocks"]);
      cost = { buffers, ms: Number(Plan["Actual Total Time"]), rows: Number(Plan["Actual Rows"]) };
      await transaction.unsafe("rollback to before");
    }
    return cost;
  });
};
const print = (title: string, cost: object): void =>
  void (process.env["LONG"] === "1" && process.stdout.write(`${title}: ${JSON.stringify(cost)}\n`));

test("a claim without due deliveries, while those of dead endpoints wait: reads one entry of an index", async () => {
  await owner`delete from webhook_deliveries where status = 'pending' and next_attempt_at < now() + interval '10 minutes'`;
  await owner`update webhook_endpoints set recovery_next_at = null`;
  await owner.unsafe("vacuum analyze webhook_deliveries, webhook_endpoints");
  const cost = await costOf();
  print("at rest", cost);
  expect(cost.rows).toBe(0);
  // The levels of the index, the table for one row, and the empty index of recoveries.
  expect(cost.buffers).toBeLessThanOrEqual(8);
});

test("10,000 due deliveries of one tenant and one of another, with dead endpoints: a claim does not read more pages", async () => {
  const [many, one] = [await seedCaller(database.db), await seedCaller(database.db)];
  for (const other of [many, one]) await seedEndpoint(database.db, other);
  await seedEvents(database.db, one, [newTarget()]);
  await seedEvents(database.db, many, [newTarget()]);
  const few = await costOf();
  expect(few.rows).toBe(2);
  const { id } = (await owner`select id from webhook_endpoints where tenant_id = ${many.tenantId}`)[0] as {
    id: string;
  };
  await owner.unsafe(`
    insert into webhook_events (tenant_id, id, environment, type, target_id, sequence, body, created_at)
      select '${many.tenantId}', ${rowId("evt")}, 'live', 'avatar.updated', ${rowId("ava")}, 1, 'x', now() from generate_series(1, 10000) i;
    insert into webhook_deliveries (
      tenant_id, id, environment, endpoint_id, event_id, event_type, target_id, sequence, status, next_attempt_at, created_at
    )
    select '${many.tenantId}', ${rowId("whd")}, 'live', '${id}', ${rowId("evt")}, 'avatar.updated', ${rowId("ava")}, 1, 'pending', now(),
      now() from generate_series(1, 10000) i;`);
  await owner.unsafe("vacuum analyze webhook_deliveries");
  const all = await costOf();
  print("two due, beside dead endpoints", few);
  print("10,000 due of one tenant, one of another, beside dead endpoints", all);
  expect(all.rows).toBe(9);
  // Eight rows and their indexes are written instead of one.
  expect(all.buffers).toBeLessThan(few.buffers + 1000);
});

test("a claim of 100, with many tenants that have many due deliveries: returns 100", async () => {
  await owner`
    insert into webhook_events (tenant_id, id, environment, type, target_id, sequence, body, created_at)
    select tenant_id, event_id, environment, event_type, target_id, sequence, 'x', created_at from webhook_deliveries
    where status = 'pending' on conflict do nothing`;
  await owner`
    update webhook_deliveries set next_attempt_at = now() - interval '1 second'
    where status = 'pending' and tenant_id in (select tenant_id from webhook_turns)`;
  await owner.unsafe("vacuum analyze webhook_deliveries");
  const cost = await costOf();
  print("100 of many tenants with many due each", cost);
  expect(cost.rows).toBe(100);
});
