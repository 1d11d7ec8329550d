import { expect, test } from "bun:test";
import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { embeddedConfigFile, readEmbeddedConfig, readLivekitConfig } from "./config.ts";
import { takeLock } from "./embedded-lock.ts";

const LIVEKIT_API_SECRET = "s".repeat(32);
const complete = { LIVEKIT_URL: "wss://livekit.example.com", LIVEKIT_API_KEY: "APIkey", LIVEKIT_API_SECRET };

test("the variables of LiveKit, all set: a configuration that shows no secret", () => {
  const config = readLivekitConfig(complete);
  expect(config).toMatchObject({ url: "wss://livekit.example.com", apiKey: "APIkey" });
  expect(config?.apiSecret.reveal()).toBe(LIVEKIT_API_SECRET);
  expect(inspect(config) + JSON.stringify(config)).not.toContain(LIVEKIT_API_SECRET);
});

test("the variables of LiveKit, unset or empty: null", () => {
  expect(readLivekitConfig({})).toBeNull();
  expect(readLivekitConfig({ LIVEKIT_URL: "", LIVEKIT_API_KEY: "", LIVEKIT_API_SECRET: "" })).toBeNull();
});

test.each(Object.keys(complete))("the variables of LiveKit without %s: refused, by its name", (name) => {
  expect(() => readLivekitConfig({ ...complete, [name]: "" })).toThrow(`${name} must be set`);
});

test.each([
  ["LIVEKIT_URL", "https://livekit.example.com"],
  ["LIVEKIT_URL", "wss://livekit.example.com/path"],
  ["LIVEKIT_URL", "wss://key:secret@livekit.example.com"],
  ["LIVEKIT_URL", "livekit.example.com"],
  ["LIVEKIT_API_KEY", "a key"],
  ["LIVEKIT_API_SECRET", "s".repeat(31)],
  ["LIVEKIT_API_SECRET", "s".repeat(513)],
  ["LIVEKIT_API_SECRET", `${"s".repeat(32)}\u00e4`],
])("%s=%s: refused, without the value", (name, value) => {
  expect(() => readLivekitConfig({ ...complete, [name]: value })).toThrow(`${name} must be`);
  expect(() => readLivekitConfig({ ...complete, [name]: value })).not.toThrow(value);
});

test("LIVEKIT_URL with a slash at its end: the slash is removed", () => {
  expect(readLivekitConfig({ ...complete, LIVEKIT_URL: "ws://localhost:7880/" })?.url).toBe("ws://localhost:7880");
});

test("the configuration file of a LiveKit of the service, missing, incomplete, or without its service: null; complete: read", async () => {
  const folder = await temporaryFolder();
  const unlock = takeLock(folder);
  // Other users cannot hold the lock.
  expect((await stat(join(folder, "livekit.lock"))).mode & 0o777).toBe(0o600);
  expect(await readEmbeddedConfig(folder)).toBeNull();
  for (const text of ["", "{", '{"port":7880}', '{"port":7880,"keys":{}}']) {
    await writeFile(embeddedConfigFile(folder), text);
    expect(await readEmbeddedConfig(folder)).toBeNull();
  }
  await writeFile(embeddedConfigFile(folder), JSON.stringify({ port: 7880, keys: { APIkey: LIVEKIT_API_SECRET } }));
  const config = await readEmbeddedConfig(folder);
  expect(config).toMatchObject({ url: "ws://127.0.0.1:7880", apiKey: "APIkey" });
  expect(config?.apiSecret.reveal()).toBe(LIVEKIT_API_SECRET);
  expect(takeLock(folder)).toBeNull();
  unlock?.();
  expect(await readEmbeddedConfig(folder)).toBeNull();
  await rm(folder, { recursive: true });
});
