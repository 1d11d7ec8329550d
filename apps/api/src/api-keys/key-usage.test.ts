/** The last use of keys: recorded in memory, written soon after, returned by the API. */
import { describe, expect, test } from "bun:test";
import { recordUses } from "@realtime-avatar/db/api-keys/usage";
import { oneDatabase } from "@realtime-avatar/db/databases/databases";
import { createLog } from "@realtime-avatar/runtime/log";
import { session } from "@realtime-avatar/testing/database";
import { untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { startApi } from "../../test/support/api.ts";
import { createUses } from "./key-usage.ts";

const MINUTE = 60_000;

const api = await startApi();
const root = await api.key();

/** Every change or lock of the row changes `ctid` or `xmax`. */
const rows = (id: string) =>
  api.database.db.client`select last_used_at, xmin, xmax, ctid from api_key_usage where api_key_id = ${id}`;
const lastUsedAt = async (id: string) =>
  (await api.call("GET", `/api/v1/api-keys/${id}`, { key: root })).body.lastUsedAt;
const seed = () => seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["*"] });
const use = (key: string) => api.call("GET", "/api/v1/avatars", { key });

describe("lastUsedAt", () => {
  test("lastUsedAt, before and after a use: null, then its minute", async () => {
    const { record, secret } = await seed();
    await api.uses.flush();
    expect(await lastUsedAt(record.id)).toBeNull();
    await use(secret.reveal());
    // The request itself writes nothing.
    expect(await rows(record.id)).toHaveLength(0);
    await api.uses.flush();
    const used = await lastUsedAt(record.id);
    expect(used).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
    expect(Math.abs(Date.now() - Date.parse(used))).toBeLessThan(3 * MINUTE);
    const { body } = await api.call("GET", "/api/v1/api-keys/self", { key: secret.reveal() });
    expect(body.lastUsedAt).toBe(used);
    const { body: list } = await api.call("GET", "/api/v1/api-keys", { key: root });
    expect(list.data.find(({ id }: { id: string }) => id === record.id).lastUsedAt).toBe(used);
  });

  test("lastUsedAt, of refused callers: set after a 403, not after a 401", async () => {
    const powerless = await seedKey(api.database.db, api.tenantId, { scopes: ["usage:read"] });
    const revoked = await seed();
    await api.database.db.client`update api_keys set revoked_at = now() where id = ${revoked.record.id}`;
    expect((await use(powerless.secret.reveal())).status).toBe(403);
    expect((await use(revoked.secret.reveal())).status).toBe(401);
    await api.uses.flush();
    expect(await rows(powerless.record.id)).toHaveLength(1);
    expect(await rows(revoked.record.id)).toHaveLength(0);
  });

  test("lastUsedAt, after a use: the key's version is unchanged", async () => {
    const { record, secret } = await seed();
    await use(secret.reveal());
    await api.uses.flush();
    expect((await api.call("GET", `/api/v1/api-keys/${record.id}`, { key: root })).headers.get("etag")).toBe('"1"');
  });
});

describe("the recorded uses", () => {
  const quiet = createLog("silent");
  /** A use, this number of minutes after a fixed time. */
  const useOf = ({ record }: Awaited<ReturnType<typeof seed>>, minutes: number, seconds = 0) => ({
    tenantId: record.tenantId,
    id: record.id,
    checkedAt: new Date(Date.UTC(2026, 0, 1, 0, minutes, seconds)),
  });

  test("uses of one key, several in a minute: one write", async () => {
    const key = await seed();
    const uses = createUses(oneDatabase(api.database.db), quiet, recordUses);
    uses.note(useOf(key, 1, 5));
    await uses.flush();
    const [first] = await rows(key.record.id);
    for (const seconds of [6, 30, 59]) uses.note(useOf(key, 1, seconds));
    await uses.flush();
    expect((await rows(key.record.id))[0]).toEqual(first as never);
    uses.note(useOf(key, 2));
    await uses.flush();
    const [second] = await rows(key.record.id);
    expect(second?.["last_used_at"]).toEqual(new Date(Date.UTC(2026, 0, 1, 0, 2)));
    expect(second?.["xmin"]).not.toBe(first?.["xmin"]);
  });

  test("uses, recorded late across the border of a minute: the later minute is written", async () => {
    const [key, other] = [await seed(), await seed()];
    const uses = createUses(oneDatabase(api.database.db), quiet, recordUses);
    uses.note(useOf(other, 2));
    uses.note(useOf(key, 1, 59));
    uses.note(useOf(key, 2, 1));
    await uses.flush();
    expect((await rows(key.record.id))[0]?.["last_used_at"]).toEqual(new Date(Date.UTC(2026, 0, 1, 0, 2)));
  });

  test("uses that the database refuses: kept, logged without a secret, written later", async () => {
    const key = await seed();
    const lines: string[] = [];
    const uses = createUses(
      oneDatabase(api.database.db),
      createLog("info", { write: (line) => void lines.push(line) }),
      recordUses,
    );
    uses.note(useOf(key, 1));
    const { client } = api.database.db;
    await client`alter table api_key_usage rename to elsewhere`;
    await uses.flush();
    await client`alter table elsewhere rename to api_key_usage`;
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: 40, error: { code: "42P01" } });
    await uses.flush();
    expect((await rows(key.record.id))[0]?.["last_used_at"]).toEqual(new Date(Date.UTC(2026, 0, 1, 0, 1)));
    // In the next minute, the later use counts.
    uses.note(useOf(key, 2));
    await uses.flush();
    expect((await rows(key.record.id))[0]?.["last_used_at"]).toEqual(new Date(Date.UTC(2026, 0, 1, 0, 2)));
  });

  test("uses, recorded during a write: written next", async () => {
    const key = await seed();
    const uses = createUses(oneDatabase(api.database.db), quiet, recordUses);
    const holder = session(api.database.url);
    await holder.client`begin`;
    await holder.client`insert into api_key_usage values (${key.record.tenantId}, ${key.record.id}, 'epoch')`;
    uses.note(useOf(key, 1));
    const flushed = uses.flush();
    await untilBlocked(api.database.db);
    uses.note(useOf(key, 2));
    await holder.client`commit`;
    await flushed;
    await uses.flush();
    expect((await rows(key.record.id))[0]?.["last_used_at"]).toEqual(new Date(Date.UTC(2026, 0, 1, 0, 2)));
    await holder.close();
  });

  test("uses whose row is locked: no request waits", async () => {
    const { record, secret } = await seed();
    const holder = session(api.database.url);
    await holder.client`begin`;
    await holder.client`insert into api_key_usage values (${record.tenantId}, ${record.id}, now())`;
    await use(secret.reveal());
    const flushed = api.uses.flush();
    await untilBlocked(api.database.db);
    // The row is locked, and requests with the key still succeed.
    expect((await use(secret.reveal())).status).toBe(200);
    const body = { displayName: "x", sourceKind: "image" };
    expect((await api.call("POST", "/api/v1/avatars", { key: secret.reveal(), body })).status).toBe(201);
    await holder.client`rollback`;
    await flushed;
    expect(await rows(record.id)).toHaveLength(1);
    await holder.close();
  });
});
