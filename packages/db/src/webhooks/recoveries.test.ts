/** Recoveries, resends and tests: the deliveries that are sent again, and the budget of a host. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { WebhookEndpointId } from "@realtime-avatar/domain/id";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { findTestCaller, newClaim, seedCaller, seedKey, seedOrigin } from "@realtime-avatar/testing/seeds";
import {
  claimSome,
  type HeldDelivery,
  newTarget,
  seedEndpoint,
  seedEvents,
  testQueue,
} from "@realtime-avatar/testing/webhooks/seeds";
import type { AnyCaller } from "../callers/callers.ts";
import { insertTestDelivery, recoverDeliveries, resendDelivery } from "./deliveries.ts";
import { deleteEndpoint, updateEndpoint } from "./endpoints.ts";

const { db } = await fileDatabase();
await mutate(db);
const queue = testQueue(db);
const { finish, statuses } = queue;
const { client } = db;

// Each test starts with an empty queue, because a claim serves all tenants.
beforeEach(queue.clear);

const EVER = new Date(0);
const ANY = { versions: null };

const recover = (id: WebhookEndpointId, caller: AnyCaller, since = EVER, key = "recover") =>
  recoverDeliveries(db, id, since, caller, seedOrigin(caller), newClaim(key));
const written = (recovered: number, pausedUntil: string | null = null) => ({
  kind: "written" as const,
  recovered,
  pausedUntil,
  nextRecoveryAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
});

/** Ends the attempts of all deliveries as failed, each after one attempt. */
const failAll = () =>
  client`update webhook_deliveries set status = 'failed', waits = false, attempt_count = 10, next_attempt_at = null,
    lease = null, leased_until = null`;
/** Ends the pause of the host, so that the recoveries of its endpoints go on. */
const passPause = async (): Promise<void> => {
  await client`update webhook_hosts set next_release_at = now() - interval '1 second'`;
  await client`update webhook_endpoints set recovery_next_at = now() - interval '1 second' where recovery_next_at is not null`;
};
const passMinute = () => client`update webhook_endpoints set recovered_at = recovered_at - interval '1 minute'`;
const hosts = async () =>
  (
    await client<{ host: string; failures: number; pause: number }[]>`
      select host, failures, round(extract(epoch from next_release_at - now()) / 60)::integer as pause
      from webhook_hosts order by environment, host`
  ).map(({ host, failures, pause }) => [host, failures, pause]);
/** Makes a host a working one: delivers its first recovered delivery. */
const prove = async (host: string): Promise<void> => {
  await client`update webhook_hosts set failures = 0, probes = 0 where host = ${host}`;
};
/** Delivers all recovered deliveries, and returns the claimed ones, in order. */
const deliverAll = async (): Promise<HeldDelivery[]> => {
  const all: HeldDelivery[] = [];
  for (;;) {
    const held = await claimSome(db);
    if (held.length === 0) return all;
    all.push(...held);
    await finish(held, "delivered");
    await passPause();
  }
};

