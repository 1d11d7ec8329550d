import { expect, test } from "bun:test";
import { canTransition } from "../transitions.ts";
import { API_KEY_STATUSES, API_KEY_TRANSITIONS } from "./status.ts";

test("a key, in each status: active can be revoked or expire, both are final", () => {
  const found = API_KEY_STATUSES.flatMap((from) =>
    API_KEY_STATUSES.filter((to) => canTransition(API_KEY_TRANSITIONS, from, to)).map((to) => `${from} → ${to}`),
  );
  expect(found).toEqual(["active → revoked", "active → expired"]);
});
