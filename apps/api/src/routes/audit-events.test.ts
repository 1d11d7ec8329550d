import { describe, expect, test } from "bun:test";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { AUDIT_ACTIONS, AuditEvent } from "@realtime-avatar/domain/audit";
import { validate } from "@realtime-avatar/domain/schema";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { type Answer, startApi } from "../../test/support/api.ts";

const PATH = "/api/v1/audit-events";

const api = await startApi();
const tenantId = await seedTenant(api.database.db);
const { record, secret } = await seedKey(api.database.db, tenantId as typeof api.tenantId, {
  environment: "live",
  scopes: ["*"],
});
/** The key of a tenant of its own, and its id. */
const root = secret.reveal();
const rootId = record.id;

const list = (query = "", key = root) => api.call("GET", `${PATH}${query}`, { key });
const make = async (body: object, key = root) =>
  (await api.call("POST", "/api/v1/api-keys", { key, body: { name: "x", scopes: ["*"], ...body } })).body;
const makeAvatar = async (key = root) =>
  (await api.call("POST", "/api/v1/avatars", { key, body: { displayName: "x", sourceKind: "image" } })).body;
const lines = ({ body }: Answer): string[] =>
  body.data.map(({ action, targetId }: AuditEvent) => `${action} ${targetId}`);

describe("the audit trail", () => {
  test("the trail, after each write: one event with actor, time, request and changed fields", async () => {
    const key = await make({ environment: "live" });
    const path = `/api/v1/api-keys/${key.id}`;
    const avatar = await makeAvatar(key.apiKey);
    const responses = [
      await api.call("PATCH", path, { key: root, body: { name: "y", scopes: ["*"] } }),
      await api.call("POST", `${path}/rotate`, { key: root, body: {} }),
      await api.call("PATCH", `/api/v1/avatars/${avatar.id}`, { key: root, body: { metadata: { secret: "x" } } }),
      await api.call("DELETE", `/api/v1/avatars/${avatar.id}`, { key: root }),
      await api.call("DELETE", path, { key: root }),
    ];
    const requestIds = responses.map(({ headers }) => headers.get("x-request-id"));
    const { body, status } = await list("?limit=7");
    expect(status).toBe(200);
    const events: AuditEvent[] = body.data;
    for (const event of events) expect(validate(AuditEvent, event)).toEqual([]);
    const [revoked, ...others] = events;
    expect(revoked).toEqual({
      id: revoked?.id ?? "",
      tenantId,
      environment: "live",
      action: "api_key.revoked",
      targetId: key.id,
      changedFields: ["status"],
      actorType: "api_key",
      actorId: rootId,
      actorKeyId: parseApiKey(root)?.keyId ?? "",
      requestId: requestIds[4] ?? "",
      createdAt: revoked?.createdAt ?? "",
    });
    expect(
      others.map(({ action, targetId, changedFields, requestId }) => [action, targetId, changedFields, requestId]),
    ).toEqual([
      ["avatar.deleted", avatar.id, ["status"], requestIds[3]],
      ["avatar.updated", avatar.id, ["metadata"], requestIds[2]],
      ["api_key.rotated", key.id, ["keyId", "redactedKey"], requestIds[1]],
      ["api_key.updated", key.id, ["name"], requestIds[0]],
      ["avatar.created", avatar.id, [], others[4]?.requestId ?? ""],
      ["api_key.created", key.id, [], others[5]?.requestId ?? ""],
    ]);
    // The avatar was created with the first credential of the key.
    expect(others[4]).toMatchObject({ actorId: key.id, actorKeyId: key.keyId });
    expect(JSON.stringify(events)).not.toContain("secret");
  });

  test("the trail, during an overlap: names the credential that acted", async () => {
    const key = await make({ environment: "live" });
    const { body: rotated } = await api.call("POST", `/api/v1/api-keys/${key.id}/rotate`, {
      key: root,
      body: { overlapSeconds: 600 },
    });
    for (const { apiKey, keyId } of [key, rotated]) {
      const avatar = await makeAvatar(apiKey);
      const { body } = await list(`?targetId=${avatar.id}`);
      expect(body.data).toMatchObject([{ actorId: key.id, actorKeyId: keyId }]);
      expect(lines(await list(`?actorKeyId=${keyId}`))).toEqual([`avatar.created ${avatar.id}`]);
    }
  });

  test("the trail, filtered and paged: the same events as a filter over the whole", async () => {
    const key = await make({ environment: "live" });
    for (let index = 0; index < 10; index++) await makeAvatar(key.apiKey);
    const { body: whole } = await list("?limit=100");
    const all: AuditEvent[] = whole.data;
    expect(all.length).toBeGreaterThan(10);
    const targetId = key.id as string;
    const actorKeyId = key.keyId as string;
    for (const action of [undefined, ...AUDIT_ACTIONS]) {
      for (const filters of [{}, { targetId }, { actorKeyId }, { targetId, actorKeyId }]) {
        const filter = { ...filters, ...(action === undefined ? {} : { action }) };
        const seen: AuditEvent[] = [];
        let query = `?${new URLSearchParams({ ...filter, limit: "3" })}`;
        for (;;) {
          const { status, body } = await list(query);
          expect(status).toBe(200);
          seen.push(...body.data);
          if (body.nextCursor === null) break;
          query = `?${new URLSearchParams({ limit: "3", cursor: body.nextCursor })}`;
        }
        const expected = all.filter((event) =>
          Object.entries(filter).every(([name, value]) => event[name as keyof AuditEvent] === value),
        );
        expect(seen).toEqual(expected);
      }
    }
  });

  test("the trail, read by another tenant: nothing, by its ids either", async () => {
    const stranger = await api.key();
    const key = await make({});
    expect((await list("?limit=100", stranger)).text).not.toContain(key.id);
    expect((await list(`?targetId=${key.id}`, stranger)).body.data).toEqual([]);
    expect((await list(`?actorKeyId=${parseApiKey(root)?.keyId}`, stranger)).body.data).toEqual([]);
  });
});
