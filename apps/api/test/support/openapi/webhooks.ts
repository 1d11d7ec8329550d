/** Requests for the documented responses of webhook endpoints and deliveries that take more than one request. */
import { expect } from "bun:test";
import { MAX_ENDPOINTS } from "@realtime-avatar/domain/webhooks/schemas";
import type { Answer, Sent } from "./conformance.ts";
import { one } from "./conformance.ts";
import type { Described } from "./openapi.ts";

type Send = (described: Described, sent: Sent) => Promise<Answer>;

/**
 * Causes each such response, and checks it. `newKey`: returns a key that can rotate itself by its id. `newTenant`:
 * returns a key of a tenant without endpoints.
 */
export const expectWebhookResponses = async (
  send: Send,
  newKey: () => Promise<{ id: string; key: string }>,
  newTenant: () => Promise<string>,
): Promise<void> => {
  const url = "https://www.example.com/hooks";
  const { id: keyId, key } = await newKey();
  const create = async (): Promise<string> => {
    return JSON.parse((await send(one("createWebhookEndpoint"), { key, body: { url: null } })).text).id;
  };
  const headers = { "idempotency-key": "webhooks" };
  const id = await create();
  const first = await send(one("createWebhookEndpoint"), { key, body: { url }, headers });
  const again = await send(one("createWebhookEndpoint"), { key, body: { url }, headers });
  expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
  const reused = await send(one("createWebhookEndpoint"), { key, body: { url: null }, headers });
  expect(reused.code).toBe("idempotency_key_reused");

  const since = { since: new Date().toISOString() };
  expect((await send(one("recoverWebhookDeliveries"), { key, id, body: since, headers })).status).toBe(200);
  const other = { since: new Date(Date.now() - 1000).toISOString() };
  const recovered = await send(one("recoverWebhookDeliveries"), { key, id, body: other, headers });
  expect(recovered.code).toBe("idempotency_key_reused");
  expect((await send(one("rotateWebhookSecret"), { key, id, headers })).status).toBe(200);
  expect((await send(one("rotateWebhookSecret"), { key, id })).code).toBe("rotation_in_progress");
  const rotated = await send(one("rotateApiKey"), { key, id: keyId, body: { overlapSeconds: 60 } });
  const newer = JSON.parse(rotated.text).apiKey;
  for (const [operation, sent] of [
    ["createWebhookEndpoint", { body: { url } }],
    ["rotateWebhookSecret", { id }],
  ] as const) {
    expect((await send(one(operation), { ...sent, key: newer, headers })).code).toBe("replay_unavailable");
  }

  const stale = { key, id, headers: { "if-match": '"9"' } };
  expect((await send(one("updateWebhookEndpoint"), { ...stale, body: { ordered: true } })).code).toBe(
    "precondition_failed",
  );
  expect((await send(one("deleteWebhookEndpoint"), stale)).code).toBe("precondition_failed");
  await send(one("updateWebhookEndpoint"), { key, id, body: { status: "disabled" } });
  expect((await send(one("testWebhookEndpoint"), { key, id })).code).toBe("invalid_transition");
  expect((await send(one("recoverWebhookDeliveries"), { key, id, body: since })).code).toBe("invalid_transition");

  const full = await newTenant();
  // A tenant without credits has no threshold.
  const threshold = { lowThresholdCreditMicros: 1 };
  expect((await send(one("updateCreditBalance"), { key: full, body: threshold })).code).toBe("not_found");
  for (let made = 0; made < MAX_ENDPOINTS; made++)
    await send(one("createWebhookEndpoint"), { key: full, body: { url } });
  expect((await send(one("createWebhookEndpoint"), { key: full, body: { url } })).code).toBe("quota_exceeded");
};
