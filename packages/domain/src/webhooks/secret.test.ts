import { expect, test } from "bun:test";
import { openWebhookSecret, sealWebhookSecret, webhookSealingKey } from "./secret.ts";

const ENDPOINT = "whe_00000000000000000000000000";
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const key = webhookSealingKey({ reveal: () => "k".repeat(32) });
const sealed = sealWebhookSecret(SECRET, ENDPOINT, key, (length) => new Uint8Array(length).fill(7));

test("a secret, sealed: the bytes do not contain it; opened with the same key for the same endpoint", () => {
  expect(Buffer.from(sealed).includes(SECRET)).toBe(false);
  expect(openWebhookSecret(sealed, ENDPOINT, key)).toBe(SECRET);
});

test("a secret, sealed with fixed random bytes: the bytes of the first release, so that stored secrets can be opened", () => {
  expect(Buffer.from(sealed).toString("base64")).toBe(
    "BwcHBwcHBwcHBwcHBoeEFzQ1w/dc6Tp/s/QM4H7Cmt6vlGnWf8F7fvuqEVnOWOYC1w/O9GO/8kn01NZDz61VXHAR",
  );
});

test("a sealed secret, for another endpoint, with another key, changed or cut: null", () => {
  expect(openWebhookSecret(sealed, "whe_00000000000000000000000001", key)).toBeNull();
  expect(openWebhookSecret(sealed, ENDPOINT, webhookSealingKey({ reveal: () => "j".repeat(32) }))).toBeNull();
  for (const at of sealed.keys()) {
    const changed = Uint8Array.from(sealed, (byte, index) => (index === at ? byte ^ 1 : byte));
    expect(openWebhookSecret(changed, ENDPOINT, key)).toBeNull();
    expect(openWebhookSecret(sealed.subarray(0, at), ENDPOINT, key)).toBeNull();
  }
});