describe("a recovery", () => {
  test("failed or canceled deliveries of one endpoint since a time: exactly these are sent again", async () => {
    const caller = await seedCaller(db);
    const [endpoint, other] = [await seedEndpoint(db, caller), await seedEndpoint(db, caller)];
    await seedEvents(db, caller, [newTarget(), newTarget()]);
    await failAll();
    await Bun.sleep(5);
    const since = new Date();
    await seedEvents(db, caller, [newTarget()]);
    await finish(await claimSome(db), "failed");
    await seedEvents(db, caller, [newTarget()]);
    await finish(await claimSome(db), "delivered");
    expect(await recover(endpoint.id, caller, since)).toEqual(written(1));
    expect((await deliverAll()).map(({ endpointId }) => endpointId)).toEqual([endpoint.id]);
    await passMinute();
    const all = await recover(endpoint.id, caller, EVER, "all");
    expect(all).toEqual(written(2));
    const { kind: _, ...fields } = all as { kind: "written" };
    expect(await recover(endpoint.id, caller, EVER, "all")).toMatchObject({ kind: "replayed", responseFields: fields });
    const owner = { tenantId: caller.tenantId, environment: "live" } as const;
    expect(await recoverDeliveries(db, other.id, EVER, owner, seedOrigin())).toEqual(written(3));
    await passPause();
    expect(await deliverAll()).toHaveLength(5);
    expect(await statuses()).toEqual({ delivered: 8 });
    expect(await client`select 1 from webhook_endpoints where recovery_next_at is not null`).toHaveLength(0);
  });

  test("of an ordered endpoint: in the order of the events, with a new schedule", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller, { ordered: true });
    const [a, b] = [newTarget(), newTarget()];
    for (const target of [a, b, a, a]) await seedEvents(db, caller, [target]);
    await failAll();
    expect(await recover(endpoint.id, caller)).toEqual(written(4));
    await prove("example.com");
    const again = await claimSome(db);
    expect(again.map(({ targetId, sequence, attemptCount }) => [targetId, sequence, attemptCount])).toEqual([
      [a, 1, 0],
      [b, 1, 0],
    ]);
    await finish(again, "delivered");
    expect((await deliverAll()).map(({ sequence }) => sequence)).toEqual([2, 3]);
  });

  test("100 deliveries: at most 8 at a time, in the order of the events; new events do not wait", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()], 100);
    await failAll();
    const happened = (await client<{ id: string }[]>`select id from webhook_deliveries order by id`).map(
      ({ id }) => id,
    );
    expect(await recover(endpoint.id, caller)).toEqual(written(100));
    await prove("example.com");
    const first = await claimSome(db, { perEndpoint: 50, perTenant: 50 });
    expect(first.map(({ id }) => id as string).sort()).toEqual(happened.slice(0, 8));
    await passPause();
    // Eight are being sent, so the others are unchanged.
    await seedEvents(db, caller, [newTarget()]);
    expect(await claimSome(db, { perEndpoint: 50, perTenant: 50 })).toHaveLength(1);
    await finish(first, "delivered");
    await passPause();
    const rest = (await deliverAll()).map(({ id }) => id as string);
    expect(rest.toSorted()).toEqual(happened.slice(8));
    // Events of one millisecond are in any order.
    const times = rest.map((id) => id.slice(0, "whd_".length + 10));
    expect(times).toEqual(times.toSorted());
  });

  test("deliveries that wait for another attempt, and deliveries without an attempt or being sent: only the first are sent again", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget(), newTarget(), newTarget()]);
    const [first, second] = (await claimSome(db, { limit: 2 })) as [HeldDelivery, HeldDelivery];
    await finish([first], "retry");
    expect(await recover(endpoint.id, caller)).toEqual(written(1));
    expect((await claimSome(db)).map(({ id }) => id)).toContain(first.id);
    await passMinute();
    expect(await recover(endpoint.id, caller, EVER, "again")).toEqual(written(0, expect.any(String)));
    expect(
      await client`select 1 from webhook_deliveries where id = ${second.id} and lease = ${second.lease}`,
    ).toHaveLength(1);
  });

  test("twice within a minute, by a caller: refused, with the remaining time; by the operator: accepted", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    expect(await recover(endpoint.id, caller)).toMatchObject({ kind: "written" });
    const refused = await recover(endpoint.id, caller, EVER, "again");
    if (refused.kind !== "rate_limited") throw new Error(refused.kind);
    expect([refused.waitSeconds > 0, refused.waitSeconds <= 60]).toEqual([true, true]);
    const owner = { tenantId: caller.tenantId, environment: "live" } as const;
    expect(await recoverDeliveries(db, endpoint.id, EVER, owner, seedOrigin())).toMatchObject({ kind: "written" });
    await passMinute();
    // The refused request stores no claim.
    expect(await recover(endpoint.id, caller, EVER, "again")).toMatchObject({ kind: "written" });
  });

  test("twenty requests at once: one of them starts the recovery", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => recover(endpoint.id, caller, EVER, `${n}`)),
    );
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual([...Array(19).fill("rate_limited"), "written"]);
  });

  test("of an endpoint that is disabled or deleted during the recovery: ends", async () => {
    const caller = await seedCaller(db);
    const [one, two] = [await seedEndpoint(db, caller), await seedEndpoint(db, caller)];
    await seedEvents(db, caller, [newTarget()], 3);
    await failAll();
    for (const { id } of [one, two]) await recover(id, caller, EVER, id);
    await updateEndpoint(db, one.id, { status: "disabled" }, ANY, caller, seedOrigin(caller));
    await deleteEndpoint(db, two.id, ANY, caller, seedOrigin(caller));
    expect(await deliverAll()).toEqual([]);
    await updateEndpoint(db, one.id, { status: "enabled" }, ANY, caller, seedOrigin(caller));
    expect(await deliverAll()).toEqual([]);
    expect(await statuses()).toEqual({ failed: 6 });
  });
});

