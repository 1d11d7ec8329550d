/** The published SDK works unchanged with the service: its list of avatars, which it cannot page. */
import { expect, test } from "bun:test";
import { RealtimeAvatar } from "realtime-avatar";
import { startApi } from "../support/api.ts";

const COUNT = 1_532;
const api = await startApi();
const apiKey = await api.key({ environment: "live", scopes: ["avatars:read", "avatars:write"] });
const sdk = new RealtimeAvatar({ apiKey, baseUrl: `${api.url}/api/v1` });
const body = { displayName: "Ada", sourceKind: "image" };
const { body: first } = await api.call("POST", "/api/v1/avatars", { key: apiKey, body });

/** Copies the avatar until there are `count`, each with `bytes` bytes of settings. */
const copyAvatar = async (count: number, bytes: number) => {
  const { client } = api.database.db;
  const [avatar] = await client<
    { row: string }[]
  >`select to_jsonb(avatars)::text as row from avatars where id = ${first.id}`;
  await client`
    insert into avatars select (jsonb_populate_record(null::avatars, ${avatar?.row ?? ""}::text::jsonb || jsonb_build_object(
      'id', 'ava_01h455vb4p' || lpad(copy::text, 16, '0'), 'settings', jsonb_build_object('x', repeat('x', ${bytes}::integer))))).*
    from generate_series(2, ${count}::integer) copy`;
};
const list = async (query: string) => (await api.call("GET", `/api/v1/avatars${query}`, { key: apiKey })).body;

test("listAvatars with 1,532 avatars: all of them", async () => {
  await copyAvatar(COUNT, 0);
  const avatars = await sdk.listAvatars();
  expect(new Set(avatars.map(({ id }) => id)).size).toBe(COUNT);
  expect(await list("")).toMatchObject({ nextCursor: null });
});

test("a request with any parameter: 50 avatars, and further pages", async () => {
  expect((await list("?sourceKind=image")).data).toHaveLength(50);
  const { data, nextCursor } = await list("?limit=100");
  expect([data.length, (await list(`?cursor=${nextCursor}`)).data.length]).toEqual([100, 50]);
});

test("large avatars: as many as fit into 1 MiB, and a cursor for the others", async () => {
  await api.database.db.client`delete from avatars where id <> ${first.id}`;
  await copyAvatar(COUNT, 10_000);
  const { data, nextCursor } = await list("");
  expect(data.length).toBeGreaterThan(90);
  expect(JSON.stringify(data).length).toBeLessThanOrEqual(1024 * 1024);
  expect((await list(`?cursor=${nextCursor}`)).data).toHaveLength(50);
});
