import { expect, test } from "bun:test";
import { MARK_CHARACTERS, MAX_MARK_LENGTH } from "@realtime-avatar/domain/calls/mark";
import { canDraw } from "@realtime-avatar/face/letters";
import { MAX_LABEL_LENGTH } from "@realtime-avatar/face/marks";
import { ConfigError } from "@realtime-avatar/runtime/config";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { readConfig } from "./config.ts";

const AVATAR_WORKER_SECRET = "s".repeat(32);

const messageOf = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("readConfig reported no error");
};

test("the configuration, with and without variables: values, or defaults", () => {
  const { secret, ...defaults } = readConfig({ AVATAR_WORKER_SECRET });
  expect(secret.reveal()).toBe(AVATAR_WORKER_SECRET);
  expect(defaults).toEqual({
    ...{ serviceUrl: "http://127.0.0.1:3000", slots: 4, renderer: "face", label: "AI", shards: [0], logLevel: "info" },
    ...{ host: "127.0.0.1", port: 3002, metricsPort: null, tracing: null, conversation: null },
    speech: FLITE_SETTINGS,
  });
  const variables = {
    SERVICE_URL: "https://example.com/",
    AVATAR_SLOTS: "1000",
    AVATAR_WORKER_SHARD: "3-5,12",
    RENDERER: "portrait",
    AVATAR_MARK: "AI-GENERATED",
    LOG_LEVEL: "debug",
  };
  const read = readConfig({ AVATAR_WORKER_SECRET, ...variables });
  expect(read).toMatchObject({
    serviceUrl: "https://example.com",
    slots: 1000,
    shards: [3, 4, 5, 12],
    logLevel: "debug",
  });
  expect(read).toMatchObject({ renderer: "portrait", label: "AI-GENERATED" });
  expect(readConfig({ AVATAR_WORKER_SECRET, AVATAR_MARK: "none" }).label).toBe("");
});

test("the configuration, as text: no secret", () => {
  const config = readConfig({ AVATAR_WORKER_SECRET });
  expect(JSON.stringify(config) + Bun.inspect(config)).not.toContain(AVATAR_WORKER_SECRET);
});

test("several bad variables: named at once", () => {
  const variables = { AVATAR_SLOTS: "0", SERVICE_URL: "x", OTEL_EXPORTER_OTLP_ENDPOINT: "x" };
  const [secret, url, slots, ...others] = messageOf(() => readConfig(variables)).split("\n");
  expect([secret, url, slots].map((line) => line?.split(" ")[0])).toEqual([
    "AVATAR_WORKER_SECRET",
    "SERVICE_URL",
    "AVATAR_SLOTS",
  ]);
  expect(others).toEqual(["OTEL_EXPORTER_OTLP_ENDPOINT must be an http:// or https:// URL."]);
});

test.each([
  ["AVATAR_WORKER_SECRET", ""],
  ["AVATAR_WORKER_SECRET", "hunter2"],
  ["AVATAR_WORKER_SECRET", `hunter2 ${"x".repeat(32)}`],
  ["SERVICE_URL", "hunter2"],
  ["SERVICE_URL", "ws://hunter2"],
  ["SERVICE_URL", "http://hunter2@example.com"],
  ["SERVICE_URL", "http://example.com/hunter2"],
  ["RENDERER", "hunter2"],
  ["AVATAR_MARK", "hunter2"],
  ["AVATAR_MARK", " "],
  ["AVATAR_MARK", "HUNTER2 HUNTER2 HUNTER2"],
  ["AVATAR_SLOTS", "0"],
  ["AVATAR_SLOTS", "1001"],
  ["AVATAR_WORKER_SHARD", "1024"],
  ["AVATAR_WORKER_SHARD", "5-3"],
  ["AVATAR_WORKER_SHARD", "1,0-2"],
  ["AVATAR_WORKER_SHARD", "1, 2"],
  ["AVATAR_WORKER_SHARD", "-s3"],
  ["LOG_LEVEL", "loud"],
])("a bad %s, %j: the error names it without the value", (name, value) => {
  const refused = expect(() => readConfig({ AVATAR_WORKER_SECRET, [name]: value }));
  refused.toThrow(ConfigError);
  refused.toThrow(name);
  refused.not.toThrow("hunter2");
});

test("each valid label: can be drawn", () => {
  expect(canDraw(MARK_CHARACTERS)).toBe(true);
  expect(MAX_MARK_LENGTH).toBeLessThanOrEqual(MAX_LABEL_LENGTH);
});
