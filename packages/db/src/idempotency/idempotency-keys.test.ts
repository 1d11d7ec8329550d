/** Stored responses of requests with an Idempotency-Key. */
import { describe, expect, test } from "bun:test";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { newClaim, plannedAvatar, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { insertAvatar } from "../avatars/avatars.ts";
import type { Caller } from "../callers/callers.ts";
import { findStoredResponse, sweepIdempotencyKeys, writeOutcome } from "./idempotency-keys.ts";

const { db } = await serviceDatabase();

const write = (caller: Caller, idempotencyKey: string) =>
  insertAvatar(db, plannedAvatar(caller), null, caller, seedOrigin(caller), newClaim(idempotencyKey, idempotencyKey));
const age = (caller: Caller, idempotencyKey: string, by: string) => db.client`
  update idempotency_claims set created_at = now() - ${by}::interval
  where tenant_id = ${caller.tenantId} and idempotency_key = ${idempotencyKey}`;

describe("findStoredResponse", () => {
  test("a stored response, found: equals the response of the first attempt", async () => {
    const caller = await seedCaller(db);
    await write(caller, "k");
    const { request, idempotencyKey, ...response } = newClaim("k", "k");
    const stored = (await findStoredResponse(db, caller, { request, idempotencyKey }))?.response;
    expect({
      ...stored,
      bodyHash: [...(stored?.bodyHash ?? [])],
      responseBody: [...(stored?.responseBody ?? [])],
    }).toEqual({
      ...response,
      bodyHash: [...response.bodyHash],
      responseBody: [...response.responseBody],
    } as never);
  });

  test("a stored response, for another key, request or Idempotency-Key: not found", async () => {
    const caller = await seedCaller(db);
    const sibling = await seedCaller(db, caller.tenantId);
    await write(caller, "k");
    const claim = newClaim("k");
    expect(await findStoredResponse(db, caller, claim)).not.toBeNull();
    expect(await findStoredResponse(db, sibling, claim)).toBeNull();
    expect(await findStoredResponse(db, await seedCaller(db), claim)).toBeNull();
    expect(await findStoredResponse(db, caller, { ...claim, request: "POST /api/v1/api-keys" })).toBeNull();
    expect(await findStoredResponse(db, caller, newClaim("K"))).toBeNull();
  });

  test("a stored response, after 24 hours: not found", async () => {
    const caller = await seedCaller(db);
    await write(caller, "k");
    await age(caller, "k", "23 hours 59 minutes");
    expect(await findStoredResponse(db, caller, newClaim("k"))).not.toBeNull();
    await age(caller, "k", "24 hours 1 second");
    expect(await findStoredResponse(db, caller, newClaim("k"))).toBeNull();
  });
});

test("writeOutcome of an unknown kind: throws", () => {
  const { request: _, idempotencyKey: __, ...response } = newClaim("k");
  expect(writeOutcome({ kind: "replayed", ...response })).toEqual({ kind: "replayed", response });
  expect(writeOutcome({ kind: "stale", ...response })).toEqual({ kind: "stale" });
  for (const kind of [null, "over_quota"]) expect(() => writeOutcome({ kind, ...response })).toThrow(TypeError);
});

describe("sweepIdempotencyKeys", () => {
  test("a sweep, with claims of several ages: deletes claims older than 24 hours", async () => {
    const caller = await seedCaller(db);
    for (const key of ["old", "older", "recent"]) await write(caller, key);
    // Deletes the rows of earlier tests.
    await sweepIdempotencyKeys(db);
    await age(caller, "old", "24 hours 1 second");
    await age(caller, "older", "2 days");
    expect(await sweepIdempotencyKeys(db)).toBe(2);
    const rows = await db.client`select idempotency_key from idempotency_claims where tenant_id = ${caller.tenantId}`;
    expect(rows).toEqual([{ idempotency_key: "recent" }] as never);
  });

  test("a sweep of more rows than one statement deletes: deletes all except locked rows", async () => {
    const caller = await seedCaller(db);
    await db.client.unsafe(`
      insert into idempotency_claims
      select '${caller.tenantId}', '${caller.id}', 'POST /x', i::text, '${caller.id}', sha256('x'), 201, null, '1', 'x', null,
        now() - interval '2 days' from generate_series(1, 2500) i`);
    await db.client.begin(async (transaction) => {
      await transaction`
        select 1 from idempotency_claims where tenant_id = ${caller.tenantId} and idempotency_key in ('1', '2500') for update`;
      expect(await sweepIdempotencyKeys(db)).toBe(2498);
    });
    expect(await sweepIdempotencyKeys(db)).toBe(2);
  });
});
