/** Attempts and endpoints in words. */
import { expect, test } from "bun:test";
import type { WebhookDelivery, WebhookEndpoint } from "@realtime-avatar/client";
import { type Attempt, attemptText, endpointName, isDue, isSuccess, overlapEnd } from "./data.ts";

const attempt = (status: number | null, error: string | null = null) =>
  ({ status, error, durationMs: 34 }) as unknown as Attempt;

test.each([
  [attempt(200), "200 in 34 ms", true],
  [attempt(299), "299 in 34 ms", true],
  [attempt(199), "199 in 34 ms", false],
  [attempt(300), "300 in 34 ms", false],
  [attempt(null, "timed_out"), "no response in time, after 34 ms", false],
  [attempt(null, "of_a_later_version"), "of_a_later_version, after 34 ms", false],
  [attempt(null), "no response, after 34 ms", false],
])("an attempt, %j: %s, and whether it has succeeded", (made, text, hasSucceeded) =>
  expect([attemptText(made), isSuccess(made)]).toEqual([text, hasSucceeded]),
);

test("the name of an endpoint: its description, or the host of its URL, or the listening program", () => {
  const named = (description: string | null, url: string | null) =>
    endpointName({ description, url } as WebhookEndpoint);
  expect([named("Shop", "https://a.example/x"), named(null, "https://a.example:8443/x"), named(null, null)]).toEqual([
    "Shop",
    "a.example:8443",
    "webhooks listen",
  ]);
});

test("the secret before a rotation: shown until it ends", () => {
  const endOf = (previousSecretExpiresAt: string | null) => overlapEnd({ previousSecretExpiresAt } as WebhookEndpoint);
  const later = new Date(Date.now() + 3_600_000).toISOString();
  expect([endOf(null), endOf(new Date(0).toISOString()), endOf(later)]).toEqual([null, null, later]);
});

test("an attempt, due within five seconds or for half a minute: expected soon", () => {
  const now = Date.now();
  const isSoon = (waitMs: number | null): boolean => {
    const nextAttemptAt = waitMs === null ? null : new Date(now + waitMs).toISOString();
    return isDue({ nextAttemptAt } as WebhookDelivery, now);
  };
  expect([null, -30_000, -29_999, 4999, 5000].map(isSoon)).toEqual([false, false, true, true, false]);
});
