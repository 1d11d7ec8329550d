/** The names beside ids in lists and reads, and the creator of a key. */
import { describe, expect, test } from "bun:test";
import { seedMovement } from "@realtime-avatar/testing/credits";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { startApi } from "../../test/support/api.ts";
import { seedPerson } from "../../test/support/people/people.ts";

const api = await startApi();
const root = await api.key({ name: "Root", environment: "live", scopes: ["*", "usage:write"] });

const get = async (path: string, key = root) => (await api.call("GET", `/api/v1/${path}`, { key })).body;
const post = async (path: string, body: object, key = root, headers: Record<string, string> = {}) =>
  (await api.call("POST", `/api/v1/${path}`, { key, body, headers })).body;
const createKey = (name: string, fields: object = {}, key = root) =>
  post("api-keys", { name, environment: "live", scopes: ["*", "usage:write"], ...fields }, key);
const rename = (id: string, name: string) => api.call("PATCH", `/api/v1/api-keys/${id}`, { key: root, body: { name } });
const createAvatar = async (displayName: string, key = root) => {
  const { id } = await post("avatars", { displayName, sourceKind: "image" }, key);
  await api.database.db.client`update avatars set status = 'ready' where id = ${id}`;
  return id;
};
/** Opens a call of one second with the avatar. The key `engine` reports and ends it. */
const makeCall = async (key: string, engine: string, avatarId?: string) => {
  const { sessionId } = await post("usage/sessions", { maxSessionSeconds: 1, ...(avatarId && { avatarId }) }, key);
  await post(`usage/sessions/${sessionId}/usage`, { usedCreditMicros: 5 }, engine);
  await post(`usage/sessions/${sessionId}/release`, {}, engine);
  return sessionId;
};
const HOSTILE = `<img src=x onerror=alert(1)> "\\' \u202e${"😀".repeat(20)}`;

describe("the names of usage", () => {
  test("a session, read and listed: the current names of its key, engine and avatar, also after their end", async () => {
    const [website, engine] = [await createKey("Website"), await createKey("Engine")];
    const avatarId = await createAvatar("Grace");
    const id = await makeCall(website.apiKey, engine.apiKey, avatarId);
    const names = { apiKeyName: "Website", avatarName: "Grace", reportedByName: "Engine", closedByName: "Engine" };
    expect(await get(`usage/sessions/${id}`)).toMatchObject({ apiKeyId: website.id, ...names });
    await rename(website.id, HOSTILE);
    await api.call("DELETE", `/api/v1/api-keys/${engine.id}`, { key: root });
    await api.call("DELETE", `/api/v1/avatars/${avatarId}`, { key: root });
    const renamed = { ...names, apiKeyName: HOSTILE };
    expect((await get(`usage/sessions?apiKeyId=${website.id}`)).data).toEqual([await get(`usage/sessions/${id}`)]);
    expect(await get(`usage/sessions/${id}`)).toMatchObject(renamed);
  });

  test("a session without avatar or end, and one that the service closed: null", async () => {
    const { sessionId } = await post("usage/sessions", { maxSessionSeconds: 1 });
    const none = { avatarName: null, reportedByName: null, closedByName: null };
    expect(await get(`usage/sessions/${sessionId}`)).toMatchObject({ apiKeyName: "Root", ...none });
    await api.database.db.client`update usage_sessions set ended_at = now(), closed_by = 'sweep', status = 'released'
      where id = ${sessionId}`;
    expect(await get(`usage/sessions/${sessionId}`)).toMatchObject({ closedBy: "sweep", closedByName: null });
  });

  test("a write and its replay: the same bytes, without the names of keys", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const send = async (path: string, body: object) => [
      await api.call("POST", `/api/v1/${path}`, { key: root, body, headers }),
      await api.call("POST", `/api/v1/${path}`, { key: root, body, headers }),
    ];
    const opened = await send("usage/sessions", { maxSessionSeconds: 1 });
    const path = `usage/sessions/${opened[0]?.body.sessionId}`;
    const key = await send("api-keys", { name: "x", scopes: ["*"] });
    for (const [first, second] of [
      opened,
      await send(`${path}/usage`, { usedCreditMicros: 1 }),
      await send(`${path}/release`, {}),
      key,
    ]) {
      expect(second?.headers.get("idempotent-replayed")).toBe("true");
      expect(second?.text).toBe(first?.text ?? "");
      expect(Object.keys(first?.body).filter((name) => /(Key|By)Name$|^createdBy/.test(name))).toEqual([]);
    }
  });

  test("the sums by key and by avatar: with the names of both", async () => {
    const caller = await createKey("Kiosk");
    const avatarId = await createAvatar("Ada");
    await makeCall(caller.apiKey, root, avatarId);
    const sums = async (groupBy: string) => (await get(`usage/summary?groupBy=${groupBy}`)).data;
    expect(await sums("apiKey")).toContainEqual(
      expect.objectContaining({ apiKeyId: caller.id, apiKeyName: "Kiosk", avatarId: null, avatarName: null }),
    );
    const byAvatar = await sums("avatar");
    expect(byAvatar).toContainEqual(expect.objectContaining({ avatarId, avatarName: "Ada", apiKeyName: null }));
    expect(byAvatar).toContainEqual(expect.objectContaining({ avatarId: null, avatarName: null }));
  });

  test("the entries of a call and of a grant: the names of the keys, or null", async () => {
    const [caller, engine] = [await createKey("Shop"), await createKey("Media engine")];
    const sessionId = await makeCall(caller.apiKey, engine.apiKey);
    await seedMovement(api.database.db, api.tenantId, { kind: "grant", amount: 1 });
    const { data } = await get(`credits/entries?sessionId=${sessionId}`);
    const ended = { apiKeyName: "Shop", reportedByName: "Media engine", closedByName: "Media engine" };
    const held = { apiKeyName: "Shop", reportedByName: null, closedByName: null };
    for (const entry of data) expect(entry).toMatchObject(entry.kind === "hold" ? held : ended);
    expect(data.length).toBeGreaterThanOrEqual(3);
    expect((await get("credits/entries?kind=grant&limit=1")).data).toMatchObject([{ ...held, apiKeyName: null }]);
  });
});

