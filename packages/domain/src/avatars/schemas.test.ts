import { expect, test } from "bun:test";
import { validate } from "../schema.ts";
import { UpdateAvatar } from "./schemas.ts";

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
])("an update, %j: its errors", (request, expected) => {
  expect(validate(UpdateAvatar, request).map(({ pointer, code }) => `${pointer} ${code}`)).toEqual(expected);
});
