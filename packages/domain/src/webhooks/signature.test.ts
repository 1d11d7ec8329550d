import { expect, test } from "bun:test";
import { newWebhookSecret, webhookHeaders } from "./signature.ts";

test("a message of the specification of Standard Webhooks: its signature", () => {
  const message = {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    sentAt: new Date(1_614_265_330_999),
    body: '{"test": 2432232314}',
  };
  expect(webhookHeaders(message, ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])).toEqual({
    "webhook-id": message.id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("a message, with two secrets: two signatures, separated by a space", () => {
  const message = { id: "evt_1", sentAt: new Date(0), body: "{}" };
  const [first, second] = [1, 2].map((byte) => newWebhookSecret((length) => new Uint8Array(length).fill(byte)));
  const of = (...secrets: string[]) => webhookHeaders(message, secrets)["webhook-signature"];
  expect(of(first ?? "", second ?? "")).toBe(`${of(first ?? "")} ${of(second ?? "")}`);
});
