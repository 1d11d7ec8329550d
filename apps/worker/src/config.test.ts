/** The variables of the worker. `packages/runtime` tests those that it shares with the API. */
import { expect, test } from "bun:test";
import { ConfigError } from "@realtime-avatar/runtime/config";
import { readConfig } from "./config.ts";

const read = (variables: Record<string, string>) => readConfig({ DATA_DIR: "/data", ...variables });

test("the configuration, with and without variables: values, or defaults", () => {
  const disk = { kind: "disk", directory: "/data/assets", signingSecret: null };
  expect(read({})).toMatchObject({ port: 3001, metricsPort: null, jobs: 2, jobsPerTenant: 1, storage: disk });
  const variables = { WORKER_PORT: "0", WORKER_METRICS_PORT: "9100", JOBS: "64", JOBS_PER_TENANT: "1" };
  expect(read(variables)).toMatchObject({ port: 0, metricsPort: 9100, jobs: 64, jobsPerTenant: 1 });
});

test("the configuration of webhooks, with and without variables: values, or defaults", () => {
  const none = { assetOrigin: "http://127.0.0.1:3000", webhookSends: 1000, webhooks: { allowHttpLocalhost: false } };
  expect(read({})).toMatchObject(none);
  const variables = {
    PUBLIC_ASSET_ORIGIN: "https://files.example.com",
    WEBHOOK_SENDS: "10000",
    WEBHOOK_ALLOW_HTTP_LOCALHOST: "true",
  };
  const webhooks = { allowHttpLocalhost: true };
  expect(read(variables)).toMatchObject({ assetOrigin: "https://files.example.com", webhookSends: 10_000, webhooks });
});

test.each([
  ["1", 1],
  ["2", 1],
  ["64", 63],
])("JOBS=%s, without JOBS_PER_TENANT: one tenant has at most %d", (jobs, expected) => {
  expect(read({ JOBS: jobs }).jobsPerTenant).toBe(expected);
});

test.each([
  ["WORKER_PORT", "x"],
  ["WORKER_METRICS_PORT", "x"],
  ["JOBS", "0"],
  ["JOBS", "65"],
  ["JOBS_PER_TENANT", "x"],
  ["PUBLIC_ASSET_ORIGIN", "hunter2"],
  ["WEBHOOK_SECRET_KEY", "hunter2"],
  ["WEBHOOK_SENDS", "0"],
  ["WEBHOOK_ALLOW_HTTP_LOCALHOST", "hunter2"],
  ["LOG_LEVEL", "loud"],
  ["DATABASE_URL", "hunter2"],
  ["STORAGE_URL", "hunter2"],
])("the configuration, bad %s, %j: the error names it", (name, value) => {
  const refused = expect(() => read({ [name]: value }));
  refused.toThrow(ConfigError);
  refused.toThrow(name);
  if (value === "hunter2") refused.not.toThrow(value);
});
