/** Webhook settings shared by the API and the worker. */
import { webhookSealingKey } from "@realtime-avatar/domain/webhooks/secret";
import type { Secret } from "@realtime-avatar/storage/secret";
import { readBoolean, readSecret, refuse, type Variables } from "./config.ts";
import type { Logger } from "./log.ts";
import { openStoredSecret } from "./stored-secret.ts";

export type WebhookConfig = {
  /** Seals the secrets of endpoints; null: a random secret in the data directory. */
  secretKey: Secret | null;
  /** Whether http URLs of this machine are allowed, for development. */
  allowHttpLocalhost: boolean;
};

/** Throws a `ConfigError` that names an invalid variable. */
export const readWebhookConfig = (variables: Variables): WebhookConfig => {
  const allowHttpLocalhost = readBoolean(variables, "WEBHOOK_ALLOW_HTTP_LOCALHOST", false);
  // Tenants of a service with `DATABASE_URL` are untrusted. They must not reach other programs on the machine of the
  // worker.
  if (allowHttpLocalhost && variables["DATABASE_URL"]) {
    refuse(variables, "WEBHOOK_ALLOW_HTTP_LOCALHOST", "false or unset when DATABASE_URL is set");
  }
  return { secretKey: readSecret(variables, "WEBHOOK_SECRET_KEY"), allowHttpLocalhost };
};

/** The key that seals the secrets of endpoints. The API and all workers need the same: `WEBHOOK_SECRET_KEY`, or one data directory. */
export const openWebhookSealingKey = async (
  { secretKey }: Pick<WebhookConfig, "secretKey">,
  dataDirectory: string,
  log: Pick<Logger, "warn">,
): Promise<Uint8Array> =>
  webhookSealingKey(
    await openStoredSecret(
      secretKey,
      {
        dataDirectory,
        name: "webhook-secret-key",
        warning:
          "DATA_DIR cannot be written: set WEBHOOK_SECRET_KEY, because the webhook secrets that this process seals could not be opened later",
      },
      log,
    ),
  );
