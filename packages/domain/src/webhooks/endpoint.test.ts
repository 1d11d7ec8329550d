import { expect, test } from "bun:test";
import {
  newWebhookEndpoint,
  presentWebhookEndpoint,
  presentWebhookEndpointWithSecret,
  rotatedEndpoint,
} from "./endpoint.ts";
import { describeEvent, eventObject, selectsEvent, WEBHOOK_EVENT_TYPES, WEBHOOK_OBJECTS } from "./events.ts";
import { WEBHOOK_EVENTS } from "./schemas.ts";

const now = new Date("2026-11-20T12:00:00.000Z");
const DAY_MS = 86_400_000;
const secretOf = (text: string): Uint8Array => Buffer.from(text);
const endpoint = newWebhookEndpoint(
  { url: "https://www.example.com/", events: ["avatar.*", "avatar.*", "credits.low"] },
  {
    id: "whe_01h455vb4pex5vsknk084sn02q",
    tenantId: "ten_01h455vb4pex5vsknk084sn02q",
    environment: "live",
    secret: secretOf("a"),
    now,
  },
);

test("a new endpoint: enabled, each event once, and shown without a secret", () => {
  expect(presentWebhookEndpoint(endpoint)).toMatchObject({ status: "enabled", events: ["avatar.*", "credits.low"] });
  expect(Object.keys(presentWebhookEndpoint(endpoint))).not.toContain("secret");
  expect(presentWebhookEndpointWithSecret(endpoint, "whsec_x").secret).toBe("whsec_x");
});

test("a second rotation, within 24 hours: refused; after 24 hours: allowed", () => {
  const rotated = rotatedEndpoint(endpoint, secretOf("b"), { now, checkedAt: now });
  expect([rotated.secret, rotated.previousSecret, rotated.version]).toEqual([secretOf("b"), secretOf("a"), 2]);
  expect(rotated.previousSecretExpiresAt).toEqual(new Date(now.getTime() + DAY_MS));
  const again = (checkedAt: Date) => rotatedEndpoint(rotated, secretOf("c"), { now: checkedAt, checkedAt });
  for (const [leftMs, retryAfterSeconds] of [
    [1, 1],
    [1000, 1],
    [1500, 2],
  ] as const) {
    // A request after this time is accepted.
    expect(() => again(new Date(now.getTime() + DAY_MS - leftMs))).toThrow(
      expect.objectContaining({ code: "rotation_in_progress", extras: { retryAfterSeconds } }),
    );
  }
  expect(again(new Date(now.getTime() + DAY_MS)).previousSecret).toEqual(secretOf("b"));
});

test.each([
  [null, "avatar.created", true],
  [["avatar.*"], "avatar.prepared", true],
  [["avatar.*"], "asset.ready", false],
  [["asset.ready"], "asset.ready", true],
  [["asset.ready"], "asset.failed", false],
  [["webhook_endpoint.disabled"], "webhook_endpoint.test", false],
] as const)("an endpoint that selects %j, an event %s: %p", (events, type, isSelected) => {
  expect(selectsEvent(events, type)).toBe(isSelected);
});

test("each type of event: has a kind, a schema and a meaning", () => {
  for (const type of WEBHOOK_EVENT_TYPES) {
    expect(WEBHOOK_OBJECTS).toContain(eventObject(type));
    expect(WEBHOOK_EVENTS[eventObject(type)].properties.type["enum"]).toContain(type);
    expect(describeEvent(type)).toMatch(/^[A-Z].+\.$/);
  }
});
