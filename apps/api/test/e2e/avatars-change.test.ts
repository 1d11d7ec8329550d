/** Changes and deletions of avatars. */

import { describe, expect, test } from "bun:test";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { AVATAR_STATUSES } from "@realtime-avatar/domain/avatars/status";
import { callAnew, startApi } from "../support/api.ts";
import { assetCalls } from "../support/assets.ts";
import { avatarCalls, outcome, PATH } from "../support/avatars.ts";

const api = await startApi();
const key = await api.key();

const { make, makeIn, get, patch, remove, trail } = avatarCalls(api, key);

const { make: makeAsset } = assetCalls(api, key);

describe("the change of an avatar", () => {
  test("an avatar, some fields changed: null clears, the rest stays, the trail names the fields", async () => {
    const made = await makeIn("ready", {
      sourceAssetId: (await makeAsset()).id,
      defaultVoiceId: "voice-12",
      settings: { a: 1, b: 2 },
      metadata: { "": "" },
    });
    const given = { displayName: "renamed 👩‍🚀", sourceAssetId: null, settings: { b: { c: [1e-7] } }, modelId: "m2" };
    const answer = await patch(made.id, given);
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"2"']);
    expect(answer.body).toEqual({ ...made, ...given, updatedAt: answer.body.updatedAt });
    const [row] = await api.database.db.client`select updated_at, created_at from avatars where id = ${made.id}`;
    expect(row?.["updated_at"].toISOString()).toBe(answer.body.updatedAt);
    expect(row?.["created_at"].toISOString()).toBe(made.createdAt);
    expect((await get(made.id)).body).toEqual(answer.body);
    expect([...(await trail(made.id))]).toEqual([
      {
        action: "avatar.updated",
        actor_key_id: parseApiKey(key)?.keyId ?? "",
        changed_fields: ["displayName", "modelId", "sourceAssetId", "settings"],
        environment: "live",
        request_id: answer.headers.get("x-request-id"),
      },
    ]);
  });

  test("an avatar, changed or deleted: dated by the service's clock", async () => {
    const made = await make();
    const later = new Date(Date.parse(made.createdAt) + 3_600_000);
    const call = callAnew(api.database.db, { clock: () => later });
    for (const [method, body] of [
      ["PATCH", { displayName: "later" }],
      ["DELETE", undefined],
    ] as const) {
      expect((await call(method, `${PATH}/${made.id}`, { key, body })).body.updatedAt).toBe(later.toISOString());
    }
  });

  test("an avatar, unknown, stale and in a final status: 404 before 412 before 409", async () => {
    const deleted = await makeIn("deleted");
    const unknown = "ava_01h455vb4pex5vsknk084sn02q";
    const stale = { "if-match": '"9"' };
    for (const answer of [await patch(unknown, { status: "ready" }, stale), await remove(unknown, stale)]) {
      expect(outcome(answer)).toEqual([404, "not_found"]);
    }
    expect(outcome(await patch(deleted.id, { displayName: "y" }, stale))).toEqual([412, "precondition_failed"]);
    expect(outcome(await patch(deleted.id, { displayName: "y" }, { "if-match": '"1"' }))).toEqual([
      409,
      "invalid_transition",
    ]);
  });
});

test.each(['"7"', "*", "malformed"])(
  "an avatar, created with the If-Match header %p: the header is ignored",
  async (value) => {
    const body = { displayName: "x", sourceKind: "image" };
    const answer = await api.call("POST", PATH, { key, body, headers: { "if-match": value } });
    expect([answer.status, answer.headers.get("etag")]).toEqual([201, '"1"']);
  },
);

test("an avatar, deleted twice from every status: deleted once, the same response, still readable", async () => {
  for (const state of AVATAR_STATUSES.filter((status) => status !== "deleted")) {
    const made = await makeIn(state);
    const first = await remove(made.id);
    expect([first.status, first.headers.get("etag")]).toEqual([200, '"2"']);
    expect(first.body).toEqual({ ...made, status: "deleted", updatedAt: first.body.updatedAt });
    const second = await remove(made.id);
    expect([second.status, second.headers.get("etag"), second.body]).toEqual([200, '"2"', first.body]);
    expect((await get(made.id)).body).toEqual(first.body);
    expect(await trail(made.id)).toMatchObject([{ action: "avatar.deleted", changed_fields: ["status"] }]);
  }
});
