/**
 * Reading, testing and resending deliveries. `webhooks.system.test.ts` in `test/e2e` tests them with the worker, which
 * sends them.
 */
import { describe, expect, test } from "bun:test";
import { callAnew, startApi, TEST_WEBHOOKS } from "../../test/support/api.ts";
import { seedPerson } from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";
import { TESTS_PER_TENANT } from "./test-slots.ts";

const api = await startApi();
const { client } = api.database.db;
const key = await api.key();

const ENDPOINTS = "/api/v1/webhook-endpoints";
const DELIVERIES = "/api/v1/webhook-deliveries";
const create = async (): Promise<string> =>
  (await api.call("POST", ENDPOINTS, { key, body: { url: "https://www.example.com/" } })).body.id;
const send = (id: string, headers: Record<string, string> = {}) =>
  api.call("POST", `${ENDPOINTS}/${id}/test`, { key, headers });

describe("a test of an endpoint", () => {
  test("a test, while no worker runs: the pending delivery, without a body or an ETag", async () => {
    const id = await create();
    const { status, body, headers } = await send(id);
    expect([status, headers.get("etag")]).toEqual([200, null]);
    expect(body).toMatchObject({
      endpointId: id,
      eventType: "webhook_endpoint.test",
      targetId: id,
      status: "pending",
      attempts: [],
      body: null,
    });
    expect((await api.call("GET", `${DELIVERIES}/${body.id}`, { key })).body).toEqual(body);
  });

  test("a test of a disabled endpoint, and its recovery: 409 without a queued delivery", async () => {
    const id = await create();
    await api.call("PATCH", `${ENDPOINTS}/${id}`, { key, body: { status: "disabled" } });
    expectProblem(await send(id), "invalid_transition");
    const body = { since: new Date().toISOString() };
    expectProblem(await api.call("POST", `${ENDPOINTS}/${id}/recover`, { key, body }), "invalid_transition");
    expect((await api.call("GET", `${DELIVERIES}?endpointId=${id}`, { key })).body.data).toEqual([]);
  });

  test("tests of a tenant, above its limit: 429; waiting tests hold no database connection", async () => {
    const id = await create();
    const webhooks = { ...TEST_WEBHOOKS, testWaitMs: 2000 };
    const call = callAnew(api.database.db, { webhooks });
    const answers = Array.from({ length: TESTS_PER_TENANT + 3 }, () =>
      call("POST", `${ENDPOINTS}/${id}/test`, { key }),
    );
    // While the tests wait, more requests than connections are served.
    const reads = await Promise.all(Array.from({ length: 40 }, () => call("GET", `${ENDPOINTS}/${id}`, { key })));
    expect(new Set(reads.map(({ status }) => status))).toEqual(new Set([200]));
    const ended = await Promise.all(answers);
    const refused = ended.filter(({ status }) => status === 429);
    expect([ended.filter(({ status }) => status === 200).length, refused.length]).toEqual([TESTS_PER_TENANT, 3]);
    for (const answer of refused) {
      expectProblem(answer, "rate_limited");
      expect(answer.headers.has("retry-after")).toBe(true);
    }
    // The places are free again.
    expect((await call("POST", `${ENDPOINTS}/${id}/test`, { key })).status).toBe(200);
  });

  test("a test while the service stops: responds with the current delivery", async () => {
    const id = await create();
    // This wait is long enough for five reads of the delivery.
    const webhooks = { ...TEST_WEBHOOKS, testWaitMs: 500 };
    let looks = 0;
    const isEnding = () => ++looks >= 2;
    const call = callAnew(api.database.db, { webhooks, isEnding });
    expect((await call("POST", `${ENDPOINTS}/${id}/test`, { key })).body.status).toBe("pending");
    expect(looks).toBe(2);
  });
});

