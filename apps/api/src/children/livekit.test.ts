/** Which process of a data directory has the LiveKit for calls, and its configuration; no LiveKit runs here. */
import { afterAll, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { embeddedConfigFile } from "@realtime-avatar/livekit/config";
import { createLog } from "@realtime-avatar/runtime/log";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { prepareLivekit } from "./livekit.ts";

const dataDirectory = await fileFolder();

const prepare = () =>
  prepareLivekit({
    program: "false",
    avatarWorker: ["false"],
    dataDirectory,
    variables: {},
    workerSecret: null,
    log: createLog("silent"),
    logOutput: { write: () => {}, onResume: () => {}, dropped: () => 0, drained: async () => {} },
    isTerminal: false,
  });

test("a program on the port of the last run, which responds like a LiveKit: is neither used nor asked", async () => {
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

test("a second process with the same data directory: has no LiveKit until the first has stopped its own", async () => {
  const first = await prepare();
  expect(first).not.toBeNull();
  expect(await prepare()).toBeNull();
  await first?.stopLivekit();
  const next = await prepare();
  expect(next).not.toBeNull();
  await next?.stopLivekit();
});

test("the LiveKit that this process starts: is on loopback, and creates no room for who joins", async () => {
  const embedded = await prepare();
  await embedded?.start("http://127.0.0.1:1");
  const configuration = await Bun.file(embeddedConfigFile(dataDirectory)).json();
  expect(configuration).toMatchObject({ bind_addresses: ["127.0.0.1"], room: { auto_create: false } });
  await embedded?.stopAvatarWorker();
  await embedded?.stopLivekit();
});
