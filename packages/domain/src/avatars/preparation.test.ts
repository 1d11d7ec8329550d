import { describe, expect, test } from "bun:test";
import { canTransition } from "../transitions.ts";
import {
  acceptedStatuses,
  CHANGE_EFFECTS,
  manifestId,
  type PreparationChange,
  preparedFile,
  preparedKey,
  previewUrl,
  readPreparedFile,
  statusesWith,
} from "./preparation.ts";
import { AVATAR_STATUSES, AVATAR_TRANSITIONS } from "./status.ts";

const CHANGES = Object.keys(CHANGE_EFFECTS) as PreparationChange[];

test("a change that prepares: only when the status is preprocessing, or can become preprocessing", () => {
  for (const change of CHANGES) {
    for (const status of statusesWith(change, "prepare")) {
      if (status === "preprocessing") continue;
      expect(canTransition(AVATAR_TRANSITIONS, status, "preprocessing")).toBe(true);
    }
  }
});

test("a change, of a served avatar: prepares only in the background", () => {
  for (const change of CHANGES) {
    expect(statusesWith(change, "prepare")).not.toContain("ready");
    expect(
      statusesWith(change, "prepare_in_background").every((status) => ["ready", "disabled"].includes(status)),
    ).toBe(true);
  }
});

test("each change, in each status: one effect; of a deleted avatar: refused", () => {
  for (const change of CHANGES) {
    expect(Object.keys(CHANGE_EFFECTS[change]).sort()).toEqual([...AVATAR_STATUSES].sort());
    expect(statusesWith(change, "refuse")).toContain("deleted");
  }
});

test("the key of a prepared file: contains the generation and a hash of the content", () => {
  const owner = { tenantId: "ten_a", id: "ava_b" } as const;
  expect(preparedKey(owner, preparedFile(3, "0af", "webp"))).toBe("prepared/ten_a/ava_b/3/0af-webp");
  expect(manifestId(3, "0af")).toBe("man_3_0af");
  expect(previewUrl("t0ken", "https://api.example.com")).toBe("https://api.example.com/public/avatars/t0ken");
});

describe("the statuses in which an update is accepted", () => {
  const living = AVATAR_STATUSES.filter((status) => status !== "deleted");
  test.each([
    [{ displayName: "Ada" }, living],
    [{ sourceAssetId: "asset" }, living],
    [{ modelId: "m" }, living],
    [{ sourceAssetId: null }, ["draft", "ready", "failed", "disabled"]],
    [{ sourceAssetId: null, modelId: "m" }, ["draft", "ready", "failed", "disabled"]],
    [{ status: "disabled" }, ["ready"]],
    [{ status: "ready", sourceAssetId: "asset" }, ["disabled"]],
    [{ status: "disabled", sourceAssetId: null }, ["ready"]],
  ] as const)("an update, %j: its statuses", (update, statuses) =>
    expect(acceptedStatuses(update).sort()).toEqual([...statuses].sort()),
  );
});

test("a prepared file's name, read: hash and type; any other name: null", () => {
  const sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  for (const type of ["webp", "json"] as const) {
    expect(readPreparedFile(preparedFile(3, sha256, type))).toEqual({ sha256, type });
  }
  for (const name of ["", sha256, `3/${sha256}`, `3/${sha256}-png`, `../3/${sha256}-webp`, `3/${sha256}-webp/x`]) {
    expect(readPreparedFile(name)).toBeNull();
  }
});
