/** The first key of an empty database. */
import { expect, test } from "bun:test";
import { findCreditBalance } from "@realtime-avatar/db/credits/credits";
import { findCreditDrift } from "@realtime-avatar/db/credits/invariants";
import { listTenants } from "@realtime-avatar/db/tenants/tenants";
import type { TenantId } from "@realtime-avatar/domain/id";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { createFirstKey } from "./first-run.ts";

const [{ db }, other] = [await fileDatabase(), await fileDatabase()];

test("a first key, created: its tenant has an hour of credits in both environments", async () => {
  expect(await createFirstKey(db, new Date(), random)).not.toBeNull();
  const [tenant] = await listTenants(db);
  for (const environment of ["live", "test"] as const) {
    expect(await findCreditBalance(db, tenant?.tenantId as TenantId, environment)).toMatchObject({
      availableCreditMicros: 3_600_000_000,
      lifetimeGrantedCreditMicros: 3_600_000_000,
    });
  }
  expect(await findCreditDrift(db, tenant?.tenantId as TenantId, 10)).toEqual([]);
});

test("a first key, another process has created it and not committed: no second key", async () => {
  const key = await whileHeld(
    other,
    ({ client }) => client`insert into tenants (tenant_id, name, is_first, created_at)
      values ('ten_01h455vb4pex5vsknk084sn02q', 'x', true, now())`,
    () => createFirstKey(other.db, new Date(), random),
  );
  expect(key).toBeNull();
  expect(await other.db.client`select 1 from api_keys`).toHaveLength(0);
});
