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
/** A tenant with its key, and the key's id. */
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
      targetName: "y",
      changedFields: ["status"],
      actorType: "api_key",
      actorId: rootId,
      actorName: "Key of a test",
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
    // The first credential of the key created the avatar.
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

  test("the trail, filtered and paged: the same events as a filter over the whole trail", async () => {
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

  test("the trail, filtered by actor and time, and paged: the same events as a filter over the whole trail", async () => {
    const key = await make({ environment: "live" });
    for (let index = 0; index < 4; index++) await makeAvatar(key.apiKey);
    // A second credential of the same actor.
    const { body: rotated } = await api.call("POST", `/api/v1/api-keys/${key.id}/rotate`, { key: root, body: {} });
    for (let index = 0; index < 4; index++) await makeAvatar(rotated.apiKey);
    const all: AuditEvent[] = (await list("?limit=100")).body.data;
    const [newest, , middle, , oldest] = all.filter(({ actorId }) => actorId === key.id) as AuditEvent[];
    const from = oldest?.createdAt ?? "";
    // Another spelling of the same moment, also with a cursor.
    const to = (newest?.createdAt ?? "").replace("Z", "+00:00");
    for (const filter of [
      { actorId: key.id },
      { actorId: key.id, action: "avatar.created" },
      { actorId: rootId, action: "api_key.rotated" },
      { actorId: key.id, actorKeyId: rotated.keyId },
      { actorId: key.id, targetId: middle?.targetId ?? "" },
      { from },
      { from, to },
      { to, action: "avatar.created" },
      { from, to, actorId: key.id },
      { from, to, targetId: key.id },
      { from, to, actorId: "key_unknown" },
    ]) {
      const seen: AuditEvent[] = [];
      const filters = new URLSearchParams(filter);
      for (let query = `?limit=3&${filters}`; ; ) {
        const { status, body } = await list(query);
        expect(status).toBe(200);
        seen.push(...body.data);
        if (body.nextCursor === null) break;
        query = `?limit=3&cursor=${body.nextCursor}&${filters}`;
      }
      const { from: start = "", to: end = "9", ...others } = filter as Record<string, string>;
      const before = end.replace("+00:00", "Z");
      const expected = all.filter(
        (event) =>
          event.createdAt >= start &&
          event.createdAt < before &&
          Object.entries(others).every(([name, value]) => event[name as keyof AuditEvent] === value),
      );
      expect([filter, seen]).toEqual([filter, expected]);
    }
  });

  test("an empty or malformed window: 422; other filters than the cursor's: 422", async () => {
    const at = "2026-11-20T12:00:00.000Z";
    for (const query of [`from=${at}&to=${at}`, `from=${at}&to=2026-11-20T12:00:00.000%2B01:00`]) {
      const { status, body } = await list(`?${query}`);
      expect([status, body.errors]).toMatchObject([422, [{ parameter: "from", code: "empty_window" }]]);
    }
    for (const query of ["from=yesterday", "to=2026-02-30T00:00:00Z", "actorId=", "from=&to="]) {
      expect((await list(`?${query}`)).status).toBe(422);
    }
    const { nextCursor } = (await list(`?limit=1&actorId=${rootId}&from=2026-01-01T00:00:00Z`)).body;
    for (const query of ["actorId=key_x", "from=2026-01-01T00:00:00.001Z", "to=2027-01-01T00:00:00Z"]) {
      expect((await list(`?cursor=${nextCursor}&${query}`)).body.errors).toMatchObject([{ code: "invalid_cursor" }]);
    }
    // A leap second, and a forged cursor of one.
    const forged = (at: string) =>
      Buffer.from(JSON.stringify([1, "aud", [["to", at]], "aud_01h455vb4pex5vsknk084sn02q"])).toString("base64url");
    expect((await list(`?to=2026-12-31T23:59:60Z`)).status).toBe(200);
    expect((await list(`?cursor=${forged("2026-12-31T23:59:60Z")}`)).status).toBe(200);
  });

  test("the trail, read by another tenant: empty, also by id", async () => {
    const foreign = await api.key();
    const key = await make({});
    expect((await list("?limit=100", foreign)).text).not.toContain(key.id);
    expect((await list(`?targetId=${key.id}`, foreign)).body.data).toEqual([]);
    expect((await list(`?actorKeyId=${parseApiKey(root)?.keyId}`, foreign)).body.data).toEqual([]);
  });
});
