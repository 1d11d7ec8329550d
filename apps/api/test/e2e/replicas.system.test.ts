/** Two processes of the service on one database: a response of one also holds on the other. */
import { expect, test } from "bun:test";
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-keys/api-key";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { type Answer, requestInit, type TestApi } from "../support/api.ts";
import { startFleet } from "../support/fleet.ts";
import { fileService, stop } from "../support/process.ts";

/** How often each race runs, and how many processes are replaced. The full numbers with LONG=1. */
const IS_LONG = process.env["LONG"] === "1";
const ROUNDS = IS_LONG ? { revocation: 6, rotation: 20 } : { revocation: 1, rotation: 4 };

const database = await fileDatabase({ isServed: true });
const tenantId = await seedTenant(database.db);
const root = (await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
const processes = [await fileService(database.variables), await fileService(database.variables)];

const call = (replica: number, ...request: Parameters<TestApi["call"]>): Promise<Answer> =>
  (processes[replica % 2] as (typeof processes)[number]).call(...request);

const avatar = { displayName: "x", sourceKind: "image" };
const child = { name: "child", scopes: ["*"] };

/** Number of rows that these keys have written. */
const written = async (ids: readonly string[]): Promise<number> => {
  const [row] = await database.db.client`
    select count(*)::int as number from audit_events where actor_id = any(${ids as string[]}::text[])`;
  return row?.["number"];
};

/** A parent, its children and its grandchildren. */
const seedFamily = async () => {
  const all: ApiKeyRecord[] = [];
  const keys: string[] = [];
  const add = async (parent?: ApiKeyRecord): Promise<ApiKeyRecord> => {
    const { record, secret } = await seedKey(database.db, tenantId, { environment: "live", scopes: ["*"] }, parent);
    all.push(record);
    keys.push(secret.reveal());
    return record;
  };
  const parent = await add();
  for (let children = 0; children < 2; children++) {
    const second = await add(parent);
    for (let grandchildren = 0; grandchildren < 2; grandchildren++) await add(second);
  }
  return { parent, keys, ids: all.map(({ id }) => id) };
};

test.each([["DELETE"], ["leaked-keys"]])(
  "a revocation, by %s under load: effective on both replicas after its response",
  async (how) => {
    for (let round = 0; round < ROUNDS.revocation; round++) {
      const { parent, keys, ids } = await seedFamily();
      const family = [...keys];
      const familyIds = [...ids];
      let isRevoked = false;
      let stop = false;
      const late: Answer[] = [];
      let accepted = 0;

      /** Creates keys and avatars with any key of the family, on either replica, until stopped. */
      const load = async (lane: number): Promise<void> => {
        for (let turn = 0; !stop; turn++) {
          const key = family[(lane * 7 + turn) % family.length] ?? "";
          const sentAfter = isRevoked;
          const isAvatar = turn % 3 !== 0;
          const answer = await call(lane + turn, "POST", isAvatar ? "/api/v1/avatars" : "/api/v1/api-keys", {
            key,
            body: isAvatar ? avatar : child,
          });
          if (answer.status === 201) {
            accepted++;
            if (!isAvatar) {
              // A new child joins the load.
              family.push(answer.body.apiKey);
              familyIds.push(answer.body.id);
            }
          }
          if (sentAfter) late.push(answer);
        }
      };
      const lanes = Array.from({ length: 12 }, (_, lane) => load(lane));

      /** Requests whose bodies are being sent all the time. */
      let release = (): void => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const slow = keys.map((key, index) => {
        const text = JSON.stringify(avatar);
        const body = new ReadableStream({
          async start(controller) {
            controller.enqueue(Buffer.from(text.slice(0, 5)));
            await released;
            controller.enqueue(Buffer.from(text.slice(5)));
            controller.close();
          },
        });
        return call(index, "POST", "/api/v1/avatars", { key, body });
      });

      try {
        await until(() => accepted >= 60, { pollMs: 1 });
        const revocation =
          how === "DELETE"
            ? await call(round, "DELETE", `/api/v1/api-keys/${parent.id}`, { key: root })
            : await call(round, "POST", "/api/v1/leaked-keys", { body: { apiKey: keys[0] } });
        isRevoked = true;
        expect(revocation.status).toBe(how === "DELETE" ? 200 : 202);
        const before = await written(familyIds);
        const members = family.length;

        // Every member is refused on both replicas, and requests in flight write nothing more.
        const refused = await Promise.all(
          family.flatMap((key) => [0, 1].map((replica) => call(replica, "GET", "/api/v1/api-keys/self", { key }))),
        );
        release();
        const slowAnswers = await Promise.all(slow);
        await until(() => late.length >= 24, { pollMs: 1 });
        stop = true;
        await Promise.all(lanes);
        for (const answer of [...refused, ...slowAnswers, ...late]) {
          expect([answer.status, answer.body.code]).toEqual([401, "revoked_api_key"]);
        }
        expect(await written(familyIds)).toBe(before);
        // Checks that children were created while the revocation ran.
        expect(members).toBeGreaterThan(keys.length);
      } finally {
        stop = true;
        release();
        await Promise.all([...lanes, ...slow]);
      }
    }
  },
);

test("reports, over the limit from one connection: 429 whatever the headers", async () => {
  // The reports are sent together, so that no window ends meanwhile. Earlier reports of this file count too, because
  // they have the same address.
  const reports = Array.from({ length: 31 }, () => call(1, "POST", "/api/v1/leaked-keys", { body: { apiKey: "x" } }));
  expect((await Promise.all(reports)).map(({ status }) => status)).toContain(429);
});

test("a rotation, on one replica: effective on the other after its response", async () => {
  const { body: made } = await call(0, "POST", "/api/v1/api-keys", { key: root, body: child });
  let key = made.apiKey;
  for (let round = 0; round < ROUNDS.rotation; round++) {
    const { body } = await call(round, "POST", `/api/v1/api-keys/${made.id}/rotate`, { key: root, body: {} });
    const self = (apiKey: string) => call(round + 1, "GET", "/api/v1/api-keys/self", { key: apiKey });
    const [old, present] = await Promise.all([self(key), self(body.apiKey)]);
    expect([old.status, old.body.code, present.status]).toEqual([401, "revoked_api_key", 200]);
    key = body.apiKey;
  }
});

test("a rolling restart, watched at /readyz: no request fails", async () => {
  const fleet = await startFleet(database.variables, (url) =>
    fetch(`${url}/api/v1/avatars`, requestInit("POST", { key: root, body: avatar })),
  );
  try {
    for (const index of IS_LONG ? [0, 1] : [0]) {
      await fleet.replace(index, async (url) => {
        const health = await until(
          async () => {
            const response = await fetch(`${url}/readyz`);
            return response.status === 503 && response;
          },
          { pollMs: 1 },
        );
        expect(await health.json()).toEqual({ status: "unavailable", reason: "shutting_down" });
        expect(health.headers.get("connection")).toBe("close");
      });
      await fleet.untilAnswered(50);
    }
  } finally {
    await fleet.stop();
  }
  // Every request was answered and executed.
  expect(fleet.failures).toEqual([]);
  expect([...fleet.statuses.keys()]).toEqual([201]);
});

test("the last use of keys, recorded by a process: written soon, and at its end", async () => {
  const { record, secret } = await seedKey(database.db, tenantId, { scopes: ["usage:read"] });
  expect((await call(0, "GET", "/api/v1/api-keys/self", { key: secret.reveal() })).status).toBe(200);
  const rows = () => database.db.client`select 1 from api_key_usage where api_key_id = ${record.id}`;
  await until(async () => (await rows()).length > 0);

  const last = await seedKey(database.db, tenantId, { scopes: ["usage:read"] });
  await call(1, "GET", "/api/v1/api-keys/self", { key: last.secret.reveal() });
  expect(await stop(processes[1] as (typeof processes)[number])).toBe(0);
  expect(await database.db.client`select 1 from api_key_usage where api_key_id = ${last.record.id}`).toHaveLength(1);
});
