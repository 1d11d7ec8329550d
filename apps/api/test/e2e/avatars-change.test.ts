/** Changes and deletions of avatars. */

import { describe, expect, test } from "bun:test";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import type { UpdateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { AVATAR_STATUSES, writableStatuses } from "@realtime-avatar/domain/avatars/status";
import { createTestApp, readAnswer, requestInit, startApi } from "../support/api.ts";
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
    const app = createTestApp(api.database.db, { clock: () => later });
    for (const [method, body] of [
      ["PATCH", { displayName: "later" }],
      ["DELETE", undefined],
    ] as const) {
      const request = new Request(`http://api${PATH}/${made.id}`, requestInit(method, { key, body }));
      expect((await readAnswer(await app.handle(request))).body.updatedAt).toBe(later.toISOString());
    }
  });

  test("an avatar, each field changed alone and to the same value: only that field changes", async () => {
    const changes = {
      displayName: "y",
      modelId: "m2",
      sourceAssetId: (await makeAsset()).id,
      defaultVoiceId: "voice-12",
      settings: { x: 1 },
      metadata: JSON.parse('{"__proto__":{"x":1},"y":[]}'),
    } satisfies Required<Omit<UpdateAvatar, "status">>;
    for (const [field, value] of Object.entries(changes)) {
      const made = await make();
      // The first source starts the preparation.
      const started = field === "sourceAssetId" ? { status: "preprocessing" } : {};
      for (const expected of [[field, ...Object.keys(started)], []]) {
        const { status, body } = await patch(made.id, { [field]: value });
        expect([status, body]).toEqual([200, { ...made, ...started, [field]: value, updatedAt: body.updatedAt }]);
        expect((await trail(made.id)).at(-1)?.["changed_fields"]).toEqual(expected);
      }
    }
  });

  test("an avatar, its status changed from every status: only between ready and disabled", async () => {
    for (const state of AVATAR_STATUSES) {
      for (const status of ["ready", "disabled"] as const) {
        const made = await makeIn(state);
        const answer = await patch(made.id, { status, displayName: "y" });
        if ((state === "ready" && status === "disabled") || (state === "disabled" && status === "ready")) {
          expect([answer.status, answer.body.status, answer.body.displayName]).toEqual([200, status, "y"]);
          expect((await trail(made.id))[0]?.["changed_fields"]).toEqual(["displayName", "status"]);
        } else {
          expect(outcome(answer)).toEqual([409, "invalid_transition"]);
          expect(answer.body).toMatchObject({ currentStatus: state, allowedStatuses: writableStatuses(state) });
          expect((await get(made.id)).body).toEqual(made);
          expect(await trail(made.id)).toHaveLength(0);
        }
      }
      const made = await makeIn(state);
      expect((await patch(made.id, { displayName: "y" })).status).toBe(state === "deleted" ? 409 : 200);
    }
  });

  test("an avatar, several fields wrong: every error at once, nothing changed", async () => {
    const made = await make();
    const wrong = { displayName: "", modelId: null, defaultVoiceId: "short", status: "deleted", sourceKind: "video" };
    const { status, body } = await patch(made.id, wrong, { "if-match": "1" });
    expect(status).toBe(422);
    expect(
      body.errors.map(({ pointer, header, code }: Record<string, string>) => `${pointer ?? header} ${code}`),
    ).toEqual([
      "If-Match malformed",
      "#/displayName too_short",
      "#/modelId wrong_type",
      "#/defaultVoiceId too_short",
      "#/status not_allowed",
      "#/sourceKind unknown_field",
    ]);
    expect((await patch(made.id, {})).body.errors).toMatchObject([{ pointer: "#", code: "too_few" }]);
    expect((await get(made.id)).body).toEqual(made);
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

  test("an avatar, changed with If-Match: 200 for its version, 412 for any other", async () => {
    const made = await make();
    expect((await patch(made.id, { displayName: "y" }, { "if-match": '"1"' })).status).toBe(200);
    expect((await patch(made.id, { displayName: "z" }, { "if-match": '"1", W/"2", "2"' })).status).toBe(200);
    expect((await patch(made.id, { displayName: "z" }, { "if-match": "*" })).status).toBe(200);
    expect((await patch(made.id, { displayName: "z" }, { "if-match": 'W/"4"' })).status).toBe(412);
    expect((await patch(made.id, { displayName: "z" }, { "if-match": `"${"9".repeat(400)}"` })).status).toBe(412);
    // A tag that this service did not issue matches no version.
    for (const tag of ['"{"', '"}"', '"a\\"', '"", ""', '"x,4"', '"4,5"', '"NULL"', '"04"', '"\t4"']) {
      const status = tag.includes("\t") ? 422 : 412;
      expect((await patch(made.id, { displayName: "z" }, { "if-match": tag })).status).toBe(status);
      expect((await remove(made.id, { "if-match": tag })).status).toBe(status);
    }
    expect((await patch(made.id, { displayName: "z" }, { "if-match": ', "1",, "4" ,' })).status).toBe(200);
  });

  test("an avatar, changed without avatars:write or in another environment: 403, or 404", async () => {
    const made = await make();
    const reader = await api.key({ environment: "live", scopes: ["avatars:read"] });
    const inTest = await api.key({ scopes: ["*"] });
    expect((await get(made.id, {}, reader)).status).toBe(200);
    expect(outcome(await patch(made.id, { displayName: "y" }, {}, reader))).toEqual([403, "insufficient_scope"]);
    expect(outcome(await remove(made.id, {}, inTest))).toEqual([404, "not_found"]);
    expect((await get(made.id)).body).toEqual(made);
  });
});

describe("the deletion of an avatar", () => {
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

  test("an avatar, deleted with If-Match: 200 for its version, 412 for any other", async () => {
    const made = await make();
    expect(outcome(await remove(made.id, { "if-match": '"2"' }))).toEqual([412, "precondition_failed"]);
    expect((await remove(made.id, { "if-match": '"1"' })).status).toBe(200);
    // The first one has raised the version: who repeats it with the old one is told so.
    expect(outcome(await remove(made.id, { "if-match": '"1"' }))).toEqual([412, "precondition_failed"]);
  });
});
