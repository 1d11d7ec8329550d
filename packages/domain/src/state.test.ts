import { describe, expect, test } from "bun:test";
import {
  API_KEY_STATUSES,
  API_KEY_TRANSITIONS,
  AVATAR_STATUSES,
  AVATAR_TRANSITIONS,
  type AvatarStatus,
  canTransition,
  invalidTransition,
  statesBefore,
} from "./state.ts";

describe("an avatar", () => {
  const moves = [
    "draft → preprocessing",
    "draft → deleted",
    "preprocessing → ready",
    "preprocessing → failed",
    "preprocessing → deleted",
    "ready → preprocessing",
    "ready → disabled",
    "ready → deleted",
    "failed → preprocessing",
    "failed → deleted",
    "disabled → ready",
    "disabled → deleted",
  ];
  test("makes these moves and no other", () => {
    const found = AVATAR_STATUSES.flatMap((from) =>
      AVATAR_STATUSES.filter((to) => canTransition(AVATAR_TRANSITIONS, from, to)).map((to) => `${from} → ${to}`),
    );
    expect(found.sort()).toEqual(moves.sort());
  });
});

describe("an API key", () => {
  test("is revoked or expires, and stays so", () => {
    const found = API_KEY_STATUSES.flatMap((from) =>
      API_KEY_STATUSES.filter((to) => canTransition(API_KEY_TRANSITIONS, from, to)).map((to) => `${from} → ${to}`),
    );
    expect(found).toEqual(["active → revoked", "active → expired"]);
  });
});

test("the states before another are those that lead to it", () => {
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
