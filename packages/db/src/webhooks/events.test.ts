/** The changes that are sent as events, and the endpoints that get them. */
import { describe, expect, test } from "bun:test";
import { isId, newId, type TenantId } from "@realtime-avatar/domain/id";
import type { WebhookEventType } from "@realtime-avatar/domain/webhooks/events";
import { PRICE, seedCaller, seedSession } from "@realtime-avatar/testing/credits";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { session } from "@realtime-avatar/testing/database";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import {
  inStatus,
  newClaim,
  operatorOrigin,
  plannedAsset,
  plannedAvatar,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { readDeliveries, readEventTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { seedEvents } from "@realtime-avatar/testing/webhooks/seeds";
import { insertAsset } from "../assets/assets.ts";
import { failAbandonedUploads } from "../assets/processing.ts";
import { insertAvatar, updateAvatar } from "../avatars/avatars.ts";
import type { Caller } from "../callers/callers.ts";
import { FUNCTIONS_SCHEMA } from "../functions/schema.ts";

const database = await serviceDatabase();
await mutate(database.db);
const { db } = database;
const { client } = db;

/** A tenant with a live key and, by default, an endpoint for all events in live. */
const world = async (endpoint: Parameters<typeof seedEndpoint>[2] | null = {}) => {
  const tenantId = await seedTenant(db, { live: 1000 * PRICE, test: 1000 * PRICE });
  const { caller, record } = await seedCaller(db, tenantId);
  const endpointId = endpoint && (await seedEndpoint(db, tenantId, endpoint));
  return { tenantId, caller, record, endpointId };
};

describe("ids", () => {
  test("ids from the database: valid, different, and in the order of time", async () => {
    const schema = client.unsafe(FUNCTIONS_SCHEMA);
    const rows = await client<{ id: string }[]>`
      select 'evt_' || ${schema}.new_id(timestamptz '2026-11-24T00:00:00.123Z' + make_interval(secs => i / 1000.0)) as id
      from generate_series(1, 2000) i`;
    const ids = rows.map(({ id }) => id);
    expect(ids.every((id) => isId("evt", id))).toBe(true);
    expect(new Set(ids).size).toBe(2000);
    expect(ids.toSorted()).toEqual(ids);
    // Compares them with ids of `newId`: the characters for the time, and for the version and the variant of a UUIDv7.
    const at = new Date("2026-11-24T00:00:00.124Z");
    expect(ids[0]?.slice(0, 14)).toBe(newId("evt", at, random).slice(0, 14));
    expect(ids.every((id) => /^evt_.{10}[ef]..[89abrstv]/.test(id))).toBe(true);
  });

  test.each([
    ["one by one", ["ava_one"]],
    ["in batches", ["ava_one", "ava_two"]],
  ])("ids of events that happen within a millisecond, %s: in the order of the events", async (_, targets) => {
    const { tenantId, caller } = await world({});
    await seedEvents(db, caller, targets, 200);
    for (const target of targets) {
      const events = await client<{ id: string }[]>`
        select id from webhook_events where tenant_id = ${tenantId} and target_id = ${target} order by sequence`;
      const ids = events.map(({ id }) => id);
      expect(ids).toHaveLength(200);
      expect(ids.toSorted()).toEqual(ids);
    }
  });
});

const create = (caller: Caller, claim: string | null = null) => {
  const avatar = plannedAvatar(caller);
  return insertAvatar(db, avatar, null, caller, seedOrigin(caller), claim === null ? null : newClaim(claim)).then(
    (outcome) => ({
      outcome: outcome.kind,
      id: avatar.id,
    }),
  );
};

type Emitter = Pick<typeof db, "client">;
const emitOf = async (
  { client: own }: Emitter,
  tenantId: TenantId,
  type: WebhookEventType,
  targets: readonly string[],
): Promise<void> => {
  await own.unsafe(
    `select ${FUNCTIONS_SCHEMA}.emit_events(array(
      select row($1, 'live', $2, target, now())::${FUNCTIONS_SCHEMA}.event from unnest($3::text[]) target
    ))`,
    [tenantId, type, targets] as never[],
  );
};
const emit = (own: Emitter, tenantId: TenantId, ...targets: string[]): Promise<void> =>
  emitOf(own, tenantId, "credits.low", targets);

describe("an event and its change", () => {
  test("a committed change: one event, and a delivery for each endpoint that selects it", async () => {
    const { tenantId, caller, endpointId } = await world();
    const group = await seedEndpoint(db, tenantId, { events: ["avatar.*"] });
    const one = await seedEndpoint(db, tenantId, { events: ["avatar.created", "asset.ready"] });
    await seedEndpoint(db, tenantId, { events: ["avatar.deleted", "asset.*"] });
    await seedEndpoint(db, tenantId, { status: "disabled" });
    await seedEndpoint(db, tenantId, { environment: "test" });
    const { id } = await create(caller);
    expect(await readEventTypes(db, tenantId)).toEqual([`avatar.created ${id} 1`]);
    expect(await readDeliveries(db, tenantId)).toEqual(
      [endpointId, group, one].map((endpoint) => `${endpoint} avatar.created ${id}`).sort(),
    );
    const [row] = await client`
      select event.id, event.environment, event.body, delivery.event_id as "eventId", delivery.id as "deliveryId", status,
        delivery.sequence, next_attempt_at <= now() + interval '1 ms' as "isDue", attempt_count as attempts
      from webhook_events event join webhook_deliveries delivery on delivery.event_id = event.id
      where event.tenant_id = ${tenantId} limit 1`;
    expect(row).toMatchObject({
      environment: "live",
      body: null,
      status: "pending",
      sequence: "1",
      isDue: true,
      attempts: 0,
    });
    expect([isId("evt", row?.["id"]), isId("whd", row?.["deliveryId"]), row?.["eventId"]]).toEqual([
      true,
      true,
      row?.["id"],
    ]);
  });

  test("the changes of an avatar: sequences from 1", async () => {
    const { tenantId, caller } = await world();
    const { id } = await create(caller);
    await updateAvatar(db, id, { displayName: "b" }, inStatus("draft"), caller, seedOrigin(caller));
    await updateAvatar(db, id, { status: "deleted" }, inStatus("draft"), caller, seedOrigin(caller));
    expect(await readEventTypes(db, tenantId)).toEqual([
      `avatar.created ${id} 1`,
      `avatar.updated ${id} 2`,
      `avatar.deleted ${id} 3`,
    ]);
  });

  test("a change that is rolled back: no event", async () => {
    const { tenantId, caller } = await world();
    const own = session(database.url);
    await own.client`begin`;
    const avatar = plannedAvatar(caller);
    expect((await insertAvatar(own, avatar, null, caller, seedOrigin(caller))).kind).toBe("written");
    expect(await readEventTypes(own, tenantId)).toHaveLength(1);
    await own.client`rollback`;
    await own.close();
    expect(await readEventTypes(db, tenantId)).toEqual([]);
    expect(await readDeliveries(db, tenantId)).toEqual([]);
  });

  test("changes that are replayed, stale or refused: no event", async () => {
    const { tenantId, caller } = await world();
    const first = await create(caller, "a");
    expect((await create(caller, "a")).outcome).toBe("replayed");
    expect((await create({ ...caller, version: 9 })).outcome).toBe("stale");
    const request = { ...plannedAvatar(caller), sourceAssetId: newId("ast", new Date(), random) };
    const job = {
      tenantId,
      id: newId("job", new Date(), random),
      environment: "live" as const,
      kind: "prepare_avatar" as const,
    };
    const runAt = new Date();
    const refused = await insertAvatar(
      db,
      request,
      { ...job, targetId: request.id, generation: 1, runAt },
      caller,
      seedOrigin(caller),
    );
    expect(refused.kind).toBe("asset_not_found");
    const any = inStatus("ready");
    expect((await updateAvatar(db, first.id, { displayName: "b" }, any, caller, seedOrigin(caller))).kind).toBe(
      "unchanged",
    );
    expect(await readEventTypes(db, tenantId)).toEqual([`avatar.created ${first.id} 1`]);
  });

  test("changes in the other environment or of another tenant: no event", async () => {
    const { tenantId, caller } = await world({ environment: "test" });
    const other = await world(null);
    await create(caller);
    await create(other.caller);
    await seedSession(db, caller);
    expect([await readEventTypes(db, tenantId), await readEventTypes(db, other.tenantId)]).toEqual([[], []]);
  });

  test("an event, while another one of its target is written: waits, then has the next sequence and a delivery", async () => {
    const { tenantId, endpointId } = await world();
    await whileHeld(
      database,
      (holder) => emit(holder, tenantId, "a"),
      () => emit(db, tenantId, "a"),
    );
    expect(await readEventTypes(db, tenantId)).toEqual(["credits.low a 1", "credits.low a 2"]);
    expect(await readDeliveries(db, tenantId)).toEqual(Array(2).fill(`${endpointId} credits.low a`));
  });

  test("a creation of a target with events, alone and in a batch: has the next sequence", async () => {
    const { tenantId } = await world();
    await emit(db, tenantId, "a", "b");
    await emitOf(db, tenantId, "avatar.created", ["a"]);
    await emitOf(db, tenantId, "avatar.created", ["b", "c", "a"]);
    expect(await readEventTypes(db, tenantId)).toEqual([
      "credits.low a 1",
      "avatar.created a 2",
      "avatar.created a 3",
      "credits.low b 1",
      "avatar.created b 2",
      "avatar.created c 1",
    ]);
  });

  test("an event alone and an event in a batch, for 16 endpoints: a delivery with its own id for each", async () => {
    const { tenantId } = await world(null);
    for (let count = 0; count < 16; count++) await seedEndpoint(db, tenantId);
    await emit(db, tenantId, "a");
    await emit(db, tenantId, "b", "c");
    const rows = await client<{ id: string }[]>`
      select id from webhook_deliveries where tenant_id = ${tenantId}`;
    expect(new Set(rows.map(({ id }) => id)).size).toBe(48);
    expect(rows.every(({ id }) => isId("whd", id))).toBe(true);
  });

  test("events of two targets, passed in reverse order: written in the order of the targets, without deadlocks", async () => {
    const { tenantId } = await world();
    await whileHeld(
      database,
      (holder) => emit(holder, tenantId, "a"),
      () => emit(db, tenantId, "b", "a"),
      (holder) => emit(holder, tenantId, "b"),
    );
    expect(await readEventTypes(db, tenantId)).toEqual(
      [1, 2].map((at) => `credits.low a ${at}`).concat([1, 2].map((at) => `credits.low b ${at}`)),
    );
  });

  test("a batch of creates of many tenants: the endpoints of each tenant get its events", async () => {
    const worlds = await Promise.all([...Array(12).keys()].map((at) => world(at % 3 === 0 ? null : {})));
    for (const { tenantId } of worlds) {
      await seedEndpoint(db, tenantId, { status: "disabled" });
      await seedEndpoint(db, tenantId, { environment: "test" });
    }
    const created = await Promise.all(
      worlds.flatMap(({ caller, ...one }) =>
        [...Array(4).keys()].map(async () => ({ ...one, ...(await create(caller)) })),
      ),
    );
    for (const { tenantId, endpointId } of worlds) {
      const own = created.filter((one) => endpointId !== null && one.tenantId === tenantId).map(({ id }) => id);
      expect(await readEventTypes(db, tenantId)).toEqual(own.map((id) => `avatar.created ${id} 1`).sort());
      expect(await readDeliveries(db, tenantId)).toEqual(own.map((id) => `${endpointId} avatar.created ${id}`).sort());
    }
  });

  test("uploads that the sweep fails: each sends its event", async () => {
    const { tenantId, caller } = await world();
    const ids = [1, 2, 3].map(() => plannedAsset(caller, { status: "pending_upload", sizeBytes: null }));
    for (const asset of ids) {
      await insertAsset(db, { asset, job: null, quota: { maxAssets: 100, maxBytes: 1e9 } }, caller, seedOrigin(caller));
    }
    await client`update assets set created_at = now() - interval '25 hours' where tenant_id = ${tenantId}`;
    expect(await failAbandonedUploads(db, 10, operatorOrigin())).toBe(3);
    expect(await readEventTypes(db, tenantId)).toEqual(
      ids.flatMap(({ id }) => [`asset.created ${id} 1`, `asset.failed ${id} 2`]),
    );
    const [row] = await client`
      select count(*)::integer as count from audit_events where tenant_id = ${tenantId} and action = 'asset.failed'`;
    expect(row?.["count"]).toBe(3);
  });
});
