import { describe, expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { catchProblem } from "../api-keys/testing.ts";
import { newId } from "../id.ts";
import { validate } from "../schema.ts";
import { type AvatarRecord, avatarText, newAvatar, preparedAgain, presentAvatar, unchangedAvatar } from "./avatar.ts";
import { Avatar } from "./schemas.ts";
import type { AvatarStatus } from "./status.ts";

const random = seededBytes("avatar");
const now = new Date("2026-11-20T12:00:00.000Z");
const context = {
  id: newId("ava", now, random),
  tenantId: newId("ten", now, random),
  environment: "test" as const,
  defaultModelId: "the-default",
  now,
};

const ORIGIN = "https://api.example.com";

test("a new avatar, without a source: a draft, with null and {} for omitted fields", () => {
  const record = newAvatar({ displayName: "Ada", sourceKind: "image" }, context);
  const shown = presentAvatar(record, ORIGIN);
  expect(shown).toEqual({
    id: context.id,
    tenantId: context.tenantId,
    environment: "test",
    displayName: "Ada",
    sourceKind: "image",
    modelId: "the-default",
    status: "draft",
    sourceAssetId: null,
    pendingSourceAssetId: null,
    defaultVoiceId: null,
    error: null,
    checks: [],
    previewUrl: null,
    animatedPreviewUrl: null,
    cacheManifestId: null,
    cacheVersion: 0,
    settings: {},
    metadata: {},
    createdAt: "2026-11-20T12:00:00.000Z",
    updatedAt: "2026-11-20T12:00:00.000Z",
  });
  expect(validate(Avatar, shown)).toEqual([]);
});

test("a new avatar, all fields set: presented as sent", () => {
  const request = {
    displayName: "Ada",
    sourceKind: "video" as const,
    modelId: "m",
    sourceAssetId: "asset",
    defaultVoiceId: "voice-12",
    settings: { a: 1 },
    metadata: { b: [null] },
  };
  expect(presentAvatar(newAvatar(request, context), ORIGIN)).toMatchObject(request);
});

test("an avatar, as text: that of JSON.stringify, byte for byte", () => {
  const settings = { 'quote"': "\u2028", nested: { createdAt: [1e308, null] } };
  const request = { displayName: 'Ada "L"', sourceKind: "image" as const, settings, metadata: { a: {} } };
  const shown = presentAvatar(newAvatar(request, context), ORIGIN);
  expect(avatarText(shown)).toBe(JSON.stringify(shown));
});

test("a new avatar, with a source: preprocessing, generation 1", () => {
  const record = newAvatar({ displayName: "Ada", sourceKind: "image", sourceAssetId: "asset" }, context);
  expect([record.status, record.generation]).toEqual(["preprocessing", 1]);
});

test("an avatar, with a preview token: has a preview URL", () => {
  const record = { ...newAvatar({ displayName: "Ada", sourceKind: "image" }, context), previewToken: "t0ken" };
  expect(presentAvatar(record, ORIGIN)).toMatchObject({
    previewUrl: "https://api.example.com/public/avatars/t0ken",
    animatedPreviewUrl: "https://api.example.com/public/avatars/t0ken/animated",
  });
});

/** An avatar that was prepared twice, with an error and checks of the second preparation. */
const avatarIn = (status: AvatarStatus, more: Partial<AvatarRecord> = {}): AvatarRecord => ({
  ...newAvatar({ displayName: "Ada", sourceKind: "image", sourceAssetId: "asset" }, context),
  status,
  generation: 2,
  version: 5,
  error: "No face was found.",
  checks: [{ code: "face_count", verdict: "fail", measured: 0, limit: 1, detail: "No face was found." }],
  ...more,
});

describe("a request to prepare an avatar", () => {
  const later = new Date("2026-11-20T12:00:01.000Z");
  const started = { generation: 3, version: 6, updatedAt: later };

  test.each(["draft", "failed"] as const)("a request, for a %s avatar: begins its preparation again", (status) => {
    const before = avatarIn(status);
    const after = { ...before, ...started, status: "preprocessing", error: null, checks: [] };
    expect(preparedAgain(before, later)).toEqual(after as AvatarRecord);
  });

  test.each(["ready", "disabled"] as const)("a request, for a %s avatar: its status stays until the end", (status) => {
    const before = avatarIn(status, { pendingSourceAssetId: "other" });
    expect(preparedAgain(before, later)).toEqual({ ...before, ...started });
  });

  test.each([
    ["preprocessing", "The avatar is being prepared already. Its status becomes `ready` or `failed`.", ["deleted"]],
    ["deleted", "Status is `deleted`; allowed transitions: none.", []],
  ] as const)("a request, for a %s avatar: refused", (status, detail, allowedStatuses) => {
    const {
      code,
      detail: said,
      extras,
    } = catchProblem(() => preparedAgain(avatarIn(status, { sourceAssetId: null }), later));
    expect([code, said, extras]).toEqual(["invalid_transition", detail, { currentStatus: status, allowedStatuses }]);
  });

  test.each(["draft", "failed", "ready", "disabled"] as const)(
    "a request, for a %s avatar without a source: refused",
    (status) => {
      const { code, detail } = catchProblem(() => preparedAgain(avatarIn(status, { sourceAssetId: null }), later));
      expect([code, detail]).toEqual(["invalid_transition", "The avatar has no source. Set `sourceAssetId`."]);
      expect(preparedAgain(avatarIn(status, { sourceAssetId: null, pendingSourceAssetId: "x" }), later)).toBeDefined();
    },
  );
});

test("a change, refused: the problem contains the reason", () => {
  const always = () => true;
  const sources = catchProblem(() => unchangedAvatar(avatarIn("preprocessing"), { sourceAssetId: null }, always));
  expect(sources.detail).toStartWith("An avatar that is being prepared needs its source.");
  const statuses = catchProblem(() => unchangedAvatar(avatarIn("preprocessing"), { status: "disabled" }, always));
  expect(statuses.detail).toBe("Status is `preprocessing`; allowed transitions: `deleted`.");
  const stale = catchProblem(() => unchangedAvatar(avatarIn("preprocessing"), { sourceAssetId: null }, () => false));
  expect(stale.code).toBe("precondition_failed");
  const deleted = avatarIn("deleted");
  expect(unchangedAvatar(deleted, { status: "deleted" }, always)).toBe(deleted);
});