describe("deliveries", () => {
  test("a recovery since more than 30 days ago: 422 with the pointer, without queued deliveries", async () => {
    const id = await create();
    const { body: sent } = await send(id);
    await client`update webhook_deliveries set status = 'failed', next_attempt_at = null where id = ${sent.id}`;
    const recover = (daysAgo: number) => {
      const body = { since: new Date(Date.now() - daysAgo * 86_400_000).toISOString() };
      return api.call("POST", `${ENDPOINTS}/${id}/recover`, { key, body });
    };
    const refused = await recover(31);
    expectProblem(refused, "validation_failed");
    expect(refused.body.errors).toMatchObject([{ pointer: "#/since", code: "too_old" }]);
    expect((await api.call("GET", `${DELIVERIES}/${sent.id}`, { key })).body.status).toBe("failed");
    const recovered = await recover(29);
    expect(recovered.body).toMatchObject({ recovered: 1, pausedUntil: null });
    // Less than a minute later: too early.
    const again = await recover(29);
    expectProblem(again, "rate_limited");
    expect([
      Number(again.headers.get("retry-after")) > 0,
      Date.parse(recovered.body.nextRecoveryAt) > Date.now(),
    ]).toEqual([true, true]);
  });

  test("deliveries, filtered by endpoint, status, type and target: exactly the matches, page by page", async () => {
    const [id, other] = [await create(), await create()];
    const sent = [await send(id), await send(id), await send(other)].map(({ body }) => body.id);
    await client`update webhook_deliveries set status = 'failed', next_attempt_at = null where id = ${sent[0]}`;
    const list = async (query: string) => {
      const { data } = (await api.call("GET", `${DELIVERIES}?${query}`, { key })).body;
      return data.map((delivery: { id: string }) => delivery.id);
    };
    expect(await list(`endpointId=${id}`)).toEqual([sent[1], sent[0]]);
    expect(await list(`endpointId=${id}&status=failed`)).toEqual([sent[0]]);
    expect(await list(`targetId=${other}&eventType=webhook_endpoint.test`)).toEqual([sent[2]]);
    expect(await list(`endpointId=${id}&eventType=avatar.created`)).toEqual([]);
    const first = (await api.call("GET", `${DELIVERIES}?endpointId=${id}&limit=1`, { key })).body;
    expect(first.data[0].id).toBe(sent[1]);
    expect(await list(`cursor=${first.nextCursor}`)).toEqual([sent[0]]);
    for (const query of ["status=gone", "eventType=avatar.exploded", "endpoint=x"]) {
      expectProblem(await api.call("GET", `${DELIVERIES}?${query}`, { key }), "validation_failed");
    }
  });

  test("a failed delivery, sent again and repeated with its Idempotency-Key: pending once", async () => {
    const { id } = (await send(await create())).body;
    await client`update webhook_deliveries set status = 'failed', next_attempt_at = null, attempt_count = 10 where id = ${id}`;
    const headers = { "idempotency-key": "resend" };
    const resent = await api.call("POST", `${DELIVERIES}/${id}/resend`, { key, headers });
    expect(resent.body).toMatchObject({ id, status: "pending" });
    await client`update webhook_deliveries set status = 'failed', next_attempt_at = null where id = ${id}`;
    const again = await api.call("POST", `${DELIVERIES}/${id}/resend`, { key, headers });
    expect([again.headers.get("idempotent-replayed"), again.body.status]).toEqual(["true", "failed"]);
  });

  test("a viewer: reads deliveries; sending is refused", async () => {
    const endpoint = await create();
    const { id } = (await send(endpoint)).body;
    const viewer = await seedPerson(api, "viewer");
    expect((await viewer.call("GET", `${DELIVERIES}/${id}`)).status).toBe(200);
    expect((await viewer.call("GET", DELIVERIES)).body.data.length).toBeGreaterThan(0);
    for (const path of [`${DELIVERIES}/${id}/resend`, `${ENDPOINTS}/${endpoint}/test`]) {
      expectProblem(await viewer.call("POST", path), "insufficient_role");
    }
  });
});
