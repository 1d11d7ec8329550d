import { expect, test } from "bun:test";
import { openWebhookSecret, sealWebhookSecret } from "@realtime-avatar/domain/webhooks/secret";
import { Secret } from "@realtime-avatar/storage/secret";
import { removeAtEnd, temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { ConfigError } from "./config.ts";
import { createLog } from "./log.ts";
import { secureRandom } from "./random.ts";
import { openWebhookSealingKey, readWebhookConfig } from "./webhook-config.ts";

const log = createLog("silent", { write: () => {} });
const ENDPOINT = "whe_00000000000000000000000000";

test("the configuration of webhooks, with variables: their values; without: the defaults", () => {
  expect(readWebhookConfig({})).toEqual({ secretKey: null, allowHttpLocalhost: false });
  const read = readWebhookConfig({ WEBHOOK_SECRET_KEY: "k".repeat(32), WEBHOOK_ALLOW_HTTP_LOCALHOST: "true" });
  expect([read.secretKey?.reveal(), `${read.secretKey}`]).toEqual(["k".repeat(32), "[secret]"]);
  expect(read.allowHttpLocalhost).toBe(true);
});

test.each([
  [{ WEBHOOK_SECRET_KEY: "hunter2" }, "WEBHOOK_SECRET_KEY"],
  [{ WEBHOOK_ALLOW_HTTP_LOCALHOST: "hunter2" }, "WEBHOOK_ALLOW_HTTP_LOCALHOST"],
  [{ WEBHOOK_ALLOW_HTTP_LOCALHOST: "true", DATABASE_URL: "postgres://hunter2" }, "WEBHOOK_ALLOW_HTTP_LOCALHOST"],
])("the configuration of webhooks, %j: the error names the variable, not the value", (variables, name) => {
  const refused = expect(() => readWebhookConfig(variables as Record<string, string>));
  refused.toThrow(ConfigError);
  refused.toThrow(name);
  refused.not.toThrow("hunter2");
});

test("the sealing key of two processes, with one data directory or one variable: the same", async () => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  const secretKey = new Secret("k".repeat(32));
  for (const config of [{ secretKey: null }, { secretKey }]) {
    const [first, second] = await Promise.all([
      openWebhookSealingKey(config, folder, log),
      openWebhookSealingKey(config, folder, log),
    ]);
    const sealed = sealWebhookSecret("whsec_a", ENDPOINT, first as Uint8Array, secureRandom);
    expect(openWebhookSecret(sealed, ENDPOINT, second as Uint8Array)).toBe("whsec_a");
  }
  const [own, other] = await Promise.all([
    openWebhookSealingKey({ secretKey: null }, folder, log),
    openWebhookSealingKey({ secretKey }, folder, log),
  ]);
  expect(openWebhookSecret(sealWebhookSecret("whsec_a", ENDPOINT, own, secureRandom), ENDPOINT, other)).toBeNull();
});
