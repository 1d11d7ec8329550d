/** The life of a key's secrets: overlapping rotations, lost responses, thieves, and reports of old secrets. */
import { describe, expect, test } from "bun:test";
import { rotateApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import { findCredential } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { OPERATOR } from "@realtime-avatar/domain/api-keys/grant";
import { rotatedApiKey } from "@realtime-avatar/domain/api-keys/rotate";
import type { ApiKeyWithSecret, CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { session } from "@realtime-avatar/testing/database";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { type Answer, startApi } from "../support/api.ts";

const PATH = "/api/v1/api-keys";

const api = await startApi();
const root = await api.key();

const make = async (key = root, request: Partial<CreateApiKey> = {}): Promise<ApiKeyWithSecret> =>
  (await api.call("POST", PATH, { key, body: { name: "x", environment: "live", scopes: ["*"], ...request } })).body;
const rotate = (key: string, id: string, overlapSeconds = 60, headers = {}) =>
  api.call("POST", `${PATH}/${id}/rotate`, { key, body: { overlapSeconds }, headers });
const self = async (key: string): Promise<number> => (await api.call("GET", `${PATH}/self`, { key })).status;
const report = (apiKey: string) => api.call("POST", "/api/v1/leaked-keys", { body: { apiKey } });
const statusOf = async (id: string) => (await api.call("GET", `${PATH}/${id}`, { key: root })).body.status;
const outcome = ({ status, body }: Answer) => [status, body.code];
const keyIdOf = (key: string): string => parseApiKey(key)?.keyId ?? "";

/** For each credential of a record, oldest first: when it is retired, in milliseconds, and by which key. */
const credentials = (id: string) => api.database.db.client<
  { keyId: string; retiredAt: Date | null; retiredBy: string | null; isUnused: boolean }[]
>`
  select key_id as "keyId", retired_at as "retiredAt", retired_by as "retiredBy", is_unused as "isUnused"
  from api_key_credentials where api_key_id = ${id} order by created_at, key_id`;
const credentialOf = async (made: { id: string }, key: string) =>
  (await credentials(made.id)).find(({ keyId }) => keyId === keyIdOf(key));
const usable = async (keys: readonly string[]): Promise<boolean[]> =>
  Promise.all(keys.map(async (key) => (await self(key)) === 200));

describe("a running overlap", () => {
  test("the older secret, after two lost responses: still replaces an unused newest one", async () => {
    const made = await make();
    await rotate(made.apiKey, made.id, 600);
    const promised = (await credentialOf(made, made.apiKey))?.retiredAt;
    await rotate(made.apiKey, made.id, 604_800);
    // The requested overlap is ignored, even if it is too short.
    const third = await api.call("POST", `${PATH}/${made.id}/rotate`, { key: made.apiKey, body: {} });
    expect(third.status).toBe(200);
    expect((await credentialOf(made, made.apiKey))?.retiredAt).toEqual(promised as Date);
    const all = await credentials(made.id);
    expect(all).toHaveLength(4);
    const live = all.filter(({ retiredAt }) => retiredAt === null || retiredAt.getTime() > Date.now());
    expect(live.map(({ keyId }) => keyId).sort()).toEqual([made.keyId, third.body.keyId].sort());
    expect(await usable([made.apiKey, third.body.apiKey])).toEqual([true, true]);
    // Now the newest secret has been used.
    expect(outcome(await rotate(made.apiKey, made.id))).toEqual([409, "rotation_in_progress"]);
  });

  test.each([
    ["a request that lacks the scope", "POST", "/api/v1/avatars", 403],
    ["a request for an unknown resource", "GET", `${PATH}/key_00000000000000000000000000`, 404],
  ])("the newest secret, used by %s: counts as its first use", async (_, method, path, status) => {
    const made = await make(root, { scopes: ["api_keys:write"] });
    const { body: second } = await rotate(made.apiKey, made.id, 600);
    expect(await credentialOf(made, second.apiKey)).toMatchObject({ isUnused: true });
    expect((await api.call(method, path, { key: second.apiKey })).status).toBe(status);
    expect(await credentialOf(made, second.apiKey)).toMatchObject({ isUnused: false });
    expect(outcome(await rotate(made.apiKey, made.id))).toEqual([409, "rotation_in_progress"]);
  });

  test("a first use and a replacement, at once: exactly one succeeds", async () => {
    for (let round = 0; round < 5; round++) {
      const made = await make();
      const { body: second } = await rotate(made.apiKey, made.id, 600);
      const [used, replaced] = await Promise.all([self(second.apiKey), rotate(made.apiKey, made.id)]);
      if (used === 200) {
        expect(outcome(replaced)).toEqual([409, "rotation_in_progress"]);
        expect(await self(second.apiKey)).toBe(200);
      } else {
        expect([used, replaced.status]).toEqual([401, 200]);
        expect(await self(second.apiKey)).toBe(401);
      }
    }
  });

  test("a first use, waiting for the replacement to commit: 401", async () => {
    const made = await make();
    const { body: second } = await rotate(made.apiKey, made.id, 600);
    const found = await findCredential(api.database.db, made.keyId, null);
    if (!found) throw new Error("no key");
    const rotated = rotatedApiKey({ ...found.caller }, { overlapSeconds: 60 }, found.caller, random);
    const replace = (holder: Db) => rotateApiKey(holder, rotated, found.caller, operatorOrigin());
    expect(await whileHeld(api.database, replace, () => self(second.apiKey))).toBe(401);
  });
});

test("a first use, 20 requests at once: all 200", async () => {
  const made = await make();
  const { body: second } = await rotate(made.apiKey, made.id);
  expect(await Promise.all(Array.from({ length: 20 }, () => self(second.apiKey)))).toEqual(Array(20).fill(200));
});

describe("the report of a retired secret", () => {
  /** Moves the retirement of a credential into the past. */
  const age = (key: string, days: string) => api.database.db.client`
    update api_key_credentials set retired_at = date_trunc('milliseconds', now() - ${days}::interval)
    where key_id = ${keyIdOf(key)}`;

  test("a secret retired by its own key, reported within seven days: the key is revoked; later: not", async () => {
    const [early, late] = [await make(), await make()];
    for (const made of [early, late]) await rotate(made.apiKey, made.id);
    await age(early.apiKey, "6 days 23 hours 59 minutes");
    await age(late.apiKey, "7 days");
    expect([await self(early.apiKey), await self(late.apiKey)]).toEqual([401, 401]);
    expect([(await report(early.apiKey)).status, (await report(late.apiKey)).status]).toEqual([202, 202]);
    expect([await statusOf(early.id), await statusOf(late.id)]).toEqual(["revoked", "active"]);
  });

  test("a secret retired by another key or the operator, reported: no effect", async () => {
    const made = await make();
    const { body: second } = await rotate(root, made.id, 0);
    await report(made.apiKey);
    expect([await statusOf(made.id), await self(second.apiKey)]).toEqual(["active", 200]);
    // First its own rotation, then the ancestor's: the ancestor's rotation determines both.
    const { body: third } = await rotate(second.apiKey, made.id);
    await rotate(root, made.id, 0);
    for (const key of [second.apiKey, third.apiKey]) await report(key);
    expect(await statusOf(made.id)).toBe("active");
    const found = await findCredential(api.database.db, (await credentials(made.id)).at(-1)?.keyId ?? "");
    if (!found) throw new Error("no key");
    const byOperator = rotatedApiKey(found.caller, {}, OPERATOR, random);
    await rotateApiKey(api.database.db, byOperator, null, operatorOrigin());
    expect(await statusOf(made.id)).toBe("active");
  });

  test("a secret retired by its own key, reported after an ancestor's rotation: no effect", async () => {
    const made = await make();
    // A thief rotates twice: the first new secret is replaced, and so retired by its own key.
    const { body: kept } = await rotate(made.apiKey, made.id, 600);
    await rotate(made.apiKey, made.id, 600);
    const { body: owner } = await rotate(root, made.id, 0);
    for (const key of [kept.apiKey, made.apiKey]) await report(key);
    expect([await self(owner.apiKey), await statusOf(made.id)]).toEqual([200, "active"]);
  });

  test("a secret, reported while an ancestor's rotation commits: no effect", async () => {
    const made = await make();
    const { db, url } = api.database;
    const waiting = () => db.client`
      select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    const blocked = (count: number): Promise<unknown> =>
      until(async () => (await waiting()).length >= count, { pollMs: 5, state: waiting });
    const holder = session(url);
    await holder.client`begin`;
    await holder.client`select 1 from api_keys where id = ${made.id} for share`;
    const rotating = rotate(root, made.id, 0);
    await blocked(1);
    const reporting = report(made.apiKey);
    await blocked(2);
    await holder.client`commit`;
    const { body: owner } = await rotating;
    await reporting;
    expect([await self(owner.apiKey), await statusOf(made.id)]).toEqual([200, "active"]);
    await holder.close();
  });

  test("the older secret, reported after a thief's rotation: the key is revoked", async () => {
    const made = await make();
    const { body: stolen } = await rotate(made.apiKey, made.id, 60);
    expect(await self(stolen.apiKey)).toBe(200);
    await age(made.apiKey, "1 hour");
    await report(made.apiKey);
    expect(await self(stolen.apiKey)).toBe(401);
    expect(await statusOf(made.id)).toBe("revoked");
  });

  test("a replaced and unused secret, reported: the key is revoked", async () => {
    const made = await make();
    const { body: lost } = await rotate(made.apiKey, made.id, 600);
    await rotate(made.apiKey, made.id, 600);
    expect(await self(lost.apiKey)).toBe(401);
    await report(lost.apiKey);
    expect(await statusOf(made.id)).toBe("revoked");
  });
});
