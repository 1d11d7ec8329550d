/** Waiting for an avatar or a video, against a service without a worker: the test itself ends the preparation. */
import { expect, test } from "bun:test";
import { until } from "@realtime-avatar/testing/until";
import { ApiProblem, StillPreparing, StillRendering } from "./index.ts";
import { serviceOfFile } from "./testing.ts";

const { service, gateway, client } = await serviceOfFile();

const create = async (): Promise<string> =>
  (await client.POST("/api/v1/avatars", { body: { displayName: "Ada", sourceKind: "image" } })).data.id;
/** Changes the row like the worker, with another version. */
const put = (id: string, status: string) =>
  service.database.db.client`update avatars set status = ${status}, version = version + 1 where id = ${id}`;
const thrown = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => Promise.reject(new Error("nothing was thrown")),
    (reason: unknown) => reason,
  );

test("an avatar, not in preparation: returned at once", async () => {
  const id = await create();
  gateway.calls = [];
  expect((await client.waitForAvatar(id)).data.status).toBe("draft");
  expect(gateway.calls).toHaveLength(1);
});

test.each(["ready", "failed"])("an avatar, in preparation: read again until %s, with its version", async (end) => {
  const id = await create();
  await put(id, "preprocessing");
  gateway.calls = [];
  const waiting = client.waitForAvatar(id);
  await until(() => gateway.calls.length >= 3, { pollMs: 5 });
  await put(id, end);
  const { data, response } = await waiting;
  expect([data.id, data.status, response.headers.get("etag")]).toEqual([id, end as "ready", '"3"']);
  const conditions = gateway.calls.map(({ headers }) => headers["if-none-match"]);
  expect(conditions[0]).toBeUndefined();
  expect(new Set(conditions.slice(1))).toEqual(new Set(['"2"']));
});

test("a wait that times out, is aborted or gets a problem: rejects", async () => {
  const id = await create();
  await put(id, "preprocessing");
  const late = await thrown(client.waitForAvatar(id, { timeoutMs: 1 }));
  expect(late).toBeInstanceOf(StillPreparing);
  expect((late as StillPreparing).avatarId).toBe(id);
  expect(await thrown(client.waitForAvatar(id, { signal: AbortSignal.abort("enough") }))).toBe("enough");
  const missing = await thrown(client.waitForAvatar("ava_01h455vb4pex5vsknk084sn02q"));
  expect(missing instanceof ApiProblem && missing.code).toBe("not_found");
});

test("a video, queued and rendered: read again until it is ready or has failed; a wait that times out: rejects", async () => {
  const avatarId = await create();
  await put(avatarId, "ready");
  const { client: sql } = service.database.db;
  await sql`update credit_accounts set granted = granted + 1000000000`;
  const { id } = (await client.POST("/api/v1/videos", { body: { avatarId, text: "Hello." } })).data;
  const late = await thrown(client.waitForVideo(id, { timeoutMs: 1 }));
  expect(late instanceof StillRendering && late.videoId).toBe(id);
  gateway.calls = [];
  const waiting = client.waitForVideo(id);
  for (const status of ["rendering", "failed"]) {
    const seen = gateway.calls.length;
    await until(() => gateway.calls.length > seen + 1, { pollMs: 5 });
    const billed = status === "failed" ? 0 : null;
    await sql`
      update videos set status = ${status}, billed_seconds = ${billed}, billed_credit_micros = ${billed},
        error_code = 'internal', error_detail = 'x', version = version + 1 where id = ${id}`;
  }
  const { data } = await waiting;
  expect([data.status, data.error?.code]).toEqual(["failed", "internal"]);
});
