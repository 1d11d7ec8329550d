/** Which audit events a list has. */
import { describe, expect, test } from "bun:test";
import { AUDIT_EVENT_LIST, type AuditAction, type AuditEvent } from "@realtime-avatar/domain/audit";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { AuditEventId } from "@realtime-avatar/domain/id";
import { itemsOf } from "@realtime-avatar/domain/page";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, originOf, seedCaller, seedTenant } from "@realtime-avatar/testing/seeds";
import type { Caller } from "../api-keys/callers.ts";
import { auditEvent, listAuditEvents } from "./audit-events.ts";

const { db } = await fileDatabase();
const tenantId = await seedTenant(db);
const caller = await seedCaller(db, tenantId);
await db.client`alter table audit_events disable trigger all`;
await db.client`delete from audit_events`;
const insert = async (action: AuditAction, environment: Environment, id: string, by: Caller | null = caller) => {
  const event = auditEvent(action, { tenantId, environment, id }, by ? originOf(by) : operatorOrigin());
  const { actorId, actorKeyId, targetId, requestId, createdAt } = event;
  await db.client`
    insert into audit_events (tenant_id, id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at)
    values (${tenantId}, ${event.id}, ${environment}, ${actorId}, ${actorKeyId}, ${action}, ${targetId}, ${requestId},
      ${createdAt})`;
  // Ids of one millisecond have no order.
  await Bun.sleep(2);
};
await insert("avatar.created", "live", "ava_live");
await insert("avatar.created", "test", "ava_test");
await insert("api_key.created", "test", "key_test");
await insert("api_key.revoked", "live", "key_live", null);
await insert("avatar.deleted", "live", "ava_live");
// The same target in another tenant.
const other = await seedCaller(db);
await db.client`
  insert into audit_events (tenant_id, id, environment, action, target_id, request_id, created_at)
  select ${other.tenantId}, id, environment, action, target_id, request_id, created_at from audit_events
  where tenant_id = ${tenantId}`;

type Filters = Parameters<typeof listAuditEvents>[2]["filters"];
const list = async (environment: Environment, filters: Filters = {}) => {
  const page = await listAuditEvents(db, { tenantId, environment }, { filters, before: null, limit: 100 });
  expect(page.next).toBeNull();
  return itemsOf<AuditEvent>(page).map(({ action, targetId }) => `${action} ${targetId}`);
};

test("auditEvent, of a key and of the operator: the actor with its credential, or neither", () => {
  const target = { tenantId, environment: "test", id: "key_x" } as const;
  const origin = originOf(caller);
  const event = auditEvent("api_key.updated", target, origin, ["name"]);
  expect(event).toEqual({
    tenantId,
    id: expect.stringMatching(/^aud_/),
    environment: "test",
    actorId: caller.id,
    actorKeyId: caller.credentialKeyId,
    action: "api_key.updated",
    targetId: "key_x",
    changedFields: ["name"],
    requestId: origin.requestId,
    createdAt: origin.now,
  });
  expect(auditEvent("api_key.updated", target, operatorOrigin())).toMatchObject({ actorId: null, actorKeyId: null });
});

describe("listAuditEvents", () => {
  test("a list, for a live key: events in live, and of keys in test", async () => {
    expect(await list("live")).toEqual([
      "avatar.deleted ava_live",
      "api_key.revoked key_live",
      "api_key.created key_test",
      "avatar.created ava_live",
    ]);
  });

  test("a list, for a test key: events in test only", async () => {
    expect(await list("test")).toEqual(["api_key.created key_test", "avatar.created ava_test"]);
    expect(await list("test", { targetId: "key_live" })).toEqual([]);
  });

  const filters: [Filters, string[]][] = [
    [{ action: "avatar.created" }, ["avatar.created ava_live"]],
    [{ action: "api_key.created" }, ["api_key.created key_test"]],
    [{ targetId: "ava_live" }, ["avatar.deleted ava_live", "avatar.created ava_live"]],
    [{ targetId: "ava_live", action: "avatar.deleted" }, ["avatar.deleted ava_live"]],
    [{ targetId: "ava_test" }, []],
    [{ action: "api_key.rotated" }, []],
  ];
  test.each(filters)("a list, filtered by %j: the matching events", async (filter, expected) => {
    expect(await list("live", filter)).toEqual(expected);
  });

  test("a list, filtered by credential and another filter: both hold", async () => {
    const by = { actorKeyId: caller.credentialKeyId };
    expect(await list("live", by)).toHaveLength(3);
    expect(await list("live", { ...by, targetId: "ava_live" })).toHaveLength(2);
    expect(await list("live", { ...by, targetId: "key_live" })).toEqual([]);
    expect(await list("live", { ...by, action: "api_key.revoked" })).toEqual([]);
    expect(Object.keys(AUDIT_EVENT_LIST.filters.properties).sort()).toEqual(["action", "actorKeyId", "targetId"]);
  });

  test("a list, its second page: continues below the last event", async () => {
    const page = (before: AuditEventId | null) =>
      listAuditEvents(db, { tenantId, environment: "live" }, { filters: {}, before, limit: 3 });
    const first = await page(null);
    expect(itemsOf(first)).toHaveLength(3);
    const second = await page(first.next as AuditEventId);
    expect(itemsOf<AuditEvent>(second).map(({ action }) => action)).toEqual(["avatar.created"]);
    expect(second.next).toBeNull();
  });
});