describe("the budget of a host", () => {
  /** Endpoints with failed deliveries, each of which is recovered. */
  const recovering = async (caller: AnyCaller, urls: readonly string[], events = 20) => {
    const endpoints = [];
    for (const url of urls) endpoints.push(await seedEndpoint(db, caller, { url }));
    await seedEvents(db, caller, [newTarget()], events);
    await failAll();
    for (const { id } of endpoints) await recover(id, caller, EVER, id);
    return endpoints;
  };
  const SPELLINGS = ["https://hooks.example.com/a", "https://HOOKS.example.com./b", "https://hooks.Example.com:8443?c"];

  test("a new host, in each spelling and with each port: one delivery is tried, then one after 1, 2, 4 … minutes, at most 60", async () => {
    const caller = await seedCaller(db);
    await recovering(caller, SPELLINGS);
    const pauses = [];
    for (let n = 0; n < 8; n++) {
      const held = await claimSome(db, { perEndpoint: 50, perTenant: 500 });
      expect(held).toHaveLength(1);
      expect(await claimSome(db)).toEqual([]);
      // No further delivery is due while its outcome is unknown, and after its failure.
      pauses.push((await hosts())[0]?.[2]);
      await finish(held, "failed");
      await client`update webhook_endpoints set recovery_next_at = now() - interval '1 second' where recovery_next_at is not null`;
      expect(await claimSome(db)).toEqual([]);
      await passPause();
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(await hosts()).toHaveLength(1);
  });

  test("one success: all endpoints of the host continue, with 20 deliveries a second in total", async () => {
    const caller = await seedCaller(db);
    await recovering(caller, SPELLINGS);
    await finish(await claimSome(db), "delivered");
    await client`update webhook_endpoints set recovery_next_at = now() - interval '1 second' where recovery_next_at is not null`;
    // The budget is that of 8 deliveries: the pause after them is 0.4 s.
    const held = await claimSome(db, { perEndpoint: 50, perTenant: 500 });
    expect([held.length, new Set(held.map(({ endpointId }) => endpointId)).size]).toEqual([8, 1]);
    const [row] = await client`
      select round(extract(epoch from next_release_at - leased_until) * 1000 + 60000)::integer as "afterMs"
      from webhook_hosts, (select max(leased_until) as leased_until from webhook_deliveries) held`;
    expect(row).toEqual({ afterMs: 400 });
    await finish(held, "delivered");
    await passPause();
    expect(await deliverAll()).toHaveLength(60 - 9);
  });

  test("five failures in a row: a pause of a minute, which the next recovery reports; with a success in between: no pause", async () => {
    const caller = await seedCaller(db);
    const [endpoint] = await recovering(caller, SPELLINGS.slice(0, 1));
    if (!endpoint) throw new Error("there is no endpoint");
    await finish(await claimSome(db), "delivered");
    await passPause();
    const held = await claimSome(db);
    await finish(held.slice(0, 4), "failed");
    await finish(held.slice(4, 5), "delivered");
    await finish(held.slice(5, 8), "failed");
    expect(await hosts()).toEqual([["hooks.example.com", 3, 0]]);
    await passPause();
    await finish((await claimSome(db)).slice(0, 2), "retry");
    expect(await hosts()).toEqual([["hooks.example.com", 5, 1]]);
    await passMinute();
    const [host] = await client<{ until: Date }[]>`select next_release_at as until from webhook_hosts`;
    expect(await recover(endpoint.id, caller, EVER, "again")).toMatchObject({
      kind: "written",
      pausedUntil: host?.until.toISOString(),
    });
    expect(await claimSome(db)).toEqual([]);
  });

  test("another URL, an enabled endpoint, or a new endpoint of the same host: the budget of the host is unchanged", async () => {
    const caller = await seedCaller(db);
    const [endpoint] = await recovering(caller, SPELLINGS.slice(0, 1));
    if (!endpoint) throw new Error("there is no endpoint");
    const change = (fields: object) => updateEndpoint(db, endpoint.id, fields, ANY, caller, seedOrigin(caller));
    await finish(await claimSome(db), "failed");
    const again = async (key: string) => {
      await passMinute();
      await recover(endpoint.id, caller, EVER, key);
      return claimSome(db);
    };
    await change({ url: "https://hooks.example.com/other" });
    expect(await again("one")).toEqual([]);
    await change({ status: "disabled" });
    await change({ status: "enabled" });
    expect(await again("two")).toEqual([]);
    // Another host has another budget. Back at the first host, its budget is unchanged.
    await change({ url: "https://other.example.com/" });
    expect(await again("three")).toHaveLength(1);
    await change({ url: "https://hooks.example.com/" });
    expect(await again("four")).toEqual([]);
    await deleteEndpoint(db, endpoint.id, ANY, caller, seedOrigin(caller));
    const next = await seedEndpoint(db, caller, { url: "https://hooks.example.com/" });
    await seedEvents(db, caller, [newTarget()], 3);
    await failAll();
    await recover(next.id, caller, EVER, "five");
    expect(await claimSome(db)).toEqual([]);
  });

  test("a URL that changes during the recovery: the budget of the host that gets the deliveries counts", async () => {
    const caller = await seedCaller(db);
    const urls = Array.from({ length: 4 }, (_, n) => `https://h${n}.example.com/`);
    const endpoints = await recovering(caller, urls);
    for (const url of urls) await prove(new URL(url).hostname);
    for (const { id } of endpoints) {
      await updateEndpoint(db, id, { url: "https://victim.example.com/" }, ANY, caller, seedOrigin(caller));
    }
    expect((await claimSome(db, { perEndpoint: 50, perTenant: 500 })).map(({ url }) => url)).toEqual([
      "https://victim.example.com/",
    ]);
  });

  test("two tenants, and two environments of one: separate budgets", async () => {
    const [caller, stranger] = [await seedCaller(db), await seedCaller(db)];
    const { secret } = await seedKey(db, caller.tenantId, { environment: "test", scopes: ["*"] });
    const ofTest = await findTestCaller(db, secret.keyId);
    for (const one of [caller, stranger, ofTest]) await recovering(one, SPELLINGS);
    for (const one of [caller, stranger, ofTest]) {
      await passMinute();
      await client`update webhook_endpoints set recovery_next_at = now() - interval '1 second' where tenant_id = ${one.tenantId}`;
    }
    const held = await claimSome(db, { perTenant: 500 });
    const tenants = held.map(({ tenantId, environment }) => `${tenantId} ${environment}`);
    expect(tenants.sort()).toEqual(
      [`${caller.tenantId} live`, `${caller.tenantId} test`, `${stranger.tenantId} live`].sort(),
    );
  });

  test("many workers at once: together one delivery of a new host", async () => {
    const caller = await seedCaller(db);
    await recovering(caller, [...SPELLINGS, ...SPELLINGS.map((url) => `${url}2`)]);
    const claimed = await Promise.all(Array.from({ length: 10 }, () => claimSome(db)));
    expect(claimed.flat()).toHaveLength(1);
  });

  test("an endpoint without a URL: all deliveries are released, as for a working host", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller, { url: null });
    await seedEvents(db, caller, [newTarget()], 20);
    await failAll();
    await recover(endpoint.id, caller);
    expect(await deliverAll()).toHaveLength(20);
  });
});

