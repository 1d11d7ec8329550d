import { describe, expect, test } from "bun:test";
import { parseItems } from "@realtime-avatar/domain/page";
import { presentWebhookEndpoint } from "@realtime-avatar/domain/webhooks/endpoint";
import { MAX_ENDPOINTS, type WebhookEndpoint } from "@realtime-avatar/domain/webhooks/schemas";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { findTestCaller, newClaim, seedCaller, seedKey, seedOrigin } from "@realtime-avatar/testing/seeds";
import { plannedEndpoint, seedEndpoint } from "@realtime-avatar/testing/webhooks/seeds";
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  rotateEndpointSecret,
  updateEndpoint,
} from "./endpoints.ts";

const { db } = await fileDatabase();
const ANY = { versions: null };
const actionsOf = async (id: string) =>
  (
    await db.client`
      select action, changed_fields from audit_events where target_id = ${id} order by created_at, id`
  ).map(({ action, changed_fields }) => [action, ...(changed_fields as string[])].join(" "));

describe("a webhook endpoint", () => {
  test("created, read and listed: the written values, with an audit event", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller, {
      description: 'a "quoted" \u2028 text',
      events: ["avatar.*", "credits.low"],
      ordered: true,
    });
    const found = await findEndpoint(db, caller, endpoint.id);
    expect(found && { ...found, secret: [...found.secret] }).toEqual({
      ...endpoint,
      secret: [...endpoint.secret],
    } as never);
    const page = await listEndpoints(db, caller, { before: null, limit: 10 });
    expect(parseItems<WebhookEndpoint>(page)).toEqual([presentWebhookEndpoint(endpoint)]);
    expect(page.items).toBe(JSON.stringify(presentWebhookEndpoint(endpoint)));
    expect(await actionsOf(endpoint.id)).toEqual(["webhook_endpoint.created"]);
  });

  test("of another tenant or environment: not found, not changed, not deleted", async () => {
    const [caller, stranger] = [await seedCaller(db), await seedCaller(db)];
    const endpoint = await seedEndpoint(db, caller);
    const ofTest = await findTestCaller(
      db,
      (await seedKey(db, caller.tenantId, { environment: "test", scopes: ["*"] })).secret.keyId,
    );
    for (const other of [stranger, ofTest]) {
      const origin = seedOrigin(other);
      expect(await findEndpoint(db, other, endpoint.id)).toBeNull();
      expect(await listEndpoints(db, other, { before: null, limit: 10 })).toEqual({ items: "", next: null });
      expect(await updateEndpoint(db, endpoint.id, { ordered: true }, ANY, other, origin)).toEqual({
        kind: "not_found",
      });
      expect(await deleteEndpoint(db, endpoint.id, ANY, other, origin)).toEqual({ kind: "not_found" });
      const { tenantId, environment } = other;
      const rotated = { ...endpoint, tenantId, environment, version: 2 };
      expect(await rotateEndpointSecret(db, rotated, other, origin, newClaim("r"))).toEqual({ kind: "not_found" });
    }
  });

  test("40 creates at once: exactly 16 in each environment", async () => {
    const live = await seedCaller(db);
    const ofTest = await findTestCaller(
      db,
      (await seedKey(db, live.tenantId, { environment: "test", scopes: ["*"] })).secret.keyId,
    );
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        const caller = n % 2 === 0 ? live : ofTest;
        return insertEndpoint(db, plannedEndpoint(caller), caller, seedOrigin(caller), newClaim(`create ${n}`));
      }),
    );
    const counted = (kind: string) => outcomes.filter((outcome) => outcome.kind === kind).length;
    expect([counted("written"), counted("quota_exceeded")]).toEqual([2 * MAX_ENDPOINTS, 40 - 2 * MAX_ENDPOINTS]);
    // The claim of a refused create is not stored, so the same request is written later.
    const [{ id = "" } = {}] = parseItems<{ id: never }>(await listEndpoints(db, live, { before: null, limit: 1 }));
    await deleteEndpoint(db, id as never, ANY, live, seedOrigin(live));
    const refused = outcomes.findIndex((outcome, n) => n % 2 === 0 && outcome.kind === "quota_exceeded");
    expect(
      await insertEndpoint(db, plannedEndpoint(live), live, seedOrigin(live), newClaim(`create ${refused}`)),
    ).toMatchObject({ kind: "written" });
  });

  test("created twice with one Idempotency-Key: replayed, and created once", async () => {
    const caller = await seedCaller(db);
    const create = () => insertEndpoint(db, plannedEndpoint(caller), caller, seedOrigin(caller), newClaim("same"));
    const kinds = (await Promise.all([create(), create()])).map(({ kind }) => kind).sort();
    expect(kinds).toEqual(["replayed", "written"]);
    expect(parseItems(await listEndpoints(db, caller, { before: null, limit: 10 }))).toHaveLength(1);
  });

  test("changed: the requested fields change, with a new version and the names of the fields that differ", async () => {
    const caller = await seedCaller(db);
    const { id } = await seedEndpoint(db, caller, { description: "a", events: ["avatar.*"] });
    const update = (changes: Parameters<typeof updateEndpoint>[2], versions: string[] | null = null) =>
      updateEndpoint(db, id, changes, { versions }, caller, seedOrigin(caller));
    expect(await update({ description: null, events: null, ordered: false })).toMatchObject({
      kind: "written",
      endpoint: { description: null, events: null, version: 2 },
    });
    expect(await update({ ordered: true }, ["1"])).toMatchObject({ kind: "unchanged", endpoint: { version: 2 } });
    expect(await update({ status: "disabled" }, ["2"])).toMatchObject({
      endpoint: { status: "disabled", disabledReason: "requested" },
    });
    expect(await update({ status: "enabled" })).toMatchObject({
      endpoint: { status: "enabled", disabledReason: null },
    });
    await db.client`update webhook_endpoints set failing_since = now(), slow_until = now() where id = ${id}`;
    expect(await update({ ordered: true })).toMatchObject({ endpoint: { failingSince: expect.any(Date) } });
    // The URL has another receiver, so earlier failures do not count.
    expect(await update({ url: "https://other.example/" })).toMatchObject({ endpoint: { failingSince: null } });
    expect([...(await db.client`select slow_until from webhook_endpoints where id = ${id}`)]).toEqual([
      { slow_until: null },
    ] as never[]);
    expect(await actionsOf(id)).toEqual([
      "webhook_endpoint.created",
      "webhook_endpoint.updated description events",
      "webhook_endpoint.updated status",
      "webhook_endpoint.updated status",
      "webhook_endpoint.updated ordered",
      "webhook_endpoint.updated url",
    ]);
  });

  test("two rotations at once: one is written, the other is repeated; the first secret still signs", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    const rotate = (n: number) =>
      rotateEndpointSecret(
        db,
        {
          ...endpoint,
          version: 2,
          secret: new Uint8Array([n]),
          previousSecret: endpoint.secret,
          previousSecretExpiresAt: new Date(Date.now() + 1000),
        },
        caller,
        seedOrigin(caller),
        newClaim(`rotate ${n}`),
      );
    const kinds = (await Promise.all([rotate(1), rotate(2)])).map(({ kind }) => kind).sort();
    expect(kinds).toEqual(["stale", "written"]);
    const found = await findEndpoint(db, caller, endpoint.id);
    expect(Buffer.from(found?.previousSecret ?? []).equals(endpoint.secret)).toBe(true);
    expect(await actionsOf(endpoint.id)).toEqual(["webhook_endpoint.created", "webhook_endpoint.secret_rotated"]);
  });

  test("deleted: its last state is returned; its secrets are deleted", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    const remove = (versions: string[] | null) =>
      deleteEndpoint(db, endpoint.id, { versions }, caller, seedOrigin(caller));
    expect(await remove(["2"])).toMatchObject({ kind: "unchanged" });
    expect(await remove(["1"])).toMatchObject({ kind: "written", endpoint: { id: endpoint.id } });
    expect(await remove(null)).toEqual({ kind: "not_found" });
    expect(await findEndpoint(db, caller, endpoint.id)).toBeNull();
    expect(await actionsOf(endpoint.id)).toEqual(["webhook_endpoint.created", "webhook_endpoint.deleted"]);
  });

  test("a revoked key: stale, nothing is written", async () => {
    const parent = await seedCaller(db);
    const endpoint = await seedEndpoint(db, parent);
    const { record, secret } = await seedKey(db, parent.tenantId, { environment: "live", scopes: ["*"] });
    const caller = await findTestCaller(db, secret.keyId);
    await db.client`update api_keys set revoked_at = now() where id = ${record.id}`;
    const origin = seedOrigin(caller);
    expect(await insertEndpoint(db, plannedEndpoint(caller), caller, origin)).toEqual({ kind: "stale" });
    expect(await updateEndpoint(db, endpoint.id, { ordered: true }, ANY, caller, origin)).toEqual({ kind: "stale" });
    expect(await deleteEndpoint(db, endpoint.id, ANY, caller, origin)).toEqual({ kind: "stale" });
    expect(await rotateEndpointSecret(db, { ...endpoint, version: 2 }, caller, origin)).toEqual({ kind: "stale" });
    expect(await actionsOf(endpoint.id)).toEqual(["webhook_endpoint.created"]);
  });
});
