import { expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { AuditEvent, type AuditEventRecord, presentAuditEvent } from "./audit.ts";
import { newId } from "./id.ts";
import { isValid } from "./schema.ts";

test("an audit event, presented: valid for its schema", () => {
  const random = seededBytes("audit");
  const now = new Date("2026-11-20T12:00:00.000Z");
  const record: AuditEventRecord = {
    id: newId("aud", now, random),
    tenantId: newId("ten", now, random),
    environment: "live",
    action: "avatar.updated",
    targetId: newId("ava", now, random),
    changedFields: ["displayName"],
    actorId: newId("key", now, random),
    actorKeyId: "0123456789ABCDEF",
    requestId: "r",
    createdAt: now,
  };
  const cases = [
    [record, "api_key"],
    [{ ...record, actorId: newId("usr", now, random), actorKeyId: null }, "user"],
    [{ ...record, actorId: null, actorKeyId: null }, null],
  ] as const;
  for (const [stored, actorType] of cases) {
    const shown = presentAuditEvent(stored);
    expect(isValid(AuditEvent, shown)).toBe(true);
    const createdAt = "2026-11-20T12:00:00.000Z";
    expect(shown).toEqual({ ...stored, actorType, changedFields: ["displayName"], createdAt });
  }
});
