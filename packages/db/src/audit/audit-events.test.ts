import { expect, test } from "bun:test";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { operatorOrigin, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { auditEvent } from "./audit-events.ts";

const { db } = await fileDatabase();

test("auditEvent, of a key: has the actor and its credential; of the operator: has neither", async () => {
  const caller = await seedCaller(db);
  const target = { tenantId: caller.tenantId, environment: "test", id: "key_x" } as const;
  const origin = seedOrigin(caller);
  expect(auditEvent("api_key.updated", target, origin, ["name"])).toEqual({
    tenantId: caller.tenantId,
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
