import { expect, test } from "bun:test";
import { WEBHOOK_EVENT_TYPES } from "@realtime-avatar/domain/webhooks/events";
import { includesType, withChoice } from "./events.ts";

test("a group, turned on: replaces its types; turned off: its types stay off", () => {
  const types = withChoice(withChoice([], "avatar.prepared", true), "credits.low", true);
  expect(types).toEqual(["avatar.prepared", "credits.low"]);
  const group = withChoice(types, "avatar.*", true);
  expect(group).toEqual(["avatar.*", "credits.low"]);
  expect(WEBHOOK_EVENT_TYPES.filter((type) => includesType(group, type))).toEqual([
    "avatar.created",
    "avatar.updated",
    "avatar.deleted",
    "avatar.prepared",
    "avatar.preparation_failed",
    "credits.low",
  ]);
  expect(withChoice(group, "avatar.*", false)).toEqual(["credits.low"]);
});

test("a choice that is not offered, while another one changes: kept", () => {
  expect(withChoice(["webhook_endpoint.test"], "avatar.*", true)).toEqual(["avatar.*", "webhook_endpoint.test"]);
});
