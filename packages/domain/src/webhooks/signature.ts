/**
 * Signatures of Standard Webhooks 1.0 (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md): HMAC-SHA-256 over
 * `<id>.<timestamp>.<body>` with the bytes of the secret, in base64, after `v1,`. Receivers verify with the libraries of that project.
 */
import { createHmac } from "node:crypto";
import type { RandomBytes } from "../id.ts";

const SECRET_PREFIX = "whsec_";
const SECRET_BYTES = 32;

/** A new secret of an endpoint: `whsec_` and 32 random bytes in base64. */
export const newWebhookSecret = (random: RandomBytes): string =>
  SECRET_PREFIX + Buffer.from(random(SECRET_BYTES)).toString("base64");

const signatureOf = (secret: string, content: string): string => {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
};

/** The signed parts of a delivery: the id of the event, the time of the attempt, and the exact body. */
export type SignedMessage = { id: string; sentAt: Date; body: string };

/**
 * The headers of a message. Each of `secrets` signs: after a rotation, the older secret also signs until its expiry.
 */
export const webhookHeaders = ({ id, sentAt, body }: SignedMessage, secrets: readonly string[]) => {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets.map((secret) => signatureOf(secret, `${id}.${timestamp}.${body}`)).join(" "),
  };
};
