/**
 * The published SDK, from the https address of a photo to a ready avatar, with the API as a process, and a job loop
 * with the shipped parts. The resolver and the certificate authority of the photo's host are arguments of the fetcher.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { type Avatar, RealtimeAvatar } from "realtime-avatar";
import { createInspect } from "../src/assets/inspect.ts";
import { createProcessAsset } from "../src/assets/process.ts";
import { createCheckSource } from "../src/preparation/check-source.ts";
import { createPrepareAvatar } from "../src/preparation/prepare.ts";
import { fetchRemote } from "../src/remote/fetch.ts";
import { http, startServer, type TestServer } from "../src/remote/server.testing.ts";
import { inspector } from "./support/inspector.ts";
import { openWorld, type World } from "./support/world.ts";

// Tests do not assert times, and a slow machine must not fail one.
setDefaultTimeout(120_000);

const HOST = "https://files.example.com";

let world: World;
let host: TestServer;
let api: RunningProcess;
let sdk: RealtimeAvatar;
let url = "";

/** Serves a photo. */
const startHost = async (): Promise<TestServer> => {
  const photo = await readFile(portraitPath());
  return startServer((path, socket) => {
    if (path !== "/ada.jpg") return socket.end(http(404, { "Content-Length": 0 }));
    socket.write(http(200, { "Content-Length": photo.length }));
    socket.end(photo);
  });
};

const startLoop = (): void => {
  const { network, port } = host;
  const parts = world.parts();
  const options = { log: world.log, command: inspector };
  world.loop({
    process_asset: createProcessAsset({
      ...parts,
      // The API accepts only the ports of https, which a test may not get.
      fetchRemote: (url, request) => fetchRemote(url.replace(HOST, `${HOST}:${port}`), { ...request, network }),
      inspect: createInspect(options),
    }),
    prepare_avatar: createPrepareAvatar({ ...parts, checkSource: createCheckSource(options) }),
  });
};

beforeAll(async () => {
  [world, host] = await Promise.all([openWorld(), startHost()]);
  const variables = { PORT: "0", ...world.database.variables, DATA_DIR: world.data, WORKER: "false" };
  api = startProcess(bun("apps/api/src/main.ts"), variables);
  startLoop();
  [, url = ""] = await api.waitFor(/"url":"(http:[^"]+)"/);
  const { db } = world.database;
  const { secret } = await seedKey(db, world.caller.tenantId, { environment: "live", scopes: ["*"] });
  sdk = new RealtimeAvatar({ apiKey: secret.reveal(), baseUrl: `${url}/api/v1` });
});
afterAll(async () => {
  api.kill("SIGTERM");
  await api.exited;
  await host.close();
  await world.close();
});

/** Polls an avatar until it is no longer being prepared. */
const settled = (id: string): Promise<Avatar> =>
  until(
    async () => {
      const avatar = await sdk.getAvatar(id);
      return avatar.status !== "preprocessing" && avatar;
    },
    { state: () => world.database.db.client`select kind, attempts, last_error, leased_until from jobs` },
  );

test("the SDK, with an https photo: the avatar becomes ready", async () => {
  const created = await sdk.createAvatarFromImage({ displayName: "Ada", imageUrl: `${HOST}/ada.jpg` });
  expect(created).toMatchObject({ displayName: "Ada", status: "preprocessing" });
  const avatar = await settled(created.id);
  expect(avatar).toMatchObject({ id: created.id, status: "ready", error: null });
  // The SDK does not show the address of the preview.
  const [row] = await world.database.db.client`select preview_token from avatars where id = ${created.id}`;
  const preview = await fetch(`${url}/public/avatars/${row?.["preview_token"]}`);
  expect([preview.status, preview.headers.get("content-type")]).toEqual([200, "image/webp"]);
  expect((await sdk.listAvatars()).map(({ id }) => id)).toContain(created.id);
  expect(host.requests).toHaveLength(1);
});

test("the SDK, with a missing photo: the avatar fails, with the reason", async () => {
  const created = await sdk.createAvatarFromImage({ displayName: "Ada", imageUrl: `${HOST}/missing.jpg` });
  const { status, error } = (await settled(created.id)) as Avatar & { error: string };
  expect(status).toBe("failed");
  expect(error).toContain("The host responded with status 404 instead of 200.");
});
