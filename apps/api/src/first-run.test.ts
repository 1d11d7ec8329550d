/** The first key of an empty database. */
import { expect, test } from "bun:test";
import { connect } from "@realtime-avatar/db/connection/pool";
import { findCreditBalance } from "@realtime-avatar/db/credits/credits";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { listTenants } from "@realtime-avatar/db/tenants/tenants";
import type { TenantId } from "@realtime-avatar/domain/id";
import { session, testDatabase } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { createFirstKey } from "./first-run.ts";

const database = await fileDatabase();

const rows = async () => {
  const [row] = await database.db.client`
    select (select count(*)::integer from tenants) as tenants, (select count(*)::integer from api_keys) as keys,
      (select count(*)::integer from api_key_credentials) as credentials,
      (select count(*)::integer from audit_events) as events`;
  return row;
};

test("a first key, created: its tenant has an hour of credits in both environments", async () => {
  const other = await testDatabase();
  expect(await createFirstKey(other.db, new Date(), random)).not.toBeNull();
  const [tenant] = await listTenants(other.db);
  for (const environment of ["live", "test"] as const) {
    expect(await findCreditBalance(other.db, tenant?.tenantId as TenantId, environment)).toMatchObject({
      availableCreditMicros: 3_600_000_000,
      lifetimeGrantedCreditMicros: 3_600_000_000,
    });
  }
  expect(await findCreditDrift(other.db, tenant?.tenantId as TenantId, 10)).toEqual([]);
  await other.close();
});

test("a first key, eight processes start at once: it is created once", async () => {
  const pools = Array.from({ length: 8 }, () => connect(database.url, { connections: 1 }));
  const secrets = await Promise.all(pools.map((db) => createFirstKey(db, new Date(), random)));
  expect(secrets.filter(Boolean)).toHaveLength(1);
  expect(await rows()).toEqual({ tenants: 1, keys: 1, credentials: 1, events: 1 });
  expect(await createFirstKey(database.db, new Date(), random)).toBeNull();
  await Promise.all(pools.map((db) => db.close()));
});

test("a first key, another process has created it and not committed: no second key", async () => {
  const other = await testDatabase();
  const holder = session(other.url);
  await holder.client`begin`;
  await holder.client`insert into tenants (tenant_id, name, is_first, created_at)
    values ('ten_01h455vb4pex5vsknk084sn02q', 'x', true, now())`;
  const pending = createFirstKey(other.db, new Date(), random);
  await untilBlocked(other.db);
  await holder.client`commit`;
  expect(await pending).toBeNull();
  expect(await holder.client`select 1 from api_keys`).toHaveLength(0);
  await holder.close();
  await other.close();
});

test("a first key, a tenant exists already: not created", async () => {
  const other = await testDatabase();
  await seedTenant(other.db);
  expect(await createFirstKey(other.db, new Date(), random)).toBeNull();
  await other.close();
});
