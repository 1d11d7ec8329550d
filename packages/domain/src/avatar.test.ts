import { describe, expect, test } from "bun:test";
import {
  Avatar,
  DELETABLE_STATUSES,
  listedStatuses,
  newAvatar,
  presentAvatar,
  UpdateAvatar,
  updatableStatuses,
  writableStatuses,
} from "./avatar.ts";
import { newId } from "./id.ts";
import { validate } from "./schema.ts";
import { AVATAR_STATUSES } from "./state.ts";
import { seededBytes } from "./testing.ts";

const random = seededBytes("avatar");
const now = new Date("2026-11-20T12:00:00.000Z");
const of = {
  id: newId("ava", now, random),
  tenantId: newId("ten", now, random),
  environment: "test" as const,
  defaultModelId: "the-default",
  now,
};

test("a new avatar is a draft, with null and {} for what was left out", () => {
  const record = newAvatar({ displayName: "Ada", sourceKind: "image" }, of);
  const shown = presentAvatar(record);
  expect(shown).toEqual({
    id: of.id,
    tenantId: of.tenantId,
    environment: "test",
    displayName: "Ada",
    sourceKind: "image",
    modelId: "the-default",
    status: "draft",
    sourceAssetId: null,
    defaultVoiceId: null,
    cacheManifestId: null,
    cacheVersion: 0,
    settings: {},
    metadata: {},
    createdAt: "2026-11-20T12:00:00.000Z",
    updatedAt: "2026-11-20T12:00:00.000Z",
  });
  expect(validate(Avatar, shown)).toEqual([]);
});

test("what was asked for is kept", () => {
  const asked = {
    displayName: "Ada",
    sourceKind: "video" as const,
    modelId: "m",
    sourceAssetId: "asset",
    defaultVoiceId: "voice-12",
    settings: { a: 1 },
    metadata: { b: [null] },
  };
  expect(presentAvatar(newAvatar(asked, of))).toMatchObject(asked);
});

describe("a change", () => {
  test("switches between ready and disabled, and makes no other move that the table has for the platform", () => {
    expect(updatableStatuses({ status: "ready" })).toEqual(["disabled"]);
    expect(updatableStatuses({ status: "disabled", displayName: "x" })).toEqual(["ready"]);
  });

  test("what can be asked for in each state", () => {
    expect(Object.fromEntries(AVATAR_STATUSES.map((status) => [status, writableStatuses(status)]))).toEqual({
      draft: ["deleted"],
      preprocessing: ["deleted"],
      ready: ["disabled", "deleted"],
      failed: ["deleted"],
      disabled: ["ready", "deleted"],
      deleted: [],
    });
  });

  test("of anything else is possible until the avatar is deleted", () => {
    const alive = ["draft", "preprocessing", "ready", "failed", "disabled"] as const;
    expect(updatableStatuses({ displayName: "x" })).toEqual([...alive]);
    expect(DELETABLE_STATUSES).toEqual(alive);
    expect(listedStatuses(undefined)).toEqual([...alive]);
    expect(listedStatuses("deleted")).toEqual(["deleted"]);
  });

  test.each<[object, string[]]>([
    [{}, ["# too_few"]],
    [{ displayName: "x" }, []],
    [{ sourceAssetId: null, defaultVoiceId: null }, []],
    [{ displayName: null, modelId: null }, ["#/displayName wrong_type", "#/modelId wrong_type"]],
    [{ settings: null, metadata: [] }, ["#/settings wrong_type", "#/metadata wrong_type"]],
    [{ status: "ready" }, []],
    [{ status: "deleted" }, ["#/status not_allowed"]],
    [{ status: "preprocessing" }, ["#/status not_allowed"]],
    [{ sourceKind: "video" }, ["#/sourceKind unknown_field"]],
    [{ cacheVersion: 1, id: "x" }, ["#/cacheVersion unknown_field", "#/id unknown_field"]],
  ])("%j", (request, expected) => {
    expect(validate(UpdateAvatar, request).map(({ pointer, code }) => `${pointer} ${code}`)).toEqual(expected);
  });
});