describe("resends and tests", () => {
  test("of one host: 60 at once over all its endpoints; further ones are refused, with the time until the next", async () => {
    const caller = await seedCaller(db);
    const [one, two] = [
      await seedEndpoint(db, caller, { url: "https://hooks.example.com/1" }),
      await seedEndpoint(db, caller, { url: "https://Hooks.example.com./2" }),
    ];
    const [other, stranger] = [await seedEndpoint(db, caller), await seedCaller(db)];
    const ofStranger = await seedEndpoint(db, stranger, { url: "https://hooks.example.com/3" });
    await seedEvents(db, caller, [newTarget()]);
    const [delivery] = (await claimSome(db)).filter(({ endpointId }) => endpointId === one.id);
    if (!delivery) throw new Error("there is no delivery");
    const resend = (key: string) => resendDelivery(db, delivery.id, caller, seedOrigin(caller), newClaim(key));
    const sendTest = (id: WebhookEndpointId, by = caller) => insertTestDelivery(db, id, by, seedOrigin(by));
    const startedAt = performance.now();
    const send = (n: number) => (n % 2 === 0 ? resend(`${n}`) : sendTest(n % 4 === 1 ? one.id : two.id));
    let sent = 0;
    let outcome = await send(sent);
    for (; outcome.kind === "written"; outcome = await send(++sent));
    // On a slow machine, the budget grows by one every two seconds.
    expect(sent).toBeWithin(60, 62 + Math.ceil((performance.now() - startedAt) / 2000));
    if (outcome.kind !== "rate_limited") throw new Error(outcome.kind);
    expect([1, 2]).toContain(outcome.waitSeconds);
    await client`update webhook_hosts set resent_until = resent_until + interval '1 hour'`;
    for (const { kind } of [await resend("last"), await sendTest(two.id)]) expect(kind).toBe("rate_limited");
    // A replay is not a resend. Other hosts and other tenants are not limited.
    expect(await resend("0")).toMatchObject({ kind: "replayed" });
    expect(await sendTest(other.id)).toMatchObject({ kind: "written" });
    expect(await sendTest(ofStranger.id, stranger)).toMatchObject({ kind: "written" });
    await client`update webhook_hosts set resent_until = resent_until - interval '1 hour 2 seconds'`;
    expect(await resend("last")).toEqual({ kind: "written" });
  });

  test("a test that succeeds: the pause of the host ends", async () => {
    const caller = await seedCaller(db);
    const endpoint = await seedEndpoint(db, caller);
    await seedEvents(db, caller, [newTarget()], 3);
    await failAll();
    await recover(endpoint.id, caller);
    await finish(await claimSome(db), "failed");
    expect(await hosts()).toEqual([["example.com", 5, 1]]);
    await insertTestDelivery(db, endpoint.id, caller, seedOrigin(caller));
    await finish(await claimSome(db), "delivered");
    expect(await hosts()).toEqual([["example.com", 0, 0]]);
  });

  test("hosts that were not used for a day: deleted when the tenant uses a new one", async () => {
    const caller = await seedCaller(db);
    const endpoints: { id: WebhookEndpointId }[] = [];
    for (const n of [1, 2, 3]) endpoints.push(await seedEndpoint(db, caller, { url: `https://h${n}.example.com/` }));
    const sendTest = (at: number) =>
      insertTestDelivery(db, endpoints[at]?.id as WebhookEndpointId, caller, seedOrigin(caller));
    await sendTest(0);
    await sendTest(2);
    await client`
      update webhook_hosts set next_release_at = now() - interval '25 hours', resent_until = now() - interval '25 hours'
      where host = 'h3.example.com'`;
    await sendTest(1);
    expect((await hosts()).map(([host]) => host)).toEqual(["h1.example.com", "h2.example.com"]);
  });
});
