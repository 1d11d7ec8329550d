/** Avatars by id and in lists. */
import { describe, expect, test } from "bun:test";
import { Avatar, AvatarPage } from "@realtime-avatar/domain/avatars/schemas";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { validate } from "@realtime-avatar/domain/schema";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { type Answer, startApi } from "../support/api.ts";
import { avatarCalls, PATH } from "../support/avatars.ts";

const api = await startApi();
const key = await api.key();

const { make, put, get } = avatarCalls(api, key);

describe("the reading of one avatar", () => {
  test("an avatar, read in every status: as at its creation", async () => {
    const made = await make({ metadata: { big: 1e308, text: "ä" }, settings: { a: [1, { b: null }] } });
    const { status, headers, body } = await get(made.id);
    expect([status, headers.get("etag"), body]).toEqual([200, '"1"', made]);
    expect(validate(Avatar, body)).toEqual([]);
    for (const state of AVATAR_STATUSES) {
      await put(made.id, state);
      expect((await get(made.id)).body).toEqual({ ...made, status: state });
    }
  });

  test("an avatar, requested by HEAD with If-None-Match: 304; an unknown one: 404", async () => {
    const made = await make();
    const head = await api.call("HEAD", `${PATH}/${made.id}`, { key, headers: { "if-none-match": '"1"' } });
    expect([head.status, head.headers.get("etag")]).toEqual([304, '"1"']);
    // `conditional.test.ts` has more values.
    const { status, headers, text } = await get(made.id, { "if-none-match": '"0", W/"1"' });
    expect([status, text, headers.get("etag"), headers.get("content-type")]).toEqual([304, "", '"1"', null]);
    expect([headers.get("cache-control"), (await get(made.id, { "if-none-match": '"2"' })).status]).toEqual([
      "no-store",
      200,
    ]);
    expect((await get("ava_01h455vb4pex5vsknk084sn02q", { "if-none-match": "*" })).status).toBe(404);
  });
});

describe("the list of avatars", () => {
  const tenant = async (): Promise<string> => {
    const id = await seedTenant(api.database.db);
    return (await seedKey(api.database.db, id, { environment: "live", scopes: ["*"] })).secret.reveal();
  };
  const list = (by: string, query = "") => api.call("GET", `${PATH}${query}`, { key: by });
  const names = ({ body }: Answer): string[] => body.data.map(({ displayName }: Avatar) => displayName);

  test("the list, of a tenant and environment: its avatars, newest first, each equal to its own read", async () => {
    const by = await tenant();
    const first = await make({ displayName: "first", metadata: { a: 1 } }, by);
    const second = await make({ displayName: "second", sourceKind: "video" }, by);
    const { body: inTest } = await api.call("POST", "/api/v1/api-keys", {
      key: by,
      body: { name: "t", scopes: ["*"] },
    });
    await make({ displayName: "in test" }, inTest.apiKey);
    const { status, body } = await list(by);
    expect([status, body]).toEqual([200, { data: [second, first], nextCursor: null }]);
    expect(names(await list(inTest.apiKey))).toEqual(["in test"]);
  });

  test("the list, filtered and paged: the same avatars as a filter over the whole list", async () => {
    const by = await tenant();
    const all: Avatar[] = [];
    const random = [0, 3, 1, 4, 1, 5, 2, 0, 5, 3, 5, 2, 4, 1, 0, 3, 2, 4, 5, 0];
    for (const [index, state] of random.entries()) {
      const status = AVATAR_STATUSES[state] ?? "draft";
      const made = await make({ displayName: `n${index}`, sourceKind: index % 3 ? "image" : "video" }, by);
      await put(made.id, status);
      all.unshift({ ...made, status });
    }
    for (const status of [undefined, ...AVATAR_STATUSES]) {
      for (const sourceKind of [undefined, "image", "video"] as const) {
        const expected = all.filter(
          (avatar) =>
            (status === undefined ? avatar.status !== "deleted" : avatar.status === status) &&
            (sourceKind === undefined || avatar.sourceKind === sourceKind),
        );
        const filters = `${status ? `&status=${status}` : ""}${sourceKind ? `&sourceKind=${sourceKind}` : ""}`;
        for (const limit of [1, 3, 100]) {
          const seen: Avatar[] = [];
          let next = `?limit=${limit}${filters}`;
          for (let pages = 0; pages < 30; pages++) {
            const { status: code, body } = await list(by, next);
            expect(code).toBe(200);
            seen.push(...body.data);
            if (body.nextCursor === null) break;
            expect(body.data).toHaveLength(limit);
            next = `?limit=${limit}&cursor=${body.nextCursor}`;
          }
          expect(seen).toEqual(expected);
        }
        // The total of matches is the same on any page, and with a cursor.
        const { body } = await list(by, `?limit=1&total=true${filters}`);
        expect(body.total).toEqual({ count: expected.length, isExact: true });
        if (body.nextCursor === null) continue;
        const second = await list(by, `?cursor=${body.nextCursor}&total=true`);
        expect(second.body.total).toEqual(body.total);
        expect(validate(AvatarPage, second.body)).toEqual([]);
      }
    }
  });
});

describe("the search of avatars", () => {
  test("a search, in pages: its filters stay, and other filters with a cursor are refused", async () => {
    for (const displayName of ["Search 100%", "SEARCH 1000", "Other"]) await make({ displayName });
    const search = (query: string) => api.call("GET", `${PATH}?${query}`, { key });
    const names = ({ body }: Answer) => body.data.map(({ displayName }: { displayName: string }) => displayName);
    const first = await search("name=search&limit=1");
    expect(names(first)).toEqual(["SEARCH 1000"]);
    const cursor = `cursor=${first.body.nextCursor}`;
    const last = await search(cursor);
    expect([names(last), last.body.nextCursor]).toEqual([["Search 100%"], null]);
    expect((await search(`name=Search&${cursor}`)).body.errors[0].code).toBe("invalid_cursor");
    expect(names(await search("name=0%25"))).toEqual(["Search 100%"]);
    const [{ id, createdAt }] = last.body.data;
    expect(names(await search(`id=${id}`))).toEqual(["Search 100%"]);
    expect(names(await search(`name=search&to=${createdAt}`))).toEqual([]);
    expect(names(await search(`name=other&from=${createdAt}`))).toEqual(["Other"]);
    // Another tenant finds none of these avatars.
    const { secret } = await seedKey(api.database.db, await seedTenant(api.database.db), { scopes: ["*"] });
    const foreign = { key: secret.reveal() };
    for (const query of ["name=search", `id=${id}`, cursor]) {
      expect((await api.call("GET", `${PATH}?${query}`, foreign)).body).toEqual({ data: [], nextCursor: null });
    }
  });

  test.each([
    ["name=", "name", "too_short"],
    [`name=${"x".repeat(161)}`, "name", "too_long"],
    ["name=%00", "name", "invalid_text"],
    ["from=2026-02-30T00:00:00Z", "from", "invalid_date_time"],
    ["from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from", "empty_window"],
  ])("a search, with %j: 422", async (query, parameter, code) => {
    const { status, body } = await api.call("GET", `${PATH}?${query}`, { key });
    expect([status, body.errors]).toEqual([422, [expect.objectContaining({ parameter, code })]]);
  });
});
