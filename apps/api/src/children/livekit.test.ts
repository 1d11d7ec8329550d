/** The LiveKit for calls on a data directory: the process that owns it, and its configuration. No LiveKit runs here. */
import { afterAll, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { embeddedConfigFile } from "@realtime-avatar/livekit/config";
import type { Variables } from "@realtime-avatar/runtime/config";
import { createLog } from "@realtime-avatar/runtime/log";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { until } from "@realtime-avatar/testing/until";
import { prepareLivekit } from "./livekit.ts";

const dataDirectory = await fileFolder();

const prepare = ({ avatarWorker = ["false"], variables = {} as Variables } = {}) =>
  prepareLivekit({
    program: "false",
    avatarWorker,
    dataDirectory,
    variables,
    workerSecret: null,
    log: createLog("silent"),
    logOutput: { write: () => {}, onResume: () => {}, dropped: () => 0, drained: async () => {} },
    isTerminal: false,
  });

test("a program on the port of the last run that responds like LiveKit: gets no request, and is not used", async () => {
  const requests: string[] = [];
  const other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      requests.push(url);
      return Response.json({ rooms: [] });
    },
  });
  afterAll(() => other.stop(true));
  const left = { port: other.port, keys: { APIlast: "x".repeat(64) } };
  await writeFile(embeddedConfigFile(dataDirectory), JSON.stringify(left));
  const embedded = await prepare();
  expect(embedded?.config.url).not.toContain(`:${other.port}`);
  expect(requests).toEqual([]);
  await embedded?.stopLivekit();
});

test("a second process with the same data directory: no LiveKit until the first has stopped its own", async () => {
  const first = await prepare();
  expect(first).not.toBeNull();
  expect(await prepare()).toBeNull();
  await first?.stopLivekit();
  const next = await prepare();
  expect(next).not.toBeNull();
  await next?.stopLivekit();
});

test("the LiveKit that this process starts: on loopback, without creation of rooms by participants", async () => {
  const embedded = await prepare();
  await embedded?.start("http://127.0.0.1:1");
  const configuration = await Bun.file(embeddedConfigFile(dataDirectory)).json();
  expect(configuration).toMatchObject({ bind_addresses: ["127.0.0.1"], room: { auto_create: false } });
  await embedded?.stopAvatarWorker();
  await embedded?.stopLivekit();
});

test("the environment of the avatar worker: the providers of conversations, without secrets of the API", async () => {
  const file = join(dataDirectory, "environment");
  const providers = {
    LLM_URL: "http://127.0.0.1:1/v1",
    STT_MODEL: "whisper",
    TTS_RATE: "24000",
    OPENAI_API_KEY: "sk-x",
  };
  const secrets = { SESSION_SECRET: "hunter2", DATABASE_URL: "hunter2", AWS_SECRET_ACCESS_KEY: "hunter2" };
  const avatarWorker = ["/bin/sh", "-c", 'env > "$0.new" && mv "$0.new" "$0"', file];
  const variables = { PATH: process.env["PATH"], ...providers, ...secrets };
  const embedded = await prepare({ avatarWorker, variables });
  await embedded?.start("http://127.0.0.1:1");
  await until(() => Bun.file(file).exists());
  const environment = await Bun.file(file).text();
  for (const [name, value] of Object.entries(providers)) expect(environment).toContain(`${name}=${value}\n`);
  expect(environment).not.toContain("hunter2");
  await embedded?.stopAvatarWorker();
  await embedded?.stopLivekit();
});
