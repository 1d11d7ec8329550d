import { expect, test } from "bun:test";
import { AVATAR_TRANSITIONS, type AvatarStatus } from "./avatars/status.ts";
import { invalidTransition, statesBefore } from "./transitions.ts";

test("statesBefore returns the statuses from which a transition leads to the status", () => {
  expect(statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, "ready")).toEqual(["preprocessing", "disabled"]);
  expect(statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, "draft")).toEqual([]);
});

test("a refused transition names the current status and the allowed transitions", () => {
  const { code, detail, extras } = invalidTransition("ready", ["disabled", "deleted"]);
  expect([code, detail]).toEqual([
    "invalid_transition",
    "Status is `ready`; allowed transitions: `disabled`, `deleted`.",
  ]);
  expect(extras).toEqual({ currentStatus: "ready", allowedStatuses: ["disabled", "deleted"] });
});
