import { expect, test } from "bun:test";
import { Avatar, newAvatar, presentAvatar } from "./avatar.ts";
import { newId } from "./id.ts";
import { validate } from "./schema.ts";
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
