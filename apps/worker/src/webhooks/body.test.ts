/** The bodies of events of each kind. */
import { expect, test } from "bun:test";
import { findApiKey, revokeApiKey } from "@realtime-avatar/db/api-keys/api-keys";
import { updateAvatar } from "@realtime-avatar/db/avatars/avatars";
import { findCreditBalance } from "@realtime-avatar/db/credits/credits";
import { findUsageSession } from "@realtime-avatar/db/credits/find-usage-session";
import { findEndpoint } from "@realtime-avatar/db/webhooks/endpoints";
import { presentApiKey } from "@realtime-avatar/domain/api-keys/api-key";
import { presentAsset } from "@realtime-avatar/domain/assets/asset";
import { UsageSession } from "@realtime-avatar/domain/credits/schemas";
import { isId, newId } from "@realtime-avatar/domain/id";
import { isValid, validate } from "@realtime-avatar/domain/schema";
import { presentWebhookEndpoint } from "@realtime-avatar/domain/webhooks/endpoint";
import { eventObject, type WebhookEventType } from "@realtime-avatar/domain/webhooks/events";
import { WEBHOOK_EVENTS } from "@realtime-avatar/domain/webhooks/schemas";
import { seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { inStatus, seedAsset, seedAvatar, seedCaller, seedKey, seedOrigin } from "@realtime-avatar/testing/seeds";
import { seedEndpoint } from "@realtime-avatar/testing/webhooks/seeds";
import { type EventToShow, renderBodies } from "./body.ts";

const { db } = await fileDatabase();
const caller = await seedCaller(db);
const { tenantId, environment } = caller;
const ORIGIN = "https://files.example.com";

const eventOf = (eventType: WebhookEventType, targetId: string): EventToShow => ({
  tenantId,
  environment,
  eventId: newId("evt", new Date(), random),
  eventType,
  targetId,
  sequence: 3,
  eventCreatedAt: new Date("2026-11-24T00:00:00.123Z"),
});

/** The body of an event, which matches the schema of its kind. */
const bodyOf = async (eventType: WebhookEventType, targetId: string) => {
  const [text = ""] = await renderBodies(db, [eventOf(eventType, targetId)], ORIGIN);
  const body = JSON.parse(text);
  expect(isValid(WEBHOOK_EVENTS[eventObject(eventType)], body)).toBe(true);
  expect(body).toMatchObject({ type: eventType, timestamp: "2026-11-24T00:00:00.123Z" });
  expect(body.data).toMatchObject({ id: targetId, object: eventObject(eventType), sequence: 3 });
  expect(isId("evt", body.id)).toBe(true);
  return body.data.resource;
};

test("an event of a key, revoked: the key as the API presents it, without its secret", async () => {
  const { record, secret } = await seedKey(db, tenantId, { environment: "test" });
  await revokeApiKey(db, record, { version: null }, null, seedOrigin());
  const found = await findApiKey(db, tenantId, record.id);
  const resource = await bodyOf("api_key.revoked", record.id);
  expect(resource).toEqual(found && presentApiKey(found));
  expect(resource.status).toBe("revoked");
  expect(JSON.stringify(resource)).not.toContain(secret.reveal());
});

test("an event of an avatar, deleted: its last state, with a URL of the public origin", async () => {
  const avatar = await seedAvatar(db, caller, { settings: { a: 1 } });
  await db.client`update avatars set preview_token = ${"t".repeat(43)}, preview_file = '1/0-webp' where id = ${avatar.id}`;
  await updateAvatar(db, avatar.id, { status: "deleted" }, inStatus("draft"), caller, seedOrigin(caller));
  const resource = await bodyOf("avatar.deleted", avatar.id);
  expect(resource).toMatchObject({ id: avatar.id, status: "deleted", settings: { a: 1 } });
  expect(resource.previewUrl).toStartWith(`${ORIGIN}/`);
});

test("an event of an asset: the asset as the API presents it", async () => {
  const asset = await seedAsset(db, tenantId);
  expect(await bodyOf("asset.ready", asset.id)).toEqual(JSON.parse(JSON.stringify(presentAsset(asset, ORIGIN))));
});

test("an event of credits: the balance, for each target", async () => {
  await seedMovement(db, tenantId);
  const balance = await findCreditBalance(db, tenantId, environment);
  expect(await bodyOf("credits.granted", newId("ent", new Date(), random))).toEqual(balance);
  expect(await bodyOf("credits.low", tenantId)).toEqual(balance);
});

test("events of credits in live and in test, of two tenants, rendered in one batch: each with its own balance", async () => {
  const other = (await seedCaller(db)).tenantId;
  const wallets = [tenantId, other].flatMap((tenant) => [
    { tenant, environment: "live" as const },
    { tenant, environment: "test" as const },
  ]);
  for (const [index, { tenant, environment }] of wallets.entries()) {
    await seedMovement(db, tenant, { environment, amount: 1000 * (index + 1) });
  }
  const events = wallets.map(({ tenant, environment }) => ({
    ...eventOf("credits.low", tenant),
    tenantId: tenant,
    environment,
  }));
  const bodies = (await renderBodies(db, events, ORIGIN)).map((text) => JSON.parse(text ?? "null").data.resource);
  const balances = await Promise.all(
    wallets.map(({ tenant, environment }) => findCreditBalance(db, tenant, environment)),
  );
  expect(bodies).toEqual(balances);
  expect(new Set(balances.map((balance) => JSON.stringify(balance))).size).toBe(4);
});

test("an event of a session: the session as in the response to a write", async () => {
  const id = await seedSession(db, caller);
  const session = await findUsageSession(db, caller, id);
  expect(session).toMatchObject({ apiKeyName: "Key of a test" });
  const body = await bodyOf("usage_session.opened", id);
  expect(validate(UsageSession, body)).toEqual([]);
  expect(session).toMatchObject(body);
});

test("an event of an endpoint: the endpoint, without its secret; null when it is deleted", async () => {
  const { id, secret } = await seedEndpoint(db, caller);
  const found = await findEndpoint(db, caller, id);
  const resource = await bodyOf("webhook_endpoint.test", id);
  expect(resource).toEqual(found && presentWebhookEndpoint(found));
  expect(JSON.stringify(resource)).not.toContain(Buffer.from(secret).toString("base64"));
  const deleted = eventOf("webhook_endpoint.disabled", newId("whe", new Date(), random));
  expect(JSON.parse((await renderBodies(db, [deleted], ORIGIN))[0] ?? "").data.resource).toBeNull();
});

test("events of many targets, two of each: a resource is read once; the bodies are in the order of the events", async () => {
  const avatars = await Promise.all(Array.from({ length: 40 }, () => seedAvatar(db, caller)));
  let reads = 0;
  const counting: typeof db = {
    ...db,
    batch: (kind, input, queue) => {
      reads += 1;
      return db.batch(kind, input, queue);
    },
  };
  const events = avatars.flatMap(({ id }) => [eventOf("avatar.created", id), eventOf("avatar.updated", id)]);
  const bodies = await renderBodies(counting, events, ORIGIN);
  expect(bodies.map((body) => JSON.parse(body).data.id)).toEqual(events.map(({ targetId }) => targetId));
  expect(reads).toBe(40);
});
