/**
 * Ids that the API creates in a shard contain the shard's number. The shard is a single database with a number, without
 * Citus.
 */
import { expect } from "bun:test";
import { connect } from "@realtime-avatar/db/connection/pool";
import { testDatabase } from "@realtime-avatar/testing/database";
import { fixture } from "@realtime-avatar/testing/fixture";
import { ofOneDatabase } from "@realtime-avatar/testing/postgres/one-database";
import { startApi } from "../support/api.ts";
import { assetCalls } from "../support/assets.ts";
import { PNG } from "../support/forms.ts";

const database = await testDatabase({ isOne: true });
const shard = { number: 9, searchPath: "public", textOf: (text: string) => text };
const inShard = await fixture(connect(database.url, { connectMs: 30_000, shard }));
const db = { ...inShard, client: database.db.client };
const api = await startApi(undefined, {}, { ...database, db });

ofOneDatabase("keys and assets, created in shard 9: its digits in key ids and in tokens of URLs", async () => {
  const key = await api.key();
  const { upload, call } = assetCalls(api, key);
  const keys = "/api/v1/api-keys";
  const created = await api.call("POST", keys, { key, body: { name: "n" } });
  const rotated = await api.call("POST", `${keys}/${created.body.id}/rotate`, { key, body: {} });
  expect([key, created.body.apiKey, rotated.body.apiKey].map((secret) => secret.split("_")[2].slice(0, 2))).toEqual([
    "09",
    "09",
    "09",
  ]);
  const remote = { kind: "video", remoteUrl: "https://cdn.example.com/loop.mp4" };
  const signed = { kind: "image", contentType: "image/png", sizeBytes: 3, md5: "ISMvKXpXpadDiUoOSoAfww==" };
  const assets = [await upload(PNG), await call("POST", "/remote", remote), await call("POST", "/uploads", signed)];
  expect(assets.map(({ status, body }) => [status, body.publicUrl.split("/").at(-1).slice(0, 2)])).toEqual([
    [201, "AJ"],
    [201, "AJ"],
    [201, "AJ"],
  ]);
});
