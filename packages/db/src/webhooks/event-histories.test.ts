/**
 * Random histories of credits, keys and sessions by many clients on the pools of three replicas, with endpoints.
 * Triggers record the committed changes. Afterwards the events match them exactly: no event is lost, invented or out of
 * order.
 */
import { expect } from "bun:test";
import { LoadClient, newLoad, seedLoad } from "@realtime-avatar/testing/credits/load";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { connectTo } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { ofOneDatabase as test } from "@realtime-avatar/testing/postgres/one-database";
import { inStatus, operatorOrigin, plannedAvatar, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { auditEvent } from "../audit/audit-events.ts";
import { insertAvatar, updateAvatar } from "../avatars/avatars.ts";
import { changeLowThreshold } from "../credits/credits.ts";
import { announceExpiringKeys } from "./expiring-keys.ts";

const isLong = process.env["LONG"] === "1";
const OPERATIONS = isLong ? 50_000 : 500;

const database = await fileDatabase({ isOne: true });
const { client } = database.db;
await mutate(database.db);

/** Triggers that record in `expected` the events that a committed change must send, from its rows. */
await client.unsafe(`
  create table expected (tenant_id text, environment text, type text, target_id text);
  create function note_session() returns trigger language plpgsql as $$
  begin
    if tg_op = 'INSERT' then
      insert into expected values (new.tenant_id, new.environment, 'usage_session.opened', new.id);
    else
      if old.started_at is null and new.started_at is not null then
        insert into expected values (new.tenant_id, new.environment, 'usage_session.started', new.id);
      end if;
      if old.ended_at is null and new.ended_at is not null then
        insert into expected values (new.tenant_id, new.environment, 'usage_session.ended', new.id);
      end if;
    end if;
    return null;
  end $$;
  create trigger note_session after insert or update on usage_sessions for each row execute function note_session();
  create function note_audit() returns trigger language plpgsql as $$
  begin
    insert into expected values (new.tenant_id, new.environment, new.action, new.target_id);
    return null;
  end $$;
  create trigger note_audit after insert on audit_events for each row
    when (new.action ~ '^(api_key|avatar|asset|credits)[.]') execute function note_audit();
  create function note_video() returns trigger language plpgsql as $$
  begin
    if new.status <> old.status and new.status in ('ready', 'failed') then
      insert into expected values (new.tenant_id, new.environment, 'video.' || new.status, new.id);
    end if;
    return null;
  end $$;
  create trigger note_video after update on videos for each row execute function note_video();
  create function note_account() returns trigger language plpgsql as $$
  begin
    if new.granted - new.forfeited - new.settled - new.reserved < new.low_threshold
      and (old.granted - old.forfeited - old.settled - old.reserved < old.low_threshold) is not true then
      insert into expected values (new.tenant_id, new.environment, 'credits.low', new.tenant_id);
    end if;
    if new.exhausted_at is distinct from old.exhausted_at then
      insert into expected values (new.tenant_id, new.environment, 'credits.exhausted', new.tenant_id);
    end if;
    return null;
  end $$;
  create trigger note_account after update on credit_accounts for each row execute function note_account();
  create function note_meter() returns trigger language plpgsql as $$
  begin
    insert into expected select new.tenant_id, environment, 'api_key.spend_limit_reached', id from api_keys
    where tenant_id = new.tenant_id and id = new.api_key_id and new.spend_notice > old.spend_notice;
    insert into expected select new.tenant_id, environment, 'api_key.expiring', id from api_keys
    where tenant_id = new.tenant_id and id = new.api_key_id and new.expiry_notice < coalesce(old.expiry_notice, 99);
    return null;
  end $$;
  create trigger note_meter after update on api_key_meters for each row execute function note_meter()`);

const findings = async () => ({
  // The expected and the actual number of events for each type and target.
  differences: await client`
    with expected as (
      select tenant_id, type, target_id, count(*) as count from expected
      where exists (
        select from webhook_endpoints where tenant_id = expected.tenant_id and environment = expected.environment
      )
      group by 1, 2, 3
    ), written as (
      select tenant_id, type, target_id, count(*) as count from webhook_events group by 1, 2, 3
    )
    select * from expected full join written using (tenant_id, type, target_id)
    where expected.count is distinct from written.count limit 10`,
  undelivered: await client`
    select event.id from webhook_events event
    where (
      select array_agg(endpoint_id order by endpoint_id) from webhook_deliveries
      where tenant_id = event.tenant_id and event_id = event.id and event_type = event.type
        and target_id = event.target_id and sequence = event.sequence
    ) is distinct from (
      select array_agg(id order by id) from webhook_endpoints
      where tenant_id = event.tenant_id and environment = event.environment
        and (events is null or event.type = any (events) or split_part(event.type, '.', 1) || '.*' = any (events))
    ) limit 10`,
  gaps: await gaps(),
});

/** The events that a long history must contain, because otherwise it has tested too little. */
const REQUIRED = [
  ...["api_key.expiring", "api_key.spend_limit_reached", "api_key.updated", "avatar.created", "avatar.updated"],
  ...["credits.exhausted", "credits.granted", "credits.limit_changed", "credits.low", "usage_session.ended"],
  ...["usage_session.opened", "usage_session.started"],
];

/** Targets whose later event is visible before an earlier one. */
const gaps = async () => [
  ...(await client`
    select target_id, count(*), max(sequence) from webhook_events group by tenant_id, target_id
    having count(*) <> max(sequence) limit 10`),
];

test("random histories on three replicas, with endpoints: the events match the committed changes, in order", async () => {
  const tenants = await seedLoad(database.db, 3);
  const [all, some] = tenants as [(typeof tenants)[0], (typeof tenants)[0]];
  for (const environment of ["live", "test"] as const) await seedEndpoint(database.db, all.tenantId, { environment });
  await seedEndpoint(database.db, all.tenantId, {
    events: ["credits.*", "api_key.spend_limit_reached", "usage_session.ended"],
  });
  await seedEndpoint(database.db, some.tenantId);
  await client`delete from expected`;
  const avatars = await seedCaller(database.db, all.tenantId);
  const load = newLoad(tenants, null);
  const pools = await Promise.all(
    [1, 2, 3].map(() => fixture(connectTo(database, { connections: 5, deadlineMs: 60_000 }))),
  );
  const missing = new Set<string>(REQUIRED);
  const isOver = () => load.operations >= OPERATIONS * (isLong && missing.size > 0 ? 10 : 1);
  const seen: unknown[] = [];
  const watch = async () => {
    while (!isOver()) {
      seen.push(...(await gaps()));
      for (const { type } of await client<{ type: string }[]>`select distinct type from webhook_events`)
        missing.delete(type);
      await Bun.sleep(20);
    }
  };
  /** Changes that the clients do not make: thresholds of both environments, avatars, keys that expire. */
  const change = async (pool: (typeof pools)[number], at: number) => {
    for (let count = 0; !isOver(); count++) {
      for (const environment of ["live", "test"] as const) {
        const lowThreshold = (count * 7 + at * 5) % 3 === 0 ? null : 1_000_000 * ((count * 13) % 4);
        const target = { tenantId: all.tenantId, id: all.tenantId, environment };
        const event = auditEvent("credits.limit_changed", target, operatorOrigin(), ["lowThresholdCreditMicros"]);
        await changeLowThreshold(pool, { tenantId: all.tenantId, environment, lowThreshold }, null, event);
      }
      const created = plannedAvatar(avatars);
      await insertAvatar(pool, created, null, avatars, seedOrigin(avatars));
      const draft = inStatus("draft");
      await Promise.all(
        ["b", "c"].map((displayName) =>
          updateAvatar(pool, created.id, { displayName }, draft, avatars, seedOrigin(avatars)),
        ),
      );
      await client`
        update api_keys set expires_at = now() + interval '6 days', created_at = now() - interval '1 year'
        where id in (select id from api_keys where tenant_id = ${all.tenantId} and revoked_at is null order by random() limit 1)`;
      // A cap: the open sessions spend more than 80 % of it by their end.
      await client`
        update api_keys set spend_limit_credit_micros = settled + reserved from api_key_meters meter
        where meter.tenant_id = api_keys.tenant_id and meter.api_key_id = api_keys.id and settled > 0 and (meter.tenant_id, meter.api_key_id) in (
          select tenant_id, id from api_keys where tenant_id = ${all.tenantId} order by random() limit 1
        )`;
      await announceExpiringKeys(pool, 100);
    }
  };
  await Promise.all([
    watch(),
    ...pools.map(change),
    ...pools.flatMap((pool, replica) =>
      [...Array(8).keys()].map((at) => new LoadClient(pool, load, 7000 + replica * 100 + at).run(isOver)),
    ),
  ]);
  expect([...load.failures]).toEqual([]);
  expect(seen).toEqual([]);
  expect(await findings()).toEqual({ differences: [] as never, undelivered: [] as never, gaps: [] });
  if (isLong) expect([...missing]).toEqual([]);
});
