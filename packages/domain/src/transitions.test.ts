import { expect, test } from "bun:test";
import { AVATAR_TRANSITIONS, type AvatarStatus } from "./avatars/status.ts";
import { invalidTransition, statesBefore } from "./transitions.ts";

test("statesBefore, of a status: those with a transition to it", () => {
  expect(statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, "ready")).toEqual(["preprocessing", "disabled"]);
  expect(statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, "draft")).toEqual([]);
});

test("the problem of a refused transition: the current status and the allowed ones", () => {
  const { code, detail, extras } = invalidTransition("ready", ["disabled", "deleted"]);
  expect([code, detail]).toEqual([
    "invalid_transition",
    "Status is `ready`; allowed transitions: `disabled`, `deleted`.",
  ]);
  expect(extras).toEqual({ currentStatus: "ready", allowedStatuses: ["disabled", "deleted"] });
});