describe("the names of the audit trail", () => {
  const events = async (query: string, key = root) => (await get(`audit-events?${query}`, key)).data;

  test("events of a key and of a person: the names of actor and target, if they exist", async () => {
    const person = await seedPerson(api, "owner");
    const colleague = await seedPerson(api, "developer");
    await person.call("PATCH", `/api/v1/users/${person.id}`, { name: "Ada Lovelace" });
    const avatarId = await createAvatar("Joan");
    const { body: key } = await colleague.call("POST", "/api/v1/api-keys", { name: "Phone", environment: "live" });
    await person.call("DELETE", `/api/v1/users/${colleague.id}`);
    expect(await events(`targetId=${avatarId}`)).toMatchObject([{ actorName: "Root", targetName: "Joan" }]);
    expect(await events(`targetId=${person.id}&action=user.updated`)).toMatchObject([
      { actorName: "Ada Lovelace", targetName: "Ada Lovelace" },
    ]);
    // A removed person is deleted, including the name.
    expect(await events(`targetId=${key.id}`)).toMatchObject([
      { actorType: "user", actorId: colleague.id, actorName: null, targetName: "Phone" },
    ]);
    expect(await events("action=user.deleted")).toMatchObject([{ targetId: colleague.id, targetName: null }]);
    const addresses = JSON.stringify(await events("limit=100"));
    expect(addresses).not.toContain("example.com");
  });

  test("events by a live key, read by a test key: the id of the live key without its name", async () => {
    const inTest = await createKey("Tester", { environment: "test", scopes: ["*"] });
    const seen = (key: string) => events(`targetId=${inTest.id}`, key);
    expect(await seen(root)).toMatchObject([{ actorName: "Root", targetName: "Tester" }]);
    expect(await seen(inTest.apiKey)).toMatchObject([{ actorType: "api_key", actorName: null, targetName: "Tester" }]);
  });

  test("an id of another tenant: no name", async () => {
    const foreign = await seedTenant(api.database.db);
    const { client } = api.database.db;
    const { id } = await createKey("Ours");
    await client`insert into audit_events (tenant_id, id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at)
      select ${foreign}, id, environment, actor_id, actor_key_id, action, target_id, request_id, created_at
      from audit_events where tenant_id = ${api.tenantId} and target_id = ${id}`;
    const person = await seedPerson(api, "viewer", foreign);
    const { body } = await person.call("GET", `/api/v1/audit-events?targetId=${id}`);
    expect(body.data).toMatchObject([{ targetId: id, targetName: null, actorName: null }]);
  });
});

describe("the creator of a key", () => {
  const creatorsOf = async (id: string, key = root) => {
    const { createdBy, createdByName } = await get(`api-keys/${id}`, key);
    const { data } = await get("api-keys?limit=100", key);
    const listed = data.find((each: { id: string }) => each.id === id);
    expect([listed.createdBy, listed.createdByName]).toEqual([createdBy, createdByName]);
    return { createdBy, createdByName };
  };

  test("a key of a key, of a person and of the operator: named, after many changes too", async () => {
    const person = await seedPerson(api, "developer");
    const { body: byPerson } = await person.call("POST", "/api/v1/api-keys", { name: "x", environment: "live" });
    for (let count = 0; count < 10; count++) await rename(byPerson.id, `x${count}`);
    expect(await creatorsOf(byPerson.id)).toEqual({ createdBy: person.id, createdByName: "Ada" });
    const { id: rootId } = await get("api-keys/self");
    const { id } = await createKey("Child");
    expect(await creatorsOf(id)).toEqual({ createdBy: rootId, createdByName: "Root" });
    expect(await creatorsOf(rootId)).toEqual({ createdBy: null, createdByName: null });
  });

  test("a test key that a live key created: the creator's name in live, only its id in test", async () => {
    const { id: rootId } = await get("api-keys/self");
    const { id, apiKey } = await createKey("Tester", { environment: "test", scopes: ["*"] });
    expect(await creatorsOf(id)).toEqual({ createdBy: rootId, createdByName: "Root" });
    expect(await creatorsOf(id, apiKey)).toEqual({ createdBy: rootId, createdByName: null });
  });
});
