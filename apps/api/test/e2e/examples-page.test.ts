/** The backend of examples/page: it starts and releases calls for its page, and keeps the API key secret. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { freePort } from "@realtime-avatar/testing/network/ports";
import { REPOSITORY } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { startCallApi } from "../support/calls/calls.ts";

const { api, key, avatar, giveSlots, session } = await startCallApi();

/** Starts the backend with this API key. It is stopped after the tests of this file. */
const startPage = async (apiKey: string, avatarId: string): Promise<string> => {
  const port = await freePort();
  const backend = Bun.spawn(["node", "server.mjs"], {
    cwd: join(REPOSITORY, "examples/page"),
    env: {
      ...process.env,
      ...{ API_KEY: apiKey, AVATAR_ID: avatarId, BASE_URL: `${api.url}/api/v1`, PAGE_PORT: String(port) },
    },
    stdout: "ignore",
    stderr: "inherit",
  });
  afterAll(() => backend.kill());
  const url = `http://127.0.0.1:${port}`;
  await until(() => fetch(url).catch(() => null));
  return url;
};

test("the page of the example: is sent; a call waits for a slot, starts, and is released", async () => {
  const avatarId = await avatar();
  const url = await startPage(key, avatarId);
  const page = await fetch(url);
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html"]);
  expect(await page.text()).not.toContain(key);

  const { client } = api.database.db;
  const starting = fetch(`${url}/call`, { method: "POST" });
  await until(async () => (await client`select 1 from call_tickets`).length > 0);
  await giveSlots(1);
  const started = await starting;
  const call = (await started.json()) as { session_id: string };
  expect([started.status, JSON.stringify(call).includes(key)]).toEqual([200, false]);
  expect(await session(call.session_id)).toMatchObject({ avatarId, endedAt: null });

  const released = await fetch(`${url}/${call.session_id}`, { method: "POST" });
  expect([released.status, (await session(call.session_id)).endedAt]).toEqual([200, expect.any(String)]);
});

test("the page of the example, with an unready avatar or a wrong key: the problem of the service", async () => {
  for (const [apiKey, avatarId, code] of [
    [key, await avatar(key, "draft"), "avatar_not_ready"],
    [key.replace(/.$/, (last) => (last === "x" ? "y" : "x")), await avatar(), "invalid_api_key"],
  ] as const) {
    const answer = await fetch(`${await startPage(apiKey, avatarId)}/call`, { method: "POST" });
    const body = (await answer.json()) as { code: string; status: number };
    expect([body.code, body.status]).toEqual([code, answer.status]);
  }
});
