import { describe, expect, test } from "bun:test";
import { canTransition } from "../transitions.ts";
import {
  AVATAR_STATUSES,
  AVATAR_TRANSITIONS,
  DELETABLE_STATUSES,
  listedStatuses,
  updatableStatuses,
  writableStatuses,
} from "./status.ts";

describe("the transitions of an avatar", () => {
  const transitions = [
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
  test("an avatar, in each status: exactly these transitions", () => {
    const found = AVATAR_STATUSES.flatMap((from) =>
      AVATAR_STATUSES.filter((to) => canTransition(AVATAR_TRANSITIONS, from, to)).map((to) => `${from} → ${to}`),
    );
    expect(found.sort()).toEqual(transitions.sort());
  });
});

describe("the change of an avatar", () => {
  test("a change of status, by a caller: only between ready and disabled", () => {
    expect(updatableStatuses({ status: "ready" })).toEqual(["disabled"]);
    expect(updatableStatuses({ status: "disabled" })).toEqual(["ready"]);
  });

  test("a change of status, in each status: the values a caller can set", () => {
    expect(Object.fromEntries(AVATAR_STATUSES.map((status) => [status, writableStatuses(status)]))).toEqual({
      draft: ["deleted"],
      preprocessing: ["deleted"],
      ready: ["disabled", "deleted"],
      failed: ["deleted"],
      disabled: ["ready", "deleted"],
      deleted: [],
    });
  });

  test("a change of other fields, in each status: possible until deleted", () => {
    const alive = ["draft", "preprocessing", "ready", "failed", "disabled"] as const;
    expect(updatableStatuses({})).toEqual([...alive]);
    expect(DELETABLE_STATUSES).toEqual(alive);
    expect(listedStatuses(undefined)).toEqual([...alive]);
    expect(listedStatuses("deleted")).toEqual(["deleted"]);
  });
});
